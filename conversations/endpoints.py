"""Every endpoint that needs a caller: method, path, least level and handler."""

from dataclasses import dataclass

from conversations.access import Access, Level
from conversations.appends import Appends
from conversations.calls import Endpoint
from conversations.context import Context
from conversations.directory import Directory
from conversations.forks import Forks
from conversations.members import Members
from conversations.memory import Memory
from conversations.messages import Messages
from conversations.recorder import TextLog
from conversations.responses import NoResponses, Responses
from conversations.search import Search
from conversations.summaries import Summaries
from conversations.transfers import Transfers
from postgres.database import Database

_USER = "/v1/user"
_CONVERSATION = "/v1/user/conversations/{conversationId}"
_AGENT = "/v1/agent/conversations/{conversationId}"


@dataclass(frozen=True)
class Services:
    """The handlers, one noun each."""

    directory: Directory
    messages: Messages
    forks: Forks
    members: Members
    transfers: Transfers
    search: Search
    context: Context
    memory: Memory
    summaries: Summaries
    responses: Responses | None

    @classmethod
    def on(
        cls,
        database: Database,
        access: Access,
        appends: Appends,
        search: Search,
        text: TextLog,
        responses: Responses | None,
    ) -> "Services":
        return cls(
            Directory(database, access, text),
            Messages(database, appends),
            Forks(database),
            Members(database),
            Transfers(database),
            search,
            Context(database),
            Memory(database),
            Summaries(database),
            responses,
        )


def endpoints(of: Services) -> list[Endpoint]:
    """The table of the API, the busiest first: routes are tried in order."""
    c, a = _CONVERSATION, _AGENT
    return [
        Endpoint("POST", f"{c}/messages", Level.WRITER, of.messages.append, decides=True),
        Endpoint("GET", f"{c}/messages", Level.READER, of.messages.list_page),
        Endpoint("GET", f"{a}/context", Level.READER, of.context.read),
        Endpoint("POST", f"{a}/messages", Level.WRITER, of.messages.append_many),
        *_responses(of.responses),
        Endpoint("GET", f"{_USER}/conversations", None, of.directory.list_page),
        Endpoint("POST", f"{_USER}/conversations", None, of.directory.create),
        Endpoint("GET", c, Level.READER, of.directory.get),
        Endpoint("PATCH", c, Level.WRITER, of.directory.patch),
        Endpoint("DELETE", c, Level.MANAGER, of.directory.delete),
        Endpoint("POST", f"{c}/messages/{{messageId}}/fork", Level.WRITER, of.forks.fork),
        Endpoint("GET", f"{c}/forks", Level.READER, of.forks.list_page),
        Endpoint("GET", f"{c}/memberships", Level.READER, of.members.list_all),
        Endpoint("POST", f"{c}/memberships", Level.MANAGER, of.members.share),
        Endpoint("PATCH", f"{c}/memberships/{{userId}}", Level.MANAGER, of.members.change),
        # A manager, or the member: the handler checks which.
        Endpoint("DELETE", f"{c}/memberships/{{userId}}", Level.READER, of.members.remove),
        Endpoint("POST", f"{c}/transfer-ownership", Level.OWNER, of.transfers.start),
        *_transfers(of.transfers),
        Endpoint("POST", f"{_USER}/search/messages", None, of.search.search),
        Endpoint("POST", f"{a}/memory/messages/sync", Level.WRITER, of.memory.sync),
        Endpoint("POST", f"{a}/summaries", Level.WRITER, of.summaries.add),
    ]


def _transfers(transfers: Transfers) -> list[Endpoint]:
    path = f"{_USER}/ownership-transfers"
    one = f"{path}/{{transferId}}"
    return [
        Endpoint("GET", path, None, transfers.list_page),
        Endpoint("GET", one, None, transfers.get),
        Endpoint("POST", f"{one}/accept", None, transfers.accept),
        Endpoint("POST", f"{one}/decline", None, transfers.decline),
        Endpoint("POST", f"{one}/cancel", None, transfers.cancel),
    ]


def _responses(responses: Responses | None) -> list[Endpoint]:
    of = responses or NoResponses()
    c, a = _CONVERSATION, _AGENT
    return [
        Endpoint("POST", f"{a}/response/{{recordingId}}", Level.WRITER, of.append),
        Endpoint("POST", f"{a}/response", Level.WRITER, of.start),
        Endpoint("GET", f"{c}/response", Level.READER, of.follow),
        Endpoint("POST", f"{c}/cancel-response", Level.WRITER, of.cancel),
        Endpoint("POST", f"{_USER}/conversations/resume-check", None, of.check),
    ]

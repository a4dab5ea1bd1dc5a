"""One request and its answer, and the exceptions of `contract.errors` for what goes wrong."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from contract.address import Address
from contract.envelope import Error
from contract.errors import (
    BadRequest,
    ContractViolation,
    Forbidden,
    MemoryPluginError,
    NotFound,
    Timeout,
    Unavailable,
)
from contract.http1 import Answer, AnswerTooLarge
from contract.model import AnyModel, parse_answer
from contract.retry import read_retry_after
from contract.transport import (
    MAX_ANSWER,
    HttpTransport,
    NotConnected,
    Transport,
    TransportError,
    Undecodable,
)

if TYPE_CHECKING:
    import httpx

_LONGEST_MESSAGE = 500
_SHORTEST_SECRET = 4


class Wire:
    """Sends requests to one plugin, without retries or a breaker."""

    def __init__(
        self,
        address: Address,
        token: str | None,
        transport: "httpx.AsyncBaseTransport | None",
        max_answer: int = MAX_ANSWER,
    ) -> None:
        if max_answer < 1:
            raise ValueError("max_answer must be at least 1")
        if token is not None and not (token.isascii() and token.isprintable() and token.strip()):
            raise ValueError("the token must be printable ASCII")
        self._max_answer = max_answer
        self._token = token
        self.headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token is not None:
            self.headers["Authorization"] = f"Bearer {token}"
        self._transport = _transport(address, transport, max_answer)

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        deadline: float,
        repeatable: bool = False,
        secrets: Collection[str] = (),
    ) -> bytes:
        """The body of a 2xx answer. Anything else raises, and no message contains a secret.

        `deadline` is in the loop's time; `secrets` are the texts that the request contains. One
        that is `repeatable` may be sent twice.
        """
        hidden = [*secrets, self._token or ""]
        failure: MemoryPluginError
        try:
            answer = await self._transport.request(
                method, path, self.headers, body, deadline=deadline, repeatable=repeatable
            )
        except TimeoutError:
            failure = Timeout("the plugin did not answer in time")
        except AnswerTooLarge as error:
            failure = self._too_large(error.status)
        except TransportError as error:
            failure = no_answer(error, hidden)
        else:
            if 200 <= answer.status < 300:
                return answer.body
            failure = refusal(answer, hidden)
        # Raised here, outside the handlers: the original exception may contain the token.
        try:
            raise failure
        finally:
            del failure  # or it would keep itself, and this request, in memory

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def _too_large(self, status: int) -> MemoryPluginError:
        if not 200 <= status < 300:
            return refusal(Answer(status, b"", b""))
        return ContractViolation(
            f"the plugin's answer is larger than {self._max_answer} bytes: ask for fewer memories"
            " at a time, or allow more with max_answer"
        )


def no_answer(error: TransportError, hidden: Collection[str] = ()) -> MemoryPluginError:
    """The exception for a request without an answer, or with one that cannot be parsed."""
    reason = _without(hidden, str(error))
    if isinstance(error, Undecodable):
        return ContractViolation(f"the plugin's answer cannot be read ({reason})")
    if isinstance(error, NotConnected):
        return Unavailable(f"the plugin cannot be reached ({reason})")
    return Unavailable(f"the plugin did not answer ({reason})")


def refusal(answer: Answer, hidden: Collection[str] = ()) -> MemoryPluginError:
    """The exception for an answer that is not 2xx, with the plugin's message if it has one."""
    status = answer.status
    message, details = _envelope(answer, hidden)
    if status in (408, 429) or status >= 500:
        wait = read_retry_after(answer.headers.get("retry-after"))
        return Unavailable(message, status=status, details=details, retry_after=wait)
    if status < 400:
        return ContractViolation(message, status=status)
    kinds = {401: Forbidden, 403: Forbidden, 404: NotFound}
    return kinds.get(status, BadRequest)(message, status=status, details=details)


def _envelope(answer: Answer, hidden: Collection[str]) -> tuple[str, dict[str, Any] | None]:
    try:
        error = Error.model_validate_json(answer.body)
    except ValidationError:
        # The body may be a proxy's page or the echoed request, which do not belong in a log.
        return f"the plugin answered {answer.status} without an Error envelope", None
    return _without(hidden, error.message), _hide(hidden, error.details)


def _without(hidden: Collection[str], text: str) -> str:
    for secret in hidden:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[hidden]")
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + "…"


def _hide(hidden: Collection[str], value: Any) -> Any:
    if isinstance(value, str):
        return _without(hidden, value)
    if isinstance(value, list):
        return [_hide(hidden, item) for item in value]
    if isinstance(value, dict):
        return {_without(hidden, key): _hide(hidden, item) for key, item in value.items()}
    return value


def _transport(
    address: Address, given: "httpx.AsyncBaseTransport | None", max_answer: int
) -> Transport:
    if given is None:
        return HttpTransport(address, max_answer=max_answer)
    # Imported here: only tests need httpx, and loading it takes longer than all the rest.
    from contract.httpx_transport import HttpxTransport

    return HttpxTransport(given, address.url, max_answer)


def read_answer(model: type[AnyModel], body: bytes) -> AnyModel:
    """Parse the body of a 2xx answer; lists that are null are read as empty.

    Raises `ContractViolation`.
    """
    try:
        return parse_answer(model, body)
    except BadRequest as error:
        violation = ContractViolation(f"the plugin's answer is not a {model.__name__}: {error}")
    try:
        raise violation
    finally:
        del violation  # or it would keep itself, and the answer, in memory

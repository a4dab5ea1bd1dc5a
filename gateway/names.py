"""Names that the gateway generates: namespaces, ids of memories and resources, keys."""

import hashlib
import os
import re
import secrets
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID, uuid5

import orjson

RESOURCE_PREFIX = "resource:"
EDIT_PREFIX = "memory_edit:"
CHAT_PREFIX = "chat:"
KEY_PREFIX = "uk_"
_RESOURCE_ID = re.compile(r"r_[0-9a-f]{32}")

# Arbitrary, but it must never change.
_MEMORIES = UUID("5c1c2f3e-8a57-5d0e-9a52-3b6f6f3f0c11")


class SessionName(NamedTuple):
    """The full name of a session or a resource."""

    user_id: str
    app_id: str
    project_id: str
    name: str

    @property
    def is_resource(self) -> bool:
        return self.name.startswith(RESOURCE_PREFIX)

    def new_namespace(self) -> str:
        """A namespace that no session had before, not even one of the same name.

        It contains a hash and a random number, so that any id fits, and no id can be chosen to get
        the namespace of another user.
        """
        part = "res" if self.is_resource else "chat"
        return f"custom:gw:{_hash_of_user(self.user_id)}:{part}:{os.urandom(16).hex()}"

    def metadata(self) -> dict[str, str]:
        """The ids in clear text, for people who inspect the plugin."""
        return {
            "user_id": self.user_id,
            "app_id": self.app_id,
            "project_id": self.project_id,
            "session_id": self.name,
        }

    def memory_id(self, batch: UUID, position: int) -> UUID:
        """The same for the same position in a batch, so that a repeated write replaces."""
        where = [self.user_id, self.app_id, self.project_id, self.name, str(batch), position]
        return uuid5(_MEMORIES, orjson.dumps(where).decode())


def chat(conversation_id: str) -> str:
    return CHAT_PREFIX + conversation_id


def new_resource_id() -> str:
    return "r_" + secrets.token_hex(16)


def is_resource_id(name: str) -> bool:
    return _RESOURCE_ID.fullmatch(name) is not None


def resource_session(user_id: str, resource_id: str) -> str:
    return f"{RESOURCE_PREFIX}{user_id}:{resource_id}"


def resource_uri(session_name: str) -> str | None:
    """The URI of a resource, by the name of its session; None for a chat."""
    if not session_name.startswith(RESOURCE_PREFIX):
        return None
    user_id, _, resource_id = session_name.removeprefix(RESOURCE_PREFIX).rpartition(":")
    return f"resource://{user_id}/{resource_id}"


def new_key() -> str:
    return KEY_PREFIX + secrets.token_urlsafe(32)


@lru_cache(1024)
def _hash_of_user(user_id: str) -> str:
    return hashlib.sha256(orjson.dumps([user_id])).hexdigest()[:32]

"""Access control: the management token, API keys, and the tokens of a development server."""

import hmac
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from recall.memory import is_owner
from serving.errors import ServerFailed

DEV_MANAGEMENT_TOKEN = "test-management"  # noqa: S105 - public, and refused off loopback
TOKEN_FILE = "recall-management-token"  # noqa: S105
COOKIE = "recall_session"
"""The cookie of a dashboard login, which grants the same access as the management token."""


def bearer_of(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The token from `Authorization: Bearer`, or else from `x-api-key`."""
    found = {name: value for name, value in headers if name in (b"authorization", b"x-api-key")}
    scheme, _, token = found.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and token.strip():
        return token.strip().decode("latin-1")
    key = found.get(b"x-api-key", b"").strip()
    return key.decode("latin-1") if key else None


def same(given: str | None, token: str | None) -> bool:
    """Compare two tokens in constant time."""
    if given is None or token is None:
        return False
    return hmac.compare_digest(
        given.encode("latin-1", "replace"), token.encode("latin-1", "replace")
    )


def dev_owner(token: str) -> str | None:
    """The owner that a development server derives from a token."""
    try:
        name = token.encode("latin-1").decode()
    except (UnicodeDecodeError, UnicodeEncodeError):
        name = token
    return name if is_owner(name) else None


def management_token(data_dir: Path) -> tuple[str, bool]:
    """The token stored in the data directory, and whether it was just created."""
    try:
        return _management_token(data_dir)
    except OSError as error:
        raise ServerFailed(
            f"cannot keep the management token in the data directory {data_dir}"
            f" ({error.strerror}); choose another one with --data-dir, or set"
            " MEMORY_RECALL_MANAGEMENT_TOKEN"
        ) from error


def _management_token(data_dir: Path) -> tuple[str, bool]:
    path = data_dir / TOKEN_FILE
    data_dir.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        kept = path.read_text("ascii").strip()
        if kept:
            return kept, False
        path.unlink()
        return _management_token(data_dir)
    token = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w") as file:
        file.write(token + "\n")
    return token, True

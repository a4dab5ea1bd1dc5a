"""Request bodies. One that is too large is refused by its Content-Length, else while it is read."""

from starlette.types import Message, Receive

from serving.errors import Refused

Headers = list[tuple[bytes, bytes]]


def check_length(headers: Headers, limit: int) -> bool:
    """Refuse a body whose Content-Length is too large; whether it has one that counts."""
    has_length = is_encoded = False
    for name, value in headers:
        if name == b"content-length":
            if value.isdigit() and int(value) > limit:
                raise _too_large(limit)
            has_length = True
        elif name == b"transfer-encoding":
            is_encoded = True
    return has_length and not is_encoded


async def read(headers: Headers, receive: Receive, limit: int) -> bytes:
    """The whole body; `Refused` when it is too large or the client closes before its end."""
    check_length(headers, limit)
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body"):
        chunks, size = [body], len(body)
        while message.get("more_body"):
            if size > limit:
                raise _too_large(limit)
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "body: the connection was closed before the body was complete")
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
        body = b"".join(chunks)
    if len(body) > limit:
        raise _too_large(limit)
    return body


def limited(headers: Headers, receive: Receive, limit: int) -> Receive:
    """The same messages, until they contain more bytes than allowed."""
    if check_length(headers, limit):
        return receive  # the HTTP parser passes on no more than that
    size = 0

    async def receive_within_limit() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise _too_large(limit)
        return message

    return receive_within_limit


def _too_large(limit: int) -> Refused:
    return Refused(413, f"body: must be at most {limit} bytes", code="body_too_large")

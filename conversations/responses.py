"""Responses in progress: agents record them, users follow, resume and cancel them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any
from uuid import UUID

from starlette.responses import Response, StreamingResponse

from conversations import answers
from conversations.access import Access, Level
from conversations.answers import Row, answer, nothing
from conversations.calls import Call
from conversations.errors import BadRequest, Conflict, NotFound, Unauthorized, Unavailable
from conversations.exact import check_text
from conversations.recorder import MAX_RECORDING, Piece, Recorder
from conversations.tails import Follower, Tails
from conversations.tokens import Tokens, bearer
from serving.stopping import until_stopping

MAX_CHECKED = 1000
_SWEEP_SECONDS = 1.0
_FORGET_ROUNDS = 60
_STREAM_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}


class Responses:
    """The handlers of `…/response`, `…/cancel-response` and `…/resume-check`."""

    def __init__(self, recorder: Recorder, tails: Tails, access: Access, tokens: Tokens) -> None:
        self._recorder = recorder
        self._tails = tails
        self._access = access
        self._tokens = tokens

    async def sweep(self) -> None:
        """End abandoned recordings, and delete old ones."""
        rounds = 0
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            await self._recorder.sweep()
            rounds += 1
            if rounds % _FORGET_ROUNDS == 0:
                await self._recorder.forget_old()

    async def start(self, call: Call) -> Response:
        fields = await call.fields()
        message, store = fields.uuid("messageId"), fields.flag("store")
        row = await self._recorder.start(
            call.conversation,
            agent=call.agent,
            user=call.caller.user,
            message=message,
            store=store,
        )
        return answer(201, answers.recording(row))

    async def append(self, call: Call) -> Response:
        key = call.key("recordingId", "recording")
        fields = await call.fields()
        error = fields.raw("error")
        if error is not None and not isinstance(error, str | bool):
            raise fields.refuse("error", "must be a string")
        if isinstance(error, str):
            check_text(error, "error")
        complete = fields.flag("complete")
        if complete and error:
            raise fields.refuse("error", "must not be combined with complete")
        piece = Piece(
            agent=call.agent,
            content=fields.text("content", MAX_RECORDING) or "",
            offset=fields.whole("offset", 0, MAX_RECORDING),
            complete=complete,
            # Some clients send an empty one with every piece.
            error=str(error) if error else None,
        )
        return answer(
            200, answers.recording(await self._recorder.append(call.conversation, key, piece))
        )

    async def follow(self, call: Call) -> Response:
        """The newest recording, as an event stream or as JSON."""
        asked = call.parameters
        is_stream = asked.flag("stream", default=True)
        offset = asked.whole("offset", 0, MAX_RECORDING, 0)
        row = await self._recorder.newest(call.conversation)
        if row is None:
            if is_stream:
                return nothing()
            raise NotFound("recording", str(call.conversation))
        field = "offset"
        last = call.header("Last-Event-ID")
        if last:
            field, place = "Last-Event-ID", _place(last, row)
            if place is None and is_stream:
                return nothing()
            offset = row["length"] if place is None else place
        if offset > row["length"]:
            raise BadRequest(field, f"the recording has {row['length']} characters")
        if not is_stream:
            return await self._whole(call, row, offset)
        token = bearer(call.header("Authorization") or "")
        follower = Follower(call.user, partial(self._is_valid, token))
        events = self._tails.follow(row, follower, offset)
        # Before the response starts, so that a busy store gives a 503 and not a broken stream.
        first = await anext(events, b"")
        if call.scope["method"] == "HEAD":
            await events.aclose()  # nobody reads the rest
        rest = until_stopping(call.scope, _continued(first, events))
        return StreamingResponse(rest, media_type="text/event-stream", headers=_STREAM_HEADERS)

    async def _is_valid(self, token: str) -> bool:
        try:
            await self._tokens.user(token)
        except Unauthorized:
            return False
        except Unavailable:
            return True  # it cannot be checked now, and it was valid before
        return True

    async def _whole(self, call: Call, row: Row, offset: int) -> Response:
        text = await self._recorder.text.read(row["id"], offset)
        # Checked again after reading: nothing recorded after a revocation may be sent.
        await self._access.enter(call.caller, str(call.conversation), Level.READER)
        body: dict[str, Any] = {**answers.recording(row), "content": text}
        body["offset"] = offset + len(text)
        return answer(200, body)

    async def cancel(self, call: Call) -> Response:
        return answer(200, {"accepted": await self._recorder.cancel(call.conversation)})

    async def check(self, call: Call) -> Response:
        """Which of these conversations have a response in progress."""
        asked = await asked_conversations(call)
        found = await self._recorder.in_progress(asked, call.user)
        return answer(200, {"conversationIds": [key for key in asked if key in found]})


async def _continued(first: bytes, events: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    async with aclosing(events):
        if first:
            yield first
        async for event in events:
            yield event


class NoResponses:
    """The same endpoints with the resumer `none`."""

    async def start(self, call: Call) -> Response:  # noqa: ARG002
        raise Conflict("responses are not recorded on this server (--resumer none)")

    append = cancel = start

    async def follow(self, call: Call) -> Response:  # noqa: ARG002
        return nothing()

    async def check(self, call: Call) -> Response:
        await asked_conversations(call)
        return answer(200, {"conversationIds": []})


async def asked_conversations(call: Call) -> list[UUID]:
    """The ids of the request, each once, in their order."""
    fields = await call.fields()
    if fields.raw("conversationIds") is None:
        raise fields.refuse("conversationIds", "is required")
    return list(dict.fromkeys(fields.uuids("conversationIds", MAX_CHECKED)))


def _place(last: str, row: Row) -> int | None:
    """The offset after the last event; None if that was the end, 0 if of another recording."""
    key, _, place = last.strip().rpartition(":")
    if key.lower() != str(row["id"]):
        return 0
    if place == "end":
        return None
    return int(place) if place.isascii() and place.isdigit() and len(place) < 10 else 0

"""The form of an upload. Every refusal names the field."""

from contextlib import aclosing

from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from gateway.errors import BadRequest

_MOST_FIELDS = 20
_MOST_BYTES = 2**20
# What the parser says about a line in the head of a part that is longer than 4 KiB; only a file has
# a name that can be.
_LONG_LINE = "Maximum header size exceeded"


async def read_form(request: Request) -> FormData:
    """The fields and the file of the form; the caller closes it.

    `Request.form` would answer by itself, without the name of a field.
    """
    async with aclosing(request.stream()) as body:
        form = _Form(
            request.headers, body, max_files=1, max_fields=_MOST_FIELDS, max_part_size=_MOST_BYTES
        )
        try:
            return await form.parse()
        except MultiPartException as error:
            if str(error.__cause__) == _LONG_LINE:
                raise BadRequest.about("filename", "must be at most 4,000 bytes") from None
            raise BadRequest.about(form.place(error), error.message) from None


class _Form(MultiPartParser):
    """Knows which part it reads."""

    _has_begun = False

    def place(self, error: MultiPartException) -> str:
        """Where the error is: in a field, between two, or in the header with the boundary."""
        is_body = self._has_begun or error.__cause__ is not None
        return self._current_part.field_name or ("body" if is_body else "Content-Type")

    def on_part_begin(self) -> None:
        self._has_begun = True
        super().on_part_begin()

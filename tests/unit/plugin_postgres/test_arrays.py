"""Arrays as PostgreSQL reads them from text."""

import pytest

from plugin_postgres.arrays import number_array, text_array


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], "{}"),
        (["a"], '{"a"}'),
        (["a b", "c,d", "{e}"], '{"a b","c,d","{e}"}'),
        (['quote"', "back\\slash"], '{"quote\\"","back\\\\slash"}'),
        (['"', '"'], '{"\\"","\\""}'),
        (["", "NULL"], '{"","NULL"}'),
        (["'stem' | 'other':*"], "{\"'stem' | 'other':*\"}"),
    ],
)
def test_texts_are_quoted(items: list[str], expected: str) -> None:
    assert text_array(items) == expected


def test_numbers_are_written_as_they_are() -> None:
    assert number_array([]) == "{}"
    assert number_array([1, 0.3, 1e-07]) == "{1,0.3,1e-07}"

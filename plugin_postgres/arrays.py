"""Arrays as PostgreSQL reads them from text.

The driver checks and encodes every element separately, which can take longer than the search. A
statement takes such an array as `$1::text::text[]`.
"""

from collections.abc import Sequence


def text_array(items: Sequence[str]) -> str:
    """An array of texts, or of what PostgreSQL reads from texts."""
    if not items:
        return "{}"
    joined = '","'.join(items)
    if "\\" in joined or joined.count('"') > 2 * (len(items) - 1):
        joined = '","'.join([item.replace("\\", "\\\\").replace('"', '\\"') for item in items])
    return f'{{"{joined}"}}'


def number_array(items: Sequence[float]) -> str:
    """An array of numbers."""
    return f"{{{','.join(map(str, items))}}}"

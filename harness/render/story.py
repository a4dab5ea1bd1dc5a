"""A result in plain text, for logs and terminals."""

from harness.render.markup import printable
from harness.report import Result


def story(result: Result) -> str:
    """The contract's sentence, what was wrong, and the commands that reproduce it."""
    lines = [f"contract: {result.sentence}"]
    lines += [
        f"{label}: {text}"
        for label, text in (
            ("why", result.message),
            ("expected", result.expected),
            ("got", result.got),
        )
        if text
    ]
    if result.curl:
        lines += ["repeat it with:", *result.curl]
    return printable("\n".join(lines))

"""What can go wrong in the harness itself.

HarnessError
├── ConfigurationError   the user's input: an unknown check, an unreadable file; exit code 2
├── Unreachable          no memory plugin responds at the address; exit code 3
├── ForeignNamespace     a request to a namespace that is not ours; it was not sent
└── Failure              raised by a check: the plugin breaks the contract
"""


class HarnessError(Exception):
    """The base class: the message is a sentence for the terminal."""


class ConfigurationError(HarnessError):
    """The harness cannot do what was requested."""


class Unreachable(HarnessError):
    """Nothing at the address behaves like a memory plugin."""


class ForeignNamespace(HarnessError):
    """A bug in the harness: a check was about to use a namespace that is not the run's own."""


class Failure(HarnessError):
    """The plugin breaks the contract: what was expected, and what came instead.

    `rests_on` names the check that tests what failed, if that was only a preparation here.
    """

    def __init__(self, expected: str, got: str, rests_on: str | None = None) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected = expected
        self.got = got
        self.rests_on = rests_on

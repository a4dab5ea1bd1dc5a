"""HTTP for a proxy: responses get no headers of ours, and half-closed connections are closed."""

from serving.protocol import Protocol

PROXIED = b"/v1/"


class PassingProtocol(Protocol):
    """The protocol of all our servers, with exceptions for proxied requests.

    Their responses keep the upstream's `date`. And a client that closes its side of the connection
    has left: chat clients do not half-close and wait for the response.
    """

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        # Not the URL, which may begin with our own address.
        if self.cycle is not None and self.cycle.scope["raw_path"].startswith(PROXIED):
            self.cycle.default_headers = []

    def eof_received(self) -> bool:  # type: ignore[override]
        for cycle in self._unanswered:
            if cycle.scope["raw_path"].startswith(PROXIED):
                cycle.abandon()
        return super().eof_received()

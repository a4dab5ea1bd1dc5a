"""HTTP for a proxy: what comes from upstream is not ours to add to, and who closes is gone."""

from serving.protocol import Protocol

PROXIED = b"/v1/"


class PassingProtocol(Protocol):
    """As in all our servers, except for what is passed through.

    An answer from upstream keeps its own `date`. And a client that closes its side while it waits
    for one has left: a chat client never sends its last request and then only listens.
    """

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self.cycle is not None and self.url.startswith(PROXIED):
            self.cycle.default_headers = []

    def eof_received(self) -> bool:  # type: ignore[override]
        for cycle in self._unanswered:
            if cycle.scope["raw_path"].startswith(PROXIED):
                cycle.abandon()
        return super().eof_received()

"""What the plugin measures."""

from serving import metrics

_ROWS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics(metrics.Metrics):
    """The numbers of one worker of the plugin."""

    def __init__(self) -> None:
        super().__init__("memory_plugin")
        self.write_batch_rows = self.histogram(
            "write_batch_rows", "Memories written by one statement.", buckets=_ROWS
        )
        self.pool_size = self.gauge("pool_connections", "Connections to the store that are open.")
        self.pool_used = self.gauge(
            "pool_connections_used", "Connections to the store that are in use."
        )
        self.expired = self.counter(
            "expired", "Expired memories and namespaces that the janitor has deleted.", ("what",)
        )
        self.store_up = self.gauge(
            "store_up",
            "1 when the store answered the last time it was asked, else 0.",
            mode="mostrecent",
        )

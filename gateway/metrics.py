"""The metrics of the gateway, in addition to its requests."""

from serving.metrics import Metrics


class Numbers:
    """The metrics of one worker; `serving.metrics` combines those of all workers."""

    def __init__(self, metrics: Metrics) -> None:
        self.memories_written = metrics.counter(
            "memories_written", "Memories written to the plugin."
        )
        self.flushes_postponed = metrics.counter(
            "flushes_postponed", "Flushes that the plugin did not accept; they are retried."
        )
        self.deletions_postponed = metrics.counter(
            "deletions_postponed", "Deletions that the plugin did not confirm; they are retried."
        )
        self.secrets_replaced = metrics.counter(
            "secrets_replaced", "Secrets replaced before anything was stored."
        )
        self.resources = metrics.counter(
            "resources", "Files read, by outcome: extracted or failed.", ("outcome",)
        )
        self.model_failures = metrics.counter(
            "model_failures",
            "Requests to the language model or the embedder without a usable response.",
            ("model",),
        )
        self.waiting = metrics.gauge(
            "waiting",
            "Work waiting for the plugin or a model: batches, deletions, questions.",
            ("what",),
            mode="mostrecent",
        )
        self.store_up = metrics.gauge(
            "database_up", "1 if PostgreSQL answered the last query, else 0.", mode="mostrecent"
        )

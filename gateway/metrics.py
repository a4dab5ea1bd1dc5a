"""The metrics of the gateway, in addition to its requests."""

from serving.metrics import Metrics


class Numbers:
    """The counters of one worker; `serving.metrics` adds up those of all."""

    def __init__(self, metrics: Metrics) -> None:
        self.memories_written = metrics.counter(
            "memories_written", "Memories that the plugin has taken."
        )
        self.flushes_postponed = metrics.counter(
            "flushes_postponed", "Flushes that the plugin did not take, to be tried again."
        )
        self.deletions_postponed = metrics.counter(
            "deletions_postponed", "Deletions that the plugin did not confirm, to be tried again."
        )
        self.secrets_replaced = metrics.counter(
            "secrets_replaced", "Secrets that were replaced before anything was stored."
        )
        self.resources = metrics.counter(
            "resources", "Files that were read, by outcome: extracted or failed.", ("outcome",)
        )
        self.model_failures = metrics.counter(
            "model_failures",
            "Questions to the language model or the embedder without a usable answer.",
            ("model",),
        )
        self.waiting = metrics.gauge(
            "waiting",
            "What waits for the plugin or a model: batches, deletions, questions.",
            ("what",),
            mode="mostrecent",
        )
        self.store_up = metrics.gauge(
            "database_up", "1 when PostgreSQL answered the last time, else 0.", mode="mostrecent"
        )

"""All measures. To add one, write a function as below and list it here.

A function gets the stage, prepares what its measures need, and yields them one by one; each is run
before the function continues, so what was prepared still exists.
"""

from collections.abc import Callable, Iterator, Mapping

from bench import (
    backfill,
    conversations,
    embeddings,
    filters,
    gateway,
    growth,
    langgraph,
    newest,
    questions,
    recall,
    resident,
    texts,
    words,
    writes,
)
from bench.measure import Measure
from bench.stage import Stage

Source = Callable[[Stage], Iterator[Measure]]

CATALOG: Mapping[str, tuple[Source, ...]] = {
    "plugin": (
        writes.measures,
        texts.measures,
        newest.measures,
        words.measures,
        questions.measures,
        filters.measures,
        embeddings.speed,
        embeddings.recall,
        resident.measures,
    ),
    "backfill": (backfill.measures,),
    "growth": (growth.measures,),
    "langgraph": (langgraph.measures,),
    "recall": (recall.measures,),
    "gateway": (gateway.measures,),
    "conversations": (
        conversations.appends,
        conversations.reading,
        conversations.listing,
        conversations.searching,
        conversations.following,
    ),
}

"""Writes of longer texts, compared with an English tsvector with a GIN index."""

import random
from collections.abc import Iterator
from functools import partial

from bench import data, pgbench, plain
from bench.load import post, send
from bench.measure import Measure
from bench.stage import Stage
from bench.writes import BATCH, CONNECTIONS, as_memories, send_writes

_TEXTS = 2_000
_VOCABULARY = 20_000
# The share of function words in English.
_FUNCTION = 0.45
_FUNCTION_WORDS = (
    "the of and to a in that it is was for on with as be at by this had not are but from or have"
    " an they which one you were all her she there would their we him been has when who will"
)
_SYLLABLES = [c + v + e for c in "bdfgklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "st")]


def _word(number: int) -> str:
    """The word with a frequency rank, the same in every run."""
    word = ""
    while True:
        number, place = divmod(number, len(_SYLLABLES))
        word += _SYLLABLES[place]
        if number == 0:
            return word + ("s", "ed", "ing", "", "")[len(word) % 5]


def make_texts(words: int) -> list[str]:
    """Texts of this length, in which a few words are common and most are rare, as in English."""
    generator = random.Random(words)
    function_words = _FUNCTION_WORDS.split()
    texts = []
    for _ in range(_TEXTS):
        text = [
            generator.choice(function_words)
            if generator.random() < _FUNCTION
            else _word(int(_VOCABULARY ** generator.random()))
            for _ in range(words)
        ]
        texts.append(" ".join(text).capitalize() + ".")
    return texts


def _script(texts: list[str], rows: int) -> str:
    """Insert `rows` of the texts, which pgbench cannot hold itself, into the plain table."""
    return (
        f"\\set n random(0, {len(texts) - rows})\n"
        "\\set place random(0, 199)\n"
        "INSERT INTO plain_records (namespace, content)"
        " SELECT 'workspace' || chr(58) || :place, content FROM text"
        f" WHERE words = {len(texts[0].split())} AND number >= :n AND number < :n + {rows};\n"
    )


def measures(stage: Stage) -> Iterator[Measure]:
    with stage.database("texts") as url:
        data.fill(url, 1, stage.scale(10_000))
        plain.make_empty(url)
        made = {words: make_texts(words) for words in (27, 60, 200)}
        plain.keep_texts(url, made)
        with stage.plugin(url) as plugin:
            for words, texts in made.items():
                asked = _single(texts)
                send(plugin, asked, connections=CONNECTIONS, seconds=1)
                yield Measure(
                    name=f"write {words} words",
                    title=f"single writes of {words} words",
                    unit="memories/s",
                    contestants={
                        "plugin": partial(
                            send_writes,
                            plugin,
                            url,
                            asked,
                            connections=CONNECTIONS,
                            seconds=stage.seconds,
                        ),
                        "a plain query in pgbench": partial(
                            pgbench.run,
                            url,
                            _script(texts, 1),
                            connections=CONNECTIONS,
                            seconds=stage.seconds,
                        ),
                    },
                    must=0.7,
                    aim=1.0,
                )
            batches = _batches(made[60])
            yield Measure(
                name="batch 60 words",
                title=f"`batch` of {BATCH} texts of 60 words",
                unit="memories/s",
                contestants={
                    "plugin": lambda: as_memories(
                        send_writes(plugin, url, batches, connections=4, seconds=stage.seconds)
                    ),
                    "a plain query in pgbench": lambda: as_memories(
                        pgbench.run(
                            url, _script(made[60], BATCH), connections=4, seconds=stage.seconds
                        )
                    ),
                },
                must=0.6,
            )


def _single(texts: list[str]) -> list[str]:
    generator = random.Random(1)
    return [
        post(
            f"/v1/namespaces/workspace:{generator.randrange(200)}/memories",
            {"content": text, "kind": "fact", "source": "agent"},
        )
        for text in texts
    ]


def _batches(texts: list[str]) -> list[str]:
    generator = random.Random(2)
    return [
        post(
            "/v1/memories/batch",
            {
                "writes": [
                    {
                        "namespace": f"workspace:{generator.randrange(200)}",
                        "content": text,
                        "kind": "fact",
                        "source": "agent",
                    }
                    for text in generator.sample(texts, BATCH)
                ]
            },
        )
        for _ in range(40)
    ]

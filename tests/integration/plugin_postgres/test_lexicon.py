"""A query of ASCII characters is read by the plugin; PostgreSQL would read it in the same way."""

from anyio.from_thread import start_blocking_portal
from hypothesis import example, given, settings
from hypothesis import strategies as st

from plugin_postgres import keys
from plugin_postgres.lexicon import Lexicon
from tests.integration.plugin_postgres import plugin

TEXT = st.text(st.sampled_from("abe019 ing-.'\"?/_x:htpw@&;<>%+E\t\n"), min_size=1, max_size=60)
READ = """
SELECT
    search_words($1),
    ARRAY(SELECT lexeme FROM unnest(to_tsvector('simple', search_words($1))) ORDER BY positions[1]),
    ARRAY(
        SELECT coalesce((ts_lexize('english_stem', lexeme))[1], '-')
        FROM unnest(to_tsvector('simple', search_words($1)))
        WHERE lexeme !~ '[0-9]'
        ORDER BY positions[1]
    ),
    phraseto_tsquery('english', search_words($1))::text,
    $2::text::tsquery::text
"""


def test_words_stems_and_phrases_are_those_of_postgresql(migrated: str) -> None:
    lexicon = Lexicon()

    async def read(query: str) -> tuple[object, object]:
        ours = await lexicon.read(connection.fetch, query)
        folded = query.lower().strip(" \t\n\r")
        row = await connection.fetchrow(READ, folded, ours.phrase)
        assert row is not None
        words, lexemes, stems, phrase, our_phrase = row
        assert ours.folded == folded
        our_stems = [
            ours.stems[it] or "-" for it in ours.lexemes if not any(c.isdigit() for c in it)
        ]
        return (
            (ours.words, ours.lexemes, our_stems, our_phrase or ""),
            (words.split(), lexemes, stems, phrase if len(words.split()) > 1 else ""),
        )

    @settings(max_examples=200, deadline=None)
    @given(query=TEXT)
    @example("what did the dogs do when going to 1e5 or 0x1F, a1b2, 12e and e12?")
    @example("1e5 1.5e10 007 1e 5e5e5 9abc abc9 1e5x")
    @example("don't we'll isn't; svc-auth_v2 to be or not to be")
    def holds(query: str) -> None:
        ours, theirs = portal.call(read, query)
        assert ours == theirs

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(plugin.pool_connection(migrated)) as connection,
    ):
        holds()


def test_a_namespace_has_the_mark_that_the_index_gives_it(migrated: str) -> None:
    async def marks(names: list[str]) -> list[str]:
        found = await connection.fetch(
            "SELECT search_mark(name) FROM unnest($1::text[]) name", names
        )
        return [row[0] for row in found]

    names = ["workspace:a", "custom:ü\\n/'\"", "team:" + "x" * 200, "org:字"]
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(plugin.pool_connection(migrated)) as connection,
    ):
        assert [keys.mark(name) for name in names] == portal.call(marks, names)

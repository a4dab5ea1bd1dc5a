"""The queries used to find a row."""

import pytest

from backfill.probe import Rarity, queries_for


@pytest.fixture
def rarity() -> Rarity:
    made = Rarity()
    for number in range(50):
        made.learn(f"the agent deployed service {number} to the staging cluster")
    return made


def test_the_first_query_is_an_excerpt_around_the_rarest_word(
    rarity: Rarity,
) -> None:
    content = "The agent deployed the service, at last: Quetzalcoatl! to the staging cluster again"
    rarity.learn(content)
    first, *others = queries_for(content, rarity)
    assert first in content
    assert "Quetzalcoatl" in first
    assert others[-1] == "Quetzalcoatl"


def test_a_repeated_word_of_one_row_counts_once(rarity: Rarity) -> None:
    rarity.learn("echo echo echo")
    assert rarity.of("Echo") == 1


@pytest.mark.parametrize("content", ["!!!", " 🦊 ", "-- ??"])
def test_content_without_words_is_searched_for_as_it_is(content: str) -> None:
    assert queries_for(content, Rarity()) == [content.strip()]


@pytest.mark.parametrize("content", ["x" * 5000, "語" * 5000, "word " * 5000])
def test_a_query_is_never_long(content: str) -> None:
    for query in queries_for(content, Rarity()):
        assert 0 < len(query) <= 100
        assert query in content or query.split()[0] in content

"""The order of the messages, and that recalled text stays out of the system message."""

import pytest

from agent import DEFAULT_INSTRUCTIONS, UNTRUSTED_MEMORY_RULE, ContextBuilder, MemorySnapshot

SKILL = {"role": "user", "content": "skill"}
RECALLED = {"role": "user", "content": "recalled"}
HISTORY = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "answer"}]
SNAPSHOT = MemorySnapshot(memory=("note",), user=("Ada",))


def test_the_smallest_context() -> None:
    assert ContextBuilder().build_messages(prompt="now") == [
        {"role": "system", "content": DEFAULT_INSTRUCTIONS},
        {"role": "user", "content": "now"},
    ]


def test_the_order() -> None:
    system, *rest = ContextBuilder(instructions="Be brief.").build_messages(
        prompt="now",
        history=HISTORY,
        snapshot=SNAPSHOT,
        skill_messages=[SKILL],
        recalled=[RECALLED],
        gateway_active=True,
    )
    assert rest == [SKILL, RECALLED, *HISTORY, {"role": "user", "content": "now"}]
    assert system["role"] == "system"
    parts = ["Be brief.", SNAPSHOT.text, UNTRUSTED_MEMORY_RULE]
    assert system["content"] == "\n\n".join(parts)


@pytest.mark.parametrize("active", [True, False])
@pytest.mark.parametrize("recalled", [[], [RECALLED]])
@pytest.mark.parametrize("snapshot", [None, MemorySnapshot(memory=(), user=()), SNAPSHOT])
def test_the_rule_is_there_if_and_only_if_the_gateway_is_active(
    active: bool, recalled: list[dict[str, str]], snapshot: MemorySnapshot | None
) -> None:
    system = ContextBuilder().build_messages(
        prompt="now", snapshot=snapshot, recalled=recalled, gateway_active=active
    )[0]["content"]
    assert (UNTRUSTED_MEMORY_RULE in system) is active
    assert "recalled" not in system.replace(UNTRUSTED_MEMORY_RULE, "")
    assert "\n\n\n" not in system


def test_the_built_messages_share_nothing_with_the_input() -> None:
    built = ContextBuilder().build_messages(prompt="now", history=HISTORY)
    built[1]["content"] = "changed"
    assert HISTORY[0]["content"] == "before"

"""The registry: what every check must declare, and how checks are chosen."""

import re

import pytest

from harness import Check, ConfigurationError, Settings, Trial, all_checks, check, find_check
from harness.check import PROFILES

CHECKS = all_checks()


async def passes(trial: Trial) -> None:
    """Does nothing."""


def a_check(check_id: str, *needs: str) -> Check:
    return Check(check_id, "A sentence.", passes, "must", needs, "core", alone=False)


def test_there_are_enough_checks() -> None:
    assert len(CHECKS) >= 80
    assert len({check.id for check in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize("area", sorted({check.area for check in CHECKS}))
def test_an_area_is_a_module(area: str) -> None:
    modules = {check.function.__module__ for check in CHECKS if check.area == area}
    assert modules == {f"harness.checks.{area}"}


def test_each_has_an_id_a_sentence_and_an_explanation() -> None:
    for each in CHECKS:
        assert re.fullmatch(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*", each.id), each.id
        assert each.sentence.strip(), each.id
        assert each.explanation.strip(), each.id


def test_the_needs_decide_on_the_profile() -> None:
    for each in CHECKS:
        if each.options:
            assert each.profile == "operational", each.id
        elif each.claims:
            assert each.profile == "full", each.id


def test_profiles_include_each_other() -> None:
    sizes = [len(Settings(profile=profile).checks()) for profile in PROFILES]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == len(PROFILES)


def test_a_check_is_found_by_its_id() -> None:
    found = find_check("forget.unknown-id")
    assert found is not None
    assert found.area == "forget"
    assert find_check("forget.nothing-of-the-sort") is None


@pytest.mark.parametrize("pattern", ["forget.unknown-id", "forget", "forget.*", "*unknown*"])
def test_a_check_is_chosen_by_id_area_or_pattern(pattern: str) -> None:
    assert a_check("forget.unknown-id").matches(pattern)


@pytest.mark.parametrize("pattern", ["forge", "forget.unknown", "unknown-id", "FORGET"])
def test_a_check_is_not_chosen_by_part_of_its_id(pattern: str) -> None:
    assert not a_check("forget.unknown-id").matches(pattern)


def test_an_id_may_be_used_once() -> None:
    with pytest.raises(ValueError, match="two checks are called"):
        check("forget.unknown-id", "A sentence.")(passes)


def test_a_need_must_be_one_that_can_be_claimed_or_given() -> None:
    with pytest.raises(ValueError, match="telepathy"):
        check("forget.by-thought", "A sentence.", needs=["telepathy"])


def test_choosing_some_checks_excludes_the_rest() -> None:
    settings = Settings(only=("forget",))
    assert settings.excludes(a_check("forget.x")) is None
    assert settings.excludes(a_check("search.x")) == "not named by --only"


def test_an_exclusion_is_named() -> None:
    settings = Settings(exclude=("forget.*",))
    assert settings.excludes(a_check("forget.x")) == "excluded by --exclude forget.*"


def test_a_command_that_is_not_given_excludes_its_check() -> None:
    restart = a_check("operational.x", "--restart-cmd")
    assert Settings().excludes(restart) == "needs --restart-cmd"
    assert Settings(restart_cmd="true").excludes(restart) is None


def test_a_given_command_brings_its_checks_into_any_profile() -> None:
    core = {check.id for check in Settings(profile="core").checks()}
    more = {check.id for check in Settings(profile="core", restart_cmd="true").checks()}
    assert "operational.survives-a-restart" in more - core
    assert "operational.backfill-twice" not in more


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "all"}, "there is no profile all"),
        ({"timeout": 0}, "timeout"),
        ({"parallel": 0}, "at least 1"),
        ({"store_down_cmd": "true"}, "must be given together"),
        ({"only": ("forge",)}, "no check matches 'forge'"),
        ({"exclude": ("nothing.*",)}, r"no check matches 'nothing\.\*'"),
    ],
)
def test_invalid_settings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Settings(**options)  # type: ignore[arg-type]

"""What is certain about a plugin's clock."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from harness.clock import PluginClock
from harness.exchange import Exchange, Request

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def an_exchange(sent: float, received: float) -> Exchange:
    request = Request("POST", "/v1/search", b"{}")
    return Exchange(request, NOON, sent, received, 200, httpx.Headers(), b"")


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@pytest.mark.parametrize("skew", [0.0, -3600.0, 86400.0])
def test_a_read_is_before_or_after_only_if_that_is_certain(skew: float) -> None:
    # Local time 100 is noon for the plugin, whatever our own clock says.
    clock = PluginClock(an_exchange(100 - 0.1, 100 + 0.1), after(skew + 0.000_001))
    moment = after(skew + 10)
    early, unsure, late = (
        clock.saw(an_exchange(sent, sent + 0.05)) for sent in (109.5, 109.95, 110.4)
    )
    assert (early.was_before(moment), early.was_after(moment)) == (True, False)
    assert (unsure.was_before(moment), unsure.was_after(moment)) == (False, False)
    assert (late.was_before(moment), late.was_after(moment)) == (False, True)


def test_a_clock_with_whole_seconds_is_a_second_less_certain() -> None:
    exact = PluginClock(an_exchange(100, 100), after(0.5))
    coarse = PluginClock(an_exchange(100, 100), after(0))
    look = an_exchange(109.2, 109.2)
    assert exact.saw(look).was_before(after(10))
    assert not coarse.saw(look).was_before(after(10))


def test_the_longer_ago_a_clock_was_read_the_less_certain_it_is() -> None:
    clock = PluginClock(an_exchange(100, 100), after(0.000_001))
    assert clock.saw(an_exchange(109.8, 109.8)).was_before(after(10))
    assert not clock.saw(an_exchange(199.8, 199.8)).was_before(after(100))


def test_a_clock_that_was_set_disagrees_with_itself() -> None:
    clock = PluginClock(an_exchange(100, 100.1), after(0.000_001))
    assert clock.agrees_with(PluginClock(an_exchange(110, 110.1), after(10.05)))
    assert not clock.agrees_with(PluginClock(an_exchange(110, 110.1), after(11)))

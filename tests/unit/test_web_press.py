"""What counts as a person's press."""

from __future__ import annotations

import pytest

from adapters.web.press import BY_HAND, TICKED, Signs, pressed

CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Safari/537.36"
)
HEADLESS = CHROME.replace("Chrome/", "HeadlessChrome/")
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
)
IPHONE_CHROME = SAFARI.replace("Version/18.5", "CriOS/140.0")
IPHONE_FIREFOX = SAFARI.replace("Version/18.5", "FxiOS/140.0")
SAME, NAVIGATE = ["same-origin"], ["navigate"]


@pytest.mark.parametrize("agent", [CHROME, HEADLESS, FIREFOX])
@pytest.mark.parametrize("mark", [BY_HAND, TICKED])
def test_browsers_that_tell_have_to(agent: str, mark: str) -> None:
    assert pressed(Signs(agent, SAME, NAVIGATE, ["?1"]), mark)
    assert not pressed(Signs(agent, SAME, NAVIGATE), mark)
    # Where a proxy took those headers away, the form's own mark is all there is.
    assert pressed(Signs(agent), mark)


@pytest.mark.parametrize("agent", [SAFARI, IPHONE_CHROME, IPHONE_FIREFOX, "", "curl/8"])
@pytest.mark.parametrize("mark", [BY_HAND, TICKED])
def test_browsers_that_don_t_tell_are_taken_by_the_mark(agent: str, mark: str) -> None:
    assert pressed(Signs(agent, SAME, NAVIGATE), mark)


@pytest.mark.parametrize("agent", [CHROME, FIREFOX, SAFARI, ""])
@pytest.mark.parametrize("mark", ["", "yes", "Hand", "ticked "])
def test_without_the_mark_nothing_counts(agent: str, mark: str) -> None:
    assert not pressed(Signs(agent, SAME, NAVIGATE, ["?1"]), mark)


@pytest.mark.parametrize(
    ("mode", "user"), [(["cors"], ["?1"]), (NAVIGATE, ["?0"]), (NAVIGATE, ["?1", "?1"])]
)
def test_what_no_browser_sends_with_a_press(mode: list[str], user: list[str]) -> None:
    assert not pressed(Signs(CHROME, SAME, mode, user), BY_HAND)

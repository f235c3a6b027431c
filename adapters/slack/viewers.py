"""How somebody likes to be spoken to in Slack: their language and time zone, from users.info.

Cached for hours: a language decides nothing. External people have none that we may see.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from adapters.languages.catalogue import Words, closest, words_of
from adapters.slack.client import SlackClient
from adapters.slack.failures import SlackFailed
from adapters.views import Person

_KEPT: Final = 10_000
_SECONDS: Final = 6 * 3600.0
_AGAIN: Final = 60.0  # after Slack could not say
_SOON: Final = 5.0  # after it did not say in time
_PATIENCE: Final = 0.5  # of the three seconds that Slack waits; twice as much goes to who they are


@dataclass(frozen=True, slots=True)
class Viewer:
    """`locale` is a tag such as `de-DE`, `zone` an IANA name; both empty where Slack can't say."""

    locale: str = ""
    zone: str = ""
    name: str = ""


class Viewers:
    """Of one workspace. `default` is the locale of everything that isn't for one person alone."""

    def __init__(
        self,
        client: SlackClient,
        default: str = "en",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._default = default
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, Viewer]] = OrderedDict()

    async def locale(self, user: str) -> str:
        """The language to speak to them in. Never raises, and waits half a second at the most."""
        return closest((await self._soon(user)).locale) or self._default

    def known(self, user: str) -> Words:
        """The words for somebody as far as is known already: nothing is asked, for a click can't wait."""
        known = self._known.get(user)
        return words_of(closest(known[1].locale if known else "") or self._default)

    async def words(self, user: str) -> Words:
        """The words for somebody. Never raises, and waits half a second at the most."""
        return words_of(await self.locale(user))

    async def name(self, user: str) -> str:
        """What they are called, or "". Never raises, and waits half a second at the most."""
        return (await self._soon(user)).name

    async def person(self, person: Person) -> Person:
        """The same person with their language and zone, for what is drawn for them alone."""
        viewer = await self._soon(person.id.rpartition("/")[2])
        return replace(person, locale=viewer.locale, zone=viewer.zone)

    async def of(self, user: str) -> Viewer:
        """What Slack says of them; an empty one when it can't. Never raises."""
        known = self._known.get(user)
        if known is not None and known[0] > self._clock():
            return known[1]
        try:
            arguments = {"user": user, "include_locale": "true"}
            answer = await self._client.look("users.info", arguments)
            viewer, seconds = _viewer(answer.get("user")), _SECONDS
        except SlackFailed:
            viewer, seconds = known[1] if known else Viewer(), _AGAIN
        return self._keep(user, viewer, seconds)

    async def _soon(self, user: str) -> Viewer:
        """The same in time. Whoever asks again at once does not wait again."""
        try:
            return await asyncio.wait_for(self.of(user), _PATIENCE)
        except TimeoutError:
            known = self._known.get(user)
            return self._keep(user, known[1] if known else Viewer(), _SOON)

    def _keep(self, user: str, viewer: Viewer, seconds: float) -> Viewer:
        self._known[user] = self._clock() + seconds, viewer
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return viewer


def _viewer(user: Any) -> Viewer:
    if not isinstance(user, dict):
        return Viewer()
    profile = user.get("profile")
    named = profile if isinstance(profile, dict) else {}
    name = named.get("display_name") or named.get("real_name") or user.get("name") or ""
    return Viewer(str(user.get("locale") or ""), str(user.get("tz") or ""), str(name))

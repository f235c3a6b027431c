"""Whose language a page speaks: the directory's, else the browser's, else the settings'."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from adapters.views import Person, Reader
from config.people import Person as Entry
from gateway.people import People
from tests.integration.conftest import Api, approval

PEOPLE = (
    {
        "id": "ada",
        "name": "Ada",
        "email": ["ada@example.com"],
        "locale": "de",
        "timezone": "Europe/Berlin",
    },
    {"id": "bob", "name": "Bob", "email": ["bob@example.com"]},
)
PRESS = {
    "Origin": "null",
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-User": "?1",
}


async def link(api: Api, address: str, **data: object) -> str:
    payload = approval(approversList=["ada", "bob"], **data) | {"timeoutMs": 3_600_000}
    record = await api.ask(await api.run(), payload)
    return await api.gateway.links.make(record["interruptId"], Person("email", address))


async def page(api: Api, url: str, spoken: str = "") -> str:
    headers = {"Accept-Language": spoken} if spoken else {}
    async with api.session.get(url, headers=headers) as response:
        return await response.text()


async def test_the_directory_goes_first(start: Callable[..., Awaitable[Api]]) -> None:
    api = await start(people=PEOPLE, locale="fr", timezone="Europe/Paris")
    text = await page(api, await link(api, "ada@example.com"), "es")
    assert '<html lang="de"' in text
    for said in (
        "Genehmigen",
        "Ablehnen",
        "Wartet auf eine Antwort",
        "Antworten Sie bis",
        "Uhr CE",
    ):
        assert said in text
    # Nothing is known of Bob but his browser; without it, what the settings say.
    for spoken, said in (("ja,en;q=0.5", "承認する"), ("xx", "Approuver"), ("", "Approuver")):
        assert said in await page(api, await link(api, "bob@example.com"), spoken)


async def test_an_answer_and_its_refusal_are_in_ones_language(
    start: Callable[..., Awaitable[Api]],
) -> None:
    api = await start(people=PEOPLE)
    url = await link(api, "ada@example.com", requiredApprovals=2)
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:

        async def press(action: str) -> str:
            async with browser.get(url) as response:
                found = re.search(r'name="nonce" value="([^"]+)"', await response.text())
            assert found is not None
            data = {"nonce": found[1], "action": action, "press": "hand"}
            async with browser.post(url, data=data, headers=PRESS) as response:
                return await response.text()

        assert "Ihre Stimme zählt. 1 von 2 Genehmigungen: Ada." in await press("accept")
        lost = await page(api, api.gateway.url + "/a/nobody", "fr-CH")
        assert "Ce lien ne fonctionne pas" in lost
        assert '<html lang="fr"' in lost


@pytest.mark.parametrize(
    ("person", "reader"),
    [
        (None, Reader("es", "UTC")),
        (Person("email", "Ada@Example.com"), Reader("de", "Europe/Berlin")),
        (Person("principal", "ada"), Reader("de", "Europe/Berlin")),
        (Person("slack", "T1/U1", locale="ja-JP", zone="Asia/Tokyo"), Reader("ja", "Asia/Tokyo")),
        (Person("slack", "T1/U1", locale="zz"), Reader("es", "UTC")),
        (Person("web", "ada"), Reader("es", "UTC")),
    ],
)
def test_how_a_person_is_spoken_to(person: Person | None, reader: Reader) -> None:
    people = People([Entry.model_validate(one) for one in PEOPLE], Reader("es", "UTC"))
    assert people.reader(person) == reader


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"locale": "xx"}, "locale"),
        ({"people": [{"id": "a", "locale": "xx"}]}, r"people\.a\.locale"),
        ({"timezone": "Berlin"}, "time zone"),
        ({"people": [{"id": "a", "timezone": "../etc"}]}, "time zone"),
    ],
)
async def test_a_language_or_zone_that_there_is_not(
    start: Callable[..., Awaitable[Api]], settings: dict[str, object], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        await start(**settings)

"""Tokens that expire, on a real store and the fake Slack: one exchange, whoever comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.client import SlackClient
from adapters.slack.failures import SlackFailed
from adapters.slack.install import Exchange
from adapters.slack.installations import KIND, Installation, Installations, granted
from adapters.slack.rotation import AHEAD_MS, LEASE_KIND, Rotation
from adapters.slack.settings import SlackSettings
from host.sealing import Sealer
from host.store.sqlite.store import SqliteStore
from tests.fakes.slack import FakeSlack, Fault
from tests.fakes.slack_people import LIFETIME, Grant

START = 1_800_000_000_000


@dataclass
class Vault:
    """One installation with a token that rotates, and a clock that the test moves."""

    slack: FakeSlack
    installations: Installations
    exchange: Exchange
    now: int = START

    def later(self, ms: int) -> None:
        self.now += ms

    def refreshed(self) -> list[str]:
        calls = self.slack.called("oauth.v2.access")
        return [c.error for c in calls if c.args.get("grant_type") == "refresh_token"]


@pytest.fixture
async def vault(tmp_path: Path) -> AsyncIterator[Vault]:
    async with FakeSlack() as slack:
        registry = slack.server.registry
        registry.rotation = True
        store = SqliteStore(tmp_path / "sayso.db")
        await store.start()
        settings = SlackSettings(
            signing_secrets=("s" * 32,),
            api_url=slack.api_url,
            client_id=registry.client_id,
            client_secret=registry.client_secret,
        )
        client = SlackClient(settings)
        await client.open()
        made: Vault
        sealer = Sealer(["k" * 32])
        exchange = Exchange(settings, client)
        made = Vault(slack, Installations(store.documents, sealer, lambda: made.now), exchange)
        yield made
        await client.close()
        await store.stop()


async def installed(vault: Vault) -> Installation:
    vault.slack.server.registry.codes["c"] = Grant(vault.slack.space, redirect_uri="r")
    answer = await vault.exchange({"code": "c", "redirect_uri": "r"})
    return await vault.installations.save(granted(answer, vault.now))


async def test_a_token_is_exchanged_two_hours_before_its_end(vault: Vault) -> None:
    first, rotation = await installed(vault), Rotation(vault.installations, vault.exchange)
    assert first.token.startswith("xoxe.xoxb-")
    assert first.expires_at == START + LIFETIME * 1000
    vault.later(LIFETIME * 1000 - AHEAD_MS)
    assert await rotation.fresh(first) == first
    vault.later(1)
    second = await rotation.fresh(first)
    assert second.token != first.token
    assert second.expires_at == vault.now + LIFETIME * 1000
    assert await vault.installations.get("T0TEAM") == second
    assert vault.refreshed() == [""]


async def test_of_many_gateways_one_exchanges(vault: Vault) -> None:
    first = await installed(vault)
    vault.later(LIFETIME * 1000 - 1)
    gateways = [Rotation(vault.installations, vault.exchange) for _ in range(20)]
    found = await asyncio.gather(*(one.fresh(first) for one in gateways))
    assert vault.refreshed() == [""]
    (latest,) = await vault.installations.all()
    assert {one.token for one in found} <= {first.token, latest.token}
    assert [await one.fresh(first) for one in gateways] == [latest] * 20
    assert vault.refreshed() == [""]


async def test_the_loser_of_a_race_takes_what_the_winner_wrote(vault: Vault) -> None:
    """Its lease ran out while Slack took its time, and another gateway was faster."""
    first = await installed(vault)
    vault.later(LIFETIME * 1000 - 1)
    winner = Rotation(vault.installations, vault.exchange)
    won: list[Installation] = []

    async def slow(arguments: dict[str, str]) -> dict[str, Any]:
        vault.later(61_000)
        won.append(await winner.fresh(first))
        return await vault.exchange(arguments)

    found = await Rotation(vault.installations, slow).fresh(first)
    assert found == won[0] == await vault.installations.get("T0TEAM")
    assert sorted(vault.refreshed()) == ["", "invalid_refresh_token"]


async def test_what_was_installed_anew_meanwhile_stays(vault: Vault) -> None:
    first = await installed(vault)
    vault.later(LIFETIME * 1000 - 1)
    anew: list[Installation] = []

    async def slow(arguments: dict[str, str]) -> dict[str, Any]:
        answer = await vault.exchange(arguments)
        anew.append(await installed(vault))
        return answer

    assert await Rotation(vault.installations, slow).fresh(first) == anew[0]
    assert await vault.installations.get("T0TEAM") == anew[0]


@pytest.mark.parametrize(
    "fault",
    [Fault(status=500), Fault(drop="before"), Fault(status=429), Fault(error="fatal_error")],
)
async def test_while_slack_is_away_the_old_token_serves_and_it_tries_again(
    vault: Vault, fault: Fault
) -> None:
    first, rotation = await installed(vault), Rotation(vault.installations, vault.exchange)
    vault.later(LIFETIME * 1000 - AHEAD_MS + 1)
    vault.slack.faults["oauth.v2.access"] = fault
    assert await rotation.fresh(first) == first
    now = vault.installations.clock()
    assert await vault.installations.documents.get(LEASE_KIND, "T0TEAM", now) is None
    assert (await rotation.fresh(first)).token != first.token


async def test_a_wrong_client_secret_is_told_and_nothing_is_lost(
    vault: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    first = await installed(vault)
    vault.later(LIFETIME * 1000 - 1)
    vault.slack.server.registry.client_secret = "another"
    assert await Rotation(vault.installations, vault.exchange).fresh(first) == first
    assert "was not refreshed" in caplog.text
    assert "bad_client_secret" in caplog.text
    assert first.refresh_token not in caplog.text
    assert first.token not in repr(first)


async def test_a_new_encryption_key_takes_over(vault: Vault) -> None:
    first = await installed(vault)
    documents, clock = vault.installations.documents, vault.installations.clock
    both = Installations(documents, Sealer(["n" * 32, "k" * 32]), clock)
    assert await both.reseal() == 1
    assert await both.reseal() == 0
    new = Installations(documents, Sealer(["n" * 32]), clock)
    (found,) = await new.all()
    assert (found.token, found.version) == (first.token, first.version + 1)
    assert await vault.installations.get("T0TEAM") is None  # the old key alone opens it no more


async def test_a_sealed_token_moved_to_another_workspace_opens_nothing(vault: Vault) -> None:
    await installed(vault)
    documents = vault.installations.documents
    kept = await documents.get(KIND, "T0TEAM", vault.now)
    assert kept is not None
    await documents.put(KIND, "T0EVIL", {**kept.value, "team": "T0EVIL"}, vault.now)
    assert await vault.installations.get("T0EVIL") is None
    assert [one.key for one in await vault.installations.all()] == ["T0TEAM"]


async def test_a_write_on_an_old_version_is_refused(vault: Vault) -> None:
    first = await installed(vault)
    second = await vault.installations.swap(replace(first, name="Other"))
    assert second is not None
    assert await vault.installations.swap(replace(first, name="Late")) is None
    assert not await vault.installations.remove(first)
    assert await vault.installations.remove(second)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"access_token": "xoxp-1", "token_type": "user", "team": {"id": "T1"}},
        {"access_token": "xoxb-1", "token_type": "bot", "team": None},
        {"access_token": "xoxb-1", "token_type": "bot", "is_enterprise_install": True, "team": {}},
    ],
)
def test_what_grants_no_bot_is_no_installation(answer: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no bot"):
        granted(answer, START)


async def test_a_used_code_is_refused_by_slack(vault: Vault) -> None:
    await installed(vault)
    with pytest.raises(SlackFailed, match="code_already_used"):
        await vault.exchange({"code": "c", "redirect_uri": "r"})

"""The mail channel over each provider's API, against strict doubles of them on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from adapters.channel import Delivery, DeliveryFailed, NotYet
from adapters.email.app import EmailChannel
from adapters.email.settings import EmailSettings, MailgunAccount, PostmarkAccount, SesAccount
from adapters.views import Action, Card, Reader
from tests.fakes.mail_providers import (
    ACCESS_KEY,
    DOMAIN,
    MAILGUN_KEY,
    SECRET_KEY,
    SERVER_TOKEN,
    Providers,
)

FROM = f"Sayso <sayso@{DOMAIN}>"
CARD = Card(
    interrupt_id="intr-1",
    kind="approval",
    state="open",
    version=1,
    title="Rückzahlung 4411 für Jürgen – 4.000 €",
    body="Doppelt berechnet.",
    actions=(Action("accept", "Genehmigen"), Action("reject", "Ablehnen", needs="reason")),
    reference="A1B2C3D4",
    reader=Reader("de", "Europe/Berlin"),
)
ASK = Delivery("ada@example.com", CARD, link="https://sayso.example.com/a/" + "h" * 120)
NAMES = ["ses", "postmark", "mailgun"]


@pytest.fixture
async def providers() -> AsyncIterator[Providers]:
    async with Providers() as found:
        yield found


def account(name: str, url: str, **changed: Any) -> Any:
    made: dict[str, Any] = {
        "ses": SesAccount("eu-central-1", ACCESS_KEY, SECRET_KEY, api_url=url),
        "postmark": PostmarkAccount(SERVER_TOKEN, api_url=url),
        "mailgun": MailgunAccount(DOMAIN, MAILGUN_KEY, api_url=url),
    }
    return replace(made[name], **changed)


def channel(name: str, providers: Providers, **changed: Any) -> EmailChannel:
    by = {name: account(name, providers.url, **changed)}
    return EmailChannel(EmailSettings(from_address=FROM, timeout=5, **by))


@pytest.mark.parametrize("name", NAMES)
async def test_a_mail_arrives_whole_and_threads(providers: Providers, name: str) -> None:
    email = channel(name, providers)
    asked = await email.show(ASK)
    done = replace(CARD, state="resolved", version=2, outcome="Genehmigt von Ada")
    await email.show(replace(ASK, card=done, ref=asked.ref))
    await email.stop()
    assert providers.complaints == []
    first, second = (taken.mail for taken in providers.taken)
    assert [taken.to for taken in providers.taken] == ["ada@example.com"] * 2
    assert first["Subject"] == "Rückzahlung 4411 für Jürgen – 4.000 € [A1B2C3D4]"
    assert second["Subject"] == f"Re: {first['Subject']}"
    # The id that the recipient has is the one that is answered to, whoever wrote it.
    assert asked.ref["messageId"] == first["Message-ID"]
    assert second["In-Reply-To"] == first["Message-ID"]
    root = first["References"]
    assert second["References"].split() == [root, first["Message-ID"]]
    assert first["Auto-Submitted"] == "auto-generated"
    assert first["X-Auto-Response-Suppress"] == "OOF, AutoReply"
    assert first["Content-Language"] == "de"
    plain, html = first.get_body(("plain",)), first.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert ASK.link in plain.get_content()
    assert f'href="{ASK.link}"' in html.get_content()


async def test_no_provider_tracks_what_people_open(providers: Providers) -> None:
    for name in ("postmark", "mailgun"):
        email = channel(name, providers)
        await email.show(ASK)
        await email.stop()
    postmark, mailgun = (taken.request for taken in providers.taken)
    assert postmark["TrackOpens"] is False
    assert postmark["TrackLinks"] == "None"
    assert set(mailgun) == {"o:tracking", "o:tracking-clicks", "o:tracking-opens"}
    assert set(mailgun.values()) == {"no"}


@pytest.mark.parametrize(
    ("name", "status", "body", "headers", "permanent"),
    [
        ("ses", 400, {"message": "no"}, {"x-amzn-ErrorType": "MessageRejected"}, True),
        ("ses", 400, {"message": "no"}, {"x-amzn-ErrorType": "SendingPausedException:"}, False),
        ("ses", 400, {"__type": "com.amazonaws.ses#LimitExceededException"}, {}, False),
        ("ses", 403, {"message": "no"}, {"x-amzn-ErrorType": "AccessDeniedException"}, True),
        ("ses", 500, {}, {}, False),
        ("ses", 301, {}, {"Location": "https://elsewhere.example"}, False),
        ("ses", 200, {}, {}, False),
        ("postmark", 422, {"ErrorCode": 300, "Message": "Invalid"}, {}, True),
        ("postmark", 422, {"ErrorCode": 406, "Message": "Inactive"}, {}, True),
        ("postmark", 422, {"ErrorCode": 405, "Message": "Out of credit"}, {}, False),
        ("postmark", 401, {"ErrorCode": 10, "Message": "Bad token"}, {}, True),
        ("postmark", 503, {"ErrorCode": 100, "Message": "Maintenance"}, {}, False),
        ("postmark", 200, ["what"], {}, False),
        ("mailgun", 400, {"message": "to is not a valid address"}, {}, True),
        ("mailgun", 404, {"message": "Domain not found"}, {}, True),
        ("mailgun", 500, {}, {}, False),
        ("mailgun", 408, {}, {}, False),
        ("mailgun", 200, {}, {}, False),
    ],
)
async def test_a_refusal_is_final_or_tried_again(
    providers: Providers,
    name: str,
    status: int,
    body: Any,
    headers: dict[str, str],
    permanent: bool,
) -> None:
    providers.refuse.append((status, body, headers))
    email = channel(name, providers)
    with pytest.raises(DeliveryFailed) as failed:
        await email.show(ASK)
    assert failed.value.permanent is permanent
    assert not isinstance(failed.value, NotYet)
    # What was wrong is over: the same delivery goes out.
    await email.show(ASK)
    await email.stop()
    assert len(providers.taken) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("said", "seconds"), [("17", 17.0), ("", 5.0), ("soon", 5.0)])
async def test_too_many_requests_wait_as_long_as_they_are_told(
    providers: Providers, name: str, said: str, seconds: float
) -> None:
    providers.refuse.append((429, {"ErrorCode": 429}, {"Retry-After": said} if said else {}))
    email = channel(name, providers)
    with pytest.raises(NotYet) as wait:
        await email.show(ASK)
    assert wait.value.seconds == seconds
    await email.stop()


@pytest.mark.parametrize(
    ("name", "changed", "secret"),
    [
        ("ses", {"secret_access_key": "wrong-secret-wrong-secret"}, "wrong-secret"),
        ("postmark", {"server_token": "wrong-token"}, "wrong-token"),
        ("mailgun", {"api_key": "key-wrong"}, "key-wrong"),
    ],
)
async def test_a_wrong_key_is_an_operators_matter_and_stays_secret(
    providers: Providers, name: str, changed: dict[str, str], secret: str
) -> None:
    email = channel(name, providers, **changed)
    with pytest.raises(DeliveryFailed) as failed:
        await email.show(ASK)
    assert failed.value.permanent
    assert secret not in failed.value.reason
    assert secret not in repr(account(name, providers.url, **changed))
    await email.stop()
    assert providers.taken == []


@pytest.mark.parametrize("name", NAMES)
async def test_a_provider_that_is_away_or_silent_is_tried_again(name: str) -> None:
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    by = {name: account(name, url)}
    email = EmailChannel(EmailSettings(from_address=FROM, timeout=0.2, **by))
    with pytest.raises(DeliveryFailed) as late:
        await email.show(ASK)
    silent.close()
    with pytest.raises(DeliveryFailed) as away:
        await email.show(ASK)
    await email.stop()
    assert not late.value.permanent
    assert not away.value.permanent


async def test_few_requests_at_a_time(providers: Providers) -> None:
    email = channel("postmark", providers)
    await asyncio.gather(
        *(email.show(replace(ASK, address=f"p{number}@example.com")) for number in range(20))
    )
    await email.stop()
    assert {taken.to for taken in providers.taken} == {f"p{n}@example.com" for n in range(20)}
    assert providers.busiest <= 2


@pytest.mark.parametrize(
    "url", ["http://mail.example.com", "ftp://127.0.0.1", "https://", "http://10.0.0.1"]
)
def test_a_key_goes_to_https_alone(url: str) -> None:
    for name in NAMES:
        with pytest.raises(ValueError, match="https"):
            account(name, url)


def test_exactly_one_way_out() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        EmailSettings(from_address=FROM)
    with pytest.raises(ValueError, match="exactly one"):
        EmailSettings("smtps://h.example", FROM, postmark=PostmarkAccount("t"))
    for region in ("europe", "eu-central-1.evil.example/", ""):
        with pytest.raises(ValueError, match="region"):
            SesAccount(region, "a", "b")

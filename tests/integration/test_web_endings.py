"""Every way an answer page ends: somebody was first, too late, the wrong person, a broken link."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.channel import Visitor
from adapters.views import Receipt
from schemas.errors import Refusal
from tests.fakes.answer_doors import ADA, APPROVAL, HANDLE
from tests.fakes.answer_site import Site, answer_site


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with answer_site() as made:
        yield made


async def test_somebody_was_first(site: Site) -> None:
    nonce = await site.nonce()
    site.intake.card = replace(
        APPROVAL, state="resolved", outcome="Rejected by Grace", decided_by="Grace", actions=()
    )
    status, html, _ = await site.post({"action": "accept", "nonce": nonce})
    assert status == 409
    assert "Rejected by Grace" in html
    assert site.intake.answers == []


@pytest.mark.parametrize(
    ("state", "get", "post"),
    [("expired", 410, 410), ("cancelled", 200, 409), ("resolved", 200, 409)],
)
async def test_every_ending_has_its_status(site: Site, state: str, get: int, post: int) -> None:
    nonce = await site.nonce()
    site.intake.card = replace(APPROVAL, state=state, outcome="It is over", actions=())  # type: ignore[arg-type]
    status, html = await site.get()
    assert status == get
    assert "It is over" in html
    status, html, _ = await site.post({"action": "accept", "nonce": nonce})
    assert status == post
    assert "It is over" in html


async def test_somebody_was_first_with_the_same_token(site: Site) -> None:
    """A token can answer no more once its request has ended: its other page says how that went."""
    nonce = await site.nonce()
    site.links.visitor = Visitor("intr-1", ADA, HANDLE, may_answer=False)
    site.intake.card = replace(APPROVAL, state="resolved", outcome="Approved by Ada", actions=())
    status, html, _ = await site.post({"action": "accept", "nonce": nonce})
    assert status == 409
    assert "Approved by Ada" in html
    assert "somebody else has to answer" not in html


async def test_a_choice_that_is_no_longer_offered(site: Site) -> None:
    nonce = await site.nonce()
    status, html, _ = await site.post({"action": "refine", "nonce": nonce})
    assert status == 409
    assert "offered any more" in html
    assert site.intake.answers == []


async def test_a_forwarded_view_decides_nothing(site: Site) -> None:
    nonce = await site.nonce()
    site.links.visitor = Visitor("intr-1", ADA, HANDLE, may_answer=False)
    status, html = await site.get()
    assert status == 200
    assert "<form" not in html
    status, html, _ = await site.post({"action": "accept", "nonce": nonce})
    assert status == 403
    assert "somebody else has to answer" in html
    assert site.intake.answers == []


@pytest.mark.parametrize(
    ("code", "status"), [("forbidden", 403), ("rate_limited", 429), ("interrupt_not_found", 404)]
)
async def test_what_the_intake_refuses_has_its_status(site: Site, code: str, status: int) -> None:
    site.intake.refuse = lambda _: Receipt(False, "No.", code)
    press = {"action": "accept", "nonce": await site.nonce()}
    assert (await site.post(press))[0] == status


async def test_broken_and_expired_links(site: Site) -> None:
    for handle in ("nobody", "x" * 2000, "ow2.a.b"):
        status, html = await site.get(handle)
        assert status == 404
        assert "This link doesn&#39;t work" in html
    assert "x" * 2000 not in site.links.opened
    site.links.refusal = Refusal("interrupt_expired", "Over.")
    assert (await site.get())[0] == 410
    site.links.refusal = None
    site.intake.card = None
    assert (await site.get())[0] == 404

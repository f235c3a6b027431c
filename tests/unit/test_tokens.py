"""Token texts: minting, verifying, and every vector against a host in the state that it names."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from gateway.accounts import Accounts
from gateway.people import People
from host.access import Access
from host.decisions.state import Interrupt, NewEvent, OpenWait, Outcome, Policy, Run
from host.host import Host
from host.store.records import Commit
from host.store.sqlite.store import SqliteStore
from host.tokens import TokenRing
from schemas.errors import Refusal
from schemas.ids import from_path_segment, path_segment
from schemas.tokens import TokenClaims

VECTORS = json.loads((Path(__file__).parent.parent / "data" / "token-vectors.json").read_text())
NOW = round(datetime.fromisoformat(VECTORS["now"]).timestamp() * 1000)
CLAIMS = VECTORS["claims"]


def ring() -> TokenRing:
    return TokenRing(VECTORS["secrets"], "k-2026-09", VECTORS["legacySecret"])


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "vectors.db")
    await store.start()
    yield store
    await store.stop()


async def _put(store: SqliteStore, state: str) -> None:
    if state == "no such interrupt":
        return
    run_status = {"cancelled": "cancelled", "completed": "completed"}.get(
        state.rpartition("run ")[2], "waiting-approval"
    )
    resolved = state.startswith("interrupt resolved")
    wait = OpenWait(CLAIMS["interruptId"], CLAIMS["nodeId"], "approval")
    run = Run(CLAIMS["runId"], "sayso.external", run_status, version=1, open=(wait,))
    data = {"artifactId": "a", "artifactType": "t", "title": "T", "actions": ["accept"]}
    interrupt = Interrupt(
        interrupt_id=CLAIMS["interruptId"],
        run_id=CLAIMS["runId"],
        node_id=CLAIMS["nodeId"],
        key="k",
        kind="approval",
        payload={"kind": "approval", "key": "k", "data": data},
        requested_at=NOW,
        status="resolved" if resolved else "open",
        outcome=Outcome(value={"action": "accept"}, at=NOW) if resolved else None,
    )
    event = NewEvent("run.started", {"workflowId": "sayso.external"})
    await store.log.append(Commit(run, 0, (event,), NOW, interrupts=(interrupt,)))


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda v: v["name"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_vector(vector: dict[str, Any], method: str, store: SqliteStore) -> None:
    state = vector["storeState"]
    await _put(store, state)
    host = Host(store, Policy(open_gates="anyone"), lambda: NOW)
    access = Access(host, ring(), Accounts(People([]), Policy()))
    if state.startswith("a v1 interrupt row"):
        await access.adopt_legacy(vector["token"], TokenClaims.model_validate(CLAIMS))
    expected = vector["expect"][method]
    status, code = 200, None
    try:
        if method == "GET":
            interrupt, _ = await access.open(vector["token"])
            assert interrupt.payload["kind"] == "approval"
        else:
            after = await access.resolve(vector["token"], {"action": "accept"})
            assert after.interrupt.status == "resolved"
    except Refusal as refusal:
        status, code = refusal.status, refusal.code
    assert (status, code) == (expected["status"], expected.get("error"))


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda v: v["name"])
def test_no_second_mac_form_is_accepted(vector: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        ring().verify(vector["token"])
    assert refused.value.code == "interrupt_token_invalid"


def test_a_minted_token_has_the_profile_form() -> None:
    claims = TokenClaims.model_validate(CLAIMS)
    assert ring().mint(claims) == VECTORS["vectors"][0]["token"]
    assert ring().verify(VECTORS["vectors"][0]["token"]) == claims


def test_a_principal_is_bound_by_the_mac() -> None:
    claims = TokenClaims.model_validate({**CLAIMS, "principal": "ada"})
    token = ring().mint(claims)
    assert ring().verify(token).principal == "ada"
    prefix, alg, kid, _, mac = token.split(".")
    other = ring().mint(claims.model_copy(update={"principal": "eve"})).split(".")[3]
    with pytest.raises(Refusal):
        ring().verify(".".join((prefix, alg, kid, other, mac)))


@pytest.mark.parametrize(
    ("keys", "current", "says"),
    [
        ({"k.1": "x" * 32}, "k.1", "token key id"),
        ({"legacy": "x" * 32}, "legacy", "token key id"),
        ({"k1": "short"}, "k1", "shorter than 32"),
        ({"k1": "x" * 32}, "k2", "not among"),
    ],
)
def test_a_ring_that_cannot_work_is_refused(keys: dict[str, str], current: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        TokenRing(keys, current)


@pytest.mark.parametrize("case", VECTORS["pathProjection"], ids=lambda c: c["id"])
def test_path_projection(case: dict[str, str]) -> None:
    assert path_segment(case["id"]) == case["pathSegment"]
    assert from_path_segment(case["pathSegment"]) == case["id"]


@pytest.mark.parametrize("segment", ["acme~2fr1", "acme~", "acme~2", "a~GG", "~C3"])
def test_a_broken_path_projection_is_refused(segment: str) -> None:
    with pytest.raises(Refusal) as refused:
        from_path_segment(segment)
    assert refused.value.code == "validation_error"

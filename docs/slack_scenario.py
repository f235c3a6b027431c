"""What the pictures of Slack show beside the one example: every kind of request, and how each can end.

Decided by the real rules at fixed moments, as in `scenario.py`, so the pictures are the same each time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import scenario
from scenario import ASKED

from adapters.cards import card_of
from adapters.views import Card, Reader, Thread
from host import contracts
from host.decisions.ending import cancelled_events, expired_events
from host.decisions.evolve import evolve
from host.decisions.request import Ask, request, start_run
from host.decisions.resolve import Answer, resolve
from host.decisions.state import Interrupt, Policy, Principal, Run, State
from schemas.payloads import check_payload
from schemas.runs import EXTERNAL_WORKFLOW

NAMES = {**scenario.NAMES, "grace": "Grace Okafor"}
_POLICY = Policy()
_AGENT = Principal("billing-agent", "main", name="billing-agent", kind="workload")
_ADA = Principal("ada", "main", name="Ada Lindqvist", groups=frozenset({"finance"}))
_GRACE = Principal("grace", "main", name="Grace Okafor", groups=frozenset({"finance"}))
_ALL = ["accept", "edit-accept", "refine", "ask", "reject"]
_ARTIFACT = {"order": "4711", "amount": "4000.00", "currency": "EUR", "risk": "high"}


@dataclass(slots=True)
class Story:
    """One request and what people did about it."""

    state: State
    now: int

    def says(self, who: Principal, **value: Any) -> Story:
        """An answer. The same story again."""
        self.now += 60_000
        events = resolve(
            self.state, Answer(who, value, "slack"), self.now, _POLICY, contracts.validate
        )
        return self._after(events)

    def answers(self, who: Principal, value: Any) -> Story:
        self.now += 60_000
        events = resolve(
            self.state, Answer(who, value, "slack"), self.now, _POLICY, contracts.validate
        )
        return self._after(events)

    def expires(self) -> Story:
        self.now = self.interrupt.deadline or self.now
        return self._after(expired_events(self.interrupt, self.now))

    def is_cancelled(self) -> Story:
        self.now += 60_000
        reason = "The customer has taken the return back."
        return self._after(
            cancelled_events(self.interrupt, reason, "billing-agent", "billing-agent")
        )

    def _after(self, events: Any) -> Story:
        self.state = evolve(self.state, events, self.now)
        return self

    @property
    def interrupt(self) -> Interrupt:
        return self.state.interrupt

    def card(self, locale: str = "en", link: str = "") -> Card:
        """As it stands now, for somebody of this language in Berlin."""
        found = card_of(self.interrupt, NAMES, link, Reader(locale, "Europe/Berlin"))
        return found if link else replace(found, link="")


def story(
    kind: str, data: dict[str, Any], *, hours: float = 4, key: str = "k", **more: Any
) -> Story:
    """Somebody asks."""
    now = round(ASKED.timestamp() * 1000)
    run = Run("main/01K4W7Q8R2M5", EXTERNAL_WORKFLOW, created_at=now)
    state = evolve(State(run), start_run(run, None), now)
    payload = {
        "kind": kind,
        "key": key,
        "data": data,
        "timeoutMs": round(hours * 3_600_000),
        **more,
    }
    wire = check_payload(payload).wire()
    ask = Ask("main/01K4W7Q8X9T3B6", "refund", wire, ("slack:#finance",), _AGENT, None)
    return Story(evolve(state, request(state, ask, now, _POLICY), now), now)


def approval(**more: Any) -> Story:
    """The refund, with all that may be done about it."""
    data = {
        "artifactId": "4711",
        "artifactType": "order",
        "title": "Refund 4,000.00\N{NO-BREAK SPACE}€ to Acme Ltd",
        "description": "The customer sent the milling machine back within the return period.",
        "artifactData": _ARTIFACT,
        "approverGroupRefs": ["finance"],
        "actions": _ALL,
        **more,
    }
    return story("approval", data)


def quorum() -> Card:
    """Two have to approve; one has, and somebody asked something."""
    asked = approval(requiredApprovals=2)
    asked.says(_GRACE, action="ask", question="Has the warehouse checked the spindle?")
    return asked.says(_GRACE, action="accept").card()


def endings() -> list[Card]:
    """How an approval can end."""
    text = "Wait for the inspection report."
    refined = {
        "scope": "section",
        "sectionPath": "/amount",
        "text": "Less the transport, 180.00 €.",
    }
    edited = {**_ARTIFACT, "amount": "3820.00"}
    return [
        approval().says(_ADA, action="reject", feedback=text).card(),
        approval().says(_ADA, action="refine", refineFeedback=refined).card(),
        approval().says(_ADA, action="edit-accept", editedArtifactData=edited).card(),
        approval().expires().card(),
        approval().is_cancelled().card(),
    ]


def long() -> Card:
    """Arguments that a message can't hold."""
    lines = ", ".join("bolt M12" for _ in range(400))
    return approval(artifactData={"order": "4711", "lines": lines}).card(
        link="https://x.example/a/1"
    )


def short_questions() -> list[Card]:
    """Questions that need no form."""
    asks = (
        (
            "How should the refund be paid?",
            {"enum": ["Bank transfer", "Credit card", "Credit note"]},
        ),
        ("Is the machine complete?", {"type": "boolean"}),
        ("What should the customer read about it?", {"type": "string", "maxLength": 500}),
    )
    found = []
    for text, schema in asks:
        data = {"questions": [{"id": "q", "question": text, "schema": schema}]}
        found.append(story("clarification", data).card())
    return found


def others() -> list[Card]:
    """An external event before and after it came, data of the program's own, an unsure agent."""
    wait = {"eventType": "refund.settled", "correlation": {"refund": "re_4711"}}
    own = {
        "customKind": "label.print",
        "payload": {"printer": "Warehouse 2", "copies": 2, "rush": True},
    }
    unsure = {
        "agentId": "host.triage", "threshold": 0.8, "observed": 0.42,
        "decision": {"queue": "Complaints", "urgent": True},
    }  # fmt: skip
    received = story("external-event", wait).answers(_AGENT, {"status": "settled"})
    return [
        story("external-event", wait).card(),
        received.card(),
        story("custom", own).card(),
        story("low-confidence", unsure).card(),
    ]


def conversation() -> tuple[Card, Thread, Card, Thread]:
    """A turn that was answered, and the next one."""
    first = (
        "The customer wrote **twice** about the return.\n\n- On Monday: the spindle is loose\n- On \
Wednesday: it is not\n\nWhich one should I answer?"
    )
    second = (
        "I would write this:\n\n> Thank you. We have received the machine.\n\nIs that all right?"
    )
    data = {"conversationId": "c-4711", "prompt": first}
    state = _talk(data).answers(_ADA, "The one of Wednesday, and be kind.").card()
    again = _talk({**data, "prompt": second}).card()
    title = "Letters about order 4711"
    return (
        state,
        Thread("c-4711", title, prompt=first),
        again,
        Thread("c-4711", title, prompt=second),
    )


def _talk(data: dict[str, Any]) -> Story:
    now = round(ASKED.timestamp() * 1000)
    run = Run("main/01K4W7Q8R2M5", EXTERNAL_WORKFLOW, created_at=now)
    state = evolve(State(run), start_run(run, None), now)
    start = {"conversationId": data["conversationId"], "title": "Letters about order 4711"}
    for kind, content in (("conversation.start", start), ("conversation.exchange", data)):
        payload = {"kind": kind, "key": kind, "data": content, "timeoutMs": 14_400_000}
        wire = check_payload(payload).wire()
        ask = Ask(f"main/01K4W7Q8{kind[13]}9T3B6", kind, wire, ("slack:#finance",), _AGENT, None)
        state = evolve(
            replace(state, interrupts=()),
            request(replace(state, interrupts=()), ask, now, _POLICY),
            now,
        )
    return Story(state, now)


def waiting() -> list[Card]:
    """What waits for Ada."""
    deploy = approval(
        title="Deploy api 1.4.2 to production", artifactId="api", artifactType="release",
        artifactData={"image": "api:1.4.2"}, requiredApprovals=2,
    )  # fmt: skip
    deploy.says(_GRACE, action="accept")
    return [approval().card(), deploy.card(), short_questions()[0]]


def decided() -> list[Card]:
    """What Ada decided lately."""
    return [endings()[2], endings()[0]]

"""The Slack channel against the strict fake, over signed HTTP and over Socket Mode."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from adapters.channel import Delivery, DeliveryFailed, Response
from adapters.slack.app import SlackChannel
from adapters.slack.settings import SlackSettings
from adapters.views import Action, Card, Choice, Fact, Field, Form, Person, Receipt, Thread
from schemas.errors import Refusal
from tests.fakes.slack import FakeSlack, Fault
from tests.fakes.slack_transport import sign

APPROVAL = Card(
    interrupt_id="int_0123456789abcdef",
    kind="approval",
    state="open",
    version=3,
    title="Deploy <api> to prod?",
    body="Release 1.4 & its migration",
    facts=(Fact("Asked by", "ada"),),
    evidence='{"image": "api:1.4"}',
    actions=(
        Action("accept", "Approve", "primary"),
        Action("refine", "Ask for changes", needs="refinement"),
        Action("reject", "Reject", "danger", needs="reason"),
    ),
    link="https://sayso.example/a/x",
    reference="89abcdef",
)
REASON = Form("Reject", (Field("f0", ("feedback",), "Why?", "longtext", required=True),))
QUESTIONS = Form(
    "Two questions",
    (
        Field(
            "f0",
            ("answers", "region"),
            "Region",
            "choice",
            required=True,
            choices=(Choice("eu-west-1", "Ireland"), Choice("eu-central-1", "Frankfurt")),
        ),
        Field("f1", ("answers", "count"), "How many?", "integer", required=True, minimum=1),
    ),
)
CLARIFICATION = replace(
    APPROVAL,
    kind="clarification",
    title="Two questions",
    actions=(Action("answer", "Answer", "primary", needs="answers"),),
    form=QUESTIONS,
)
TURN = replace(
    APPROVAL,
    interrupt_id="int_turn_1",
    kind="conversation.exchange",
    title="Which one?",
    actions=(),
)


@dataclass
class StubIntake:
    """Records what the channel says, and answers what the test wants."""

    cards: dict[str, Card] = field(default_factory=dict)
    forms: dict[str, Form] = field(default_factory=lambda: {"reject": REASON, "answer": QUESTIONS})
    turns: dict[str, str] = field(default_factory=dict)
    receipts: list[Receipt | Exception] = field(default_factory=list)
    answers: list[Response] = field(default_factory=list)
    away: bool = False

    async def answer(self, response: Response) -> Receipt:
        self.answers.append(response)
        receipt = self.receipts.pop(0) if self.receipts else Receipt(True, "Recorded")
        if isinstance(receipt, Exception):
            raise receipt
        return receipt

    async def look(self, interrupt_id: str, person: Person) -> Card | None:
        if self.away:
            raise Refusal("sayso.unavailable", "The store is away; try again.")
        return self.cards.get(interrupt_id)

    async def turn(self, channel: str, thread_ref: dict[str, Any]) -> str | None:
        assert channel == "slack"
        assert thread_ref.keys() == {"channel", "ts"}
        return self.turns.get(thread_ref["ts"])

    def form(self, card: Card, action: str) -> Form | None:
        return self.forms.get(action)

    async def event(self, source: str, event: Any) -> str:
        raise AssertionError("Slack files no events")


class Seen:
    """Dedupe in memory."""

    def __init__(self) -> None:
        self.keys: set[str] = set()

    async def __call__(self, key: str, ttl: float) -> bool:
        assert ttl > 0
        new = key not in self.keys
        self.keys.add(key)
        return new


@dataclass
class World:
    slack: FakeSlack
    intake: StubIntake
    channel: SlackChannel

    async def show(self, card: Card, **more: Any) -> Any:
        self.intake.cards[card.interrupt_id] = card
        delivery = Delivery(address=more.pop("address", "#ops"), card=card, **more)
        return await self.channel.show(delivery)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    # A proxy that is set on the machine must not stand between: the channel has to see to that.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")


@pytest.fixture(params=["http", "socket"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with FakeSlack() as slack:
        settings = SlackSettings(
            bot_token=slack.bot_token,
            signing_secrets=("the-old-one", slack.signing_secret),
            app_token=slack.app_token if request.param == "socket" else "",
            api_url=slack.api_url,
            socket_check=0.05,
        )
        intake = StubIntake()
        channel = SlackChannel(settings, intake, Seen())
        runner = await serve(channel)
        await channel.start()
        if request.param == "http":
            slack.target = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield World(slack, intake, channel)
        finally:
            await channel.stop()
            await runner.cleanup()


async def serve(channel: SlackChannel) -> web.AppRunner:
    app = web.Application()
    app.add_routes(channel.routes())
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner


# -- clicks ---------------------------------------------------------------------------------------


async def test_a_click_answers_once_and_says_who(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted("C0OPS")
    answer = await world.slack.click(message, "sayso.accept", user="U0ADA", action_ts="7.7")
    assert answer.status == 200
    (response,) = world.intake.answers
    assert response.interrupt_id == APPROVAL.interrupt_id
    assert (response.action, response.version) == ("accept", 3)
    assert response.person == Person("slack", "T0TEAM/U0ADA", "ada")
    # The same act again, as a proxy may repeat it: one effect.
    await world.slack.click(message, "sayso.accept", user="U0ADA", action_ts="7.7")
    assert len(world.intake.answers) == 1
    await world.slack.click(message, "sayso.accept", user="U0BOB")
    assert [r.person.id for r in world.intake.answers] == ["T0TEAM/U0ADA", "T0TEAM/U0BOB"]
    assert len({r.dedupe for r in world.intake.answers}) == 2
    assert world.slack.private == []


async def test_a_refused_click_is_told_to_that_person_alone(world: World) -> None:
    world.intake.receipts = [Receipt(False, "You may not decide <this>.", "forbidden")]
    await world.show(APPROVAL)
    message = await world.slack.posted()
    assert (await world.slack.click(message, "sayso.accept", user="U0BOB")).status == 200
    note = await world.slack.told()
    assert note["user"] == "U0BOB"
    assert note["text"] == "You may not decide &lt;this&gt;."
    assert len(world.slack.messages) == 1


async def test_where_the_bot_is_no_member_the_note_goes_by_response_url(world: World) -> None:
    world.intake.receipts = [Receipt(False, "Too late.", "interrupt_expired")]
    world.slack.faults["chat.postEphemeral"] = Fault(error="not_in_channel")
    await world.show(APPROVAL)
    await world.slack.click(await world.slack.posted(), "sayso.accept")
    note = await world.slack.told()
    assert (note["by"], note["text"], note["response_type"]) == (
        "response_url",
        "Too late.",
        "ephemeral",
    )
    assert note["replace_original"] is False


@pytest.mark.parametrize(
    "failure", [Refusal("sayso.unavailable", "Not now; try again."), RuntimeError("bug")]
)
async def test_no_click_is_left_without_an_answer(world: World, failure: Exception) -> None:
    world.intake.receipts = [failure]
    await world.show(APPROVAL)
    answer = await world.slack.click(await world.slack.posted(), "sayso.accept")
    assert answer.status == 200
    note = await world.slack.told()
    assert "try again" in note["text"]
    assert "bug" not in note["text"]


async def test_an_unknown_button_is_answered_too(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    old = [{"type": "actions", "elements": [dict(message.buttons()[0], action_id="sayso.launch")]}]
    assert (await world.slack.click(message, "sayso.launch", blocks=old)).status == 200
    assert "not known" in (await world.slack.told())["text"]
    assert world.intake.answers == []


async def test_a_link_button_is_acknowledged_and_means_nothing(world: World) -> None:
    await world.show(APPROVAL)
    answer = await world.slack.click(await world.slack.posted(), "sayso.link")
    assert answer.status == 200
    assert (world.intake.answers, world.slack.private) == ([], [])


# -- forms ----------------------------------------------------------------------------------------


async def test_a_reason_is_asked_and_answered(world: World) -> None:
    await world.show(APPROVAL)
    await world.slack.click(await world.slack.posted(), "sayso.reject")
    view = await world.slack.opened()
    assert view.labels() == ["Why?"]
    outcome = await world.slack.submit(view, {"Why?": "no <tests>"})
    assert outcome.closed
    (response,) = world.intake.answers
    assert (response.action, response.value) == ("reject", {"feedback": "no <tests>"})
    assert (response.version, response.person.id) == (3, "T0TEAM/U0ADA")


async def test_one_click_opens_one_form(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    for _ in range(2):
        await world.slack.click(message, "sayso.reject", action_ts="7.7")
    await world.slack.opened()
    assert len(world.slack.views) == 1


async def test_answers_of_a_clarification_keep_their_types(world: World) -> None:
    await world.show(CLARIFICATION)
    await world.slack.click(await world.slack.posted(), "sayso.answer")
    view = await world.slack.opened()
    outcome = await world.slack.submit(view, {"Region": "Frankfurt", "How many?": "3"})
    assert outcome.closed
    assert world.intake.answers[0].value == {"answers": {"region": "eu-central-1", "count": 3}}
    assert world.intake.answers[0].action == "answer"


async def test_errors_stand_beside_their_fields_and_a_second_try_counts(world: World) -> None:
    await world.show(CLARIFICATION)
    await world.slack.click(await world.slack.posted(), "sayso.answer")
    view = await world.slack.opened()
    outcome = await world.slack.submit(view, {"Region": "Ireland", "How many?": "0"})
    assert outcome.errors.keys() == {"How many?"}
    assert world.intake.answers == []
    world.intake.receipts = [Receipt(False, "No.", "validation_error", {"f0": "Not this one."})]
    outcome = await world.slack.submit(view, {"Region": "Ireland", "How many?": "1"})
    assert outcome.errors == {"Region": "Not this one."}
    assert (await world.slack.submit(view, {"Region": "Frankfurt", "How many?": "1"})).closed
    first, second = world.intake.answers
    assert first.dedupe != second.dedupe


async def test_the_same_form_sent_twice_carries_one_key(world: World) -> None:
    world.intake.receipts = [Refusal("sayso.unavailable", "Not now.")]
    await world.show(APPROVAL)
    await world.slack.click(await world.slack.posted(), "sayso.reject")
    view = await world.slack.opened()
    outcome = await world.slack.submit(view, {"Why?": "no"})
    assert outcome.errors == {"Why?": "Not now."}  # the form stays, with what was typed
    assert (await world.slack.submit(view, {"Why?": "no"})).closed
    first, second = world.intake.answers
    assert first.dedupe == second.dedupe


async def test_a_refused_form_becomes_a_sentence_and_keeps_what_was_typed(world: World) -> None:
    world.intake.receipts = [
        Receipt(False, "Bob was faster.", "interrupt_already_resolved"),
    ]
    await world.show(CLARIFICATION)
    await world.slack.click(await world.slack.posted(), "sayso.answer")
    view = await world.slack.opened()
    outcome = await world.slack.submit(view, {"Region": "Frankfurt", "How many?": "3"})
    assert outcome.view is not None
    shown = outcome.view.shown()
    assert "Bob was faster." in shown
    assert "Region: Frankfurt" in shown
    assert "How many?: 3" in shown
    assert outcome.view.labels() == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda w: w.intake.cards.clear(), "does not exist any more"),
        (
            lambda w: w.intake.cards.update(
                {
                    APPROVAL.interrupt_id: replace(
                        APPROVAL, state="resolved", outcome="Approved by bob", actions=()
                    )
                }
            ),
            "Approved by bob",
        ),
        (lambda w: setattr(w.intake, "away", True), "The store is away"),
        (lambda w: w.intake.forms.clear(), "changed"),
        (
            lambda w: w.intake.forms.update(reject=replace(REASON, web_only="It needs a file.")),
            "It needs a file.",
        ),
    ],
)
async def test_a_form_that_cannot_be_asked_says_why(
    world: World, change: Callable[[World], Any], sentence: str
) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    change(world)
    assert (await world.slack.click(message, "sayso.reject")).status == 200
    view = await world.slack.opened()
    assert sentence in view.shown()
    assert "submit" not in view.view


async def test_a_form_whose_question_changed_is_not_taken(world: World) -> None:
    await world.show(APPROVAL)
    await world.slack.click(await world.slack.posted(), "sayso.reject")
    view = await world.slack.opened()
    other = replace(REASON.fields[0], path=("other",))
    world.intake.forms["reject"] = replace(REASON, fields=(other,))
    outcome = await world.slack.submit(view, {"Why?": "no tests"})
    assert outcome.view is not None
    assert "changed" in outcome.view.shown()
    assert "no tests" in outcome.view.shown()
    assert world.intake.answers == []


async def test_a_trigger_that_is_too_old_is_explained(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    assert (await world.slack.click(message, "sayso.reject", trigger_age=4)).status == 200
    assert "press the button again" in (await world.slack.told())["text"]


async def test_the_form_opens_before_anything_slow_is_asked(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    held = asyncio.Event()

    async def slow(interrupt_id: str, person: Person) -> Card | None:
        await held.wait()
        return APPROVAL

    world.intake.look = slow  # type: ignore[method-assign]
    assert (await world.slack.click(message, "sayso.reject")).status == 200
    view = await world.slack.opened(ready=False)
    assert "Loading" in view.shown()
    held.set()
    await world.slack.opened()
    assert view.labels() == ["Why?"]


async def test_closing_a_form_is_not_an_answer(world: World) -> None:
    await world.show(APPROVAL)
    await world.slack.click(await world.slack.posted(), "sayso.reject")
    view = await world.slack.opened()
    assert (await world.slack.close(view)).status == 200
    assert world.intake.answers == []


# -- conversations --------------------------------------------------------------------------------

THREAD = Thread("conv-1", "About the release", prompt="Which one?")


async def test_a_conversation_is_one_thread_and_a_reply_answers(world: World) -> None:
    shown = await world.show(TURN, thread=THREAD)
    root, prompt = shown.thread_ref, shown.ref
    assert world.slack.messages[(prompt["channel"], prompt["ts"])].thread_ts == root["ts"]
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    sent = await world.slack.reply("C0OPS", root["ts"], "the <second> & last", user="U0BOB")
    assert sent.answer.status == 200
    (response,) = world.intake.answers
    assert response.interrupt_id == TURN.interrupt_id
    assert (response.action, response.value) == ("answer", "the <second> & last")
    assert response.person == Person("slack", "T0TEAM/U0BOB", "Bob")
    # The second turn goes into the same thread.
    second = replace(TURN, interrupt_id="int_turn_2")
    again = await world.show(second, thread=replace(THREAD, prompt="And when?"), thread_ref=root)
    assert again.thread_ref is None
    assert world.slack.messages[(again.ref["channel"], again.ref["ts"])].thread_ts == root["ts"]
    assert len(world.slack.called("chat.postMessage")) == 3


async def test_a_redelivered_reply_has_one_effect_and_a_first_copy_may_be_a_retry(
    world: World,
) -> None:
    root = (await world.show(TURN, thread=THREAD)).thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    sent = await world.slack.reply("C0OPS", root["ts"], "one")
    world.intake.turns[root["ts"]] = "int_turn_2"  # the next question waits already
    assert (await world.slack.retry(sent, 1)).status == 200
    for _ in range(3):  # a socket may send the same envelope again as if it were the first
        assert (await world.slack.send(sent.kind, sent.payload)).status == 200
    assert [r.interrupt_id for r in world.intake.answers] == [TURN.interrupt_id]
    ts = world.slack.space.clock.ts()
    event = {**sent.payload["event"], "ts": ts, "event_ts": ts, "text": "two"}
    body = {**sent.payload, "event": event, "event_id": "Ev2"}
    headers = {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
    await world.slack.send("events_api", body, headers)
    assert [r.value for r in world.intake.answers] == ["one", "two"]


async def test_a_reply_that_could_not_be_stored_is_delivered_again(world: World) -> None:
    world.slack.ack_seconds = 0.3
    root = (await world.show(TURN, thread=THREAD)).thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    world.intake.receipts = [Receipt(False, "Not now.", "sayso.unavailable")]
    sent = await world.slack.reply("C0OPS", root["ts"], "keep me")
    assert sent.answer.status in (0, 503)
    assert (await world.slack.retry(sent, 1)).status == 200
    assert [r.value for r in world.intake.answers] == ["keep me", "keep me"]
    assert (await world.slack.retry(sent, 1)).status == 200
    assert world.slack.private == []


async def test_a_mention_in_the_thread_counts_once_without_our_name(world: World) -> None:
    root = (await world.show(TURN, thread=THREAD)).thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    await world.slack.mention("C0OPS", root["ts"], "the second")
    assert [r.value for r in world.intake.answers] == ["the second"]


async def test_what_is_no_reply_of_a_person_is_ignored(world: World) -> None:
    shown = await world.show(TURN, thread=THREAD)
    root = shown.thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    sent = await world.slack.reply("C0OPS", root["ts"], "yes")
    base = sent.payload["event"]
    world.intake.answers.clear()
    for change in (
        {"bot_id": "B0OTHER", "ts": "1.1"},
        {"user": world.slack.space.bot_user, "ts": "1.2"},
        {"subtype": "message_changed", "hidden": True, "ts": "1.3"},
        {"subtype": "message_deleted", "ts": "1.4"},
        {"subtype": "thread_broadcast"},  # the same message, told a second time
        {"thread_ts": "", "ts": "1.5"},
        {"type": "reaction_added", "ts": "1.6"},
        {"text": "   ", "ts": "1.7"},
    ):
        assert (await world.slack.emit({**base, **change})).answer.status == 200
    assert world.intake.answers == []


# -- showing --------------------------------------------------------------------------------------


async def test_the_card_becomes_the_outcome(world: World) -> None:
    ref = (await world.show(APPROVAL)).ref
    message = await world.slack.posted()
    assert [b["text"]["text"] for b in message.buttons()] == [
        "Approve",
        "Ask for changes",
        "Reject",
        "Open on the web",
    ]
    done = replace(
        APPROVAL,
        state="resolved",
        version=4,
        actions=(),
        outcome="Approved",
        decided_by="Ada",
        reason="ship it",
    )
    assert (await world.show(done, ref=ref)).ref == ref
    assert [b["action_id"] for b in message.buttons()] == ["sayso.link"]
    for part in ("Approved", "Decided by Ada", "Reason: ship it", "Deploy <api> to prod?"):
        assert part in message.shown()
    assert "Deploy &lt;api&gt; to prod?" in message.text
    assert len(world.slack.messages) == 1


async def test_the_same_delivery_twice_leaves_one_message(world: World) -> None:
    first = await world.show(APPROVAL)
    assert await world.show(APPROVAL) == first
    assert len(world.slack.messages) == 1


async def test_a_direct_message_keeps_the_id_that_an_update_needs(world: World) -> None:
    shown = await world.show(APPROVAL, address="@U0ADA")
    assert shown.ref["channel"] == "D0ADA"
    await world.show(replace(APPROVAL, version=4), address="@U0ADA", ref=shown.ref)
    assert world.slack.messages[("D0ADA", shown.ref["ts"])].edits == 1


@pytest.mark.parametrize(
    ("fault", "permanent", "retry_after"),
    [
        (Fault(status=429, retry_after=17), False, 17),
        (Fault(status=500), False, None),
        (Fault(drop="before"), False, None),
        (Fault(error="fatal_error"), False, None),
        (Fault(error="channel_not_found"), True, None),
        (Fault(error="invalid_auth"), True, None),
    ],
)
async def test_failures_say_whether_to_try_again(
    world: World, fault: Fault, permanent: bool, retry_after: float | None
) -> None:
    world.slack.faults["chat.postMessage"] = replace(fault)
    with pytest.raises(DeliveryFailed) as failed:
        await world.show(APPROVAL)
    assert (failed.value.permanent, failed.value.retry_after) == (permanent, retry_after)
    assert world.slack.bot_token not in failed.value.reason
    assert len(world.slack.called("chat.postMessage")) == 1  # nothing is repeated behind our back
    await world.show(APPROVAL)
    assert len(world.slack.messages) == 1


async def test_a_refused_card_is_posted_small_once(world: World) -> None:
    world.slack.faults["chat.postMessage"] = Fault(error="invalid_blocks")
    await world.show(APPROVAL)
    message = await world.slack.posted()
    assert "could not show" in message.shown()
    assert [b["url"] for b in message.buttons()] == [APPROVAL.link]


async def test_a_deleted_message_is_posted_again_while_it_matters(world: World) -> None:
    ref = (await world.show(APPROVAL)).ref
    del world.slack.messages[(ref["channel"], ref["ts"])]
    again = (await world.show(APPROVAL, ref=ref)).ref
    assert again != ref
    del world.slack.messages[(again["channel"], again["ts"])]
    done = replace(APPROVAL, state="cancelled", outcome="Cancelled", actions=())
    assert (await world.show(done, ref=again)).ref == again
    assert world.slack.messages == {}


async def test_where_nothing_may_be_edited_the_outcome_is_a_reply(world: World) -> None:
    ref = (await world.show(APPROVAL)).ref
    done = replace(APPROVAL, state="resolved", outcome="Approved by ada", actions=())
    for _ in range(2):
        world.slack.faults["chat.update"] = Fault(error="edit_window_closed")
        assert (await world.show(done, ref=ref)).ref == ref
    replies = [m for m in world.slack.messages.values() if m.thread_ts == ref["ts"]]
    assert len(replies) == 1
    assert "Approved by ada" in replies[0].shown()


# -- one transport alone --------------------------------------------------------------------------


@pytest.mark.parametrize("world", ["http"], indirect=True)
async def test_requests_that_are_not_slacks_are_refused(world: World) -> None:
    url = f"{world.slack.target}/slack/events"
    body = json.dumps({"type": "url_verification", "challenge": "c"}).encode()
    kind = {"Content-Type": "application/json"}
    now = int(time.time())
    good = sign(world.slack.signing_secret, body, now)
    big = b"x" * (2 * 1024 * 1024 + 1)
    cases: list[tuple[bytes, dict[str, str], int]] = [
        (body, good, 200),
        (body, sign("the-old-one", body, now), 200),
        (body, {}, 401),
        (body + b" ", good, 401),
        (body, sign(world.slack.signing_secret, body, now - 400), 401),
        (body, good | {"X-Slack-Request-Timestamp": "soon"}, 401),
        (b"{", sign(world.slack.signing_secret, b"{", now), 400),
        (b"[]", sign(world.slack.signing_secret, b"[]", now), 400),
        (big, sign(world.slack.signing_secret, big, now), 413),
    ]
    async with aiohttp.ClientSession() as session:
        for data, headers, status in cases:
            async with session.post(url, data=data, headers=kind | headers) as response:
                assert response.status == status, (data[:40], await response.text())
                if status == 200:
                    assert (await response.json()) == {"challenge": "c"}
    assert sum(world.channel.refused.values()) == 7


@pytest.mark.parametrize("world", ["socket"], indirect=True)
@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_disconnect_is_followed_by_a_new_socket(world: World, reason: str) -> None:
    await world.show(APPROVAL)
    opened = world.slack.sockets.opened
    await world.slack.sockets.disconnect(reason)
    await world.slack.until(lambda: world.slack.sockets.opened > opened, "a new socket")
    await world.slack.until(lambda: len(world.slack.sockets.open) == 1, "one socket")
    answer = await world.slack.click(await world.slack.posted(), "sayso.accept")
    assert answer.status == 200
    assert len(world.intake.answers) == 1


@pytest.mark.parametrize("world", ["socket"], indirect=True)
async def test_a_dead_socket_is_replaced(world: World) -> None:
    opened = world.slack.sockets.opened
    await world.slack.sockets.close()
    await world.slack.until(lambda: world.slack.sockets.opened > opened, "a new socket")


@pytest.mark.parametrize("world", ["socket"], indirect=True)
async def test_stop_finishes_and_acknowledges_what_it_took(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    taken, go = asyncio.Event(), asyncio.Event()

    async def slow(response: Response) -> Receipt:
        taken.set()
        await go.wait()
        return Receipt(True, "Recorded")

    world.intake.answer = slow  # type: ignore[method-assign]
    click = asyncio.create_task(world.slack.click(message, "sayso.accept"))
    await taken.wait()
    stop = asyncio.create_task(world.channel.stop())
    done, _ = await asyncio.wait({stop}, timeout=0.2)
    assert not done  # it waits for what it took
    go.set()
    assert (await click).status == 200
    await stop


@pytest.mark.parametrize("world", ["socket"], indirect=True)
async def test_a_socket_that_cannot_be_reopened_is_tried_again(world: World) -> None:
    world.slack.faults["apps.connections.open"] = Fault(times=3, error="internal_error")
    opened = world.slack.sockets.opened
    await world.slack.sockets.close()
    await world.slack.until(lambda: world.slack.sockets.opened > opened, "a new socket", 20)
    assert world.slack.faults["apps.connections.open"].times == 0
    await world.show(APPROVAL)
    assert (await world.slack.click(await world.slack.posted(), "sayso.accept")).status == 200


@pytest.mark.parametrize("world", ["socket"], indirect=True)
async def test_a_socket_message_that_is_not_stored_is_not_acknowledged(world: World) -> None:
    world.slack.ack_seconds = 0.3
    root = (await world.show(TURN, thread=THREAD)).thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    world.intake.receipts = [Receipt(False, "Not now.", "sayso.unavailable")]
    assert (await world.slack.reply("C0OPS", root["ts"], "keep me")).answer.status == 0


async def test_a_wrong_token_is_said_at_start() -> None:
    async with FakeSlack() as slack:
        settings = SlackSettings("xoxb-wrong", ("s",), api_url=slack.api_url)
        with pytest.raises(DeliveryFailed, match="SLACK_BOT_TOKEN"):
            await SlackChannel(settings, StubIntake(), Seen()).start()


async def test_slack_being_away_does_not_stop_the_start() -> None:
    async with FakeSlack() as slack:
        slack.faults["auth.test"] = Fault(status=500)
        settings = SlackSettings(slack.bot_token, ("s",), api_url=slack.api_url)
        channel = SlackChannel(settings, StubIntake(), Seen())
        await channel.start()
        shown = await channel.show(Delivery("#ops", APPROVAL))
        assert shown.ref["channel"] == "C0OPS"
        await channel.stop()

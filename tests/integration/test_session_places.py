"""Where a session's thread is, and who may do what in it."""

from __future__ import annotations

from typing import Any

from tests.fakes.session_worker import Worker
from tests.fakes.slack_payloads import message_event
from tests.integration.session_world import BASE, worker
from tests.integration.slack_office import Start
from tests.integration.thread_world import threaded

__all__ = ["worker"]


async def test_whoever_speaks_is_still_no_approver(start: Start, worker: Worker) -> None:
    async with threaded(start, worker, agent={"approvers": ["bob"]}) as world:
        await world.client.say("bob@example.com")
        card = await world.card()
        await world.slack.click(card, "sayso.accept", user="U0ADA")
        assert "Only Bob may answer this." in (await world.slack.told())["text"]
        await world.slack.click(card, "sayso.accept", user="U0BOB")
        await world.post("The tool said: sent")
        await world.write("carol@example.com", user="U0ADA")
        await world.client.interrupted()


async def test_a_program_says_where_a_conversation_has_its_thread(
    start: Start, worker: Worker
) -> None:
    async with threaded(start, worker, agent={"thread": ""}) as world:
        world.slack.space.add_channel("C0HELP", "help")

        async def begin(session: str, **more: Any) -> tuple[int, Any]:
            payload = {"type": "client.message", "message": {"role": "user", "content": "hi"}}
            body = {"agent_id": "bot", "identity": {"id": "user_42"}, "session_id": session}
            path = f"{BASE}/machine/sessions/submit"
            status, answer, _ = await world.api.call(
                "POST", path, {**body, "payload": payload, **more}
            )
            return status, answer

        assert (await begin("s1"))[0] == 202
        assert (await world.client.interrupted())["status"] == "interrupted"
        assert (await begin("s2", thread="slack:#help"))[0] == 202
        root = await world.slack.posted("C0HELP")
        assert "bot: s2" in root.shown()
        assert {m.channel for m in world.slack.messages.values()} == {"C0HELP"}
        for place, said in (
            ("email:ada@example.com", "no channel 'email'"),
            ("web:", "can't have a thread in 'web'"),
            ("slack:#No Channel", "no Slack address"),
        ):
            status, answer = await begin("s3", thread=place)
            assert (status, said in answer["error"]) == (422, True), answer
        status, answer = await world.client.call(
            "POST",
            "/client/sessions/input",
            {
                "session_id": "s4",
                "thread": "slack:#help",
                "input": {
                    "type": "client.message",
                    "agent_id": "bot",
                    "message": {"role": "user", "content": "hi"},
                },
            },
        )
        assert (status, "only a program" in answer["error"]) == (403, True)


async def test_a_question_in_words_is_answered_by_its_button(start: Start, worker: Worker) -> None:
    schema = {"type": "string", "maxLength": 20}
    payload = {"message": "Which subject?", "responseSchema": schema}
    ask = {"type": "interrupt", "reason": "subject", "payload": payload}

    def decide(request: dict[str, Any]) -> Any:
        kind = request["trigger"]["type"]
        if kind == "client.messages":
            return {"messages": request["trigger"]["messages"][-1:], "actions": [ask]}
        if kind == "interrupt.resumed":
            said = request["trigger"]["payload"]["payload"]
            return {"messages": [{"role": "assistant", "content": f"Subject: {said}"}]}
        return {}

    worker.decide = decide
    async with threaded(start, worker) as world:
        await world.client.say("write")
        card = await world.card()
        assert "reply in this thread" not in card.shown()
        await world.write("Hello")
        await world.post("an answer has to come first")
        await world.slack.click(card, "sayso.answer")
        view = await world.slack.opened()
        [label] = view.labels()
        assert (await world.slack.submit(view, {label: "Hello"})).closed
        await world.post("Subject: Hello")


async def test_a_reply_that_is_also_sent_to_the_channel_is_heard(
    start: Start, worker: Worker
) -> None:
    async with threaded(start, worker) as world:
        await world.client.say("bob@example.com")
        await world.slack.click(await world.card(), "sayso.accept")
        await world.post("The tool said: sent")
        root = await world.root()
        event = message_event(
            world.slack.space, root.channel, "7.7", "hi", user="U0ADA", thread_ts=root.ts
        )
        await world.slack.emit({**event, "subtype": "thread_broadcast"})
        await world.client.interrupted()
        assert (await world.said())[-1] == "hi"


async def test_a_thread_in_a_direct_message(start: Start, worker: Worker) -> None:
    async with threaded(start, worker, agent={"thread": "slack:@U0ADA"}) as world:
        world.channel = "D0ADA"
        await world.client.say("bob@example.com")
        await world.slack.click(await world.card(), "sayso.accept")
        await world.post("The tool said: sent")
        await world.write("carol@example.com")
        await world.client.interrupted()
        assert (await world.said())[-1] == "carol@example.com"

"""The fake Slack refuses what Slack refuses: so a test that passes against it means something."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import FakeSlack, Fault

TEXT = {"type": "plain_text", "text": "x"}
VIEW: dict[str, Any] = {
    "type": "modal",
    "title": TEXT,
    "blocks": [{"type": "section", "text": TEXT}],
}


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
def web(slack: FakeSlack, monkeypatch: pytest.MonkeyPatch) -> AsyncWebClient:
    client = AsyncWebClient(slack.bot_token, slack.api_url, retry_handlers=[])
    client.proxy = None
    return client


async def refused(call: Any) -> str:
    with pytest.raises(SlackApiError) as failed:
        await call
    return str(failed.value.response["error"])


async def test_an_update_obeys_slacks_rules(slack: FakeSlack, web: AsyncWebClient) -> None:
    posted = await web.chat_postMessage(channel="U0ADA", text="hi", blocks=VIEW["blocks"])
    assert posted["channel"] == "D0ADA"
    where = {"channel": posted["channel"], "ts": posted["ts"]}
    assert await refused(web.chat_update(channel="U0ADA", ts=posted["ts"], text="x")) == (
        "channel_not_found"
    )
    assert await refused(web.chat_update(**where, text="x" * 4001)) == "msg_too_long"
    wrong = {"channel": posted["channel"], "ts": "1.1"}
    assert await refused(web.chat_update(**wrong, text="x")) == "message_not_found"
    message = slack.messages[("D0ADA", posted["ts"])]
    assert message.blocks
    await web.chat_update(**where, text="only text")
    assert (message.text, message.blocks) == ("only text", [])


async def test_what_is_posted_is_checked(slack: FakeSlack, web: AsyncWebClient) -> None:
    assert await refused(web.chat_postMessage(channel="#nowhere", text="x")) == "channel_not_found"
    assert await refused(web.api_call("chat.postMessage", json={"channel": "#ops"})) == "no_text"
    with pytest.raises(SlackApiError) as failed:
        await web.chat_postMessage(channel="#ops", text="x", blocks=[{"type": "divider", "x": 1}])
    assert failed.value.response["error"] == "invalid_blocks"
    assert "json-pointer:/blocks/0" in failed.value.response["response_metadata"]["messages"][0]
    heavy = [{"type": "section", "text": {**TEXT, "text": "x" * 3000}}] * 5
    assert await refused(web.chat_postMessage(channel="#ops", text="x", blocks=heavy)) == (
        "msg_blocks_too_long"
    )
    assert slack.messages == {}


async def test_a_trigger_is_spent_once_and_lives_three_seconds(
    slack: FakeSlack, web: AsyncWebClient
) -> None:
    trigger = slack.space.trigger("U0ADA")
    opened = await web.views_open(trigger_id=trigger, view=VIEW)
    again = web.views_open(trigger_id=trigger, view=VIEW)
    assert await refused(again) == "exchanged_trigger_id"
    old = slack.space.trigger("U0ADA", age=3.1)
    assert await refused(web.views_open(trigger_id=old, view=VIEW)) == "expired_trigger_id"
    assert await refused(web.views_open(trigger_id="x", view=VIEW)) == "invalid_trigger_id"
    view_id = opened["view"]["id"]
    stale = web.views_update(view_id=view_id, hash="0.0", view=VIEW)
    assert await refused(stale) == "hash_conflict"
    bad = {**VIEW, "title": {**TEXT, "text": "x" * 25}}
    assert await refused(web.views_update(view_id=view_id, view=bad)) == "invalid_arguments"
    await web.views_update(view_id=view_id, hash=opened["view"]["hash"], view=VIEW)
    slack.views[view_id].is_open = False
    assert await refused(web.views_update(view_id=view_id, view=VIEW)) == "not_found"


async def test_faults_happen_as_often_as_told(slack: FakeSlack, web: AsyncWebClient) -> None:
    slack.faults["chat.postMessage"] = Fault(times=2, status=429, retry_after=9)
    for _ in range(2):
        with pytest.raises(SlackApiError) as failed:
            await web.chat_postMessage(channel="#ops", text="x")
        assert failed.value.response.headers["Retry-After"] == "9"
    slack.faults["chat.postMessage"] = Fault(drop="before")
    with pytest.raises(aiohttp.ClientError):
        await web.chat_postMessage(channel="#ops", text="x")
    assert slack.messages == {}
    slack.faults["chat.postMessage"] = Fault(drop="after")
    with pytest.raises(aiohttp.ClientError):
        await web.chat_postMessage(channel="#ops", text="x")
    assert len(slack.messages) == 1
    await web.chat_postMessage(channel="#ops", text="x")
    assert [call.error for call in slack.called("chat.postMessage")][:2] == ["ratelimited"] * 2


async def test_people_tokens_and_methods(slack: FakeSlack, web: AsyncWebClient) -> None:
    assert (await web.auth_test())["bot_id"] == slack.space.bot_id
    found = await web.users_lookupByEmail(email="ada@example.com")
    assert found["user"]["id"] == "U0ADA"
    assert await refused(web.users_lookupByEmail(email="x@example.com")) == "users_not_found"
    slack.space.groups["S1"] = ["U0ADA"]
    assert (await web.usergroups_users_list(usergroup="S1"))["users"] == ["U0ADA"]
    assert await refused(web.conversations_open(users="U0NOBODY")) == "user_not_found"
    web.token = "xoxb-other"
    assert await refused(web.auth_test()) == "invalid_auth"
    assert await refused(web.api_call("chat.shout")) == "unknown_method"

"""A session's question outside of its thread: answered by mail, by the link of a mail, and read on the web.
The numbers are those of docs/dialects/substructure.md."""

from __future__ import annotations

import html
import re
from typing import Any

import aiohttp
import pytest

from schemas.ids import path_segment
from tests.acceptance.browser import Browser
from tests.fakes.session_worker import Worker
from tests.integration.mail_world import Office, Opening, opened
from tests.integration.session_world import SECRET, Client, client_of, worker

__all__ = ["opened", "worker"]


@pytest.fixture
async def asked(opened: Opening, worker: Worker) -> tuple[Office, Client]:
    """Ada was mailed what a session waits for."""
    agent = {
        "url": worker.url,
        "secret": SECRET,
        "notify": ["email:ada@example.com"],
        "approvers": ["ada"],
    }
    office = await opened(
        substructure={"agents": {"bot": agent}}, egress={"allow": [worker.origin]}
    )
    client = await client_of(office.api)
    await client.say("bob@example.com")
    await client.interrupted()
    return office, client


def text_of(mail: Any) -> str:
    return str(mail.get_body(("plain",)).get_content())


def link_in(mail: Any) -> str:
    found = re.search(r"https?://\S+/a/\S+", text_of(mail))
    assert found is not None
    return found[0]


async def test_38_a_mailed_answer_resumes(asked: tuple[Office, Client], worker: Worker) -> None:
    office, client = asked
    mail = await office.mails(1)
    assert "the branch after “bob@example.com” waits" in " ".join(text_of(mail).split())
    said = await office.hand_in(office.reply(mail, "Approve\n"))
    assert said.startswith("2.0.0 Taken")
    session = await client.idle()
    assert session["messages"][-1]["content"] == "The tool said: sent"
    responder = worker.of("interrupt.resumed")[0]["payload"]["responder"]
    assert responder == {"channel": "email", "user": "ada", "label": "Ada"}
    await office.hand_in(office.reply(mail, "Reject\n"))  # a second answer, after the first
    assert len(worker.of("interrupt.resumed")) == 1


async def test_38_the_link_of_a_mail_resumes(asked: tuple[Office, Client], worker: Worker) -> None:
    office, client = asked
    link = link_in(await office.mails(1))
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as http:
        browser = Browser(http, office.api.gateway.url)
        page = await browser.read(link)
        assert (await browser.press(link, {"action": "accept"}, page.nonce))[0] == 303
        session = await client.idle()
        assert session["messages"][-1]["content"] == "The tool said: sent"
        responder = worker.of("interrupt.resumed")[0]["payload"]["responder"]
        assert responder == {"channel": "email", "user": "ada", "label": "Ada"}
        assert (await browser.press(link, {"action": "reject"}, page.nonce))[0] == 409
        assert len(worker.of("interrupt.resumed")) == 1


async def test_the_page_says_what_it_parks_and_when_that_was_left(
    asked: tuple[Office, Client],
) -> None:
    office, client = asked
    link = link_in(await office.mails(1))
    async with aiohttp.ClientSession() as http:
        browser = Browser(http, office.api.gateway.url)

        async def shown() -> str:
            return html.unescape(re.sub(r"\s+", " ", (await browser.read(link)).text))

        page = await shown()
        assert "In the conversation s1, the branch after “bob@example.com” waits for this." in page
        assert re.search(r"Raised after</dt> ?<dd[^>]*>bob@example.com</dd>", page)
        assert "has left this branch" not in page
        await client.view(new="carol@example.com")
        await client.until(lambda s: len(s["interrupts"]) == 2)
        page = await shown()
        assert "The conversation has left this branch." in page
        await client.view("bob@example.com")
        assert (await client.look())["status"] == "idle"  # above the question
        session = await client.look()
        [interrupt] = [i for i in session["interrupts"] if "bob" in i["interrupt_id"]]
        nodes = session["message_tree"]["nodes"]
        asking = next(n["message"] for n in nodes if n["message"]["id"] == interrupt["anchor"])
        messages = [{"id": "bob@example.com", "role": "user"}, asking]
        await client.input("client.messages", messages=messages)
        assert (await client.look())["status"] == "interrupted"
        assert "has left this branch" not in await shown()
        _, page_of, _ = await office.api.call("GET", "/host/sayso/interrupts?status=open")
        assert len(page_of["interrupts"]) == 2
        one = path_segment(page_of["interrupts"][-1]["interruptId"])
        await office.api.call("POST", f"/host/sayso/interrupts/{one}/cancel", {"reason": "no"})
        assert "Raised after" not in await shown()

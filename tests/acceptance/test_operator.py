"""What an operator does on the command line beside a running gateway."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import aiohttp
import pytest

from tests.acceptance.agent import Agent, approval
from tests.acceptance.program import Program, until
from tests.acceptance.test_command_line import free_port

Make = Callable[..., Program]
CONFIG = """
tenant = "acme"
log_level = "debug"
[approvals]
unlisted = "anyone"
"""


async def ran(program: Program) -> tuple[int, list[str]]:
    """Exit code and lines of a command."""
    await program.launch()
    return await program.ended(), program.lines


@pytest.fixture
def make(program: Make) -> Make:
    """Commands on one home with one configuration."""

    def made(*arguments: str, **settings: str) -> Program:
        return program(*arguments, home="shop", config=CONFIG, settings=settings)

    return made


async def started(make: Make) -> Program:
    """`sayso serve` on that home."""
    port = free_port()
    serve = make("serve", SAYSO_HTTP__PORT=str(port))
    await serve.start(f"http://127.0.0.1:{port}")
    return serve


async def test_a_key_is_made_before_the_first_start_and_revoked_while_it_runs(
    make: Make, session: aiohttp.ClientSession
) -> None:
    code, said = await ran(make("serve"))
    assert (code, "sayso api-keys create" in " ".join(said)) == (2, True)
    code, [key] = await ran(make("api-keys", "create", "shop", "--expires", "90d"))
    assert (code, len(key)) == (0, len("sayso_key_") + 43)
    serve = await started(make)
    agent = Agent(serve, session, key)
    run = await agent.run()
    assert run.startswith("acme/")
    code, shown = await ran(make("api-keys", "list"))
    assert (code, any("shop" in line and "active" in line for line in shown)) == (0, True)
    assert key not in "\n".join(shown)
    # A second key works at once, with the scopes that it was given and no others.
    code, [reader] = await ran(make("api-keys", "create", "reader", "--scope", "runs:read"))
    assert code == 0
    status, body = await Agent(serve, session, reader).call(
        "POST", "/runs", {"workflowId": "sayso.external"}
    )
    assert (status, body["details"]) == (403, {"scope": "runs:create"})
    assert (await ran(make("api-keys", "revoke", "shop")))[0] == 0
    status, body = await agent.call("POST", "/runs", {"workflowId": "sayso.external"})
    assert (status, body["error"]) == (401, "unauthenticated")
    assert key not in serve.output
    assert reader not in serve.output


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("create", "a b"), 1, "name: has 1 to 120 characters"),
        (("create", "x", "--scope", "everything"), 1, "scopes: are some of"),
        (("create", "x", "--expires", "soon"), 2, "is not a time like 90d"),
        (("revoke", "nobody"), 1, "The tenant acme has no key nobody"),
    ],
)
async def test_a_wrong_command_says_what_is_wrong(
    make: Make, arguments: tuple[str, ...], code: int, words: str
) -> None:
    found, said = await ran(make("api-keys", *arguments))
    assert (found, words in " ".join(said)) == (code, True)
    assert "Traceback" not in " ".join(said)


async def test_a_name_is_not_given_twice(make: Make) -> None:
    assert (await ran(make("api-keys", "create", "shop")))[0] == 0
    code, said = await ran(make("api-keys", "create", "shop"))
    assert (code, "is taken" in " ".join(said)) == (1, True)


async def test_serve_refuses_a_secret_that_is_none(program: Make) -> None:
    sha = hashlib.sha256(b"changeme").hexdigest()
    config = f"""
    [[api_keys]]
    id = "shop"
    sha256 = "{sha}"
    [hooks.pay]
    provider = "stripe"
    secrets = ["whsec_replace_me_with_the_secret"]
    """
    made = program("serve", config=config)
    code, said = await ran(made)
    text = " ".join(said)
    assert code == 2
    assert "api_keys: the key 'shop' is a placeholder" in text
    assert "hooks.pay.secrets is a placeholder" in text
    assert "replace_me_with" not in text
    assert sha not in text


async def test_events_are_printed_and_followed(make: Make, session: aiohttp.ClientSession) -> None:
    _, [key] = await ran(make("api-keys", "create", "shop"))
    serve = await started(make)
    agent = Agent(serve, session, key)
    run = await agent.run()
    record = await agent.ask(run, approval())
    code, lines = await ran(make("events", "--format", "jsonl"))
    found = [json.loads(line) for line in lines]
    assert code == 0
    assert [e["type"] for e in found][:2] == ["run.started", "interrupt.requested"]
    assert found[1]["record"]["opens"] == record["interruptId"]
    following = make("events", "--follow", "--run", run)
    await following.launch()
    await following.said("interrupt.requested")
    watching = make("events", "--follow", "--run", run, "--url", serve.url, SAYSO_API_KEY=key)
    await watching.launch()
    await watching.said("interrupt.requested")
    status, _ = await agent.resolve(run, "gate", {"action": "accept"})
    assert status == 200
    for one in (following, watching):
        assert run in await one.said("interrupt.resolved")
    assert (await agent.call("POST", f"/runs/{run.replace('/', '~2F')}/cancel", {}))[0] == 200
    assert await watching.ended() == 0  # the run has ended, so nothing more comes
    other = await agent.run()
    code, lines = await ran(make("events", "--run", other, "--format", "jsonl"))
    assert [json.loads(line)["runId"] for line in lines] == [other]
    code, lines = await ran(make("events", "--tenant", "nobody"))
    assert (code, lines) == (0, [])
    code, lines = await ran(make("events", "--run", "not-an-id"))
    assert (code, "whole run id" in lines[0]) == (2, True)


async def test_backup_restore_and_doctor(make: Make, session: aiohttp.ClientSession) -> None:
    _, [key] = await ran(make("api-keys", "create", "shop"))
    serve = await started(make)
    agent = Agent(serve, session, key)
    run = await agent.run()
    record = await agent.ask(run, approval())
    assert (await agent.resolve(run, "gate", {"action": "accept"}))[0] == 200
    code, said = await ran(make("backup", "sayso.tar"))
    assert code == 0, said
    code, said = await ran(make("doctor"))
    text = "\n".join(said)
    assert code == 0, text
    for line in ("ok    database: ", "ok    valkey: ", "ok    clock: ", "is ready"):
        assert line in text, text
    assert key not in text
    code, said = await ran(make("restore", "sayso.tar"))
    assert (code, "is not empty" in " ".join(said)) == (1, True)
    await serve.kill()
    for path in serve.data.rglob("*"):
        if path.is_file() or path.is_socket():
            path.unlink()
    (serve.data / "valkey").rmdir()
    code, said = await ran(make("restore", "sayso.tar"))
    assert code == 0, said
    again = await started(make)
    found = await Agent(again, session, key).look(record)
    assert found["resumeValue"]["action"] == "accept"
    code, said = await ran(make("audit", "verify"))
    assert (code, "whole" in " ".join(said)) == (0, True)


async def test_doctor_tells_a_configuration_that_is_wrong(program: Make) -> None:
    code, said = await ran(program("doctor", config='colour = "red"'))
    assert code == 1
    assert any(line.startswith("fail  The configuration is wrong") for line in said)
    assert any("colour" in line for line in said)


async def test_the_log_has_a_line_a_request_with_its_id(
    make: Make, session: aiohttp.ClientSession
) -> None:
    _, [key] = await ran(make("api-keys", "create", "shop"))
    serve = await started(make)
    headers = {"X-Request-Id": "of-this-test-0001"}
    status, _ = await Agent(serve, session, key).call(
        "POST", "/runs", {"workflowId": "sayso.external"}, headers
    )
    assert status == 201
    line = json.loads(await serve.said("of-this-test-0001"))
    assert (line["method"], line["route"], line["status"]) == ("POST", "/runs", 201)
    assert line["ms"] > 0
    async with session.get(f"{serve.url}/readyz") as response:
        assert response.status == 200
    await until(lambda: any('"/readyz"' in one for one in serve.lines), "its line, at debug")

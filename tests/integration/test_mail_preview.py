"""`sayso mail preview`: any interrupt becomes files, in any language, beside a running gateway."""

from __future__ import annotations

import asyncio
import email
import email.policy
import json
from collections.abc import Awaitable, Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from adapters.languages.catalogue import locales
from gateway.cli.main import app
from tests.integration.conftest import Api, approval

PAYLOADS: dict[str, dict[str, Any]] = {
    "approval": approval(
        actions=["accept", "reject", "refine", "edit-accept", "ask"],
        description="<b>Billed</b> twice.",
        artifactData={"amount": 4411, "urgent": True},
        requiredApprovals=2,
    )
    | {"timeoutMs": 3_600_000},
    "clarification": {
        "kind": "clarification",
        "key": "k",
        "data": {
            "questions": [
                {"id": "a", "question": "Which city?", "schema": {"enum": ["Oslo", "Bergen"]}},
                {"id": "b", "question": "How many?", "schema": {"type": "integer"}},
            ]
        },
    },
    "external-event": {
        "kind": "external-event",
        "key": "k",
        "data": {"eventType": "paid", "correlation": {"order": "7"}},
    },
    "custom": {"kind": "custom", "key": "k", "data": {"customKind": "colour", "payload": [1, 2]}},
    "low-confidence": {
        "kind": "low-confidence",
        "key": "k",
        "data": {
            "agentId": "core.mail.triage",
            "threshold": 0.8,
            "observed": 0.55,
            "decision": "spam",
        },
    },
}


@pytest.fixture
def sayso(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Runs `sayso mail preview`; answers with its exit code and all that it said."""
    monkeypatch.setenv("SAYSO_CONFIG", "")
    config = tmp_path / "sayso.toml"

    def run(what: str, *more: str, settings: str = "") -> tuple[int, str]:
        config.write_text(
            f'tenant = "acme"\ndata_dir = "{tmp_path / "data0"}"\n{settings}\n'
            '[[people]]\nid = "bob"\nemail = ["bob@example.com"]\nlocale = "de"\n'
            'timezone = "Europe/Berlin"\n',
            "utf-8",
        )
        arguments = ["mail", "preview", what, "-c", str(config), "--out", str(tmp_path / "out")]
        result = CliRunner().invoke(app, [*arguments, *more])
        return result.exit_code, result.output

    return run


def written(tmp_path: Path, ending: str) -> bytes:
    (found,) = (tmp_path / "out").glob(f"*.{ending}")
    return found.read_bytes()


@pytest.mark.parametrize("kind", PAYLOADS)
@pytest.mark.parametrize("locale", locales())
def test_every_kind_in_every_language(
    sayso: Callable[..., tuple[int, str]], tmp_path: Path, kind: str, locale: str
) -> None:
    file = tmp_path / "payload.json"
    file.write_text(json.dumps(PAYLOADS[kind]))
    code, said = sayso(str(file), "--locale", locale)
    assert code == 0, said
    mail = email.message_from_bytes(written(tmp_path, "eml"), policy=email.policy.default)
    assert isinstance(mail, EmailMessage)
    assert mail["Content-Language"] == locale
    plain = mail.get_body(("plain",))
    assert plain is not None
    text, html = written(tmp_path, "txt").decode(), written(tmp_path, "html").decode()
    assert plain.get_content().replace("\r\n", "\n").strip() in text
    assert f'<html lang="{locale}"' in html
    assert "https://sayso.example.com/a/preview" in text
    assert len(html) < 60_000
    if locale != "en":
        for english in (
            "Answer",
            "Asked by",
            "Your choices",
            "Sent by",
            "If nobody",
            "Waiting for",
        ):
            assert english not in text.replace("https://sayso.example.com", "")


def test_whom_it_is_for_decides_how_they_are_spoken_to(
    sayso: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    file = tmp_path / "payload.json"
    file.write_text(json.dumps({"payload": PAYLOADS["approval"]}))
    assert sayso(str(file), "--to", "Bob@Example.com")[0] == 0
    text = written(tmp_path, "txt").decode()
    assert "Antworten Sie bis" in text
    assert "Uhr CE" in text  # CET or CEST, whenever this runs
    assert "Antworten auf diese Mail werden nicht gelesen" in text


def test_where_replies_are_read_the_mail_says_how(
    sayso: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    file = tmp_path / "payload.json"
    file.write_text(json.dumps(approval()))
    inbound = '[email.inbound]\naddress = "r.example.com"\npolicy = "decide"'
    assert sayso(str(file), settings=inbound)[0] == 0
    mail = email.message_from_bytes(written(tmp_path, "eml"), policy=email.policy.default)
    assert str(mail["Reply-To"]).endswith("@r.example.com")
    text = written(tmp_path, "txt").decode()
    assert "--- Reply above this line ---" in text
    assert "or “approve”: Approve" in text


async def test_an_interrupt_of_a_running_gateway(
    start: Callable[..., Awaitable[Api]], sayso: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    api = await start()
    record = await api.ask(await api.run(), approval(title="Refund 4411"))
    code, said = await asyncio.to_thread(sayso, record["interruptId"])
    assert code == 0, said
    assert b"Subject: Refund 4411 [" in written(tmp_path, "txt")


@pytest.mark.parametrize(
    ("content", "more", "words"),
    [
        ('{"kind": "approval"}', (), "payload is wrong"),
        ("not json", (), "Cannot read"),
        (json.dumps(approval()), ("--locale", "xx"), "There is no language"),
        (json.dumps(approval()), ("--to", "nobody"), "not one plain mail address"),
    ],
)
def test_what_can_t_be_drawn_is_said(
    sayso: Callable[..., tuple[int, str]],
    tmp_path: Path,
    content: str,
    more: tuple[str, ...],
    words: str,
) -> None:
    file = tmp_path / "payload.json"
    file.write_text(content)
    code, said = sayso(str(file), *more)
    assert code in (1, 2)
    assert words in " ".join(said.split())
    assert not list((tmp_path / "out").glob("*"))


def test_no_such_interrupt(sayso: Callable[..., tuple[int, str]]) -> None:
    code, said = sayso("acme/none")
    assert code == 2
    assert "no interrupt" in " ".join(said.split())

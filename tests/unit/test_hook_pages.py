"""The pages about webhook providers are current, complete, and their samples work."""

from __future__ import annotations

import base64
import importlib
import re
import sys
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from adapters.webhooks.providers import PROVIDERS
from config.hooks import Hook
from config.settings import Settings
from gateway.channels import hook_sources

DOCS = Path(__file__).parents[2] / "docs"


def script() -> ModuleType:
    if str(DOCS) not in sys.path:
        sys.path.insert(0, str(DOCS))
    return importlib.import_module("hook_pages")


def test_the_pages_are_current() -> None:
    made = script().pages()
    there = {path.name: path.read_text("utf-8") for path in (DOCS / "hooks").glob("*.md")}
    assert there == made, "run: python docs/hook_pages.py"


def test_a_provider_without_a_page_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pages = script()
    short = tmp_path / "texts.toml"
    short.write_text(re.sub(r"\[stripe\]", "[strype]", pages.TEXTS.read_text("utf-8")), "utf-8")
    monkeypatch.setattr(pages, "TEXTS", short)
    with pytest.raises(ValueError, match=r"\['stripe', 'strype'\]"):
        pages.texts()


def certificate() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "paypal")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    made = made.not_valid_before(start).not_valid_after(start + timedelta(days=365))
    signed = made.public_key(key.public_key()).sign(key, SHA256())
    return base64.b64encode(signed.public_bytes(Encoding.DER)).decode()


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_sample_of_each_page_is_a_source(name: str) -> None:
    page = (DOCS / "hooks" / f"{name}.md").read_text("utf-8")
    fenced = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert fenced is not None
    hooks = tomllib.loads(fenced[1])["hooks"]
    if name == "paypal":
        hooks[name]["secrets"] = [f"WEBHOOK_ID:{certificate()}"]
    settings = Settings.model_construct(
        hooks={one: Hook(**members) for one, members in hooks.items()}, tenant="main"
    )
    [source] = hook_sources(settings).values()
    assert source.provider == name
    assert source.correlation

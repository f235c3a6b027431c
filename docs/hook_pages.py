"""Writes docs/hooks: an index of the webhook providers, and a page for each.

Names, headers, freshness and ids are read from the providers themselves; where a provider keeps its
settings is said in `hook_pages.toml`. A provider without an entry there is an error.

    python docs/hook_pages.py        # rewrites the folder
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from pathlib import Path
from typing import Any

from adapters.webhooks.providers import PROVIDERS
from adapters.webhooks.providers.provider import FORM, JSON, Provider
from adapters.webhooks.scheme import Scheme

FOLDER = Path(__file__).parent / "hooks"
TEXTS = Path(__file__).parent / "hook_pages.toml"
WIDTH = 118
_KEEP = "\N{NO-BREAK SPACE}"


def texts() -> dict[str, dict[str, Any]]:
    """Raises `ValueError` unless every provider has an entry and every entry a provider."""
    found = tomllib.loads(TEXTS.read_text("utf-8"))
    found.pop("operating")
    if found.keys() != PROVIDERS.keys():
        raise ValueError(f"hook_pages.toml: differs in {sorted(found.keys() ^ PROVIDERS.keys())}")
    return found


def pages() -> dict[str, str]:
    """The text of each file of the folder, by its name."""
    found, operating = texts(), tomllib.loads(TEXTS.read_text("utf-8"))["operating"]
    made = {f"{name}.md": page(name, found[name], PROVIDERS[name]) for name in PROVIDERS}
    rows = [
        f"| [{found[name]['title']}]({name}.md) | `{name}` | {proof(PROVIDERS[name])} | "
        f"{fresh(PROVIDERS[name])} | {named(PROVIDERS[name])} |"
        for name in PROVIDERS
    ]
    head = "| Provider | `provider` | Proof | Freshness | Duplicates told by |\n| - | - | - | - | - |\n"
    index = (
        "# Webhooks in\n\n"
        + wrap(
            "A source in the configuration, `[hooks.<name>]`, is one URL, `/hooks/<name>`, for one provider "
            "and one tenant. What its events say ends the waits of runs: see "
            "[configuration.md](../configuration.md) for all settings. Secrets may come from the "
            "environment: `SAYSO_HOOKS__<NAME>__SECRETS='[\"…\"]'`."
        )
        + f"\n\n{head}"
        + "\n".join(rows)
        + f"\n\n{operating}"
    )
    return {"README.md": index, **made}


def page(name: str, text: dict[str, Any], provider: Provider) -> str:
    """The page of one provider."""
    sample = f'[hooks.{name}]\nprovider = "{name}"\n{text["sample"].strip()}\n'
    facts = [
        f"- Proof: {proof(provider)}.",
        f"- Freshness: {fresh(provider)}.",
        f"- Duplicates are told by: {named(provider)}.",
        f"- Body: {body(provider)}.",
    ]
    if provider.mode:
        facts.append(f"- Live and test: `{provider.mode}`, compared with `mode`.")
    return "\n".join(
        [
            f"# {text['title']}",
            "",
            "Three things to paste:",
            "",
            wrap(f"1. The URL, `https://<your gateway>/hooks/{name}`. {text['url']}", "   "),
            wrap(f"2. The secret, into the configuration. {text['secret']}", "   "),
            wrap(f"3. The events. {text['events']}", "   "),
            "",
            "```toml",
            sample.strip(),
            "```",
            "",
            *(wrap(fact, "  ") for fact in facts),
            "",
            wrap(text["notes"]),
            "",
            "[All providers, and how to operate](README.md)",
            "",
        ]
    )


def proof(provider: Provider) -> str:
    scheme = provider.scheme
    if isinstance(scheme, Scheme):
        over = " over URL and body" if scheme.needs_url else ""
        return f"`{scheme.header}`, HMAC-{scheme.digest.upper()}{over}"
    return {
        "BearerToken": "`Authorization: Bearer`, a token",
        "TwilioSignature": "`X-Twilio-Signature`, HMAC over URL and form",
        "EcdsaSignature": "`X-Twilio-Email-Event-Webhook-Signature`, ECDSA P-256",
        "ItemSignatures": "`additionalData.hmacSignature` of each item, HMAC-SHA256",
        "FormSignature": "`bt_signature` in the form, HMAC-SHA1",
        "Ed25519Signature": "`webhook-signature`, Ed25519",
        "Unsigned": "none: what the notice names is fetched from the provider",
        "PinnedCertificate": "`PAYPAL-TRANSMISSION-SIG`, RSA, certificate pinned",
    }[type(scheme).__name__]


def fresh(provider: Provider) -> str:
    scheme = provider.scheme
    if provider.lookup is not None:
        return "what is fetched is current"
    timed = not isinstance(scheme, Scheme) or scheme.timed or scheme.time_member
    tolerance = getattr(scheme, "tolerance", None)
    if tolerance is None or not timed:
        return "none in the signature"
    return f"{tolerance:g} s either way"


def named(provider: Provider) -> str:
    return f"`{provider.event_id}`" if provider.event_id else "the digest of the event"


def body(provider: Provider) -> str:
    words = {JSON: "JSON", FORM: "a form"}
    return " or ".join(words[one] for one in provider.media)


def wrap(text: str, indent: str = "") -> str:
    """Prose in lines that an editor shows; code in backticks is never broken."""
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", _KEEP), text)
    lines = textwrap.fill(
        whole, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return lines.replace(_KEEP, " ")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, content in pages().items():
        (FOLDER / file).write_text(content, "utf-8")

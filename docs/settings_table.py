"""Writes the tables of `docs/configuration.md` from the settings themselves.

Names, types and defaults are read from `config/`; what a setting does is said here. A setting
without its sentence, and a sentence without its setting, is an error, so the page is never behind.

    python docs/settings_table.py        # rewrites the page between its two markers
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from config.settings import Settings

PAGE = Path(__file__).parent / "configuration.md"
BEGIN, END = "<!-- settings: begin -->", "<!-- settings: end -->"

HEADINGS = {
    "": "The gateway",
    "http": "HTTP",
    "store": "Store",
    "redis": "Redis",
    "slack": "Slack",
    "email": "Mail",
    "email.oauth": "Tokens for the mail server: `[email.oauth]`",
    "email.ses": "Mail by Amazon SES: `[email.ses]`",
    "email.postmark": "Mail by Postmark: `[email.postmark]`",
    "email.mailgun": "Mail by Mailgun: `[email.mailgun]`",
    "email.inbound": "Replies by mail: `[email.inbound]`",
    "email.inbound.oauth": "Tokens for the mailbox: `[email.inbound.oauth]`",
    "approvals": "Who may answer",
    "protocol": "The protocol",
    "egress": "Webhooks out",
    "tokens": "Token keys",
    "hooks.<name>": "Signed webhooks in: `[hooks.<name>]`",
    "contracts.<name>": "Contracts: `[contracts.<name>]`",
    "pickers.<name>": "Pickers: `[pickers.<schema id>]`",
    "capture": "What events hold",
    "kortyx": "The kortyx profile",
    "substructure": "The substructure profile",
    "substructure.agents.<name>": "Its agents: `[substructure.agents.<name>]`",
    "registrations.<name>": "Registered interrupts: `[registrations.<name>]`",
    "symfonic": "The symfonic profile",
    "api_keys[]": "API keys: `[[api_keys]]`",
    "people[]": "People: `[[people]]`",
    "groups.<name>": "Groups: `[groups.<name>]`",
}

MEANING = {
    "data_dir": "The data folder: database, secrets, the embedded Valkey.",
    "tenant": "The tenant of everything that names none: runs, API keys, webhook sources.",
    "notify": "Who is told of a request that says nothing of its own, as `channel:address`. In the "
    "environment separated by commas.",
    "fallback": "Where an open question goes when none of its own addresses can be reached any more "
    "(channel archived, bot removed, token revoked): the first of these, then the next.",
    "locale": "The language of everybody of whom none is known: `en`, `de`, `fr`, `es` or `ja`.",
    "timezone": "The time zone of everybody of whom none is known, like `Europe/Berlin`.",
    "encryption_keys": "What seals the tokens of Slack installations, 32 characters or more each: the first "
    "one seals, all of them open. Unset: made from `secrets.json`. In the environment separated by commas.",
    "relaxations": "Obligations relaxed for a test stage, each with its reason; `sayso certify` lists "
    "them. `approver-lists`: anybody may answer.",
    "workflows": "A folder of workflow definitions, one JSON file each: see [workflows.md](workflows.md).",
    "conformance_seed": "Fixture workflows and test seams for the protocol's conformance suite. "
    "Refuses to start beside anything that looks like production.",
    "log_level": "`debug`, `info`, `warning` or `error`.",
    "http.host": "The address to listen on. `0.0.0.0` for all of IPv4, `::` for IPv6.",
    "http.port": "The port; 0 takes any free one and prints it.",
    "http.public_url": "The address at which people reach the gateway; answer links begin with it. https, "
    "or http on loopback. Unset: the address listened on.",
    "http.max_body_bytes": "The largest request body of the API.",
    "store.url": "A PostgreSQL database (`postgresql://…`) for several gateways; without it, one "
    "SQLite file in the data folder.",
    "store.keep_days": "Runs that are over, and have not changed for so many days, are removed with their "
    "log. The audit trail stays. Unset: nothing is.",
    "store.keep_key_hours": "How long the answer to an idempotency key is kept, and a client's run key "
    "names its run.",
    "redis.url": "`redis://`, `redis+sentinel://`, `redis+cluster://` (`rediss` for TLS) or `unix://`: see "
    "[replicas](replicas.md). Unset: a private Valkey in the data folder.",
    "redis.prefix": "What every key in Redis begins with.",
    "slack.bot_token": "`xoxb-…`. Setting it turns Slack on. Also `SLACK_BOT_TOKEN`.",
    "slack.signing_secret": "Checks what Slack sends over HTTP. Also `SLACK_SIGNING_SECRET`.",
    "slack.previous_signing_secret": "Accepted beside the current one during a rotation.",
    "slack.app_token": "`xapp-…`. With it Sayso connects out by Socket Mode and needs no public address. "
    "Also `SLACK_APP_TOKEN`.",
    "slack.api_url": "The Web API, for proxies and tests.",
    "slack.pace": "How fast messages are sent, times Slack's usual rate limits: above 1 only where Slack "
    "has granted the app more. See [slack.md](slack.md#rate-limits).",
    "slack.client_id": "With the secret below, the app can be installed in several workspaces: see "
    "[slack-install.md](slack-install.md). Also `SLACK_CLIENT_ID`.",
    "slack.client_secret": "Also `SLACK_CLIENT_SECRET`.",
    "slack.workspaces": "Workspaces and organisations (`T0123`, `E0123`) that may install it themselves. "
    "Others need an install link: `sayso slack install-link`.",
    "slack.tenants": "The tenant whose requests the Home tab and `/sayso` list in a workspace or "
    'organisation: `{"T0123": "acme"}`. In all others, and unset, `tenant`.',
    "slack.match_email": "Whether an account that is in no list is known by the address that Slack has "
    "confirmed. Guests and other companies never are.",
    "slack.staleness_seconds": "How old what Slack said of an account, or of who is in a group, may be at a "
    "decision. When Slack can't say, what depends on it is refused.",
    "slack.reminders": "Whether those who have not answered are reminded in the thread of a card, at half "
    "and at nine tenths of the time that there is.",
    "slack.quiet_hours": "When nobody is named in a reminder, by the time zone of their account; empty: at "
    "any time.",
    "email.smtp_url": "`smtps://user:password@host:465`, or `smtp://…:587`, which has to upgrade by "
    "STARTTLS unless the host is loopback. Setting it turns mail on.",
    "email.oauth.token_url": "The provider's token endpoint, where access tokens for `smtp_url` come from; "
    "the URL then holds the user alone. See [email.md](email.md#gmail-and-microsoft-365).",
    "email.oauth.client_id": "The id of the app that is registered there.",
    "email.oauth.client_secret": "Its secret.",
    "email.oauth.refresh_token": "Of the mailbox's consent. Without it the app itself logs in (client "
    "credentials).",
    "email.oauth.scope": "What to ask for, where the provider wants it said.",
    "email.inbound.oauth.token_url": "As in `[email.oauth]`, for the mailbox of `imap_url`.",
    "email.inbound.oauth.client_id": "The id of the app.",
    "email.inbound.oauth.client_secret": "Its secret.",
    "email.inbound.oauth.refresh_token": "Of the mailbox's consent.",
    "email.inbound.oauth.scope": "What to ask for.",
    "email.from": "The sender, as `Name <address>`.",
    "email.endings": "Whether those who were asked get a short mail that says how it ended.",
    "email.connections": "How many mails are on their way at a time.",
    "email.ses.region": "Like `eu-central-1`. Setting the section turns mail on.",
    "email.ses.access_key_id": "Of an IAM user or role that may `ses:SendEmail`.",
    "email.ses.secret_access_key": "Its secret.",
    "email.ses.session_token": "For temporary credentials.",
    "email.ses.configuration_set": "The configuration set; turn open and click tracking off in it.",
    "email.ses.api_url": "The API, for proxies and tests.",
    "email.postmark.server_token": "The token of a server there. Setting the section turns mail on.",
    "email.postmark.stream": "The message stream.",
    "email.postmark.api_url": "The API, for proxies and tests.",
    "email.mailgun.domain": "The sending domain. Setting the section turns mail on.",
    "email.mailgun.api_key": "A sending key of that domain.",
    "email.mailgun.region": "Where the domain is: `us` or `eu`.",
    "email.mailgun.api_url": "The API, for proxies and tests.",
    "email.inbound.address": "Where replies arrive: a domain whose every address is ours (`r.example.com`) "
    "or "
    "a mailbox that takes a plus (`sayso@example.com`). Setting it puts a Reply-To into each mail. See "
    "[email-replies.md](email-replies.md).",
    "email.inbound.policy": "How far a reply may go: `decide`, only `comment`, or `off`. A request may "
    "ask for less, never for more.",
    "email.inbound.authserv_id": "The name under which our own mail server writes Authentication-Results. "
    "It has to remove those that come in under it.",
    "email.inbound.dkim": "Whether DKIM is computed here, with keys from DNS.",
    "email.inbound.smtp": "Listen for SMTP at `host:port`; behind a real mail server.",
    "email.inbound.lmtp": "Listen for LMTP at `host:port` or `unix:/path`.",
    "email.inbound.imap_url": "Read a mailbox: `imaps://user:password@host/INBOX`, without the password "
    "where there are tokens.",
    "email.inbound.ses_topics": "SNS topics that SES publishes received mail and bounces to, as ARNs; the "
    "endpoint is `/mail/ses`.",
    "email.inbound.postmark_password": "The password of Postmark's webhooks: inbound "
    "`https://sayso:<password>@host/mail/postmark`, bounces and complaints `…/mail/postmark/reports`.",
    "email.inbound.mailgun_key": "Mailgun's webhook signing key; the route's URL is `/mail/mailgun/mime`, "
    "the webhooks' `/mail/mailgun/reports`.",
    "email.inbound.sendgrid_key": "The public key of SendGrid's signed inbound parse; the URL is "
    "`/mail/sendgrid`.",
    "email.inbound.max_bytes": "The largest mail that is taken.",
    "approvals.unlisted": "Who may answer a request that lists nobody: `known` people of the directory (and "
    "whoever was sent the question or holds a link of their own), or `anyone` whom a channel lets in. "
    "`sayso dev` takes `anyone` unless it is set.",
    "approvals.links": "Whether a mailed link is `enough` to answer a request that names its approvers, "
    "or its page asks for a `code` that is mailed to the same address: a forwarded mail then only shows.",
    "approvals.self_approval": "Whether the one who asked may also approve. A request may forbid it, and "
    "never allow it.",
    "approvals.ref_kinds": "Which approver references are enforced and advertised. A list of "
    "principals always is enforced.",
    "protocol.version": "Which version of the protocol is spoken. `2.45` adds to `interrupt.resolved` "
    "who decided what; a strict consumer of `2.1` refuses those members.",
    "protocol.legacy_aliases": "Write `approval.*` and `clarification.*` events beside the interrupt "
    "events, for consumers of the old names.",
    "protocol.max_streams": "How many event streams may be open at once. One more is answered 429.",
    "egress.allow": "Receivers of outbound webhooks beside public https ones, as exact origins with their "
    'port: `["http://127.0.0.1:9999"]`. Each one is listed in the certification document.',
    "tokens.keys": "Signing keys of interrupt tokens by name, 32 characters or more each. Unset: they are "
    "made and kept in the data folder, where `sayso keys` rotates them.",
    "tokens.current": "The name of the key that signs; all of them verify. Unset: the first.",
    "tokens.legacy_secret": "The secret of protocol version 1 tokens that are still about. Only read when "
    "`tokens.keys` is set.",
    "hooks.<name>.provider": "One of [hooks/README.md](hooks/README.md), which has a page for each.",
    "hooks.<name>.secrets": "Signing secrets, one to eight; in a rotation the new one and, behind it, the "
    "old.",
    "hooks.<name>.event_type": "Where the event's type stands. Unset: where the provider keeps it.",
    "hooks.<name>.correlation": "Which members say what the event is about, by the names that a waiting run "
    "uses.",
    "hooks.<name>.event_id": "Where the event's id stands, which tells duplicates apart. Unset: where the "
    "provider keeps it, else the digest of the body.",
    "hooks.<name>.payload": "What the run is given. Unset: the whole event.",
    "hooks.<name>.max_body": "The largest event that is read, in bytes.",
    "hooks.<name>.signature": "For `generic_hmac`: header, digest, encoding and the like.",
    "hooks.<name>.tolerance": "Seconds between the provider's clock and ours that are put up with. Unset: "
    "what suits the provider.",
    "hooks.<name>.mode": "`live` or `test`: events that say otherwise end no wait, and are listed as "
    "failed. For providers whose events say it.",
    "hooks.<name>.several": "What an event does that more than one run waits for: end `all` the waits, or "
    "with `exactlyOne` none of them, until an operator has matched it.",
    "hooks.<name>.keep_seconds": "How long an event that nobody waits for yet may still end a wait. It is "
    "kept for good.",
    "hooks.<name>.public_url": "The URL exactly as the provider has it. Needed where it is part of what is "
    "signed: Square, Twilio.",
    "hooks.<name>.tenant": "The tenant whose waits these events end. Unset: `tenant`.",
    "contracts.<name>.description": "What the contract is for, in a sentence; the question of a request that "
    "has none of its own.",
    "contracts.<name>.schema_id": "Names the shape for those who draw it. Unset: the contract's name.",
    "contracts.<name>.schema_version": "Its version. Raise it whenever a schema changes.",
    "contracts.<name>.request_schema": "The JSON Schema of what is asked: a table, or the path of a JSON "
    "file.",
    "contracts.<name>.response_schema": "The JSON Schema of an answer: a table, or the path of a JSON file.",
    "contracts.<name>.timeout_seconds": "How long a request may wait. Unset: `kortyx.ttl_ms`.",
    "pickers.<name>.url": "An HTTP source: asked by GET with `q` and `limit`, or with `id` for each option "
    "that is checked. https, or an origin of `egress.allow`.",
    "pickers.<name>.command": "A command instead, as a list of words: it reads one JSON line "
    "`{q, limit, ids, tenant}` and writes the options.",
    "pickers.<name>.headers": "Headers of the request to the source, such as a token.",
    "pickers.<name>.options": "A JMESPath from the source's answer to a list of `{id, label, description}`"
    ". Unset: the answer itself, or its member `options`.",
    "pickers.<name>.search": "Who looks for what was typed: the `source`, or Sayso `here`, in all that the "
    "source lists (at most 5,000).",
    "pickers.<name>.timeout_seconds": "How long the source may take. Slack waits for three seconds in all.",
    "pickers.<name>.cache_seconds": "How long what the source said serves a search. An answer is always "
    "checked anew.",
    "capture.requests": "Whether events hold what programs ask. Off: kinds, ids and counts alone.",
    "capture.answers": "Whether events hold what people answer. Off: who, when, and the action of an "
    "approval.",
    "kortyx.workflow": "The workflow of a chat that names none.",
    "kortyx.ttl_ms": "How long a request for input may wait. Also `KORTYX_FRAMEWORK_TTL_MS`.",
    "kortyx.wait_seconds": "How long a chat request waits for the run's next question or its end.",
    "kortyx.late": "An answer that is too late: `refuse` it, or take its message for a `new-turn`.",
    "egress.callback_secret": "`whsec_` and the base64 of 24 to 64 random bytes: signs what goes to the "
    "`callbackUrl` of a run. Unset: a `callbackUrl` is refused.",
    "registrations.<name>.payload_schema": "What is shown: a table with a JSON Schema, the path of a JSON "
    "file, or `package.module:Model`.",
    "registrations.<name>.response_schema": "What an answer is, in the same three ways.",
    "registrations.<name>.check": "JMESPath over `{response, payload}` that has to be true.",
    "registrations.<name>.validator": "A function, `package.module:function`, that is called with response "
    "and payload and raises to refuse.",
    "registrations.<name>.cross_scope_allowed": "Whether a token may be used from another scope. It is "
    "on the "
    "audit trail when one is.",
    "registrations.<name>.metadata": "For your own use.",
    "symfonic.jwt_secret": "Signs pause tokens: 32 random characters or more. Also `JWT_SECRET`. Unset: the "
    "profile is off.",
    "symfonic.ttl_seconds": "How long a pause waits.",
    "substructure.several": "Whether several interrupts may park one branch at once. If not, a second one is "
    "refused, or passed over when it is a worker's.",
    "substructure.timeout_seconds": "How long a worker may take for an answer. Also how soon another "
    "replica takes over from one that died while it waited for one.",
    "substructure.attempts": "How often a question is delivered before it fails.",
    "substructure.agents.<name>.url": "The worker's URL: public https, or an origin of `egress.allow`.",
    "substructure.agents.<name>.secret": "Signs every request to the worker (`X-Substructure-Signature`). "
    "Unset: none is signed.",
    "substructure.agents.<name>.notify": "Who is told of its interrupts, as `channel:address`. Unset: "
    "`notify`.",
    "substructure.agents.<name>.thread": "Where each of its conversations has a thread of its own, as "
    "`slack:#support`: people read and write there too. Unset: nowhere.",
    "substructure.agents.<name>.approvers": "The only people who may answer its interrupts, with those "
    "of the "
    "groups. Unset: as `approvals.unlisted` says.",
    "substructure.agents.<name>.approver_groups": "The only groups that may.",
    "api_keys[].id": "The name of the program; it asks and answers under it.",
    "api_keys[].sha256": "The digest of its key: `sayso hash-key`.",
    "api_keys[].tenant": "Its tenant. Unset: `tenant`.",
    "api_keys[].scopes": "What it may do.",
    "groups.<name>.slack": "Slack user groups whose members are in this group: `S0123`, `@handle`, or "
    "either behind `T0123/`. See [slack-people.md](slack-people.md).",
    "people[].id": "The principal: the name that approvers lists use.",
    "people[].name": "What people are called in messages.",
    "people[].slack": "Their Slack accounts, `<team id>/<user id>`.",
    "people[].email": "Their mail addresses.",
    "people[].groups": "Their groups, looked up at each decision.",
    "people[].roles": "Their roles, looked up at each decision.",
    "people[].locale": "Their language, like `de`. Unset: what their browser or Slack says, else "
    "`locale`.",
    "people[].timezone": "Their time zone, like `Europe/Berlin`. Unset: what Slack says, else `timezone`.",
    "people[].endings": "Whether they get the short mail that says how a question to them ended.",
    "people[].override": "Whether their approval may open a gate alone that allows overrides.",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `path` is its place in the TOML file; a section's name is "" at the top."""

    section: str
    path: str
    variable: str
    default: str


def settings() -> list[Setting]:
    """All settings, top level first. Raises `ValueError` for a section without a heading."""
    order = list(HEADINGS)
    found = list(_of(Settings, "", "SAYSO_"))
    unknown = {one.section for one in found} - set(order)
    if unknown:
        raise ValueError(f"docs/settings_table.py: HEADINGS lacks {sorted(unknown)}")
    return sorted(found, key=lambda one: order.index(one.section))


def tables() -> str:
    """The generated part of the page. Raises `ValueError` when `MEANING` is not complete."""
    found = settings()
    said, there = set(MEANING), {one.path for one in found}
    if said != there:
        raise ValueError(
            f"docs/settings_table.py: MEANING lacks {sorted(there - said)} and has "
            f"{sorted(said - there)} too many"
        )
    parts = []
    for section, heading in HEADINGS.items():
        rows = [
            f"| {_name(one)} | {one.default} | {MEANING[one.path]} |"
            for one in found
            if one.section == section
        ]
        parts.append(
            "\n".join([f"### {heading}", "", "| Setting | Default | |", "| - | - | - |", *rows])
        )
    return "\n\n".join(parts)


def rewritten(page: str) -> str:
    """The page with its tables made anew. Raises `ValueError` for a page without the markers."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} needs the lines {BEGIN} and {END}")
    return f"{head}{begin}\n\n{tables()}\n\n{end}{tail}"


def _name(one: Setting) -> str:
    key = one.path.rpartition(".")[2]
    return f"`{key}`<br>`{one.variable}`" if one.variable else f"`{key}`"


def _of(model: type[BaseModel], section: str, prefix: str) -> Iterator[Setting]:
    for attribute, field in model.model_fields.items():
        key = attribute.rstrip("_")
        path = f"{section}.{key}" if section else key
        inner = _model_in(field.annotation)
        if inner is None:
            variable = f"{prefix}{key.upper()}" if prefix else ""
            yield Setting(section, path, variable, _default(field))
        elif get_origin(field.annotation) is dict:
            yield from _of(inner, f"{path}.<name>", f"{prefix}{key.upper()}__<NAME>__")
        elif get_origin(field.annotation) is tuple:
            yield from _of(inner, f"{path}[]", "")
        else:
            yield from _of(inner, path, f"{prefix}{key.upper()}__")


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model of a section, or of the members of a table; None for a plain value."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def _default(field: FieldInfo) -> str:
    value = field.default
    if field.is_required():
        return "required"
    if isinstance(value, SecretStr):
        if value.get_secret_value():
            raise TypeError("a secret has no default")
        return ""
    if value in (None, "", (), {}):
        return ""
    if isinstance(value, frozenset):
        value = sorted(value)
    elif isinstance(value, tuple):
        value = list(value)
    elif isinstance(value, Path):
        value = str(value) if value.is_absolute() else f"./{value}"
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(rewritten(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

"""The settings: one typed model, from a TOML file and the environment.

A value is looked for in the environment (`SAYSO_HTTP__PORT`), then in the TOML file that
`SAYSO_CONFIG` or `--config` names, then it has its default. Slack's own variable names are honoured too.
Every mistake is reported at once, each with the path of its key; a value is never repeated in the
message, since it may be a secret.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from config.inputs import Capture, ContractSettings, Kortyx, PickerSettings, with_kortyx_names
from config.people import Group, Locale, Person, Zone
from config.registrations import RegistrationSettings, Symfonic, with_symfonic_names
from config.sessions import Substructure
from schemas.contracts import ContractName
from schemas.versions import DEFAULT_VERSION, ProtocolVersion


class SettingsError(Exception):
    """The configuration is wrong. The text lists every mistake with the key's path."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Http(Section):
    """Where the gateway listens. `port` 0 takes any free one and prints it."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    public_url: Annotated[str, Field(pattern=r"^(https?://[^\s/?#]+)?$")] = ""
    max_body_bytes: Annotated[int, Field(ge=1024, le=64 * 2**20)] = 2 * 2**20

    @field_validator("public_url", mode="before")
    @classmethod
    def _no_slash(cls, value: Any) -> Any:
        return value.rstrip("/") if isinstance(value, str) else value


class StoreSettings(Section):
    """Where everything is kept. Without a `url`, in one SQLite file in the data folder; several
    gateways share a `postgresql://user:password@host:5432/database`. Runs that are over and have not
    changed for `keep_days` are removed."""

    url: SecretStr = SecretStr("")
    keep_days: Annotated[int, Field(ge=1, le=36_500)] | None = None

    @field_validator("url")
    @classmethod
    def _is_postgresql(cls, value: SecretStr) -> SecretStr:
        if not re.match(r"(postgres(ql)?://\S+)?$", value.get_secret_value()):
            raise ValueError("must look like postgresql://user:password@host:5432/database")
        return value


class Redis(Section):
    """Coordination. Without a `url` a private Valkey is started in the data folder."""

    url: SecretStr | None = None
    prefix: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")] = "sayso"


class Slack(Section):
    """A Slack app. With an app token Sayso connects by Socket Mode and needs no public address.

    With `client_id` and `client_secret` it can be installed in several workspaces; `workspaces` may do so
    without an install link of the operator's. `staleness_seconds`: how old what Slack said of people and
    groups may be at a decision. `quiet_hours`: when nobody is named in a reminder, in their own zone.
    """

    bot_token: SecretStr | None = None
    signing_secret: SecretStr | None = None
    previous_signing_secret: SecretStr | None = None
    app_token: SecretStr | None = None
    api_url: Annotated[str, Field(pattern=r"^https?://\S+$")] = "https://slack.com/api/"
    pace: Annotated[float, Field(ge=0.1, le=1000)] = 1.0
    client_id: Annotated[str, Field(pattern=r"^[0-9.]{0,64}$")] = ""
    client_secret: SecretStr | None = None
    workspaces: frozenset[Annotated[str, Field(pattern=r"^[TE][A-Z0-9]{2,20}$")]] = frozenset()
    match_email: bool = True
    staleness_seconds: Annotated[int, Field(ge=5, le=3600)] = 60
    reminders: bool = True
    quiet_hours: Annotated[
        str, Field(pattern=r"^(([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d)?$")
    ] = "22:00-07:00"

    @property
    def is_on(self) -> bool:
        """Whether there is an app: one workspace's token, or the credentials to be installed with."""
        return self.bot_token is not None or bool(self.client_id)


class EmailInbound(Section):
    """Replies by mail. Nothing comes in until `address` and one way in are set.

    `address`: where replies arrive: a domain whose every address is ours (`r.example.com`) or one
    mailbox that takes a plus (`sayso@example.com`). `policy`: how far a reply may go. Deciding asks for
    an authenticated sender, by our own mail server's word (`authserv_id`), by DKIM computed here
    (`dkim`), or by SES's verdict. Ways in: `smtp`, `lmtp` (`host:port`, or `unix:/path`), `imap_url`, and
    the webhooks of a provider.
    """

    address: Annotated[str, Field(max_length=254)] = ""
    policy: Literal["off", "comment", "decide"] = "decide"
    authserv_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,253}$")] = ""
    dkim: bool = False
    smtp: str = ""
    lmtp: str = ""
    imap_url: SecretStr | None = None
    ses_topics: tuple[
        Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:sns:[^:]+:\d{12}:\S+$")], ...
    ] = ()
    postmark_password: SecretStr | None = None
    mailgun_key: SecretStr | None = None
    sendgrid_key: str = ""
    max_bytes: Annotated[int, Field(ge=2**14, le=32 * 2**20)] = 5 * 2**20


class Ses(Section):
    """Mail by Amazon SES's API. `api_url` is for tests."""

    region: str
    access_key_id: str
    secret_access_key: SecretStr
    session_token: SecretStr = SecretStr("")
    configuration_set: str = ""
    api_url: str = ""


class Postmark(Section):
    """Mail by Postmark's API. `api_url` is for tests."""

    server_token: SecretStr
    stream: str = "outbound"
    api_url: str = ""


class Mailgun(Section):
    """Mail by Mailgun's API. `api_url` is for tests."""

    domain: str
    api_key: SecretStr
    region: Literal["us", "eu"] = "us"
    api_url: str = ""


class Email(Section):
    """Outgoing mail, by one of `smtp_url`, `ses`, `postmark` and `mailgun`. `smtp://` upgrades by
    STARTTLS (and must, unless the host is loopback). `endings`: whether those who were asked get a
    short mail that says how it ended."""

    smtp_url: SecretStr | None = None
    ses: Ses | None = None
    postmark: Postmark | None = None
    mailgun: Mailgun | None = None
    endings: bool = True
    connections: Annotated[int, Field(ge=1, le=50)] = 2
    from_: Annotated[str, Field(validation_alias=AliasChoices("from", "from_"))] = (
        "Sayso <sayso@localhost>"
    )
    inbound: EmailInbound = EmailInbound()

    @property
    def is_on(self) -> bool:
        """Whether there is a way out."""
        return any((self.smtp_url, self.ses, self.postmark, self.mailgun))


class Hook(Section):
    """A source of signed events at `/hooks/<name>`. Expressions are JMESPath over the event.

    `several`: what an event does that several runs wait for; `exactlyOne` parks it for an operator.
    `keep_seconds`: how long an event that nobody waits for may still match.
    """

    provider: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,40}$")]
    secrets: Annotated[tuple[SecretStr, ...], Field(min_length=1, max_length=8)]
    event_type: str = ""
    correlation: dict[str, str] = {}
    event_id: str = ""
    payload: str = ""
    tolerance: Annotated[int, Field(ge=1, le=86_400)] | None = None
    mode: Literal["live", "test", ""] = ""
    several: Literal["all", "exactlyOne"] = "all"
    keep_seconds: Annotated[int, Field(ge=60, le=366 * 86_400)] = 30 * 86_400
    public_url: Annotated[str, Field(pattern=r"^(https?://[^\s#]+)?$")] = ""
    max_body: Annotated[int, Field(ge=1024, le=25 * 2**20)] = 2**20
    signature: dict[str, str] = {}
    tenant: str = ""


class Approvals(Section):
    """Who may answer. `unlisted`: who answers a request that lists nobody; `known` people of the
    directory, or `anyone` that a channel lets in. `links`: whether a mailed link alone answers a request
    that names its approvers, or a `code` besides that goes to the same mailbox."""

    unlisted: Literal["known", "anyone"] = "known"
    links: Literal["enough", "code"] = "enough"
    self_approval: bool = True
    ref_kinds: frozenset[Literal["principal", "group", "role"]] = frozenset(
        {"principal", "group", "role"}
    )


class Protocol(Section):
    """Which protocol version is spoken. `legacy_aliases`: `approval.*` and `clarification.*` events
    beside the interrupt events. `max_streams`: how many event streams may be open at once."""

    version: ProtocolVersion = DEFAULT_VERSION
    legacy_aliases: bool = True
    max_streams: Annotated[int, Field(ge=1, le=1_000_000)] = 1000


class Egress(Section):
    """Where outbound webhooks may go beside public https addresses: origins, each named exactly.

    `callback_secret` (`whsec_…`) signs what goes to the `callbackUrl` of a run; there is none without it.
    """

    callback_secret: SecretStr = SecretStr("")

    allow: tuple[
        Annotated[str, Field(pattern=r"^https?://([A-Za-z0-9.-]+|\[[0-9a-f:.]+\]):\d{1,5}$")], ...
    ] = ()


class TokenKeys(Section):
    """Signing keys of interrupt tokens by kid; `current` signs. Made in the data folder if unset."""

    keys: dict[str, SecretStr] = {}
    current: str = ""
    legacy_secret: SecretStr | None = None


class ApiKey(Section):
    """A key of a program. `sha256` is the hex digest of the key itself, which is stored nowhere."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._~-]{1,128}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    tenant: Annotated[str, Field(pattern=r"^[A-Za-z0-9._~-]{1,128}$")] = ""
    scopes: tuple[str, ...] = (
        "runs:create",
        "runs:read",
        "runs:cancel",
        "approvals:respond",
        "webhooks:manage",
    )


class Settings(BaseSettings):
    """All of it. Unknown keys are mistakes."""

    model_config = SettingsConfigDict(
        env_prefix="SAYSO_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    http: Http = Http()
    data_dir: Path = Path("./var")
    tenant: Annotated[str, Field(pattern=r"^[A-Za-z0-9._~-]{1,128}$")] = "main"
    notify: Annotated[tuple[str, ...], NoDecode] = ()
    locale: Annotated[Locale, Field(min_length=2)] = "en"
    timezone: Annotated[Zone, Field(min_length=1)] = "UTC"
    fallback: Annotated[tuple[str, ...], NoDecode] = ()
    store: StoreSettings = StoreSettings()
    redis: Redis = Redis()
    slack: Slack = Slack()
    email: Email = Email()
    hooks: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9._~-]{1,128}$")], Hook] = {}
    approvals: Approvals = Approvals()
    protocol: Protocol = Protocol()
    egress: Egress = Egress()
    tokens: TokenKeys = TokenKeys()
    api_keys: tuple[ApiKey, ...] = ()
    people: tuple[Person, ...] = ()
    groups: dict[Annotated[str, Field(pattern=r"^[^\s:]{1,256}$")], Group] = {}
    encryption_keys: Annotated[tuple[SecretStr, ...], NoDecode] = ()
    relaxations: dict[Literal["approver-lists"], Annotated[str, Field(min_length=8)]] = {}
    workflows: Path | None = None
    contracts: dict[ContractName, ContractSettings] = {}
    pickers: dict[Annotated[str, Field(pattern=r"^\S{1,256}$")], PickerSettings] = {}
    capture: Capture = Capture()
    kortyx: Kortyx = Kortyx()
    substructure: Substructure = Substructure()
    registrations: dict[Annotated[str, Field(pattern=r"^\S.{0,63}$")], RegistrationSettings] = {}
    symfonic: Symfonic = Symfonic()
    conformance_seed: bool = False
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @model_validator(mode="before")
    @classmethod
    def _slack_names(cls, data: Any) -> Any:
        """Slack's usual variable names, where ours are not set."""
        if not isinstance(data, dict):
            return data
        slack = dict(data.get("slack") or {})
        for name, variable in (
            ("bot_token", "SLACK_BOT_TOKEN"),
            ("signing_secret", "SLACK_SIGNING_SECRET"),
            ("app_token", "SLACK_APP_TOKEN"),
            ("client_id", "SLACK_CLIENT_ID"),
            ("client_secret", "SLACK_CLIENT_SECRET"),
        ):
            if os.environ.get(variable) and not slack.get(name):
                slack[name] = os.environ[variable]
        return {**data, "slack": slack} if slack else data

    @model_validator(mode="before")
    @classmethod
    def _kortyx_names(cls, data: Any) -> Any:
        return with_symfonic_names(with_kortyx_names(data))

    @field_validator("notify", "fallback", "encryption_keys", mode="before")
    @classmethod
    def _comma_separated(cls, value: Any) -> Any:
        """`SAYSO_NOTIFY="slack:#ops, email:ada@example.com"`."""
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @model_validator(mode="after")
    def _people_are_one_each(self) -> Settings:
        seen: dict[str, str] = {}
        for person in self.people:
            names = [person.id, *(f"slack:{s}" for s in person.slack)]
            for name in [*names, *(f"email:{e}" for e in person.email)]:
                if seen.setdefault(name, person.id) != person.id or names.count(name) > 1:
                    raise ValueError(f"people: {name!r} belongs to two people")
        if len({p.id for p in self.people}) != len(self.people):
            raise ValueError("people: an id occurs twice")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        path = os.environ.get("SAYSO_CONFIG")
        sources: tuple[PydanticBaseSettingsSource, ...] = (init_settings, env_settings)
        return (*sources, TomlConfigSettingsSource(settings_cls, Path(path))) if path else sources


def load(config: Path | None = None) -> Settings:
    """Read the settings. Raises `SettingsError` with every mistake, one a line."""
    if config is not None:
        os.environ["SAYSO_CONFIG"] = str(config)
    path = os.environ.get("SAYSO_CONFIG")
    if path and not Path(path).is_file():
        raise SettingsError(f"There is no configuration file {path}.")
    try:
        return Settings()
    except ValidationError as error:
        lines = [
            f"  {'.'.join(str(p) for p in e['loc']) or 'settings'}: {e['msg']}"
            for e in error.errors(include_input=False, include_context=False, include_url=False)
        ]
        raise SettingsError("The configuration is wrong:\n" + "\n".join(lines)) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"The configuration file {path} is not TOML: {error}") from None

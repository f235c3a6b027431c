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

from config.people import Person
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
    gateways share a `postgresql://user:password@host:5432/database`."""

    url: SecretStr = SecretStr("")

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
    """A Slack app. With an app token Sayso connects by Socket Mode and needs no public address."""

    bot_token: SecretStr | None = None
    signing_secret: SecretStr | None = None
    previous_signing_secret: SecretStr | None = None
    app_token: SecretStr | None = None
    api_url: Annotated[str, Field(pattern=r"^https?://\S+$")] = "https://slack.com/api/"


class Email(Section):
    """Outgoing mail. `smtp://` upgrades by STARTTLS (and must, unless the host is loopback)."""

    smtp_url: SecretStr | None = None
    from_: Annotated[str, Field(validation_alias=AliasChoices("from", "from_"))] = (
        "Sayso <sayso@localhost>"
    )


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
    directory, or `anyone` that a channel lets in."""

    unlisted: Literal["known", "anyone"] = "known"
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
    """Where outbound webhooks may go beside public https addresses: origins, each named exactly."""

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
    relaxations: dict[Literal["approver-lists"], Annotated[str, Field(min_length=8)]] = {}
    workflows: Path | None = None
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
        ):
            if os.environ.get(variable) and not slack.get(name):
                slack[name] = os.environ[variable]
        return {**data, "slack": slack} if slack else data

    @field_validator("notify", mode="before")
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

"""The settings: one typed model, from a TOML file and the environment.

A value is looked for in the environment (`SAYSO_HTTP__PORT`), then in the TOML file that
`SAYSO_CONFIG` or `--config` names, then it has its default. Slack's own variable names are honoured too.
Every mistake is reported at once, each with the path of its key; a value is never repeated in the
message, since it may be a secret.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
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

from config import mistakes
from config.hooks import Hook
from config.inputs import Capture, ContractSettings, Kortyx, PickerSettings, with_kortyx_names
from config.mail import Email
from config.people import Group, Locale, Person, Zone
from config.registrations import RegistrationSettings, Symfonic, with_symfonic_names
from config.section import Section
from config.sessions import Substructure
from config.slack import Slack, with_slack_names
from config.stores import Redis, StoreSettings
from schemas.contracts import ContractName
from schemas.versions import DEFAULT_VERSION, ProtocolVersion


class SettingsError(Exception):
    """The configuration is wrong. The text lists every mistake with the key's path."""


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
    def _usual_names(cls, data: Any) -> Any:
        """What Slack, kortyx and symfonic call things, where our own names are not set."""
        return with_symfonic_names(with_kortyx_names(with_slack_names(data)))

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
        lines = (f"\n  {said}" for said in mistakes.sentences(error, Settings.model_fields))
        raise SettingsError("The configuration is wrong:" + "".join(lines)) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"The configuration file {path} is not TOML: {error}") from None


def misspelt() -> list[str]:
    """A sentence for each variable of the environment that looks like a setting and is none."""
    return list(mistakes.misspelt(os.environ, Settings.model_fields))

"""What the settings say, in the terms of those who work with it: rules, people, keys."""

from __future__ import annotations

from config.settings import Settings
from gateway.accounts import Accounts
from gateway.auth import Key
from gateway.keyring import KeyringFile
from gateway.people import People
from host.decisions.state import Policy
from host.tokens import TokenRing


def policy_of(settings: Settings) -> Policy:
    """The rules that the operator chose."""
    return Policy(
        open_gates=settings.approvals.unlisted,
        ref_kinds=frozenset(settings.approvals.ref_kinds),
        self_approval=settings.approvals.self_approval,
        aliases=settings.protocol.legacy_aliases,
        enforce_lists="approver-lists" not in settings.relaxations,
        check_correlation=settings.conformance_seed,
        named_voters=settings.conformance_seed,
        capture_requests=settings.capture.requests,
        capture_answers=settings.capture.answers,
    )


def accounts_of(settings: Settings, people: People, policy: Policy) -> Accounts:
    """Who an account of a channel is."""
    groups = {
        name: tuple(f"slack:{one}" for one in group.slack)
        for name, group in settings.groups.items()
    }
    return Accounts(people, policy, groups, settings.slack.match_email)


def ring_of(settings: Settings, file: KeyringFile, now: int) -> TokenRing:
    """The keys of tokens: those of the settings, else those of the data folder at `now` (ms)."""
    tokens = settings.tokens
    keys = {kid: secret.get_secret_value() for kid, secret in tokens.keys.items()}
    legacy = tokens.legacy_secret.get_secret_value() if tokens.legacy_secret else None
    if not keys:
        return file.read().ring(now, legacy)
    return TokenRing(keys, tokens.current or next(iter(keys)), legacy)


def keys_of(settings: Settings) -> list[Key]:
    """The API keys of the configuration."""
    return [
        Key(key.id, key.sha256, key.tenant or settings.tenant, frozenset(key.scopes))
        for key in settings.api_keys
    ]

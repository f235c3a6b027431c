"""Fixtures of servers that several folders' tests share."""

from tests.fakes.postgres import postgres_server, postgres_url, two

__all__ = ["postgres_server", "postgres_url", "two"]

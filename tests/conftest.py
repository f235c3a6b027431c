"""Fixtures of servers that several folders' tests share, and how properties are searched.

The same examples each time, so that a change is judged by what it changed; `--hypothesis-profile=search`
takes new ones, and is how a rare one is looked for (CONTRIBUTING).
"""

from hypothesis import settings

from tests.fakes.postgres import postgres_server, postgres_url, two

__all__ = ["postgres_server", "postgres_url", "two"]

# No deadlines: how long an example takes says something about the machine alone.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("same")

"""One TLS context for the connections of one client.

redis-py makes one for each connection, and each reads all the authorities that the machine trusts: some 60 ms
in which nothing else runs. The nodes of a cluster and their connections would then never all be reached
within a command's deadline.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

from redis.asyncio import SSLConnection

_FRESH: Final = 60.0  # seconds; later connections read the files anew, which may have been renewed


def sharing(kind: type[SSLConnection]) -> type[SSLConnection]:
    """This class of connections, which share what was made from their options less than a minute ago. All
    that are made with what this returns must have the same options for TLS."""
    shared: Any = None
    since = 0.0

    class Sharing(kind):  # type: ignore[valid-type, misc]
        ssl_context: Any

        def __init__(self, **options: Any) -> None:
            nonlocal shared, since
            super().__init__(**options)
            if shared is None or monotonic() - since > _FRESH:
                shared, since = self.ssl_context, monotonic()
            self.ssl_context = shared

    return Sharing

"""A dialect's routes, made when the first of its paths is asked for.

Few gateways serve clients of another system, and none serves them all: a start pays for no dialect, and the
first request of one does, beside the others and not instead of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from aiohttp import web
from aiohttp.abc import AbstractMatchInfo
from aiohttp.web_urldispatcher import AbstractResource, AbstractRoute, UrlDispatcher


class Later(AbstractResource):
    """Everything below `prefix`. `make`, called once and in a thread, imports the routes and returns them,
    each with its whole path."""

    def __init__(self, prefix: str, make: Callable[[], Iterable[web.RouteDef]]) -> None:
        super().__init__()
        self._prefix = prefix
        self._make = make
        self._making = asyncio.Lock()
        self._router: UrlDispatcher | None = None

    @property
    def canonical(self) -> str:
        return self._prefix

    async def resolve(self, request: web.Request) -> Any:
        """The match among the dialect's own routes, which have their own names in the metrics."""
        if self._router is None:
            async with self._making:
                if self._router is None:
                    self._router = await asyncio.to_thread(self._made)
        found: AbstractMatchInfo = await self._router.resolve(request)
        error = found.http_exception
        allowed = error.allowed_methods if isinstance(error, web.HTTPMethodNotAllowed) else set()
        return (found if error is None else None), allowed

    def _made(self) -> UrlDispatcher:
        router = UrlDispatcher()
        router.add_routes(self._make())
        router.freeze()
        return router

    def raw_match(self, path: str) -> bool:
        return path == self._prefix

    def get_info(self) -> Any:
        return {"prefix": self._prefix}

    def url_for(self, **_: str) -> NoReturn:
        raise RuntimeError("a dialect's routes have no one URL")

    def add_prefix(self, prefix: str) -> None:
        raise RuntimeError("a dialect's paths are another system's: they can't be moved")

    def __iter__(self) -> Iterator[AbstractRoute]:
        return iter(())

    def __len__(self) -> int:
        return 0

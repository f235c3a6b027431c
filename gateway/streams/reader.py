"""The response that a stream of events is written to, the same for every wire."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping

from aiohttp import web


@contextlib.asynccontextmanager
async def event_stream(
    request: web.Request, headers: Mapping[str, str]
) -> AsyncIterator[web.StreamResponse]:
    """An open `text/event-stream`. How its reader goes is no error: one that has gone is left alone, one that
    reads too slowly (`TimeoutError`) is cut off."""
    response = web.StreamResponse(
        headers={
            "Content-Type": "text/event-stream",
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
            **headers,
        }
    )
    await response.prepare(request)
    try:
        yield response
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
    except ConnectionError:
        pass  # there is nobody to tell

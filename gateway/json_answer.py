"""The answer that nearly every request gets, JSON of known length, written with its head in one go.

aiohttp's own way leads through eight calls and a signal, because a response may be a stream, compressed, or
without a body. What is one of those, or is asked for by HTTP/1.0, HEAD or a client that closes its
connection, goes that way here too (docs/performance.md).
"""

from __future__ import annotations

from typing import Final

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http import SERVER_SOFTWARE

from gateway import logs

REQUEST_ID_HEADER: Final = "X-Request-Id"
_JSON: Final = "application/json"
_EMPTY: Final = frozenset({204, 304})


class JsonAnswer(web.Response):
    """`raw` is JSON, and the body. Another body that is set later goes aiohttp's way."""

    def __init__(self, status: int, raw: bytes, headers: dict[str, str] | None = None) -> None:
        super().__init__(body=raw, status=status, headers=headers, content_type=_JSON)
        self._raw = raw

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        if self.prepared or not self._is_plain(request):
            return await super().prepare(request)
        headers = self.headers
        headers[hdrs.CONTENT_LENGTH] = str(len(self._raw))
        headers[hdrs.DATE] = rfc822_formatted_time()
        headers[hdrs.SERVER] = SERVER_SOFTWARE
        request_id = logs.request_id.get()
        if request_id:  # what `on_response_prepare` does for the others
            headers[REQUEST_ID_HEADER] = request_id
        self._req = request
        self._keep_alive = True
        self._payload_writer = writer = request.writer
        await writer.write_headers(f"HTTP/1.1 {self.status} {self.reason}", headers)
        return writer

    async def write_eof(self, data: bytes = b"") -> None:
        writer = self._payload_writer
        if writer is None or self._must_be_empty_body is not None:  # prepared the other way
            await super().write_eof(data)
            return
        await writer.write_eof(self._raw)
        self._eof_sent = True
        self._body_length = writer.output_size
        self._req = self._payload_writer = None

    def _is_plain(self, request: web.BaseRequest) -> bool:
        return (
            request.keep_alive
            and request.version == HttpVersion11
            and request.method != hdrs.METH_HEAD
            and self.status not in _EMPTY
            and self.body is self._raw
            and self._keep_alive is None
            and self._cookies is None
            and not self._compression
            and not self._chunked
        )

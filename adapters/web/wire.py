"""How a form post is read and a page is sent, the same for every page of this channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import structlog
from aiohttp import web

from adapters.languages.catalogue import Words, words_of
from adapters.web import pages, receive, render
from adapters.web.settings import WebSettings
from schemas.errors import Refusal

log = structlog.get_logger(__name__)

FORM_TYPE: Final = "application/x-www-form-urlencoded"


def sent_by_our_page(request: web.Request, settings: WebSettings) -> bool:
    """Whether the browser says so. A post that doesn't is logged: an operator may have set a wrong
    public address."""
    origins = request.headers.getall("Origin", [])
    sites = request.headers.getall("Sec-Fetch-Site", [])
    if receive.from_our_page(origins, sites, request.host, settings):
        return True
    log.warning(
        "web.foreign_page",
        origin=[each[:200] for each in origins[:2]],
        fetch_site=[each[:20] for each in sites[:2]],
        expected=sorted(settings.origins),
    )
    return False


async def read_form(request: web.Request) -> receive.Submission:
    """The form post, read no further than allowed. Raises `Refusal`."""
    if request.content_type != FORM_TYPE:
        raise Refusal("unsupported_media_type", "Press a button on the answer page.")
    if (request.content_length or 0) > receive.MAX_BODY:
        raise Refusal("payload_too_large", "Shorten the answer.")
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > receive.MAX_BODY:
            raise Refusal("payload_too_large", "Shorten the answer.")
    try:
        return receive.parse_submission(bytes(body))
    except ValueError as damaged:
        raise Refusal("validation_error", str(damaged)) from None


def spoken(request: web.Request) -> Words:
    """The language of a page for somebody whom we don't know (yet): their browser's."""
    return words_of(request.headers.get("Accept-Language", ""))


def problem(code: str, status: int, words: Words) -> web.Response:
    page = pages.problem_page(code, status, words)
    response = html(render.problem_html(page), page.status)
    if page.status in {429, 503}:
        response.headers["Retry-After"] = "30"
    return response


def html(text: str, status: int, headers: Mapping[str, str] = render.HEADERS) -> web.Response:
    return web.Response(
        text=text, status=status, headers=headers, content_type="text/html", charset="utf-8"
    )

"""How a form post is read and a page is sent, the same for every page of this channel."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from adapters.languages.catalogue import Words, words_of
from adapters.web import pages, receive, render
from schemas.errors import Refusal

FORM_TYPE: Final = "application/x-www-form-urlencoded"


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
    response = html(render.problemhtml(page), page.status)
    if page.status in {429, 503}:
        response.headers["Retry-After"] = "30"
    return response


def html(text: str, status: int) -> web.Response:
    return web.Response(
        text=text, status=status, headers=render.HEADERS, content_type="text/html", charset="utf-8"
    )

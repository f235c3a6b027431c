"""The answer page under `/a/{handle}`: a GET draws, a POST decides.

Mail gateways, chat previews and virus scanners open every link they see, some with a real browser.
So a GET (or HEAD) changes nothing, however often it comes; the page has no button that presses
itself; and a POST counts only with a nonce of a page that was drawn for this browser, the cookie
that belongs to it, an origin that is ours, and the sign of a person's press (`press.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import structlog
from aiohttp import web

from adapters.channel import Delivery, Intake, Links, Shown, Visitor
from adapters.languages.catalogue import MAX_HINT, words_of
from adapters.views import Card, Form, Receipt
from adapters.web import login, pages, receive, render
from adapters.web.nonces import NOTE_MAX_AGE, FormSeal, NonceRefused, browser_cookie
from adapters.web.offers import look_up
from adapters.web.press import pressed, signs_of
from adapters.web.settings import WebSettings
from adapters.web.wire import html, problem, read_form, sent_by_our_page, spoken
from schemas.errors import STATUS, Refusal

log = structlog.get_logger(__name__)

MAX_HANDLE: Final = 1024
"""Characters of a handle or a token that are looked up at all."""

FIELD_ERRORS_STATUS: Final = 422
"""The form was understood and a value in it wasn't right."""


class WebChannel:
    """The web page channel (`adapters.channel.Channel`). Holds no state of its own.

    `intake` decides, `links` knows who holds a handle; the page always shows the current state.
    """

    name = "web"

    def __init__(
        self, settings: WebSettings, intake: Intake, links: Links, codes: login.Codes | None = None
    ) -> None:
        self._settings = settings
        self._intake = intake
        self._links = links
        self._seal = FormSeal(settings.secret)
        self._form_cookie = f"{settings.cookie_prefix}sayso-form"
        self._note_cookie = f"{settings.cookie_prefix}sayso-note"
        self._proof_cookie = f"{settings.cookie_prefix}sayso-proof"
        self._login = None if codes is None else login.Login(codes, self._seal)

    def routes(self) -> Sequence[web.RouteDef]:
        """GET, HEAD and POST of the answer page."""
        return [web.get("/a/{handle}", self._serve), web.post("/a/{handle}", self._serve)]

    async def start(self) -> None:
        """Nothing to open: the gateway serves the routes."""

    async def stop(self) -> None:
        """Nothing to close."""

    async def show(self, delivery: Delivery) -> Shown:
        """Nothing to send: whoever opens the page sees this card or a newer one."""
        return Shown({"version": delivery.card.version})

    def check_address(self, address: str) -> str:
        """The web page has one address, the empty one. Raises `ValueError` for any other."""
        if address.strip():
            raise ValueError('the web page has no addresses: write "web:" alone')
        return ""

    async def _serve(self, request: web.Request) -> web.Response:
        """Every request, every refusal a page that a person understands."""
        try:
            if request.method == "POST":
                return await self._post(request)
            return await self._get(request)
        except Refusal as refusal:
            return problem(refusal.code, refusal.status, spoken(request))

    async def _get(self, request: web.Request) -> web.Response:
        visitor = await self._visitor(request)
        card = await self._card(visitor)
        sealed = request.cookies.get(self._note_cookie, "")
        note = self._seal.read_note(sealed, visitor.handle)
        return self._page(request, visitor, await self._draw(visitor, card, notice=note))

    async def _post(self, request: web.Request) -> web.Response:
        if not sent_by_our_page(request, self._settings):
            return problem("foreign_page", 403, spoken(request))
        submission = await read_form(request)
        visitor = await self._visitor(request)
        card = await self._card(visitor)
        if not visitor.may_answer:
            if card.state != "open":  # a token is good until then: somebody was first
                return await self._again(request, visitor, card, submission, 409)
            raise Refusal("forbidden", "This link shows the question and can't answer it.")
        words = words_of(card.reader.locale)
        cookie = request.cookies.get(self._form_cookie, "")
        try:
            drawn = self._seal.open(submission.nonce, visitor.handle, cookie)
        except NonceRefused as refused:
            notice = words(f"page.again_{refused.why}")
            return await self._again(request, visitor, card, submission, 403, notice=notice)
        if self._must_prove(request, visitor, card) or submission.action in login.ACTIONS:
            return await self._prove(request, visitor, card, submission)
        if submission.find and card.state == "open":
            return await self._found(request, visitor, card, submission)
        if not pressed(signs_of(request.headers), submission.press):
            log.info("web.not_pressed", interrupt=visitor.interrupt_id)
            notice = words("page.again_pressed")
            return await self._again(request, visitor, card, submission, 403, notice=notice)
        action = next((one for one in card.actions if one.id == submission.action), None)
        if action is None and card.state == "open":
            notice = words("page.choice_gone")
            return await self._again(request, visitor, card, submission, 409, notice=notice)
        read = receive.read_response(
            submission,
            visitor=visitor,
            action=action,
            form=self._intake.form(card, submission.action),
            nonce_id=drawn.id,
            version=drawn.version,
            words=words,
        )
        if read.response is None:
            return await self._again(
                request, visitor, card, submission, FIELD_ERRORS_STATUS, errors=read.errors
            )
        receipt = await self._intake.answer(read.response)
        return await self._answered(request, visitor, card, submission, receipt)

    def _must_prove(self, request: web.Request, visitor: Visitor, card: Card) -> bool:
        proof = request.cookies.get(self._proof_cookie, "")
        browser = request.cookies.get(self._form_cookie, "")
        return self._login is not None and self._login.wanted(visitor, card, proof, browser)

    async def _prove(
        self, request: web.Request, visitor: Visitor, card: Card, submission: receive.Submission
    ) -> web.Response:
        """A code is asked for, or entered. Anything else waits until it was."""
        words = words_of(card.reader.locale)
        if self._login is None or not self._must_prove(request, visitor, card):
            return self._redirect(request, visitor, "")
        notice = words("page.login_needed")
        if not pressed(signs_of(request.headers), submission.press):
            notice = words("page.again_pressed")
        elif submission.action == login.SEND:
            sent = await self._login.codes.send(visitor, card.reader)
            said = words("page.login_sent" if sent else "page.login_often")
            return self._redirect(request, visitor, said)
        elif submission.action == login.ENTER:
            if await self._login.codes.check(visitor, submission.code):
                response = self._redirect(request, visitor, words("page.login_done"))
                proof = self._login.proof(visitor, request.cookies.get(self._form_cookie, ""))
                self._set_cookie(response, self._proof_cookie, proof)
                return response
            notice = words("page.login_wrong")
        page = await self._draw(visitor, card, notice=notice, alert=True, status=403)
        return self._page(request, visitor, page)

    async def _answered(
        self,
        request: web.Request,
        visitor: Visitor,
        card: Card,
        submission: receive.Submission,
        receipt: Receipt,
    ) -> web.Response:
        """What the person sees once the intake has spoken."""
        if receipt.ok:
            return self._redirect(request, visitor, receipt.message)
        status = STATUS.get(receipt.code, 400)
        if receipt.code in {"forbidden", "interrupt_not_found"}:
            return problem(receipt.code, status, words_of(card.reader.locale))
        now = receipt.card or await self._intake.look(visitor.interrupt_id, visitor.person) or card
        if receipt.field_errors:
            status = FIELD_ERRORS_STATUS
        return await self._again(
            request,
            visitor,
            now,
            submission,
            status,
            notice=receipt.message,
            errors=receipt.field_errors,
        )

    async def _found(
        self, request: web.Request, visitor: Visitor, card: Card, submission: receive.Submission
    ) -> web.Response:
        """The page with what a picker's search found, and all that was typed. It answers nothing."""
        typed = pages.Typed(submission.action, submission.values)
        page = await self._draw(visitor, card, submission, typed=typed)
        return self._page(request, visitor, page)

    async def _again(
        self,
        request: web.Request,
        visitor: Visitor,
        card: Card,
        submission: receive.Submission,
        status: int,
        *,
        notice: str = "",
        errors: dict[str, str] | None = None,
    ) -> web.Response:
        """The page once more with what was typed; how it ended, when it has ended."""
        if card.state != "open":
            status = 410 if card.state == "expired" else 409
            return self._page(request, visitor, await self._draw(visitor, card, status=status))
        if errors and not notice:
            notice = words_of(card.reader.locale)("page.marked")
        page = await self._draw(
            visitor,
            card,
            submission,
            notice=notice,
            alert=True,
            typed=pages.Typed(submission.action, submission.values, errors or {}),
            status=status,
        )
        return self._page(request, visitor, page)

    async def _draw(
        self,
        visitor: Visitor,
        card: Card,
        submission: receive.Submission | None = None,
        **page: Any,
    ) -> pages.CardPage:
        forms: dict[str, Form | None] = {
            one.id: self._intake.form(card, one.id) for one in card.actions
        }
        where = (submission.action, submission.queries) if submission is not None else ("", {})
        offers = await look_up(self._intake, visitor, forms, *where)
        return pages.card_page(
            card,
            reader=visitor.person.name,
            may_answer=visitor.may_answer,
            forms=forms,
            offers=offers,
            **page,
        )

    def _page(self, request: web.Request, visitor: Visitor, page: pages.CardPage) -> web.Response:
        if self._must_prove(request, visitor, page.card):
            page = replace(page, sections=(), login=True)
        if not page.sections and not page.login:
            return html(render.card_html(page, ""), page.status)
        cookie, fresh = browser_cookie(request.cookies.get(self._form_cookie))
        nonce = self._seal.issue(visitor.handle, cookie, page.card.version)
        response = html(render.card_html(page, nonce), page.status, render.headers_of(page))
        if fresh:
            self._set_cookie(response, self._form_cookie, cookie)
        return response

    def _redirect(self, request: web.Request, visitor: Visitor, message: str) -> web.Response:
        """To the same page by GET, so that a reload sends nothing again."""
        # Relative to the page itself: right behind any path prefix.
        place = request.rel_url.raw_path.rpartition("/")[2]
        response = web.Response(status=303, headers={**render.HEADERS, "Location": f"./{place}"})
        if message:
            note = self._seal.note(visitor.handle, message)
            self._set_cookie(response, self._note_cookie, note, max_age=NOTE_MAX_AGE)
        return response

    def _set_cookie(
        self, response: web.Response, name: str, value: str, max_age: int | None = None
    ) -> None:
        # Lax, not Strict: a link in web mail is a navigation from another site, where a Strict
        # cookie stays home; each opened link would then replace the cookie of the pages that are
        # already open. A post from another site carries neither.
        response.set_cookie(
            name,
            value,
            path="/",
            max_age=max_age,
            secure=self._settings.secure,
            httponly=True,
            samesite="Lax",
        )

    async def _visitor(self, request: web.Request) -> Visitor:
        handle = request.match_info["handle"]
        visitor = await self._links.open(handle) if len(handle) <= MAX_HANDLE else None
        if visitor is None:
            raise Refusal("interrupt_not_found", "This link doesn't work.")
        heard = request.headers.get("Accept-Language", "")[:MAX_HINT]
        return replace(visitor, person=replace(visitor.person, locale=heard))

    async def _card(self, visitor: Visitor) -> Card:
        card = await self._intake.look(visitor.interrupt_id, visitor.person)
        if card is None:
            raise Refusal("interrupt_not_found", "This link doesn't work.")
        return card

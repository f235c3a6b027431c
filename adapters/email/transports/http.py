"""Requests to a mail provider: bounded in number, bytes and time, no redirect followed."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from adapters.channel import DeliveryFailed, NotYet

MAX_ANSWER: Final = 64 * 1024
"""Bytes of an answer that are read; theirs have some hundred."""

_LONGEST_WAIT: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a provider said. `kind` is the type of an AWS error, by its header."""

    status: int
    retry_after: float | None
    body: bytes
    kind: str = ""

    def members(self) -> dict[str, Any]:
        """The JSON object in the body; empty when it is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


class Http:
    """A session that is opened with the first request. `connections` requests at a time."""

    def __init__(self, connections: int, timeout: float) -> None:
        self._slots = asyncio.Semaphore(connections)
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._session: aiohttp.ClientSession | None = None

    async def post(
        self,
        url: str,
        data: bytes | aiohttp.FormData,
        headers: Mapping[str, str],
    ) -> Answer:
        """The answer, whatever its status. Raises `DeliveryFailed` when there is none."""
        async with self._slots:
            if self._session is None:
                self._session = aiohttp.ClientSession(
                    timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar()
                )
            try:
                async with self._session.post(
                    url, data=data, headers=headers, allow_redirects=False
                ) as response:
                    body = await response.content.read(MAX_ANSWER)
                    kind = response.headers.get("X-Amzn-ErrorType", "")
                    return Answer(response.status, _seconds(response), body, kind)
            except TimeoutError:
                raise DeliveryFailed("the mail provider takes too long") from None
            except aiohttp.ClientError as failure:
                # The text of an aiohttp error may hold the URL; the type is enough.
                reason = f"can't reach the mail provider: {type(failure).__name__}"
                raise DeliveryFailed(reason) from failure

    async def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def refused(
    provider: str, answer: Answer, said: str, *, permanent: bool | None = None
) -> Exception:
    """A refusal in the pump's terms. Unless `permanent` is given: a 4xx is final, but for 408 and
    429; everything else passes."""
    reason = f"{provider} did not take the mail: {answer.status} {_printable(said)}".strip()
    if answer.status == 429:
        return NotYet(reason, answer.retry_after or 5.0)
    if permanent is None:
        permanent = 400 <= answer.status < 500 and answer.status != 408
    return DeliveryFailed(reason, permanent=permanent, retry_after=answer.retry_after)


def _seconds(response: aiohttp.ClientResponse) -> float | None:
    """Retry-After in seconds. As a date it is not worth a clock's trouble: our own delay serves."""
    value = response.headers.get("Retry-After", "")
    return min(float(value), _LONGEST_WAIT) if re.fullmatch(r"\d{1,6}", value) else None


def _printable(text: str) -> str:
    """What a provider said, bounded and on one line: it goes into a log."""
    return re.sub(r"[^\x20-\x7e]+", " ", text)[:200]

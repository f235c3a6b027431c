"""One delivery to a worker: signed, through the egress guard, bounded in time and size; JSON or SSE back."""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import orjson
from pydantic import ValidationError

from adapters.egress import Egress, UrlRejected
from gateway.http import read_json
from gateway.routes.compat.substructure_prompts import Agent
from schemas.errors import Refusal
from schemas.payloads import problems
from schemas.substructure import DecisionResponse

SIGNATURE: Final = "X-Substructure-Signature"
MOST_READ: Final = 8 * 2**20
_STREAM: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class DeliveryFailed(Exception):
    """The worker gave no usable answer. The text is for the log and says nothing that it answered."""

    message: str
    retryable: bool = True


def signature(secret: str, body: bytes) -> str:
    """The value of the signature header: `sha256=<lower hex>` over the raw body."""
    return "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()


class WorkerClient:
    """Asks workers. `seconds` bound one delivery, all of it."""

    def __init__(self, egress: Egress, seconds: float) -> None:
        self._egress = egress
        self._seconds = seconds

    async def decide(self, agent: Agent, request: dict[str, Any]) -> dict[str, Any]:
        """The worker's answer, as the rules take it. Raises `DeliveryFailed`."""
        body = orjson.dumps(request)
        headers = {"Content-Type": "application/json", "Accept": f"{_STREAM}, application/json"}
        if agent.secret:
            headers[SIGNATURE] = signature(agent.secret, body)
        try:
            session = self._egress.session(agent.url)
            async with (
                asyncio.timeout(self._seconds),
                session.post(
                    agent.url, data=body, headers=headers, allow_redirects=False
                ) as response,
            ):
                raw = await _bounded(response)
        except UrlRejected as error:
            raise DeliveryFailed(f"The worker's URL is refused: {error}") from None
        except TimeoutError:
            raise DeliveryFailed("The worker did not answer in time.") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise DeliveryFailed(f"The worker was not reached ({type(error).__name__}).") from None
        if not 200 <= response.status < 300:
            raise DeliveryFailed(f"The worker answered {response.status}.")
        if response.content_type == _STREAM:
            return read_answer(last_result(raw))
        return read_answer(_json(raw) if raw.strip() else {})


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for chunk in response.content.iter_chunked(65_536):
        raw += chunk
        if len(raw) > MOST_READ:
            raise DeliveryFailed("The worker's answer is too large.")
    return bytes(raw)


def last_result(raw: bytes) -> Any:
    """The decision of a stream: the data of its one `decision.result`. Frames before it are passed over.

    Raises `DeliveryFailed` for a stream without one, and for `decision.error` as that says.
    """
    for block in raw.replace(b"\r\n", b"\n").split(b"\n\n"):
        event, data = b"message", []
        for line in block.split(b"\n"):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"event":
                event = value
            elif name == b"data":
                data.append(value)
        if event == b"decision.result":
            return _json(b"\n".join(data))
        if event == b"decision.error":
            said = _json(b"\n".join(data))
            again = said.get("retryable", True) if isinstance(said, dict) else True
            raise DeliveryFailed("The worker reported an error.", retryable=again is not False)
    raise DeliveryFailed("The worker's stream ended without a decision.")


def read_answer(raw: Any) -> dict[str, Any]:
    """A decision response. Raises `DeliveryFailed` for one that is malformed: it is asked again."""
    try:
        return DecisionResponse.model_validate(raw).plain()
    except ValidationError as error:
        first = problems(error)[0]
        where = ".".join(str(p) for p in first["path"]) or "the answer"
        raise DeliveryFailed(f"The worker's answer is malformed at {where}.") from None


def _json(raw: bytes) -> Any:
    try:
        return read_json(raw)
    except Refusal:
        raise DeliveryFailed("The worker's answer is not JSON, or nested too deeply.") from None

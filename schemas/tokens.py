"""The claims of an interrupt token. The text form is made and checked in `host.tokens`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from schemas.ids import BoundId, NodeId
from schemas.model import Closed

Intent = Literal["resolve", "inspect"]


class TokenClaims(Closed):
    """What a token says: which interrupt, until when, and whether it decides or only looks.

    `principal` binds a token to one approver; a gate with a list accepts no token without it.
    """

    run_id: BoundId
    node_id: NodeId
    interrupt_id: BoundId
    expires_at: Annotated[datetime, Field()]
    intent: Intent
    principal: str | None = None

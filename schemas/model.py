"""The base of every wire model: closed, immutable, camelCase outside and snake_case inside."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Closed(BaseModel):
    """A closed object: a member that the model does not name is refused (protocol digest 2.8)."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    def wire(self) -> dict[str, object]:
        """This object as it goes over the wire: camelCase, members that were never set left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

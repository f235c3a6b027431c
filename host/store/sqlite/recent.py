"""Runs and interrupts that were read or written lately, as they stand on the disk.

This file has one writing process, so what was committed here is what is true: a hit needs no read and no
decoding. Values are frozen, so they can be shared. Written only after the commit.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

V = TypeVar("V")


class Recent(Generic[V]):
    """A map that forgets what was used longest ago."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str) -> V | None:
        """The value, which is now the last to be forgotten."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: str, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._size:
            self._values.popitem(last=False)

    def drop(self, key: str) -> None:
        """It is gone."""
        self._values.pop(key, None)

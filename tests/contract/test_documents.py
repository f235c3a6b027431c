"""The contract of documents: run against every store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from host.store.port import Store
from tests.contract.test_store import NOW


async def test_a_document_is_there_after_a_restart(opening: Callable[[], Store]) -> None:
    first = opening()
    await first.start()
    assert await first.documents.put("note", "a", {"text": "ü", "n": [1]}, NOW) == 1
    await first.stop()
    second = opening()
    await second.start()
    found = await second.documents.get("note", "a", NOW)
    await second.stop()
    assert found is not None
    assert (found.key, found.value, found.version) == ("a", {"text": "ü", "n": [1]}, 1)


async def test_kinds_are_apart(store: Store) -> None:
    await store.documents.put("one", "a", 1, NOW)
    assert await store.documents.get("two", "a", NOW) is None
    assert not await store.documents.delete("two", "a")


async def test_each_write_raises_the_version(store: Store) -> None:
    assert [await store.documents.put("n", "a", i, NOW) for i in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("expected", [1, 7])
async def test_what_is_not_there_has_no_version_but_zero(store: Store, expected: int) -> None:
    assert await store.documents.put("n", "a", "x", NOW, expected=expected) is None
    assert await store.documents.get("n", "a", NOW) is None


async def test_a_write_with_another_version_changes_nothing(store: Store) -> None:
    await store.documents.put("n", "a", "x", NOW, expected=0)
    assert await store.documents.put("n", "a", "y", NOW, expected=0) is None
    assert await store.documents.put("n", "a", "y", NOW, expected=2) is None
    found = await store.documents.get("n", "a", NOW)
    assert found is not None
    assert found.value == "x"
    assert await store.documents.put("n", "a", "y", NOW, expected=1) == 2


async def test_of_many_firsts_one_wins(store: Store) -> None:
    writes = [store.documents.put("n", "a", i, NOW, expected=0) for i in range(20)]
    versions = await asyncio.gather(*writes)
    assert sorted(versions, key=str) == [1, *[None] * 19]
    found = await store.documents.get("n", "a", NOW)
    assert found is not None
    assert found.value == versions.index(1)


async def test_an_expired_one_is_as_if_it_were_not_there(store: Store) -> None:
    await store.documents.put("n", "a", "x", NOW, expires_at=NOW + 10)
    assert await store.documents.get("n", "a", NOW + 9) is not None
    assert await store.documents.get("n", "a", NOW + 10) is None
    assert await store.documents.list("n", NOW + 10) == []
    assert await store.documents.put("n", "a", "y", NOW + 10, expected=1) is None
    assert await store.documents.put("n", "a", "y", NOW + 10, expected=0) == 1


async def test_forgetting_drops_the_expired_alone(store: Store) -> None:
    for i in range(5):
        await store.documents.put("n", f"old{i}", i, NOW, expires_at=NOW + 1)
    await store.documents.put("n", "later", 1, NOW, expires_at=NOW + 100)
    await store.documents.put("n", "never", 1, NOW)
    assert await store.documents.forget(NOW + 1, 3) == 3
    assert await store.documents.forget(NOW + 1, 3) == 2
    assert [document.key for document in await store.documents.list("n", NOW)] == ["later", "never"]


async def test_a_delete_of_another_version_deletes_nothing(store: Store) -> None:
    await store.documents.put("n", "a", "x", NOW)
    assert not await store.documents.delete("n", "a", expected=2)
    assert await store.documents.delete("n", "a", expected=1)
    assert not await store.documents.delete("n", "a")


async def test_a_listing_goes_page_by_page_in_the_order_of_code_points(store: Store) -> None:
    keys = ["B", "a", "a%", "a_b", "ab", "ä", "b"]
    for key in reversed(keys):
        await store.documents.put("n", key, key, NOW)
    assert [d.key for d in await store.documents.list("n", NOW, limit=3)] == ["B", "a", "a%"]
    assert [d.key for d in await store.documents.list("n", NOW, after="a%", limit=2)] == [
        "a_b",
        "ab",
    ]
    assert [d.key for d in await store.documents.list("n", NOW, prefix="a")] == [
        "a",
        "a%",
        "a_b",
        "ab",
    ]
    assert [d.key for d in await store.documents.list("n", NOW, prefix="a_")] == ["a_b"]

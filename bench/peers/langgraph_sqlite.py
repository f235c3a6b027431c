"""LangGraph with its SQLite saver: `interrupt()`, then `Command(resume=…)`, both with durability="sync".

In this process, without HTTP, on WAL with `synchronous=FULL`: what it does best.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

NAME = "LangGraph, AsyncSqliteSaver"
PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite")


class Asked(TypedDict):
    answer: Any


class Peer:
    def __init__(self, folder: Path) -> None:
        self._saver = AsyncSqliteSaver.from_conn_string(str(folder / "langgraph.db"))

    async def start(self) -> None:
        saver = await self._saver.__aenter__()
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous = FULL")
        graph = StateGraph(Asked)
        graph.add_node("ask", lambda state: {"answer": interrupt({"title": "Refund 4,000.00 EUR"})})
        graph.add_edge(START, "ask")
        graph.add_edge("ask", END)
        self._graph = graph.compile(checkpointer=saver)

    async def trip(self, number: int) -> None:
        config = {"configurable": {"thread_id": f"t{number}"}}
        paused = await self._graph.ainvoke({"answer": None}, config, durability="sync")
        assert "__interrupt__" in paused
        done = await self._graph.ainvoke(Command(resume="accept"), config, durability="sync")
        assert done["answer"] == "accept"

    async def stop(self) -> None:
        await self._saver.__aexit__(None, None, None)

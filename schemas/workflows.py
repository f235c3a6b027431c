"""Workflow definitions: nodes that suspend, in sequence and with edges. Not a programming language.

Enough to run the protocol's suspend nodes without an agent framework. Edges carry the protocol's trigger
rules; a loop back to an earlier node is an ordinary edge.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.ids import NodeId, WorkflowId
from schemas.model import Closed

NodeType = Literal[
    "core.noop",
    "core.delay",
    "core.fail",
    "core.approvalGate",
    "core.clarificationGate",
    "core.interrupt",
    "core.conversationGate",
    "core.identity",
]
TriggerRule = Literal["all_success", "any_success", "any_failed", "all_complete"]


class Node(Closed):
    """One step. `config` depends on its type; see docs/workflows.md."""

    id: NodeId
    type: NodeType
    config: Annotated[dict[str, Any], Field(default_factory=dict)]


class Edge(Closed):
    """What runs after what. `rule` is judged when the source has ended."""

    from_: Annotated[NodeId, Field(alias="from")]
    to: NodeId
    rule: TriggerRule = "all_success"


class Workflow(Closed):
    """A definition, registered at start."""

    workflow_id: WorkflowId
    description: str = ""
    nodes: Annotated[tuple[Node, ...], Field(min_length=1, max_length=200)]
    edges: Annotated[tuple[Edge, ...], Field(max_length=1000)] = ()
    notify: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _whole(self) -> Workflow:
        ids = [node.id for node in self.nodes]
        if len(set(ids)) != len(ids):
            raise ValueError("two nodes have the same id")
        for edge in self.edges:
            if edge.from_ not in ids or edge.to not in ids:
                raise ValueError(
                    f"an edge names a node that does not exist: {edge.from_} -> {edge.to}"
                )
        if not self.roots():
            raise ValueError("no node can start: every node has an incoming edge")
        return self

    def node(self, node_id: str) -> Node | None:
        """The node of this id."""
        return next((node for node in self.nodes if node.id == node_id), None)

    def roots(self) -> tuple[Node, ...]:
        """Where a run starts: the nodes without an incoming edge, else the first one, if every edge
        into it comes from behind (a loop)."""
        targets = {edge.to for edge in self.edges}
        return tuple(node for node in self.nodes if node.id not in targets)

"""``tfnb.safety``: permissions and limits for graphs from files.

A node that your own calls built may do everything that its op does. A node that came from a file
(through ``import_graph_def``, ``import_meta_graph``, ``saved_model.load``) reads no file, writes
none and calls no Python function, unless you feed it the path or allow it here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, Self

from tfnb.core.effects import PROCESS, Grant, StepLimits, resolved_path
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.graph import Graph
from tfnb.framework.loaded_nodes import NodeEffect, effects_of

if TYPE_CHECKING:
    from types import TracebackType

    from tfnb.core.effects import EffectsPolicy

EXPORTS = {"safety": ["allow", "effects", "limits", "Allowance", "NodeEffect"]}

type_of_effect = Literal["read", "write", "file", "python", "network"]


class Allowance:
    """The permissions of one call of :func:`allow`; a ``with`` statement revokes them."""

    def __init__(self, policy: EffectsPolicy, grants: tuple[Grant, ...]) -> None:
        self._policy = policy
        self._grants = grants

    def revoke(self) -> None:
        """Revoke the permissions; a second call does nothing."""
        self._policy.remove(self._grants)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.revoke()

    def __repr__(self) -> str:
        parts = [
            one.kind if one.under is None else f"{one.kind} under {one.under!r}"
            for one in self._grants
        ]
        return f"<allowed: {', '.join(parts)}>"


def allow(
    *effects: type_of_effect, under: str | os.PathLike[str] | None = None, graph: Any = None
) -> Allowance:
    """Allow nodes from files to have effects outside the graph, from the next run on.

    Args:
        *effects: ``"read"`` and ``"write"`` files, ``"file"`` for both; ``"python"``: call Python
            functions of this process; ``"network"``.
        under: Allows only files in this folder, or this file; links and ``..`` in their paths are
            followed first. Any file if None.
        graph: The graph that gets the permission; every graph of this process if None.

    Returns:
        The permissions, which can be revoked.

    Raises:
        ValueError: An effect is unknown, or none is given, or ``under`` is given for an effect
            without files.
        TypeError: ``graph`` is not a graph.
    """
    kinds: list[str] = []
    for effect in effects:
        if effect not in ("read", "write", "file", "python", "network"):
            raise ValueError(
                f"There is no effect {effect!r}; allow 'read', 'write', 'file', 'python' or "
                "'network'."
            )
        if under is not None and effect in ("python", "network"):
            raise ValueError(f"`under` limits files; the effect {effect!r} has none.")
        kinds += ["read", "write"] if effect == "file" else [effect]
    if not kinds:
        raise ValueError("Say what to allow: allow('read', under='/data').")
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"`graph` must be a tf.Graph, not {type(graph).__name__}.")
    folder = None if under is None else resolved_path(os.path.expanduser(os.fspath(under)))
    policy = PROCESS if graph is None else graph.effects_policy
    grants = tuple(Grant(kind, folder) for kind in dict.fromkeys(kinds))
    policy.add(grants)
    return Allowance(policy, grants)


def effects(graph: Graph | None = None) -> list[NodeEffect]:
    """Return the effects that a graph may have, without running it.

    Args:
        graph: The graph; the default graph if None.

    Returns:
        A row for each node and file, in the order of the graph: node, op, kind of effect, the path
        if the graph contains it, whether the node came from a file.
    """
    return effects_of(get_default_graph() if graph is None else graph)


def limits(
    graph: Graph | None = None,
    *,
    max_nodes: int | None = None,
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    max_tensor_bytes: int | None = None,
) -> None:
    """Limit the resources of a graph's steps, in all its sessions; replaces previous limits.

    Args:
        graph: The graph; the default graph if None.
        max_nodes: The maximum number of nodes of one file, with those in its functions; set it
            before importing.
        max_iterations: The maximum number of loop iterations and function calls of a step. More is
            a ResourceExhaustedError.
        max_seconds: The maximum time of a step. More is a DeadlineExceededError.
        max_tensor_bytes: The maximum size of a tensor. More is a ResourceExhaustedError, if
            possible before the tensor is made.

    Raises:
        ValueError: A limit is not positive.
    """
    numbers = {
        "max_nodes": max_nodes,
        "max_iterations": max_iterations,
        "max_seconds": max_seconds,
        "max_tensor_bytes": max_tensor_bytes,
    }
    for name, number in numbers.items():
        if number is not None and not number > 0:
            raise ValueError(f"`{name}` must be positive, not {number}.")
    policy = (get_default_graph() if graph is None else graph).effects_policy
    policy.max_nodes = max_nodes
    policy.set_step_limits(StepLimits(max_iterations, max_seconds, max_tensor_bytes))

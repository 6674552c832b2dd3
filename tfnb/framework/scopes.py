"""Scopes of the default graph: ``tf.name_scope``, ``tf.device`` and similar functions."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any

from tfnb.framework.default_graph import _default_graph_stack, get_default_graph
from tfnb.framework.graph_elements import graph_of_inputs
from tfnb.framework.graph_scopes import (
    AttributeScope,
    ColocationScope,
    ControlDependenciesScope,
    DeviceScope,
    NameScope,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType

    from tfnb.framework.default_stack import StackController
    from tfnb.framework.graph import Graph

EXPORTS = {
    "tf": [
        "name_scope", "op_scope", "device", "control_dependencies", "colocate_with",
        "container", "add_to_collection", "add_to_collections", "get_collection",
        "get_collection_ref", "init_scope",
    ],
}  # fmt: skip


class name_scope:  # used like a function
    """A context manager for a Python op: enters the graph of its values and a name scope.

    Attributes:
      name: the requested name.
    """

    __slots__ = ("_default_name", "_graph", "_scope", "_values", "name")

    def __init__(
        self, name: str | None, default_name: str | None = None, values: Iterable[Any] | None = None
    ) -> None:
        """Prepare the scope.

        Args:
          name: the name that the op's caller gave.
          default_name: the name if the caller gave none.
          values: the op's tensor arguments; their graph becomes the default one.

        Raises:
          TypeError: ``default_name`` is not a string.
        """
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError(
                f"`default_name` type ({type(default_name)}) is not a string type. You likely "
                "meant to pass this into the `values` kwarg."
            )
        self.name = default_name if name is None else name
        self._default_name = default_name
        self._values = values
        self._graph: StackController[Graph] | None = None

    def __enter__(self) -> str:
        if self.name is None and self._values is not None:
            raise ValueError(
                f"At least one of name ({self.name}) and default_name ({self._default_name}) must "
                "be provided."
            )
        graph = get_default_graph()
        if self._values is not None and not graph._building_function:
            owner = graph_of_inputs(self._values)
            if owner is not graph:
                graph = owner
                self._graph = graph.as_default()
                self._graph.__enter__()
        self._scope = NameScope(graph, self.name)
        try:
            return self._scope.__enter__()
        except BaseException:
            if self._graph is not None:
                self._graph.__exit__(None, None, None)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._scope.__exit__(kind, error, traceback)
        if self._graph is not None:
            self._graph.__exit__(kind, error, traceback)


def op_scope(
    values: Sequence[Any] | None, name: str | None, default_name: str | None = None
) -> name_scope:
    """Return a :class:`name_scope`; the arguments are in the old order."""
    warnings.warn(
        "tf.op_scope(values, name, default_name) is deprecated, use tf.name_scope(name, "
        "default_name, values)",
        DeprecationWarning,
        stacklevel=2,
    )
    return name_scope(name, default_name, values)


def get_name_scope() -> str:
    """Return the current name scope of the default graph, without its final slash."""
    return get_default_graph().get_name_scope()


def device(device_name_or_function: Any) -> DeviceScope:
    """Call :meth:`Graph.device` of the default graph."""
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Iterable[Any] | None) -> ControlDependenciesScope:
    """Call :meth:`Graph.control_dependencies` of the default graph."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> ColocationScope:
    """Call :meth:`Graph.colocate_with` of the default graph."""
    return get_default_graph().colocate_with(op, ignore_existing)


def _colocate_with_for_gradient(
    op: Any, gradient_uid: str | None, ignore_existing: bool = False
) -> ColocationScope:
    return get_default_graph()._colocate_with_for_gradient(op, gradient_uid, ignore_existing)


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Add ops outside of all loops, branches, control dependencies and function bodies."""
    graph = get_default_graph()
    scope = graph.get_name_scope()
    outer = next((g for g in reversed(_default_graph_stack.stack) if not g.building_function), None)
    with contextlib.ExitStack() as stack:
        if graph.building_function and outer is not None:
            stack.enter_context(outer.as_default())
        stack.enter_context(name_scope(f"{scope}/" if scope else ""))
        stack.enter_context(control_dependencies(None))
        yield


def container(container_name: str) -> AttributeScope:
    """Call :meth:`Graph.container` of the default graph."""
    return get_default_graph().container(container_name)


def add_to_collection(name: Any, value: Any) -> None:
    """Call :meth:`Graph.add_to_collection` of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Call :meth:`Graph.add_to_collections` of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Call :meth:`Graph.get_collection` of the default graph."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """Call :meth:`Graph.get_collection_ref` of the default graph."""
    return get_default_graph().get_collection_ref(key)


def get_all_collection_keys() -> list[str]:
    """Call :meth:`Graph.get_all_collection_keys` of the default graph."""
    return get_default_graph().get_all_collection_keys()

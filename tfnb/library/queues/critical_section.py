"""``tf.CriticalSection``: groups of operations that run under mutual exclusion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tfnb.core import dtypes
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.operation import Operation
from tfnb.framework.scopes import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    control_dependencies,
    name_scope,
)
from tfnb.framework.structures import nest
from tfnb.library.control_flow.control_flow import group, tuple_
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.waiting.mutex_ops import consume_mutex_lock, mutex_lock, mutex_v2

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"tf": ["CriticalSection"]}

# Collections of a graph.
CRITICAL_SECTIONS: Final = "critical_sections"
CRITICAL_SECTION_EXECUTIONS: Final = "critical_section_executions"


class _Execution(NamedTuple):
    """One use of a critical section, as stored in the graph's collection."""

    op: Operation
    handle: Tensor
    resources: list[Tensor]
    exclusive_resource_access: bool


class CriticalSection:
    """A section in which the operations of one function run at a time.

    Two executions never overlap, neither in one step nor in several, nor in several graphs of one
    session that share the name.

    Args:
      name: the name of the mutex op.
      shared_name: the name under which several objects are one section.
      critical_section_def: not supported.
      import_scope: not supported.
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def is not None or import_scope is not None:
            raise ValueError(
                "A CriticalSection cannot be made from a CriticalSectionDef: give name or "
                "shared_name."
            )
        graph = get_default_graph()
        with control_dependencies(None), name_scope(name, "CriticalSection", []) as scope:
            self._shared_name = shared_name or scope
            self._container = graph._container
            self._handle = mutex_v2(
                container=self._container or "", shared_name=self._shared_name, name=scope
            )
        add_to_collection(CRITICAL_SECTIONS, self)

    @property
    def name(self) -> str:
        """The name of the mutex op."""
        found: str = self._handle.op.name
        return found

    def execute(
        self,
        fn: Callable[[], Nested],
        exclusive_resource_access: bool = True,
        name: str | None = None,
    ) -> TensorResult:
        """Return the outputs of ``fn()``, computed inside the section.

        Args:
          fn: builds operations, which belong to the section.
          exclusive_resource_access: whether other sections must not use the same resources.
          name: the name scope of the ops.

        Raises:
          ValueError: ``fn`` enters this section again, which would deadlock; or another section
            uses one of its resources.
        """
        with name_scope(name, "critical_section_execute", []):
            graph = get_default_graph()
            lock = mutex_lock(self._handle)
            before = {op.name for op in graph.get_operations()}
            with control_dependencies([lock]):
                result = fn()
            created = [op for op in graph.get_operations() if op.name not in before]
            self._wait_for_inputs(created, lock.op)
            resources = _resources(created)
            if any(self._is_own(resource) for resource in resources):
                raise ValueError(
                    "Attempting to lock a CriticalSection (signature="
                    f"{(self._container or '', self._shared_name, None)}) in which we are already "
                    "running. This is illegal and may cause deadlocks."
                )
            self._check_resources(resources, exclusive_resource_access)
            flat = [_value(one) for one in nest.flatten(result)]
            with control_dependencies(flat):
                with colocate_with(self._handle):
                    release = consume_mutex_lock(lock)
                # A fetch of a part of the result must run all of it.
                together = nest.pack_sequence_as(result, list(tuple_(nest.flatten(result))))
            with control_dependencies([release]):
                outputs = nest.map_structure(_value, together)
            add_to_collections(
                [CRITICAL_SECTION_EXECUTIONS],
                _Execution(lock.op, self._handle, resources, exclusive_resource_access),
            )
            return outputs

    def _is_own(self, resource: Tensor) -> bool:
        op = resource.op
        return op is self._handle.op or (
            op.type == "MutexV2" and op.get_attr("shared_name").decode() == self._shared_name
        )

    def _wait_for_inputs(self, created: list[Operation], lock: Operation) -> None:
        """Make the lock wait for external inputs, so that it is held only while the ops run."""
        inside = {op.name for op in created}
        inside |= {lock.name, *(op.name for op in lock.control_inputs)}
        inside |= {tensor.op.name for tensor in lock.inputs}
        outside = {
            op.name: op
            for one in created
            for op in (*(tensor.op for tensor in one.inputs), *one.control_inputs)
            if op.name not in inside
        }
        if outside:
            lock._add_control_input(group(*outside.values()))

    def _check_resources(self, resources: list[Tensor], exclusive: bool) -> None:
        for other in get_default_graph().get_collection(CRITICAL_SECTION_EXECUTIONS):
            if self._is_own(other.handle):
                continue
            if not (exclusive or other.exclusive_resource_access):
                continue
            shared = [one for one in resources if any(one is each for each in other.resources)]
            if shared:
                raise ValueError(
                    f"This execution would access resources: {shared}. Either this lock "
                    f"(CriticalSection: {self._handle}) or lock '{other.op.name}' "
                    f"(CriticalSection: {other.handle}) requested exclusive resource access of "
                    "this resource. Did you mean to call execute with keyword argument "
                    "exclusive_resource_access=False?"
                )


def _resources(created: list[Operation]) -> list[Tensor]:
    """Return the distinct resources that the ops use."""
    found: dict[str, Tensor] = {}
    for op in created:
        for tensor in op.inputs:
            if tensor.dtype is dtypes.resource:
                found[tensor.name] = tensor
    return list(found.values())


def _value(value: TensorLike) -> TensorResult:
    if isinstance(value, Operation):
        return group(value)
    if value is None:
        return None
    return identity(value)

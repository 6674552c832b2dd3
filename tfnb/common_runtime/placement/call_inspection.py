"""The devices that a function's body requires of the resources that it takes and returns.

The body of a call with resources is inspected before placement: a result that is an argument is the
same resource, and a resource that the body makes is on the device that the body requests.
Corresponds to TensorFlow's ``placer_inspection_required_ops_utils.cc`` and
``inspecting_placer.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tfnb.core import dtypes, errors
from tfnb.core.process.later import later
from tfnb.core.process.records import field, record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.placement.colocation_member import Member
    from tfnb.graph import function_body
    from tfnb.graph.function_library import FunctionLibraryDefinition
    from tfnb.graph.graph import Graph, Node
else:
    function_body = later("tfnb.graph.function_body", in_step=True)


class GroupsOfBody(Protocol):
    """The nodes of a function's body, in groups that must share a device."""

    def add_nodes(self, nodes: Sequence[Node]) -> None:
        """Add nodes, and join the groups that belong together."""

    def root(self, node: Node) -> Member:
        """Return the member that represents the node's group."""


@record(slots=True)
class ResourceGroup:
    """Arguments and results of a call that must share a device, with the group's constraints."""

    root: Member
    args: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)


def inspect_call(
    call: Node,
    library: FunctionLibraryDefinition | None,
    stack: tuple[str, ...],
    new_groups: Callable[[Graph, tuple[str, ...]], GroupsOfBody],
) -> list[ResourceGroup]:
    """Return the groups among the resources that a ``PartitionedCall`` takes and returns.

    Args:
      call: the node.
      library: the library with its function; for an unknown function there are no groups.
      stack: the functions whose bodies contain the call, the outermost first.
      new_groups: makes the groups of a body, given its graph and the functions around it.

    Raises:
      UnimplementedError: the function calls itself, directly or indirectly.
      InvalidArgumentError: the body's own constraints contradict each other.
    """
    name = call.attrs["f"].name
    definition = None if library is None else library.find(name)
    if definition is None:
        return []
    if name in stack:
        chain = "\n".join(f"  {one}" for one in (*stack, name))
        raise errors.unimplemented(
            f"Recursive function calls are not supported. Node {{{{node {call.name}}}}} inside the "
            f"body of {stack[-1]} calls function {name}, which is already present in the call "
            f"stack:\n{chain}"
        ).naming(call.name)
    body = function_body.instantiate(definition, call.attrs["f"].attrs, library)
    groups = new_groups(body.graph, (*stack, name))
    groups.add_nodes(list(body.graph.op_nodes()))
    found: dict[Member, ResourceGroup] = {}
    for nodes, is_arg in ((body.arg_nodes, True), (body.ret_nodes, False)):
        for index, node in enumerate(nodes):
            types = node.output_types if is_arg else node.input_types
            if types[0].base_dtype is not dtypes.resource:
                continue
            root = groups.root(node)
            group = found.setdefault(root, ResourceGroup(root))
            (group.args if is_arg else group.results).append(index)
    return [group for group in found.values() if group.results]

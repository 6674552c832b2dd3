"""The groups of nodes that must share a device, and the devices that each group may use.

Corresponds to TensorFlow's colocation_graph.cc.  Nodes are joined into disjoint groups

* by reference and resource edges: both ends use the same variable, so they share its device;
* by the ``_class`` attribute ``loc:@x``: the node requests to be with ``x`` and with all nodes that
  request the same.

Most nodes of most graphs are in no group and have no Member at all: see :mod:`placer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.placement.colocation_member import Member, merged_names, specialized_name
from tfnb.core import array_module, device_spec, dtypes, errors
from tfnb.core.process.later import later
from tfnb.core.process.log import log
from tfnb.graph.node_kind import PARTITIONED_CALLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.common_runtime.placement import call_inspection
    from tfnb.common_runtime.placement.colocation_member import PlacementDevice
    from tfnb.core import node_text
    from tfnb.core.dtypes import DType
    from tfnb.graph.graph import Graph, Node
else:
    call_inspection = later("tfnb.common_runtime.placement.call_inspection", in_step=True)
    node_text = later("tfnb.core.node_text", in_step=True)


_CLASS = "_class"
_LOCATION = b"loc:@"

# These ops forward handles to function bodies, whose nodes are placed where the handle lives. If a
# call returns a handle, its body is inspected: call_inspection.py.
_EXEMPT_FROM_RESOURCE_COLOCATION = PARTITIONED_CALLS

# CuPy has no arrays of these types; a GPU could only forward their values.
_HOST_ONLY_TYPES = frozenset(
    [
        dtypes.string,
        dtypes.bfloat16,
        dtypes.int4,
        dtypes.uint4,
        dtypes.float8_e5m2,
        dtypes.float8_e4m3fn,
        dtypes.float8_e4m3fnuz,
        dtypes.float8_e4m3b11fnuz,
        dtypes.float8_e5m2fnuz,
    ]
)


class ColocationGraph:
    """The groups of one graph and the devices each may use.

    State: ``_members`` of nodes that are, or were requested to be, in a group; ``_group_roots``:
    for each name after ``loc:@`` the first node that had it.
    """

    def __init__(
        self,
        graph: Graph,
        devices: Sequence[PlacementDevice],
        default_device: PlacementDevice | None,
        *,
        allow_soft_placement: bool,
        log_device_placement: bool,
        call_stack: tuple[str, ...] = (),
    ) -> None:
        self._graph = graph
        self._devices = devices
        self._default_device = default_device
        self._allow_soft_placement = allow_soft_placement
        self._log_device_placement = log_device_placement
        self._call_stack = call_stack
        # The node that represents a resource that a call returns, by call and output.
        self._anchors: dict[Node, dict[int, Node]] = {}
        self._device_by_name = {device.name: device for device in devices}
        priorities: dict[str, int] = {}
        for device in devices:
            known = priorities.get(device.device_type, device.priority)
            priorities[device.device_type] = max(device.priority, known)
        self._type_priority = priorities
        self._device_types = tuple(sorted(priorities, key=lambda t: (-priorities[t], t)))
        self._members: dict[Node, Member] = {}
        self._group_roots: dict[str, Node] = {}
        self._supported: dict[
            object, tuple[tuple[str, ...], tuple[DType, ...], tuple[DType, ...]]
        ] = {}
        self._accepted_assigned: set[tuple[str, tuple[str, ...]]] = set()
        self._known_matching: dict[object, list[PlacementDevice]] = {}
        # The reason for the device of a node that its group determined.
        self.causes: dict[Node, str] = {}

    # -- making groups ---------------------------------------------------------------------------

    def add_nodes(self, nodes: Sequence[Node]) -> None:
        """Join nodes, and older nodes they refer to, into groups.

        Raises:
          InvalidArgumentError: an op has no kernel, a device name is malformed, or nodes that
            must share a device cannot.
          InternalError: a node is assigned to a device that is unknown or cannot run it.
        """
        taking_handles = []
        # Whether nodes that are alike may take handles; the nodes keep what the ids stand for.
        known: dict[object, bool] = {}
        for node in nodes:
            key = _kernel_key(node)
            takes_handle = known.get(key)
            if node.assigned_device:
                self._check_assigned(node)
            elif takes_handle is None and not self.supported_device_types(node):
                raise self._no_kernel(node)
            if takes_handle is None:
                is_exempt = node.op in _EXEMPT_FROM_RESOURCE_COLOCATION
                takes_handle = self._takes_handle(node) or is_exempt
                if not node.assigned_device:
                    known[key] = takes_handle
            if takes_handle:
                taking_handles.append(node)
        for node in taking_handles:
            if self._takes_handle(node):
                self._join_handle_edges(node)
            if node.op in _EXEMPT_FROM_RESOURCE_COLOCATION and dtypes.resource in node.output_types:
                self._anchor(node, 0)
        self._join_classes(nodes)

    def is_grouped(self, node: Node) -> bool:
        """Return whether the node's device depends on anything but the node itself."""
        return node in self._members

    def member(self, node: Node) -> Member:
        """Return the node's Member, made and checked on first use."""
        found = self._members.get(node)
        if found is None:
            found = self._members[node] = self._new_member(node)
        return found

    def _new_member(self, node: Node) -> Member:
        member = Member(node, self.supported_device_types(node), self._kernel_priorities(node))
        if node.assigned_device:
            self._check_assigned(node)
            member.assigned = member.requested = node.assigned_device
            return member
        if not member.device_types:
            raise self._no_kernel(node)
        if node.requested_device:
            spec = device_spec.parse_full_name(node.requested_device)
            if spec is None:
                raise errors.invalid_argument(
                    f"Malformed device specification '{node.requested_device}' in node: "
                    f"{{{{node {node.name}}}}} = {node.op}"
                ).naming(node.name)
            member.requested = device_spec.runtime_text(spec.parts)
            if _makes_handle(node):
                member.resource = member.requested
        return member

    def _check_assigned(self, node: Node) -> None:
        name, supported = node.assigned_device, self.supported_device_types(node)
        if (name, supported) in self._accepted_assigned:
            return
        if device_spec.parse_full_name(name) is None:
            raise errors.internal(f"Malformed assigned device '{name}'")
        device = self._device_by_name.get(name)
        if device is None:
            raise errors.internal(
                f"Assigned device '{name}' does not match any device. Here are the devices "
                f"available: [{', '.join(self._device_by_name)}]."
            )
        if device.device_type not in supported:
            raise errors.internal(
                f"Assigned device '{name}' does not have registered OpKernel support for {node.op}"
            )
        self._accepted_assigned.add((name, supported))

    def supported_device_types(self, node: Node) -> tuple[str, ...]:
        """Return the available device types that have a kernel for the node, best first."""
        # Nodes share the tuples of their types; an entry keeps these, so their ids stay unique.
        inputs, outputs = node.input_types, node.output_types
        key = _kernel_key(node)
        known = self._supported.get(key)
        if known is None:
            definition = node.op_definition
            assert definition is not None
            host_only = not _passes_through(node) and any(
                dtype.base_dtype in _HOST_ONLY_TYPES for dtype in (*inputs, *outputs)
            )
            supported = [
                device_type
                for device_type in self._device_types
                if definition.has_kernel(device_type, node.attrs)
                and (device_type == "CPU" or not host_only)
            ]
            supported.sort(key=definition.kernel_priority, reverse=True)
            known = self._supported[key] = tuple(supported), inputs, outputs
        return known[0]

    def _kernel_priorities(self, node: Node) -> dict[str, int]:
        definition = node.op_definition
        assert definition is not None
        return {t: definition.kernel_priority(t) for t in self.supported_device_types(node)}

    def _takes_handle(self, node: Node) -> bool:
        for dtype in node.input_types:  # noqa: SIM110  # asked for every node of a graph
            if dtype.is_ref_dtype or dtype is dtypes.resource:
                return True
        return False

    def _join_handle_edges(self, node: Node) -> None:
        for edge in node.in_edges:
            if edge.is_control:
                continue
            dtype = node.input_types[edge.dst_input]
            if dtype.is_ref_dtype or (
                dtype is dtypes.resource and node.op not in _EXEMPT_FROM_RESOURCE_COLOCATION
            ):
                src = edge.src
                if src.op in _EXEMPT_FROM_RESOURCE_COLOCATION:
                    src = self._anchor(src, edge.src_output)
                if src is not node:
                    self._join_handle_edge(src, node)

    def _anchor(self, call: Node, output: int) -> Node:
        """Return the node that must share its device with a resource that a call returns."""
        anchors = self._anchors.get(call)
        if anchors is None:
            anchors = self._anchors[call] = {}
            groups = call_inspection.inspect_call(
                call, self._graph.library, self._call_stack, self._groups_of_body
            )
            for group in groups:
                sources = [call.input_node(index) for index in group.args]
                if len(groups) == 1:
                    sources.append(call)
                elif not sources:
                    sources = [e.dst for e in call.out_edges if e.src_output in group.results][:1]
                for index in group.results:
                    if sources:
                        anchors[index] = sources[0]
                for other in sources[1:]:
                    self._join_handle_edge(sources[0], other)
                if sources:
                    self._limit(sources[0], group.root)
        return anchors.get(output, call)

    def _groups_of_body(self, graph: Graph, call_stack: tuple[str, ...]) -> ColocationGraph:
        return ColocationGraph(
            graph,
            self._devices,
            None,
            allow_soft_placement=self._allow_soft_placement,
            log_device_placement=self._log_device_placement,
            call_stack=call_stack,
        )

    def _limit(self, node: Node, demands: Member) -> None:
        """Apply the constraints of a resource in a function's body to a node's group.

        Raises:
          InvalidArgumentError: they contradict the group's own constraints.
        """
        root = self.root(node)
        shared = tuple(one for one in root.device_types if one in demands.device_types)
        try:
            root.merge_device_names(demands, self._allow_soft_placement)
            if not shared:
                raise errors.invalid_argument("no device type supports all of them")
        except errors.InvalidArgumentError as error:
            raise errors.invalid_argument(
                "Cannot place the graph because a resource of a called function and the resource "
                f"of {{{{colocation_node {node.name}}}}} must share a device: {error.message}"
                f"{self.debug_info(root)}"
            ) from None
        root.device_types = shared
        root.possible_devices = []

    def _join_handle_edge(self, src: Node, dst: Node) -> None:
        src_root, dst_root = self.root(src), self.root(dst)
        self._make_compatible(src, src_root, dst, dst_root)
        try:
            self._join(src, src_root, dst, dst_root)
        except errors.InvalidArgumentError as error:
            raise errors.invalid_argument(
                "Nodes were connected by a reference connection (requiring them to be on the same "
                "device), but the two nodes were assigned two different devices: "
                f"{error.message}{_at(dst)}"
            ).naming(dst.name) from None
        self.causes.setdefault(dst, f"takes the reference or handle of '{src.name}'")
        self.causes.setdefault(src, f"gives its reference or handle to '{dst.name}'")

    def _make_compatible(self, src: Node, src_root: Member, dst: Node, dst_root: Member) -> None:
        """Override a conflicting requested device across a handle edge; others must agree."""
        for kind, left, right in (
            ("assigned", src_root.assigned, dst_root.assigned),
            ("resource", src_root.resource, dst_root.resource),
        ):
            if not device_spec.are_compatible(left, right):
                raise errors.invalid_argument(
                    "Cannot place the graph because a reference or resource edge connects "
                    f"colocation groups with incompatible {kind} devices: {left} vs {right}. "
                    f"The edge src node is {src.name} , and the dst node is {dst.name}"
                )
        if device_spec.are_compatible(src_root.requested, dst_root.requested):
            return
        if self._log_device_placement:
            log.info(
                "Ignoring device specification %s for node '%s' because the input edge from '%s' "
                "is a reference connection and already has a device field set to %s",
                dst_root.requested,
                dst.name,
                src.name,
                src_root.requested,
            )
        dst_root.requested = specialized_name(
            specialized_name(src_root.requested, dst_root.assigned), dst_root.resource
        )

    def _join_classes(self, nodes: Sequence[Node]) -> None:
        asking = [(node, _class_names(node)) for node in nodes if _CLASS in node.attrs]
        if not asking and not self._group_roots:
            return
        # A node is in the group of its own name only if another node requests that name.
        named: dict[Node, None] = {}
        for _, names in asking:
            for name in names:
                found = self._graph.find_node(name)
                if found is not None:
                    named[found] = None
        for node in nodes:
            if node.name in self._group_roots:
                named[node] = None
        wanted: dict[Node, list[str]] = dict(asking)
        everybody = {node.id: node for node in (*wanted, *named)}
        for _, node in sorted(everybody.items()):
            for name in wanted.get(node, ()):
                self._join_group(node, name)
            if node in named:
                self._join_group(node, node.name)

    def _join_group(self, node: Node, group: str) -> None:
        root = self._group_roots.setdefault(group, node)
        if root is node:
            return
        try:
            self._join(node, self.root(node), root, self.root(root))
        except errors.InvalidArgumentError as error:
            if not self._allow_soft_placement:
                raise _apart(f"{error.message}{_at(node)}", error.nodes).naming(node.name) from None
            if self._log_device_placement:
                log.info(
                    "Ignoring request to colocate node '%s' with nodes in colocation group '%s' "
                    "because soft placement is on and an attempt at doing so resulted in the "
                    "following error: %s",
                    node.name,
                    group,
                    error.message,
                )
            return
        for one in (node, root):
            if one.name != group:
                self.causes.setdefault(one, f"asks to be with '{group}'")
            else:
                self.causes.setdefault(one, "others ask to be with it")

    def _join(self, x: Node, x_root: Member, y: Node, y_root: Member) -> None:
        """Merge two groups; leave both unchanged if they conflict.

        Raises:
          InvalidArgumentError: their devices conflict or no device type supports both.
        """
        if x_root is y_root:
            return
        keeps, goes = (y_root, x_root) if x_root.rank < y_root.rank else (x_root, y_root)
        before = keeps.assigned, keeps.resource, keeps.requested
        try:
            keeps.merge_device_names(goes, self._allow_soft_placement)
        except errors.InvalidArgumentError as error:
            raise _apart(f"{_cannot_colocate(x, y)}: {error.message}", (x.name, y.name)) from None
        if not keeps.merge_device_types(goes, self._type_priority):
            keeps.assigned, keeps.resource, keeps.requested = before
            raise _apart(
                f"{_cannot_colocate(x, y)} because no device type supports both of those "
                f"nodes and the other nodes colocated with them.{self.debug_info(x_root)}"
                f"{self.debug_info(y_root)}",
                (x.name, y.name),
            )
        keeps.possible_devices = []
        if keeps.rank == goes.rank:
            keeps.rank += 1
        goes.parent = keeps

    def root(self, node: Node) -> Member:
        """Return the Member that represents the node's group."""
        member = self.member(node)
        while member.parent is not member:
            # Path halving: it keeps later searches short.
            member.parent = member.parent.parent
            member = member.parent
        return member

    # -- choosing devices ------------------------------------------------------------------------

    def limit_to_assigned_device(self, node: Node) -> None:
        """Limit the node's group to the device that was assigned to the node.

        Raises:
          InternalError: the group is already limited to another device.
        """
        root = self.root(node)
        if root.assigned == node.assigned_device:
            return
        try:
            root.assigned = merged_names(root.assigned, node.assigned_device)
        except errors.InvalidArgumentError as error:
            raise errors.internal(
                "Constraining by assigned device should not cause an error. Original root's "
                f"assigned device name: {root.assigned} node's assigned device name "
                f'"{node.assigned_device}. Error: {error.message}'
            ) from None
        root.resource = specialized_name(root.resource, node.assigned_device)
        root.requested = specialized_name(root.requested, node.assigned_device)
        root.possible_devices = []

    def devices_for_node(self, node: Node) -> list[PlacementDevice]:
        """Return the devices the node's group may use, best first.

        Raises:
          InvalidArgumentError: there are none; the message lists the request and the devices.
        """
        root = self.root(node)
        if not root.possible_devices:
            root.possible_devices = self._devices_for_group(node, root)
        return root.possible_devices

    def _devices_for_group(self, node: Node, root: Member) -> list[PlacementDevice]:
        if not root.requested:
            found = self._filter(self._devices, root)
            if not found:
                inputs = ", ".join(dtype.name for dtype in node.input_types)
                raise errors.invalid_argument(
                    "Node had no OpKernel registered to support this operation: Operation was "
                    f"{node.op} and inputs were [{inputs}].\n{self.debug_info(root)}"
                )
            return found
        found = self._matching(root.requested, root)
        if not found and self._allow_soft_placement:
            found = self._soft_candidates(root)
        if not found:
            raise errors.invalid_argument(self._nowhere_message(node, root))
        return found

    def _soft_candidates(self, root: Member) -> list[PlacementDevice]:
        # First the same type with another number, then any type, then devices other than the
        # variables'.
        spec = device_spec.parse_full_name(root.requested)
        assert spec is not None
        preferred = device_spec.parse_full_name(root.soft_device_name(keep_resource=True))
        assert preferred is not None
        if preferred.device_type is None and spec.device_type is not None:
            same_type = preferred.replace(device_type=spec.device_type)
            found = self._matching(device_spec.runtime_text(same_type.parts), root)
            if found:
                return found
        found = self._matching(device_spec.runtime_text(preferred.parts), root)
        if found:
            return found
        found = self._matching(root.soft_device_name(keep_resource=False), root)
        if found:
            log.warning(
                "Failed to place the graph without changing the devices of some resources. Some "
                "of the operations (that had to be colocated with resource generating operations) "
                "are not supported on the resources' devices. Candidates are now: %s.%s",
                ", ".join(device.name for device in found),
                self.debug_info(root),
            )
        return found

    def _matching(self, name: str, root: Member) -> list[PlacementDevice]:
        # Thousands of groups have the same few constraints.
        key = (name, root.device_types, *root.priorities.items())
        found = self._known_matching.get(key)
        if found is None:
            matching = [d for d in self._devices if device_spec.is_same_or_compatible(name, d.name)]
            found = self._known_matching[key] = self._filter(matching, root)
        return found

    def _filter(self, devices: Iterable[PlacementDevice], root: Member) -> list[PlacementDevice]:
        supported = [device for device in devices if device.device_type in root.device_types]
        default, kernels = self._default_device, root.priorities

        def preference(device: PlacementDevice) -> tuple[int, bool, int, str]:
            kind = device.device_type
            is_default = default is not None and device.name == default.name
            return -kernels.get(kind, 0), not is_default, -self._type_priority[kind], device.name

        supported.sort(key=preference)
        return supported

    # -- error messages -------------------------------------------------------------------------

    def _no_kernel(self, node: Node) -> errors.OpError:
        attrs = ", ".join(
            f"{name}={node_text.attr_text(value)}" for name, value in node.attrs.items()
        )
        return errors.invalid_argument(
            f"No OpKernel was registered to support Op '{node.op}' used by {{{{node {node.name}}}}}"
            f" with these attrs: [{attrs}]\n"
            f"Registered devices: [{', '.join(sorted(self._device_types))}]\n"
            f"Registered kernels:\n{_registered_kernels(node)}{_at(node)}"
        ).naming(node.name)

    def _nowhere_message(self, node: Node, root: Member) -> str:
        asked = node.requested_device
        spec = device_spec.parse_full_name(asked)
        if spec is None or device_spec.runtime_text(spec.parts) != root.requested:
            return (
                f"Could not satisfy explicit device specification '{asked}' because the node "
                f"{{{{colocation_node {node.name}}}}} was colocated with a group of nodes that "
                f"required incompatible device '{root.requested}'. All available devices "
                f"[{', '.join(d.name for d in self._devices)}]. {self.debug_info(root)}"
            )
        matching = [d for d in self._devices if device_spec.is_same_or_compatible(asked, d.name)]
        if not matching:
            hint = ""
            if (spec.device_type or "").lower() == "gpu" and "GPU" not in self._device_types:
                why = array_module.missing_gpu() or "the session was given none"
                hint = (
                    " The requested device appears to be a GPU, but CUDA is not enabled. "
                    f"Reason: {why}."
                )
            names = ", ".join(sorted(device.name for device in self._devices))
            return (
                f"{{{{node {node.name}}}}} was explicitly assigned to {asked} but available "
                f"devices are [ {names} ]. Make sure the device specification refers to a valid "
                f"device.{hint}"
            )
        if spec.device_type is not None:
            attrs = ", ".join(
                f"{name}={node_text.attr_text(value)}" for name, value in node.attrs.items()
            )
            return (
                f"Could not satisfy explicit device specification '{asked}' because no supported "
                f"kernel for {spec.device_type} devices is available.{self.debug_info(root)}\n"
                f"Op: {node.op}\nNode attrs: {attrs}\nRegistered kernels:\n"
                f"{_registered_kernels(node)}"
            )
        return f"Could not satisfy explicit device specification '{asked}'{self.debug_info(root)}"

    def debug_info(self, root: Member) -> str:
        """Describe a group: its constraints, its ops' device types, its nodes and requests."""
        nodes = [node for node in self._members if self.root(node) is root]
        types = {node.op: " ".join(self.supported_device_types(node)) for node in nodes}
        lines = [
            "",
            "Colocation Debug Info:",
            "Colocation group had the following types and supported devices: ",
            f"Root: requested device '{root.requested}', assigned device '{root.assigned}', "
            f"resource device '{root.resource}', device types [{', '.join(root.device_types)}]",
            *(f"{op}: {found} " for op, found in types.items()),
            "",
            "Colocation members, user-requested devices, and framework assigned devices, if any:",
        ]
        for node in nodes:
            line = f"  {node.name} ({node.op}) {node.requested_device}"
            if node.assigned_device:
                line += f" framework assigned device={node.assigned_device}"
            lines.append(line)
        return "\n".join(lines) + "\n"

    @property
    def device_types(self) -> tuple[str, ...]:
        """The available device types, best first."""
        return self._device_types


def _cannot_colocate(x: Node, y: Node) -> str:
    return (
        f"Cannot colocate nodes {{{{colocation_node {x.name}}}}} and "
        f"{{{{colocation_node {y.name}}}}}"
    )


def _apart(message: str, names: tuple[str, ...]) -> errors.OpError:
    """Return the error for nodes that cannot share a device."""
    error = errors.invalid_argument(message, errors.Mistake.APART)
    error.nodes = names
    return error


def _makes_handle(node: Node) -> bool:
    """Return whether a node makes a variable or a handle; others may not override its device."""
    if node.input_types or len(node.output_types) != 1:
        return False
    dtype = node.output_types[0]
    return dtype.is_ref_dtype or dtype is dtypes.resource


def _kernel_key(node: Node) -> tuple[object, int, int, bytes | None]:
    """Return what the kernels of a node depend on; a label that is no text counts as none."""
    label = node.attrs.get("_kernel")
    return (
        node.op_definition,
        id(node.input_types),
        id(node.output_types),
        label if isinstance(label, bytes) else None,
    )


def _passes_through(node: Node) -> bool:
    kind = node.kind
    return (
        kind.is_control_flow
        or kind.is_identity
        or kind.is_transfer_node
        or kind.is_arg
        or kind.is_retval
    )


def _class_names(node: Node) -> list[str]:
    value = node.attrs[_CLASS]
    if not isinstance(value, list):
        log.error(
            "The value for colocation attribute '_class' must be a list of strings, "
            "not a single string: %s",
            node.name,
        )
        return []
    return [name[len(_LOCATION) :].decode() for name in value if name.startswith(_LOCATION)]


def _registered_kernels(node: Node) -> str:
    assert node.op_definition is not None
    return node.op_definition.registered_kernels()


def _at(node: Node) -> str:
    return f"\n\t [[{{{{node {node.name}}}}}]]"

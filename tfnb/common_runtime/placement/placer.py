"""Chooses a device for every node.

Corresponds to TensorFlow's placer.cc.  In order of strength:

1. a device assigned before stays; 2. nodes that must be together go together
(:mod:`colocation_graph`); 3. the requested device; soft placement may drop its type and number if
no device has them; 4. a node that reads only the shape of its input stays with its input; 5. a node
without inputs and with one output follows its consumers, if they share a device; 6. the first
device of the type with the highest priority that has a kernel.

Each decision is stored with its reason.  The decision for a node outside of all colocation groups
is cached by (op, dtypes, requested device), so that the second ``MatMul`` costs a lookup.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tfnb.common_runtime.placement.colocation_graph import ColocationGraph
from tfnb.core import device_spec, errors
from tfnb.core.process.records import record
from tfnb.graph.graph import SINK_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.common_runtime.placement.colocation_member import PlacementDevice
    from tfnb.core.dtypes import DType
    from tfnb.graph.graph import Graph, Node

_FIRST_OP_ID = SINK_ID + 1


@record(frozen=True, slots=True)
class PlacementReason:
    """The device of a node and why it was chosen.

    Attributes:
      requested: the device requested by the user, "" for none.
      allowed: the device types that have a kernel for the node, best first.
      chosen: the device.
      why: the rule that decided, as text that completes "because it ...".
    """

    requested: str
    allowed: tuple[str, ...]
    chosen: str
    why: str


class Placer:
    """Places one graph, all at once or as it grows.

    Attributes:
      reasons: node name -> reason, for every node this Placer has seen.
    """

    def __init__(
        self,
        graph: Graph,
        devices: Iterable[PlacementDevice],
        default_local_device: PlacementDevice | None = None,
        *,
        allow_soft_placement: bool = True,
        log_device_placement: bool = False,
    ) -> None:
        """Prepare the placement of ``graph``.

        Args:
          graph: the graph; its nodes get ``assigned_device``.
          devices: the devices of the session.
          default_local_device: used where possible, before devices of higher priority.
          allow_soft_placement: whether a request that cannot be met may be ignored.
          log_device_placement: whether to print each decision on stderr.
        """
        self.reasons: dict[str, PlacementReason] = {}
        self._graph = graph
        self._devices = tuple(devices)
        self._default_local_device = default_local_device
        self._allow_soft_placement = allow_soft_placement
        self._log_device_placement = log_device_placement
        self._groups = self._new_groups()
        self._known_devices: dict[object, list[PlacementDevice]] = {}
        # The devices of nodes in no group and beside no other node, and their types.
        self._known_places: dict[
            object, tuple[PlacementReason, tuple[DType, ...], tuple[DType, ...]]
        ] = {}
        self._known_reasons: dict[tuple[str, tuple[str, ...], str, str], PlacementReason] = {}

    def _new_groups(self) -> ColocationGraph:
        return ColocationGraph(
            self._graph,
            self._devices,
            self._default_local_device,
            allow_soft_placement=self._allow_soft_placement,
            log_device_placement=self._log_device_placement,
        )

    def run(self, first_id: int = _FIRST_OP_ID) -> None:
        """Place the nodes with ids from ``first_id`` on; older ones are placed already.

        If the new nodes conflict with the placement of the old ones, all nodes are placed again,
        except stateful nodes, whose state stays on its device.

        Raises:
          FailedPreconditionError: there are no devices.
          InvalidArgumentError: no device fits a node; the message lists the request and the
            devices.
          InternalError: a node was assigned to a device that is unknown or cannot run it.
        """
        if not self._devices:
            raise errors.failed_precondition("No devices are registered")
        first_id = max(first_id, _FIRST_OP_ID)
        nodes = [node for node in self._graph.nodes[first_id:] if node is not None]
        asked = self._log_device_placement
        free = [node for node in nodes if not node.assigned_device] if asked else []
        try:
            self._place_all(nodes)
        except errors.OpError:
            if first_id == _FIRST_OP_ID:
                raise
            self._place_anew()
        if asked:
            self._log(free)

    def _place_anew(self) -> None:
        nodes = list(self._graph.op_nodes())
        before = [node.assigned_device for node in nodes]
        for node in nodes:
            if not node.is_stateful:
                node.assigned_device = ""
        self._groups = self._new_groups()
        try:
            self._place_all(nodes)
        except errors.OpError:
            for node, device in zip(nodes, before):
                node.assigned_device = device
            raise

    def _place_all(self, nodes: Sequence[Node]) -> None:
        free = [node for node in nodes if not node.assigned_device]
        try:
            self._groups.add_nodes(nodes)
            generators = []
            for node in nodes:
                if node.assigned_device:
                    if self._groups.is_grouped(node):
                        self._groups.limit_to_assigned_device(node)
                    if node.name not in self.reasons:
                        self._explain(node, "was placed before")
                elif not node.input_types and _is_generator(node):
                    # Placed last, after its consumers.
                    generators.append(node)
                elif node.kind.is_metadata:
                    self._place(node, _input_of_metadata(node), "stays with its input")
                else:
                    self._place(node, None, "")
            for node in generators:
                beside = _only_place_of_consumers(node) if len(self._devices) > 1 else None
                self._place(node, beside, "follows its consumer")
        except errors.OpError:
            # Undo the placement, so that a second call raises the same error.
            for node in free:
                node.assigned_device = ""
                self.reasons.pop(node.name, None)
            self._groups = self._new_groups()
            raise

    def _place(self, node: Node, beside: Node | None, why_beside: str) -> None:
        key = None
        if beside is None and not self._groups.is_grouped(node):
            # Nodes share the tuples of their types; an entry keeps these, so their ids stay unique.
            inputs, outputs = node.input_types, node.output_types
            label = node.attrs.get("_kernel")
            label = label if isinstance(label, bytes) else None
            key = (node.op_definition, id(inputs), id(outputs), label, node.requested_device)
            known = self._known_places.get(key)
            if known is not None:
                reason = self.reasons[node.name] = known[0]
                node.assigned_device = reason.chosen
                return
        try:
            devices = self._devices_for(node)
        except errors.InvalidArgumentError as error:
            raise errors.invalid_argument(
                f"Cannot assign a device for operation {node.name}: {error.message}"
                f"\n\t [[{{{{node {node.name}}}}}]]",
                errors.Mistake.NO_DEVICE,
            ).naming(node.name) from None
        chosen = devices[0].name
        why = ""
        if beside is not None and beside.assigned_device != chosen:
            for device in devices:
                if device.name == beside.assigned_device:
                    chosen, why = device.name, f"{why_beside} '{beside.name}'"
        node.assigned_device = chosen
        if self._groups.is_grouped(node):  # perhaps while its devices were determined
            self._groups.limit_to_assigned_device(node)
        self._explain(node, why or self._why(node))
        if key is not None:
            self._known_places[key] = self.reasons[node.name], inputs, outputs

    def _devices_for(self, node: Node) -> list[PlacementDevice]:
        groups = self._groups
        if groups.is_grouped(node):
            return groups.devices_for_node(node)
        key = (node.op_definition, node.input_types, node.output_types, node.requested_device)
        found = self._known_devices.get(key)
        if found is None:
            found = self._known_devices[key] = groups.devices_for_node(node)
        return found

    # -- reasons ---------------------------------------------------------------------------------

    def _why(self, node: Node) -> str:
        cause = self._groups.causes.get(node)
        requested, chosen = node.requested_device, node.assigned_device
        definition = node.op_definition
        assert definition is not None
        if requested and not device_spec.is_same_or_compatible(requested, chosen):
            yields = f"'{requested}' was asked for, which yields"
            if cause is not None:
                return f"{cause} ({yields})"
            return f"can run there and soft placement is on ('{requested}' is not available)"
        if requested:
            asked = f"was asked to be on '{requested}'"
            return asked if cause is None else f"{asked}, and {cause}"
        if cause is not None:
            return cause
        allowed = self._groups.supported_device_types(node)
        if len(self._devices) == 1:
            return "has no other device"
        if len(allowed) == 1 and len(self._groups.device_types) > 1:
            return f"has a kernel for {allowed[0]} only"
        if len({definition.kernel_priority(one) for one in allowed}) > 1:
            return f"prefers its kernel for {allowed[0]}"
        if self._default_local_device is not None and chosen == self._default_local_device.name:
            return "prefers the device of its caller"
        return "prefers the first device of the best type"

    def _explain(self, node: Node, why: str) -> None:
        # Reason objects are shared: thousands of nodes have few different reasons.
        allowed = self._groups.supported_device_types(node)
        key = (node.requested_device, allowed, node.assigned_device, why)
        reason = self._known_reasons.get(key)
        if reason is None:
            reason = self._known_reasons[key] = PlacementReason(*key)
        self.reasons[node.name] = reason

    def _log(self, nodes: Iterable[Node]) -> None:
        sys.stderr.write(
            "".join(f"{node.name}: ({node.op}): {node.assigned_device}\n" for node in nodes)
        )


def _is_generator(node: Node) -> bool:
    return (
        not node.input_types
        and len(node.output_types) == 1
        and not node.output_types[0].is_ref_dtype
    )


def _input_of_metadata(node: Node) -> Node | None:
    return next((edge.src for edge in node.in_edges if not edge.is_control), None)


def _only_place_of_consumers(node: Node) -> Node | None:
    """Return a consumer if all consumers are on one device, else None."""
    first: Node | None = None
    for edge in node.out_edges:
        consumer = edge.dst
        if not consumer.is_op:
            continue
        if first is None:
            first = consumer
        elif consumer.assigned_device != first.assigned_device:
            return None
    return first

"""Effects of loaded nodes that a server would run.

In this process each kernel of such a node checks the files that it opens.  A server of others does
not, so a step is checked before it is sent.  Of the nodes that came from a file and have effects,
it may contain those whose effect the user allowed, and those whose path the user feeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import effects, errors, op_registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tfnb.core.effects import Effect, EffectsPolicy
    from tfnb.core.plain_graph_def import PlainNodeDef
    from tfnb.proto import graph_pb2

_PASSES_ON = frozenset(["Identity", "PlaceholderWithDefault", "StopGradient"])


class RemoteEffects:
    """Checks the steps of one session.

    Args:
      nodes: the nodes that the server has, by name; the session adds to them.
    """

    def __init__(self, nodes: Mapping[str, PlainNodeDef]) -> None:
        self._nodes = nodes
        self._marked_functions: dict[str, list[Effect]] = {}

    def note_function(self, function: graph_pb2.FunctionDef) -> None:
        """Note the effects of a function's loaded nodes."""
        found: list[Effect] = []
        for node in function.node_def:
            definition = op_registry.find(node.op)
            if definition is not None and effects.LOADED_ATTR in node.attr:
                found += definition.effects
        if found:
            self._marked_functions[function.signature.name] = found

    def forget(self) -> None:
        """Forget all functions."""
        self._marked_functions.clear()

    def check(
        self,
        policy: EffectsPolicy,
        feeds: Iterable[str],
        fetches: Iterable[str],
        targets: Iterable[str],
    ) -> None:
        """Check the nodes of a step.

        Raises:
          PermissionDeniedError: a node may not have its effect.
        """
        fed = {_full(name) for name in feeds}
        todo = [_full(name) for name in fetches] + [(name, -1) for name in targets]
        seen: set[str] = set()
        while todo:
            tensor = todo.pop()
            name = tensor[0]
            node = self._nodes.get(name)
            if tensor in fed or name in seen or node is None:
                continue
            seen.add(name)
            todo += node.inputs
            if effects.LOADED_ATTR in node.attrs:
                self._check_node(policy, node, fed)
        # A function may be called from anywhere, also from an attribute.
        for function, declared in self._marked_functions.items():
            for effect in declared:
                if not policy.allows(effect.kind):
                    raise _refusal(f"function '{function}'", effect.kind)

    def _check_node(
        self, policy: EffectsPolicy, node: PlainNodeDef, fed: set[tuple[str, int]]
    ) -> None:
        definition = op_registry.find(node.op)
        if definition is None:
            return
        ranges = definition.op_def.input_ranges(node.attrs)
        for effect in definition.effects:
            if policy.allows(effect.kind):
                continue
            where = ranges.get(effect.source)
            if where is None or not all(self._is_fed(node.inputs[number], fed) for number in where):
                raise _refusal(f"node '{node.name}' (op {node.op})", effect.kind)

    def _is_fed(self, tensor: tuple[str, int], fed: set[tuple[str, int]]) -> bool:
        while tensor not in fed:
            node = self._nodes.get(tensor[0])
            if node is None or node.op not in _PASSES_ON or not node.inputs:
                return False
            tensor = node.inputs[0]
        return True


def _full(name: str) -> tuple[str, int]:
    node, _, output = name.partition(":")
    return node, int(output or 0)


def _refusal(what: str, kind: str) -> errors.PermissionDeniedError:
    wish = {
        "read": "read files",
        "write": "write files",
        "python": "call Python functions",
        "network": "use the network",
    }[kind]
    return errors.permission_denied(
        f"The {what}, which came from a file, wants to {wish} on the server. The step was not "
        f'sent. If you trust this graph, allow it and run again: tfnb.safety.allow("{kind}")'
    )

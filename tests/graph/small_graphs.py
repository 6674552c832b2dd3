"""Graphs written as text, and a vocabulary of ops that exist only for tests.

A line is a node: ``name = Op(input, other:1, ^control) @/device:GPU:0 attr=value``; a value is a
dtype's name or a Python literal.
"""

from __future__ import annotations

import ast
import importlib
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tfnb.core import dtypes, op_registry
from tfnb.core.attr_value import encode_attr
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.versions import GRAPH_DEF_VERSION
from tfnb.graph.graph_constructor import graph_from_graph_def
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.graph.function_library import FunctionLibraryDefinition
    from tfnb.graph.graph import Graph, Node

for _family in (
    "array.constant_ops",
    "control.control_flow_ops",
    "control.function_ops",
    "array.identity_ops",
    "control.sendrecv_ops",
    "array.shape_ops",
):
    importlib.import_module(f"tfnb.ops.{_family}")

# op: signature, devices, further arguments of register_op
_TEST_OPS: dict[str, tuple[str, tuple[str, ...], dict[str, object]]] = {
    "TestInput": ("-> a: float, b: float", ("CPU", "GPU"), {}),
    "TestSource": ("-> out: float", ("CPU", "GPU"), {}),
    "TestSourceCPU": ("-> out: float", ("CPU",), {}),
    "TestRelu": ("x: float -> y: float", ("CPU", "GPU"), {}),
    "TestReluCPU": ("x: float -> y: float", ("CPU",), {}),
    "TestReluGPU": ("x: float -> y: float", ("GPU",), {}),
    "TestAdd": ("x: float, y: float -> z: float", ("CPU", "GPU"), {}),
    "TestInt": ("-> out: int32", ("CPU", "GPU"), {"host_memory": ("out",)}),
    "TestHostInt": ("x: int32 -> y: int32", ("CPU", "GPU"), {"host_memory": ("x", "y")}),
    "TestDeviceInt": ("x: int32 -> y: int32", ("CPU", "GPU"), {}),
    "TestBool": ("-> out: bool", ("CPU", "GPU"), {}),
    "TestLess": ("x: float -> y: bool", ("CPU", "GPU"), {}),
    "TestText": ("-> out: string", ("CPU", "GPU"), {}),
    "TestNoKernel": ("x: float -> y: float", (), {}),
    "TestEffect": ("x: float ->", ("CPU", "GPU"), {"stateful": True}),
    "TestVariable": ("-> ref: Ref(float)", ("CPU", "GPU"), {"stateful": True}),
    "TestVariableCPU": ("-> ref: Ref(float)", ("CPU",), {"stateful": True}),
    "TestVariableGPU": ("-> ref: Ref(float)", ("GPU",), {"stateful": True}),
    "TestAssign": ("ref: Ref(float), value: float -> out: Ref(float)", ("CPU", "GPU"), {}),
    "TestAssignCPU": ("ref: Ref(float), value: float -> out: Ref(float)", ("CPU",), {}),
    "TestAssignGPU": ("ref: Ref(float), value: float -> out: Ref(float)", ("GPU",), {}),
    "TestHandle": ("-> handle: resource", ("CPU", "GPU"), {"stateful": True}),
    "TestRead": ("handle: resource -> value: float", ("CPU", "GPU"), {"stateful": True}),
    "TestTwoHandles": ("x: resource, y: resource ->", ("CPU", "GPU"), {"stateful": True}),
}
# op: signature, priority of its kernel for each device type
_PRIORITIES = {
    "TestLikesCPU": ("x: float -> y: float", {"CPU": 1, "GPU": 0}),
    "TestLikesGPU": ("x: float -> y: float", {"CPU": 0, "GPU": 1}),
    "TestVariableLikesCPU": ("-> ref: Ref(float)", {"CPU": 2, "GPU": 1}),
    "TestAssignLikesCPU": ("r: Ref(float), x: float -> o: Ref(float)", {"CPU": 9, "GPU": 0}),
    "TestAssignLikesGPU": ("r: Ref(float), x: float -> o: Ref(float)", {"CPU": 1, "GPU": 2}),
}
_SPECS = {
    "TestPass": ("x: T -> y: T", ("T: {float, int32, double}",)),
    "TestMany": ("*xs: N * T -> *ys: N * T", ("N: int >= 1", "T: type")),
    "TestDefault": ("-> out: T", ("T: type = DT_INT32", "n: int = 3", "s: {'a', 'b'} = 'a'")),
    "TestLists": ("*xs: Tin -> *ys: Tout", ("Tin: list(type) >= 0", "Tout: list(type) >= 0")),
    "TestCall": ("-> out: float", ("f: func",)),
}


def _kernel(xp: object, *inputs: object) -> None:
    return None


def _register() -> dict[str, OpDefinition]:
    before = dict(op_registry._REGISTRY)
    for name, (signature, devices, further) in _TEST_OPS.items():
        register_op(name, signature, devices=devices, **further)(_kernel if devices else None)  # type: ignore[arg-type]
    for name, (signature, specs) in _SPECS.items():
        register_op(name, signature, *specs)(_kernel)
    for name, (signature, priorities) in _PRIORITIES.items():
        definition = register_op(name, signature)(None)
        for device_type, priority in priorities.items():
            definition.kernel(device_type, priority=priority)(_kernel)
    register_op("TestGone", "x: float -> y: float", deprecated=(9, "Use TestRelu"))(_kernel)
    mine = {name: op for name, op in op_registry._REGISTRY.items() if name not in before}
    for name in mine:
        del op_registry._REGISTRY[name]
    return mine


_MINE = _register()


@contextmanager
def vocabulary_of_tests() -> Iterator[None]:
    """The test ops are registered inside."""
    op_registry._REGISTRY.update(_MINE)
    try:
        yield
    finally:
        for name in _MINE:
            del op_registry._REGISTRY[name]


_LINE = re.compile(r"\s*(\S+)\s*=\s*(\w+)\s*(?:\(([^)]*)\))?\s*(?:@(\S+))?\s*(.*)$")
_ATTR = re.compile(r"(\w+)=(\[[^]]*\]|'[^']*'|\S+)")


def small_graph_def(text: str, producer: int = GRAPH_DEF_VERSION) -> graph_pb2.GraphDef:
    """The message that the lines of ``text`` describe."""
    graph_def = graph_pb2.GraphDef()
    graph_def.versions.producer = producer
    for line in text.strip().splitlines():
        if line.strip():
            match = _LINE.match(line)
            assert match is not None, line
            name, op, inputs, device, attrs = match.groups()
            node = graph_def.node.add(name=name, op=op, device=device or "")
            node.input.extend(part.strip() for part in (inputs or "").split(",") if part.strip())
            for key, value in _ATTR.findall(attrs):
                node.attr[key].CopyFrom(encode_attr(_value(value)))
    return graph_def


def _value(text: str) -> object:
    if text[0].isalpha() and text not in ("True", "False"):
        return dtypes.as_dtype(text)
    value = ast.literal_eval(text)
    if isinstance(value, list):
        return [one.encode() if isinstance(one, str) else one for one in value]
    return value.encode() if isinstance(value, str) else value


def small_graph(text: str, library: FunctionLibraryDefinition | None = None) -> Graph:
    """The runtime's graph that the lines of ``text`` describe."""
    return graph_from_graph_def(small_graph_def(text), library=library)


def node(graph: Graph, name: str) -> Node:
    """The node of that name, which must be there."""
    found = graph.find_node(name)
    assert found is not None, f"{name} is not among {names(graph)}"
    return found


def names(graph: Graph) -> list[str]:
    """The names of the nodes by id, ``_SOURCE`` and ``_SINK`` left out."""
    return [each.name for each in graph.op_nodes()]


def wiring(graph: Graph) -> set[str]:
    """The edges in words, ``a:0 -> b:1`` and ``^a -> b``; those of source and sink left out."""
    found = set()
    for edge in graph.edges:
        if edge.src.is_op and edge.dst.is_op:
            src, dst = edge.src.name, edge.dst.name
            found.add(
                f"^{src} -> {dst}"
                if edge.is_control
                else f"{src}:{edge.src_output} -> {dst}:{edge.dst_input}"
            )
    return found


LOOP = """
    init = TestSource
    enter = Enter(init) T=float frame_name='loop'
    merge = Merge(enter, next) T=float N=2
    less = TestLess(merge)
    cond = LoopCond(less)
    switch = Switch(merge, cond) T=float
    body = TestRelu(switch:1)
    next = NextIteration(body) T=float
    exit = Exit(switch) T=float
"""
"""A while loop with one variable: ``while less(x): x = relu(x)``."""

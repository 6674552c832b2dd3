"""The gradient functions of SymbolicGradient: a small function for each op.

TensorFlow has two sets of gradients. ``tf.gradients`` calls those in Python, which build the graph
(``gradient_registry``); the runtime differentiates functions with the ones here, which exist for
fewer ops. :data:`RULES` defines these functions, and :func:`gradient_of_op` builds one for a set of
attributes. The list of ops, the names of the nodes and the computations are those that TensorFlow
runs (scripts/oracle/graphs/symbolic_gradients.py), and so are the refusals: there is no gradient of
``MatMul`` for complex numbers, and none of ``Max`` with ``keep_dims``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors, op_registry
from tfnb.core.attr_value import encode_attr
from tfnb.core.op_def import dtype_of_word
from tfnb.core.process.records import record
from tfnb.core.tensor_util import make_tensor_proto
from tfnb.ops.control import function_gradient_rules as texts
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr

NO_GRADIENT = frozenset(texts.NO_GRADIENT.split())
"""Ops without a gradient; for other ops, a missing rule is an error."""

# dx and dy as (a, b, transpose a, transpose b), by whether the op transposes x and y.
_PRODUCTS = {
    (False, False): (("dz", "y", False, True), ("x", "dz", True, False)),
    (False, True): (("dz", "y", False, False), ("dz", "x", True, False)),
    (True, False): (("y", "dz", False, True), ("x", "dz", False, False)),
    (True, True): (("y", "dz", True, True), ("dz", "x", True, True)),
}
_TRANSPOSING = {
    "MatMul": ("transpose_a", "transpose_b"),
    "BatchMatMul": ("adj_x", "adj_y"),
    "BatchMatMulV2": ("adj_x", "adj_y"),
}

# Ops that have a gradient only for int32 indices: the attribute, and the name in the error.
_INDICES = {
    "BroadcastTo": ("Tidx", "BroadcastToGrad"),
    "ReverseV2": ("Tidx", "ReverseV2Grad"),
    "Slice": ("Index", "SliceGrad"),
    "StridedSlice": ("Index", "SliceGrad"),
    "StridedSliceGrad": ("Index", "SliceGrad"),
}


@record(frozen=True, slots=True)
class _Rule:
    """One rule: the two sides of its head, and its nodes as (name, definition)."""

    args: tuple[str, ...]
    results: tuple[str, ...]
    nodes: tuple[tuple[str, str], ...]


def _parse(text: str) -> Iterator[tuple[str, _Rule]]:
    head = ""
    nodes: list[tuple[str, str]] = []

    def rules() -> Iterator[tuple[str, _Rule]]:
        names, _, sides = head.partition(":")
        args, _, results = sides.partition("->")
        for name in names.split():
            yield name, _Rule(tuple(args.split()), tuple(results.split()), tuple(nodes))

    for line in text.strip().splitlines():
        if line.startswith(" "):
            name, _, what = line.partition("=")
            nodes.append((name.strip(), what.strip()))
            continue
        if head:
            yield from rules()
        head, nodes = line, []
    yield from rules()


def _summed(rule: _Rule) -> _Rule:
    """Return the rule with gx and gy summed to the shapes of x and y."""
    (tail,) = _parse(f"-:->{texts.SUM_TO_SHAPE}")
    return _Rule(rule.args, ("dx", "dy"), rule.nodes + tail[1].nodes)


RULES: Mapping[str, _Rule] = {
    **dict(_parse(texts.UNARY)),
    **{op: _summed(rule) for op, rule in _parse(texts.BINARY)},
    **dict(_parse(texts.OTHERS)),
}
"""The rule of each op, except those for complex numbers and for matrix products."""

_COMPLEX_RULES = {op: _summed(rule) for op, rule in _parse(texts.COMPLEX)}


def has_gradient(op: str) -> bool:
    """Return whether SymbolicGradient has a gradient of an op."""
    return op in RULES or op in _TRANSPOSING


def gradient_of_op(op: str, attrs: Mapping[str, Attr]) -> graph_pb2.GraphDef:
    """Return the function that computes the gradients of an op's inputs.

    Args:
      op: the name of the op.
      attrs: the attributes of the op.

    Returns:
      A graph with an ``_Arg`` for each input of the op and each gradient of an output, and a
      ``_Retval`` for the gradient of each input.

    Raises:
      NotFoundError: the op has no gradient, or an attribute is missing.
      InvalidArgumentError: no gradient flows back through the op, or none with these attributes.
      UnimplementedError: there is no gradient for complex numbers, or for int64 indices.
    """
    if op == "SymbolicGradient":
        raise errors.invalid_argument("Can't take gradient of SymbolicGradient")
    if op in NO_GRADIENT:
        raise errors.invalid_argument(f"No gradient is defined for {op}")
    if op in _INDICES:
        attr, what = _INDICES[op]
        if _attr(attrs, attr) != dtypes.int32:
            raise errors.unimplemented(f"{what} for int64 index are not supported.")
    if op in _TRANSPOSING:
        rule = _rule_of_product(op, attrs)
    elif op not in RULES:
        raise errors.not_found(f"No gradient defined for op: {op}")
    elif op in _COMPLEX_RULES and _attr(attrs, "T").is_complex:
        rule = _COMPLEX_RULES[op]
    else:
        rule = RULES[op]
    return _Builder(attrs).build(rule)


def _rule_of_product(op: str, attrs: Mapping[str, Attr]) -> _Rule:
    if _attr(attrs, "T").is_complex:
        raise errors.unimplemented("MatMul gradient for complex is not supported yet.")
    names = _TRANSPOSING[op]
    first, second = (bool(_attr(attrs, name)) for name in names)
    results = ("gx", "gy") if op == "BatchMatMulV2" else ("dx", "dy")
    lines = [
        f"  {result} = {op}({a}, {b}; {names[0]}={str(at).lower()}, {names[1]}={str(bt).lower()})"
        for result, (a, b, at, bt) in zip(results, _PRODUCTS[first, second], strict=True)
    ]
    tail = texts.MATRIX_SUM_TO_SHAPE if op == "BatchMatMulV2" else ""
    ((_, rule),) = _parse("\n".join([f"{op}: x y dz -> dx dy", *lines, tail.strip("\n")]))
    return rule


def _attr(attrs: Mapping[str, Attr], name: str) -> Array:
    if name not in attrs:
        raise errors.not_found(f"No attr named '{name}' in NodeDef:")
    return attrs[name]


_NODE = re.compile(r"(\w+)\(([^;]*)(?:; (.*))?\)")
_INPUT = re.compile(r"\[[^]]*\]|[^,\s][^,]*")


class _Builder:
    """The builder of one graph.

    State: ``tensors`` maps each name to its tensors, spelled as in GraphDefs, with their dtypes.
    """

    def __init__(self, attrs: Mapping[str, Attr]) -> None:
        self.attrs = attrs
        self.graph_def = graph_pb2.GraphDef()
        self.tensors: dict[str, list[tuple[str, DType]]] = {}

    def build(self, rule: _Rule) -> graph_pb2.GraphDef:
        """Return the graph of a rule."""
        index = 0
        for arg in rule.args:
            index = self._add_arg(arg, index)
        lists = {text.split("*")[0] for text in rule.results if "*" in text}
        for name, what in rule.nodes:
            if name in lists and what.startswith("Slice("):
                self._add_slices(name)
            elif _NODE.fullmatch(what):
                self._add_node(name, what)
            else:
                self._add_constant(name, what)
        index = 0
        for text in rule.results:
            name, is_list, _ = text.partition("*")
            for number, (tensor, dtype) in enumerate(self.tensors[name]):
                suffix = f"_{number}" if is_list else ""
                self._node(
                    f"{name}_RetVal{suffix}", "_Retval", [tensor], {"T": dtype, "index": index}
                )
                index += 1
                if not is_list:
                    break
        return self.graph_def

    def _add_arg(self, text: str, index: int) -> int:
        name, _, length = text.partition("*")
        name, _, kind = name.partition(":")
        dtype = dtype_of_word(kind) if kind else None
        if dtype is None:
            dtype = _attr(self.attrs, kind or "T")
        count = int(_attr(self.attrs, length)) if length else 1
        names = [f"{name}_{number}" for number in range(count)] if length else [name]
        for one in names:
            self._node(one, "_Arg", [], {"T": dtype, "index": index})
            index += 1
        self.tensors[name] = [(one, dtype) for one in names]
        return index

    def _add_constant(self, name: str, text: str) -> None:
        if text.startswith("["):
            value = np.array([int(text[1:-1])], np.int32)
        elif text.endswith("l"):
            value = np.array(int(text[:-1]), np.int64)
        elif "." in text:
            value = np.array(float(text), np.float32)
        else:
            value = np.array(int(text), np.int32)
        dtype = dtypes.as_dtype(value.dtype)
        self._node(name, "Const", [], {"dtype": dtype, "value": make_tensor_proto(value)})
        self.tensors[name] = [(name, dtype)]

    def _add_node(self, name: str, what: str) -> None:
        found = _NODE.fullmatch(what)
        assert found is not None
        op, inputs, given = found.groups()
        attrs = {}
        for pair in given.split(", ") if given else ():
            key, _, value = pair.partition("=")
            if value.startswith("$"):
                attrs[key] = _attr(self.attrs, value[1:])
            else:
                attrs[key] = value == "true"
        texts = _INPUT.findall(inputs)
        data = [self._tensors_of(text) for text in texts if text[0] != "^"]
        self._infer(op, data, attrs)
        spelled = [tensor for tensors in data for tensor, _ in tensors]
        spelled += [text for text in texts if text[0] == "^"]
        self._node(name, op, spelled, attrs)
        outputs = op_registry.get(op).op_def.output_types(attrs)
        self.tensors[name] = [
            (f"{name}:{number}" if number else name, dtype) for number, dtype in enumerate(outputs)
        ]

    def _tensors_of(self, text: str) -> list[tuple[str, DType]]:
        """Return the tensors of an input.

        An input in brackets is a list; a part of it may be a list itself.
        """
        if text.startswith("["):
            parts = text[1:-1].split(", ")
            found = [self.tensors[part] for part in parts]
            return found[0] if len(found) == 1 else [tensors[0] for tensors in found]
        name, _, index = text.partition(":")
        return [self.tensors[name][int(index or 0)]]

    def _infer(self, op: str, data: list[list[tuple[str, DType]]], attrs: dict[str, Attr]) -> None:
        """Complete the attributes from the inputs, and from the op's defaults."""
        op_def = op_registry.get(op).op_def
        for arg, tensors in zip(op_def.inputs, data, strict=True):
            if arg.type_attr:
                attrs.setdefault(arg.type_attr, tensors[0][1])
            if arg.number_attr:
                attrs.setdefault(arg.number_attr, len(tensors))
        for attr in op_def.attrs:
            if attr.has_default:
                attrs.setdefault(attr.name, attr.default)

    def _add_slices(self, name: str) -> None:
        """Add a Slice for each tensor of a list, and the Identity that names its result."""
        count, (_, dtype) = len(self.tensors["x"]), self.tensors["dy"][0]
        slices = []
        for number in range(count):
            inputs = ["dy", self.tensors["offset"][number][0], self.tensors["shapes"][number][0]]
            index = self.tensors["shapes"][number][1]
            self._node(f"{name}_{number}", "Slice", inputs, {"T": dtype, "Index": index})
            joined = f"Func/{name}/input/_{number}"
            self._node(joined, "Identity", [f"{name}_{number}"], {"T": dtype})
            slices.append((joined, dtype))
        self.tensors[name] = slices

    def _node(self, name: str, op: str, inputs: list[str], attrs: Mapping[str, Attr]) -> None:
        node = self.graph_def.node.add(name=name, op=op, input=inputs)
        kinds = {attr.name: attr.type for attr in op_registry.get(op).op_def.attrs}
        for key, value in attrs.items():
            node.attr[key].CopyFrom(encode_attr(value, kinds.get(key)))


__all__ = ["NO_GRADIENT", "RULES", "gradient_of_op", "has_gradient"]

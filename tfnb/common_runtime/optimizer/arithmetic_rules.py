"""Arithmetic rules that simplify one node.

Most belong to the arithmetic optimizer; rules for a constant operand belong to constant folding,
as in TensorFlow. Each optimizer has its own switch.

A rule looks at one node and either changes the graph and returns a description, or returns None.
It applies only where the result stays the same to the last bit for every input: NaN, infinities,
-0.0, integers that wrap, shapes that broadcast, and inputs that make the node fail. (The payload of
a NaN may change.)  For this reason ``x + 0.0`` stays (``-0.0 + 0.0`` is ``0.0``) while ``x - 0.0``
is removed, complex ``x * 1`` stays (it contains ``inf * 0``), and floating point additions are
never reordered.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.optimizer.static_shapes import constant_of, control_inputs_of
from tfnb.core.shape_inference import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.common_runtime.optimizer.graph_rewriter import GraphRewriter
    from tfnb.core.dtypes import DType
    from tfnb.graph.graph import Node

    type_of_tensor = tuple[Node, int]
    type_of_rule = Callable[[GraphRewriter, Node], str | None]

# op -> rules of the arithmetic optimizer, and of constant folding
RULES: dict[str, list[type_of_rule]] = {}
FOLDING_RULES: dict[str, list[type_of_rule]] = {}

# Maximum number of elements of a constant that a rule creates.
_MAX_ELEMENTS = 1 << 14


def rule(*ops: str) -> Callable[[type_of_rule], type_of_rule]:
    """Register a rule of the arithmetic optimizer for nodes of these ops."""
    return functools.partial(_register, RULES, ops)


def folding_rule(*ops: str) -> Callable[[type_of_rule], type_of_rule]:
    """Register a rule of constant folding for nodes of these ops."""
    return functools.partial(_register, FOLDING_RULES, ops)


def _register(
    rules: dict[str, list[type_of_rule]], ops: tuple[str, ...], function: type_of_rule
) -> type_of_rule:
    for op in ops:
        rules.setdefault(op, []).append(function)
    return function


def forward(
    rewriter: GraphRewriter,
    node: Node,
    tensor: type_of_tensor,
    why: str,
    controls: list[Node] | None = None,
    *,
    computes: bool = True,
) -> str | None:
    """Replace the node's output by ``tensor``.

    Args:
      rewriter: the graph.
      node: the node whose output equals ``tensor``.
      tensor: the replacement.
      why: the rule, for the report.
      controls: nodes that the node waited for through an input that it loses.
      computes: whether the node made a new array, rather than a view of its input.
    """
    dtype = node.output_types[0]
    if computes and _is_inexact(dtype) and not rewriter.lies_in_order(tensor):
        return None
    source, output = tensor
    op = node.op
    is_gone = rewriter.stand_in(node, tensor, controls or ())
    return f"'{node.name}' ({op}): {why} '{source.name}:{output}'" + (
        "" if is_gone else "; it stays as an Identity"
    )


def _is_inexact(dtype: DType) -> bool:
    return dtype.is_floating or dtype.is_complex


# -- neutral and absorbing operands ----------------------------------------------------------------


def _is_zero_to_subtract(value: Any) -> bool:
    """Return whether every element is +0: x - (+0) equals x for every x, -0 included."""
    if value.dtype.kind == "c":
        return _is_zero_to_subtract(value.real) and _is_zero_to_subtract(value.imag)
    return not value.any() and not (_is_float(value) and np.signbit(value).any())


def _is_zero_to_add(value: Any) -> bool:
    """Return whether every element is -0: x + (-0) equals x for every x, +0 included."""
    if value.dtype.kind == "c":
        return _is_zero_to_add(value.real) and _is_zero_to_add(value.imag)
    return not value.any() and (not _is_float(value) or bool(np.signbit(value).all()))


def _is_float(value: Any) -> bool:
    # The extension types (bfloat16 and kin) are of kind "V".
    return value.dtype.kind in "fV"


def _is_one(value: Any) -> bool:
    return value.dtype.kind != "c" and bool((value == 1).all())


def _all_equal(number: Callable[[Any], Any]) -> Callable[[Any], bool]:
    """Return whether an integer or boolean array consists of one number, given by its dtype."""

    def check(value: Any) -> bool:
        return value.dtype.kind in "iub" and bool((value == number(value.dtype)).all())

    return check


_zeros = _all_equal(lambda dtype: dtype.type(0))
_ones = _all_equal(lambda dtype: dtype.type(1))
_all_bits = _all_equal(lambda dtype: np.invert(dtype.type(0)))
_lowest = _all_equal(lambda dtype: dtype.type(0) if dtype.kind == "b" else np.iinfo(dtype).min)
_highest = _all_equal(lambda dtype: dtype.type(1) if dtype.kind == "b" else np.iinfo(dtype).max)

# op: (inputs that may be the neutral operand, its predicate, its text for the report)
_NEUTRAL: dict[str, tuple[tuple[int, ...], Callable[[Any], bool], str]] = {
    "Mul": ((0, 1), _is_one, "one times"),
    "Div": ((1,), _is_one, "divided by one is"),
    "RealDiv": ((1,), lambda value: _is_float(value) and _is_one(value), "divided by one is"),
    "FloorDiv": ((1,), _ones, "divided by one is"),
    "TruncateDiv": ((1,), _ones, "divided by one is"),
    "Add": ((0, 1), _is_zero_to_add, "nothing is added to"),
    "AddV2": ((0, 1), _is_zero_to_add, "nothing is added to"),
    "Sub": ((1,), _is_zero_to_subtract, "nothing is taken from"),
    "LogicalAnd": ((0, 1), _ones, "true and"),
    "LogicalOr": ((0, 1), _zeros, "false or"),
    "BitwiseAnd": ((0, 1), _all_bits, "all bits of"),
    "BitwiseOr": ((0, 1), _zeros, "no bits beside"),
    "BitwiseXor": ((0, 1), _zeros, "no bits beside"),
    "Maximum": ((0, 1), _lowest, "nothing is below"),
    "Minimum": ((0, 1), _highest, "nothing is above"),
    "Pow": ((1,), _ones, "the first power of"),
}

# op: predicate of the absorbing operand, which may be either input.
_ABSORBING: dict[str, Callable[[Any], bool]] = {
    "Mul": _zeros,
    "LogicalAnd": _zeros,
    "LogicalOr": _ones,
    "BitwiseAnd": _zeros,
    "BitwiseOr": _all_bits,
}


@folding_rule(*_NEUTRAL)
def neutral_operand(rewriter: GraphRewriter, node: Node) -> str | None:
    """Simplify x * 1, x - 0, x and True to x, unless the constant broadcasts x."""
    sides, is_neutral, why = _NEUTRAL[node.op]
    inputs = rewriter.inputs(node)
    if inputs is None or not _is_plain_number(node.output_types[0]):
        return None
    for side in sides:
        value = rewriter.constant_if(is_neutral, inputs[side])
        if value is None:
            continue
        other = inputs[1 - side]
        if _broadens(rewriter, value.shape, other):
            continue
        done = forward(rewriter, node, other, why, _constants_controls(inputs[side][0]))
        if done is not None:
            return done
    return None


@folding_rule(*_ABSORBING)
def absorbing_operand(rewriter: GraphRewriter, node: Node) -> str | None:
    """Simplify x * 0 of integers, x and False to a constant that still waits for x."""
    inputs = rewriter.inputs(node)
    if inputs is None:
        return None
    is_absorbing = _ABSORBING[node.op]
    for side in (0, 1):
        value = rewriter.constant_if(is_absorbing, inputs[side])
        other = inputs[1 - side]
        if value is None or not value.size or other[0].is_switch:
            continue
        done = _known_value(rewriter, node, value.reshape(-1)[0], [other[0]], inputs[side][0])
        if done is not None:
            return done
    return None


@rule("Sub", "BitwiseXor")
def nothing_of_itself(rewriter: GraphRewriter, node: Node) -> str | None:
    """Simplify x - x of integers to a zero that still waits for x."""
    inputs = rewriter.inputs(node)
    if inputs is None or inputs[0] != inputs[1] or not node.output_types[0].is_integer:
        return None
    if inputs[0][0].is_switch:
        return None
    return _known_value(rewriter, node, 0, [inputs[0][0]], None)


def _known_value(
    rewriter: GraphRewriter, node: Node, element: Any, controls: list[Node], constant: Node | None
) -> str | None:
    dims = rewriter.shapes.dims((node, 0))
    if dims is None or int(np.prod(dims, dtype=np.int64)) > _MAX_ELEMENTS:
        return None
    dtype = node.output_types[0]
    if dtype.is_quantized:
        return None
    op = node.op
    controls = [*controls, *([] if constant is None else _constants_controls(constant))]
    rewriter.become_constant(node, np.full(dims, element, dtype.numpy_dtype), dtype, controls)
    return f"'{node.name}' ({op}) is {element!s} whatever its other input is"


@rule("LogicalAnd", "LogicalOr", "Minimum", "Maximum", "BitwiseAnd", "BitwiseOr")
def same_operand_twice(rewriter: GraphRewriter, node: Node) -> str | None:
    """Simplify Max(x, x) to x."""
    inputs = rewriter.inputs(node)
    if inputs is None or inputs[0] != inputs[1]:
        return None
    return forward(rewriter, node, inputs[0], "of twice the same is")


def _broadens(rewriter: GraphRewriter, shape: tuple[int, ...], other: type_of_tensor) -> bool:
    """Return whether broadcasting with ``shape`` might change the shape of ``other``, or fail."""
    if not shape:
        return False
    dims = rewriter.shapes.shape(other).dim_values
    if dims is None or len(dims) < len(shape):
        return True
    return any(size not in (1, dim) for size, dim in zip(reversed(shape), reversed(dims)))


def _constants_controls(node: Node) -> list[Node]:
    return control_inputs_of(node) if node.is_constant else []


def _is_plain_number(dtype: DType) -> bool:
    return (
        dtype.is_integer or dtype.is_floating or dtype.is_complex or dtype.is_bool
    ) and not dtype.is_quantized


# -- functions of functions ------------------------------------------------------------------------


def inner_of(rewriter: GraphRewriter, node: Node, *ops: str) -> Node | None:
    """Return the producer of the first input if its op is one of ``ops``, else None."""
    inputs = rewriter.inputs(node)
    if inputs is None or not inputs:
        return None
    inner = inputs[0][0]
    return inner if inner.op in ops else None


@rule("Neg", "LogicalNot", "Invert", "Conj")
def twice_is_nothing(rewriter: GraphRewriter, node: Node) -> str | None:
    """Simplify -(-x) to x."""
    inner = inner_of(rewriter, node, node.op)
    inputs = None if inner is None else rewriter.inputs(inner)
    if inner is None or inputs is None or node.output_types[0].name == "variant":
        return None
    return forward(
        rewriter, node, inputs[0], f"{node.op} of {node.op} of", control_inputs_of(inner)
    )


@rule("Abs", "Relu", "Relu6", "Floor", "Ceil", "Rint", "Round", "Sign")
def twice_is_once(rewriter: GraphRewriter, node: Node) -> str | None:
    """Simplify |(|x|)| to |x|."""
    inner = inner_of(rewriter, node, node.op)
    if inner is None:
        return None
    return forward(rewriter, node, (inner, 0), f"{node.op} twice is once, which is")


@rule("Abs", "Square")
def sign_does_not_matter(rewriter: GraphRewriter, node: Node) -> str | None:
    """Simplify |-x| to |x|, and (-x) squared to x squared."""
    inner = inner_of(rewriter, node, "Neg", *(("Abs",) if node.op == "Square" else ()))
    inputs = None if inner is None else rewriter.inputs(inner)
    dtype = node.output_types[0]
    if inner is None or inputs is None or dtype.is_complex:
        return None
    if _is_inexact(dtype) and not rewriter.lies_in_order(inputs[0]):
        return None
    rewriter.become(node, node.op, node.attrs, [inputs[0]], control_inputs_of(inner))
    return f"'{node.name}' ({node.op}) does not need the {inner.op} '{inner.name}'"


@rule("Add", "AddV2", "Sub")
def negated_operand(rewriter: GraphRewriter, node: Node) -> str | None:
    """Simplify x + (-y) to x - y, (-x) + y to y - x, x - (-y) to x + y."""
    inputs = rewriter.inputs(node)
    dtype = node.output_types[0]
    if inputs is None or not _is_plain_number(dtype) or inputs[0] == inputs[1]:
        return None
    for side in (1,) if node.op == "Sub" else (1, 0):
        negation = inputs[side][0]
        if negation.op != "Neg":
            continue
        negated = rewriter.inputs(negation)
        if negated is None or (_is_inexact(dtype) and not rewriter.lies_in_order(negated[0])):
            continue
        before, now = node.op, "AddV2" if node.op == "Sub" else "Sub"
        rewriter.become(
            node, now, {"T": dtype}, [inputs[1 - side], negated[0]], control_inputs_of(negation)
        )
        return f"'{node.name}' ({before}) does not need the Neg '{negation.name}': it became {now}"
    return None


_OPPOSITE_OF_ALL = {"Equal": "NotEqual", "NotEqual": "Equal"}
_OPPOSITE_OF_INTEGERS = {
    "Less": "GreaterEqual",
    "LessEqual": "Greater",
    "Greater": "LessEqual",
    "GreaterEqual": "Less",
}


@rule("LogicalNot")
def opposite_comparison(rewriter: GraphRewriter, node: Node) -> str | None:
    """Simplify not (x < y) to x >= y, unless there may be a NaN."""
    inner = inner_of(rewriter, node, *_OPPOSITE_OF_ALL, *_OPPOSITE_OF_INTEGERS)
    inputs = None if inner is None else rewriter.inputs(inner)
    if inner is None or inputs is None or not _surely_fit(rewriter, *inputs):
        return None
    opposite = _OPPOSITE_OF_ALL.get(inner.op)
    if opposite is None and inner.input_types[0].is_integer:
        opposite = _OPPOSITE_OF_INTEGERS[inner.op]
    if opposite is None or inner.attrs.get("incompatible_shape_error") is False:
        return None
    attrs = {key: value for key, value in inner.attrs.items() if not key.startswith("_")}
    rewriter.become(node, opposite, attrs, inputs, control_inputs_of(inner))
    return f"'{node.name}' (LogicalNot) of '{inner.name}' ({inner.op}) became {opposite}"


def _surely_fit(rewriter: GraphRewriter, *tensors: type_of_tensor) -> bool:
    """Return whether the tensors broadcast together in every step."""
    shapes = [rewriter.shapes.shape(tensor) for tensor in tensors]
    dims = [rewriter.shapes.dims(tensor) for tensor in tensors]
    if None in dims:
        return all(tensor == tensors[0] for tensor in tensors)
    try:
        together = shapes[0]
        for shape in shapes[1:]:
            together = broadcast_shapes(together, shape)
    except ValueError:
        return False
    return True


@rule("Square")
def squared_difference(rewriter: GraphRewriter, node: Node) -> str | None:
    """Fuse the square of a difference that has no other consumer."""
    inner = inner_of(rewriter, node, "Sub")
    inputs = None if inner is None else rewriter.inputs(inner)
    dtype = node.output_types[0]
    if inner is None or inputs is None or not rewriter.has_one_consumer(inner):
        return None
    if dtype.name not in ("float16", "float32", "float64", "int32", "int64"):
        return None
    if inner.name in rewriter.targets or not _surely_fit(rewriter, *inputs):
        return None
    rewriter.become(node, "SquaredDifference", {"T": dtype}, inputs, control_inputs_of(inner))
    return f"'{node.name}' (Square) of '{inner.name}' (Sub) became SquaredDifference"


@rule("Pow")
def small_power(rewriter: GraphRewriter, node: Node) -> str | None:
    """Replace Pow with exponent 2 or 3 by a product, as Pow's kernel does for a scalar exponent."""
    inputs = rewriter.inputs(node)
    value = None if inputs is None else constant_of(inputs[1])
    if inputs is None or value is None or not value.size:
        return None
    dtype = node.output_types[0]
    exponent = next((number for number in (2, 3) if (value == number).all()), None)
    if exponent is None or _broadens(rewriter, value.shape, inputs[0]):
        return None
    # Pow kernels for an array of exponents, and GPU kernels, round differently.
    if not dtype.is_integer and (value.ndim or "GPU" in node.assigned_device):
        return None
    controls = _constants_controls(inputs[1][0])
    if exponent == 2:
        rewriter.become(node, "Square", {"T": dtype}, [inputs[0]], controls)
        return f"'{node.name}' (Pow) with power two became Square"
    square = rewriter.graph.add_node(
        rewriter.graph.new_name(f"{node.name}/square"),
        "Square",
        {"T": dtype},
        assigned_device=node.assigned_device,
        original_names=[node.name],
    )
    rewriter.graph.add_inputs(square, [inputs[0]])
    rewriter.become(node, "Mul", {"T": dtype}, [(square, 0), inputs[0]], controls)
    rewriter.reorder()
    return f"'{node.name}' (Pow) with power three became Mul of x and its Square"


@rule("AddN")
def sum_of_one(rewriter: GraphRewriter, node: Node) -> str | None:
    """Replace AddN of one tensor by that tensor."""
    inputs = rewriter.inputs(node)
    if inputs is None or len(inputs) != 1 or node.output_types[0].name == "variant":
        return None
    return forward(rewriter, node, inputs[0], "is the sum of nothing but", computes=False)


@rule("Add", "AddV2", "Sub", "AddN")
def common_factor(rewriter: GraphRewriter, node: Node) -> str | None:
    """Simplify x*a + x*b to x * (a + b) for integers, where wrapping gives the same result."""
    inputs = rewriter.inputs(node)
    dtype = node.output_types[0]
    if inputs is None or len(inputs) != 2 or not dtype.is_integer or dtype.is_quantized:
        return None
    left, right = inputs[0][0], inputs[1][0]
    if left is right or not all(_is_private_product(rewriter, one) for one in (left, right)):
        return None
    lefts, rights = rewriter.inputs(left), rewriter.inputs(right)
    if lefts is None or rights is None or left.assigned_device != right.assigned_device:
        return None
    shared = next((one for one in lefts if one in rights), None)
    if shared is None or not _surely_fit(rewriter, *lefts, *rights):
        return None
    rest = [lefts[1 - lefts.index(shared)], rights[1 - rights.index(shared)]]
    if node.op == "AddN" and rewriter.shapes.dims(rest[0]) != rewriter.shapes.dims(rest[1]):
        return None
    op, attrs = node.op, {key: value for key, value in node.attrs.items() if key[0] != "_"}
    # The left product node becomes the sum, and the sum node becomes the product.
    rewriter.become(left, op, attrs, rest, control_inputs_of(right))
    rewriter.shapes.forget(left)
    rewriter.become(node, "Mul", {"T": dtype}, [shared, (left, 0)])
    rewriter.reorder()
    return f"'{node.name}' ({op}): the factor '{shared[0].name}:{shared[1]}' was taken out"


def _is_private_product(rewriter: GraphRewriter, node: Node) -> bool:
    return (
        node.op == "Mul" and rewriter.has_one_consumer(node) and node.name not in rewriter.targets
    )

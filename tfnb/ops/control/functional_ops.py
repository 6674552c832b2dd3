"""Ops that call functions of the graph's library: calls, branches and loops in one node.

The kernels are generators that yield one call after the other; the runtime decides how to run a
call.  Functions are ``NameAttrList`` attributes; arguments and results are flat lists.  Iterations
of a loop run one by one, so ``parallel_iterations`` has no effect here; it has an effect where the
runtime lowers the loop (``_lower_using_switch_merge``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.node_text import shape_text as static_shape_text
from tfnb.core.node_text import type_word
from tfnb.core.op_kernel import FunctionCall
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.opaque_values import array_of, as_scalar, is_opaque

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.op_kernel import OpKernelContext

# ------------------------------------------------------------------------------------------- shapes


def _call_shape(c: InferenceContext) -> list[TensorShape]:
    """Return the shapes that the node declares for the function's results, or unknown shapes."""
    shapes = c.attrs.get("_output_shapes")
    if shapes and len(shapes) == c.num_outputs:
        return list(shapes)
    return [UNKNOWN_SHAPE] * c.num_outputs


def _declared_shapes(c: InferenceContext) -> list[TensorShape]:
    """Return the shapes of the ``output_shapes`` attribute, or an empty list.

    Raises:
      ValueError: there are more or fewer shapes than outputs.
    """
    shapes = list(c.attr("output_shapes"))
    if shapes and len(shapes) != c.num_outputs:
        raise ValueError(
            "`output_shapes` must be the same length as num outputs "
            f"({len(shapes)} vs. {c.num_outputs}"
        )
    return shapes


def _branch_shape(c: InferenceContext) -> list[TensorShape]:
    return _declared_shapes(c) or _call_shape(c)


def _while_shape(c: InferenceContext) -> list[TensorShape]:
    for index in range(c.num_outputs):
        data = c.input_handle_data(index)
        if data:
            c.set_output_handle_data(index, data)
    return _declared_shapes(c) or list(c.inputs)


def _scalar_result(c: InferenceContext) -> TensorShape:
    return SCALAR_SHAPE


# -------------------------------------------------------------------------------- calling functions


if TYPE_CHECKING:
    Calls = Generator[FunctionCall, list[Any], tuple[Any, ...]]


def _call(function: NameAttrList, args: Sequence[Array], config_proto: bytes | str = b"") -> Calls:
    results = yield FunctionCall(function.name, function.attrs, args, config_proto=config_proto)
    return tuple(results)


def _as_bool(value: Array) -> bool:
    """Return the truth of a value.

    A scalar is true if it is not 0 or empty; another tensor, if it has elements.
    """
    if np.ndim(value):
        return bool(np.size(value))
    if value.dtype == object:
        return len(value.item()) > 0
    if value.dtype.char not in _TRUTHS:
        word = type_word(dtypes.as_dtype(value.dtype))
        raise errors.invalid_argument(f"{word} cannot be converted to a boolean")
    return bool(value)


# NumPy type codes of scalar conditions; for other types only the number of elements counts.
_TRUTHS = "?bBhilqfd"


def _check_not_cancelled(ctx: OpKernelContext) -> None:
    manager = ctx.cancellation_manager
    if manager.is_cancelled or manager.is_cancelling:
        raise errors.cancelled("Loop execution was cancelled.")


@register_op(
    "PartitionedCall",
    "args: Tin -> output: Tout",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "f: func",
    "config: string = ''",
    "config_proto: string = ''",
    "executor_type: string = ''",
    shape=_call_shape,
    traits="unchecked_shape",
)
def partitioned_call(
    ctx: OpKernelContext, args: list[Array], *, f: NameAttrList, config_proto: bytes | str
) -> Outputs:
    """Yield the results of f(args); its body may run on several devices."""
    return (yield from _call(f, args, config_proto))


@register_op(
    "StatefulPartitionedCall",
    "args: Tin -> output: Tout",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "f: func",
    "config: string = ''",
    "config_proto: string = ''",
    "executor_type: string = ''",
    stateful=True,
    shape=_call_shape,
)
def stateful_partitioned_call(
    ctx: OpKernelContext, args: list[Array], *, f: NameAttrList, config_proto: bytes | str
) -> Outputs:
    """Yield the results of f(args), where f has side effects."""
    return (yield from _call(f, args, config_proto))


# ----------------------------------------------------------------------------------------- branches


@register_op(
    "If",
    "cond: Tcond, input: Tin -> output: Tout",
    "Tcond: type",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "then_branch: func",
    "else_branch: func",
    "output_shapes: list(shape) = []",
    stateful=True,
    shape=_branch_shape,
    host_memory=("cond",),
)
def if_(
    ctx: OpKernelContext,
    cond: Array,
    input: list[Array],
    *,
    then_branch: NameAttrList,
    else_branch: NameAttrList,
) -> Outputs:
    """Return then_branch(input) where cond holds, else else_branch(input)."""
    return (yield from _call(then_branch if _as_bool(cond) else else_branch, input))


@register_op(
    "StatelessIf",
    "cond: Tcond, input: Tin -> output: Tout",
    "Tcond: type",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "then_branch: func",
    "else_branch: func",
    "output_shapes: list(shape) = []",
    shape=_branch_shape,
    host_memory=("cond",),
    traits="unchecked_shape",
)
def stateless_if(
    ctx: OpKernelContext,
    cond: Array,
    input: list[Array],
    *,
    then_branch: NameAttrList,
    else_branch: NameAttrList,
) -> Outputs:
    """Return then_branch(input) where cond holds, else else_branch(input), without side effects."""
    return (yield from _call(then_branch if _as_bool(cond) else else_branch, input))


@register_op(
    "_If",
    "cond: Tcond, input: Tin -> output: Tout",
    "Tcond: type",
    "Tin: list(type) >= 1",
    "Tout: list(type) >= 1",
    "then_branch: func",
    "else_branch: func",
    stateful=True,
    shape=_call_shape,
    host_memory=("cond",),
)
def _if(
    ctx: OpKernelContext,
    cond: Array,
    input: list[Array],
    *,
    then_branch: NameAttrList,
    else_branch: NameAttrList,
) -> Outputs:
    """Compute the If of older graphs."""
    return (yield from _call(then_branch if _as_bool(cond) else else_branch, input))


def _chosen(branches: list[NameAttrList], index: Array) -> NameAttrList:
    """Return the branch with that number; the last one if the number is out of range."""
    if np.ndim(index):
        raise errors.invalid_argument("branch_index must be scalar")
    number = int(index)
    return branches[number if 0 <= number < len(branches) else -1]


@register_op(
    "Case",
    "branch_index: int32, input: Tin -> output: Tout",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "branches: list(func) >= 1",
    "output_shapes: list(shape) = []",
    stateful=True,
    shape=_branch_shape,
    host_memory=("branch_index",),
)
def case(
    ctx: OpKernelContext, branch_index: Array, input: list[Array], *, branches: list[NameAttrList]
) -> Outputs:
    """Return branches[branch_index](input); the last branch if the index is out of range."""
    return (yield from _call(_chosen(branches, branch_index), input))


@register_op(
    "StatelessCase",
    "branch_index: int32, input: Tin -> output: Tout",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "branches: list(func) >= 1",
    "output_shapes: list(shape) = []",
    shape=_branch_shape,
    host_memory=("branch_index",),
    traits="unchecked_shape",
)
def stateless_case(
    ctx: OpKernelContext, branch_index: Array, input: list[Array], *, branches: list[NameAttrList]
) -> Outputs:
    """Return branches[branch_index](input), where no branch has side effects."""
    return (yield from _call(_chosen(branches, branch_index), input))


for _choice in (if_, stateless_if, case, stateless_case):
    _choice.gradient(provided.choice_gradient)


# -------------------------------------------------------------------------------------------- loops


def _loop(
    ctx: OpKernelContext, values: list[Array], cond: NameAttrList, body: NameAttrList
) -> Calls:
    state: Sequence[Array] = values
    while True:
        _check_not_cancelled(ctx)
        answer = yield from _call(cond, state)
        if len(answer) != 1:
            raise errors.invalid_argument(
                "Expected a single scalar return value from WhileOp cond got "
                f"{len(answer)} tensors."
            )
        if not _as_bool(answer[0]):
            return tuple(state)
        after = yield from _call(body, state)
        if len(after) != len(state):
            raise errors.invalid_argument(
                f"While loop body returned {len(after)} arguments. Expected: {len(state)}"
            )
        state = after


@register_op(
    "While",
    "input: T -> output: T",
    "T: list(type) >= 0",
    "cond: func",
    "body: func",
    "output_shapes: list(shape) = []",
    "parallel_iterations: int = 10",
    stateful=True,
    shape=_while_shape,
)
def while_(
    ctx: OpKernelContext, input: list[Array], *, cond: NameAttrList, body: NameAttrList
) -> Outputs:
    """Compute state = body(state) while cond(state) holds."""
    return (yield from _loop(ctx, input, cond, body))


@register_op(
    "StatelessWhile",
    "input: T -> output: T",
    "T: list(type) >= 0",
    "cond: func",
    "body: func",
    "output_shapes: list(shape) = []",
    "parallel_iterations: int = 10",
    shape=_while_shape,
    traits="unchecked_shape",
)
def stateless_while(
    ctx: OpKernelContext, input: list[Array], *, cond: NameAttrList, body: NameAttrList
) -> Outputs:
    """Compute state = body(state) while cond(state) holds; neither has side effects."""
    return (yield from _loop(ctx, input, cond, body))


for _repeats in (while_, stateless_while):
    _repeats.gradient(provided.while_gradient)


@register_op(
    "_While",
    "input: T -> output: T",
    "T: list(type) >= 0",
    "cond: func",
    "body: func",
    stateful=True,
    shape=lambda c: list(c.inputs),
)
def _while(
    ctx: OpKernelContext, input: list[Array], *, cond: NameAttrList, body: NameAttrList
) -> Outputs:
    """Compute the While of older graphs."""
    return (yield from _loop(ctx, input, cond, body))


@register_op(
    "For",
    "start: int32, limit: int32, delta: int32, input: T -> output: T",
    "T: list(type) >= 0",
    "body: func",
    shape=_call_shape,
    host_memory=("start", "limit", "delta"),
)
def for_(
    ctx: OpKernelContext,
    start: Array,
    limit: Array,
    delta: Array,
    input: list[Array],
    *,
    body: NameAttrList,
) -> Outputs:
    """Compute state = body(i, state) for each i in range(start, limit, delta)."""
    for name, bound in (("start", start), ("limit", limit), ("delta", delta)):
        if np.ndim(bound):
            raise errors.invalid_argument(f"{name} must be a scalar, but {list(np.shape(bound))}")
    first, last, step = int(start), int(limit), int(delta)
    if step == 0 or (first > last if step > 0 else first < last):
        raise errors.invalid_argument(f"Invalid start/limit/delta: {first} {last} {step}")
    state: Sequence[Array] = input
    for number in range(first, last, step):
        _check_not_cancelled(ctx)
        after = yield from _call(body, [np.int32(number), *state])
        if len(after) != len(state):
            raise errors.invalid_argument(
                f"For loop body returned {len(after)} arguments. Expected: {len(state)}"
            )
        state = after
    return tuple(state)


def _map_defun_shape(c: InferenceContext) -> list[TensorShape]:
    rows: int | None = None
    for index, shape in enumerate(c.inputs[c.input_range("arguments")]):
        if shape.rank == 0:
            raise ValueError(f"Arguments must have rank at least 1. Input {index} has rank of 0.")
        first = None if shape.dim_values is None else shape.dim_values[0]
        if None not in (rows, first) and rows != first:
            raise ValueError("Arguments must have the same dimension 0.")
        rows = first if rows is None else rows
    declared = _declared_shapes(c)
    return [
        UNKNOWN_SHAPE if one.dim_values is None else TensorShape([rows, *one.dim_values])
        for one in declared
    ]


@register_op(
    "MapDefun",
    "arguments: Targuments, captured_inputs: Tcaptured -> output: output_types",
    "Targuments: list(type) >= 1",
    "Tcaptured: list(type) >= 0 = []",
    "output_types: list(type) >= 1",
    "output_shapes: list(shape) >= 1",
    "f: func",
    "max_intra_op_parallelism: int = 1",
    shape=_map_defun_shape,
)
def map_defun(
    ctx: OpKernelContext,
    arguments: list[Array],
    captured_inputs: list[Array],
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    f: NameAttrList,
) -> Outputs:
    """Yield the results of a function for each row of the arguments, stacked."""
    if any(not np.ndim(argument) for argument in arguments):
        raise errors.invalid_argument("All inputs must have at least rank 1.")
    if len({argument.shape[0] for argument in arguments}) > 1:
        raise errors.invalid_argument("All inputs must have the same dimension 0.")
    rows: list[Sequence[Array]] = []
    for number in range(arguments[0].shape[0]):
        _check_not_cancelled(ctx)
        row = [as_scalar(argument[number, ...]) for argument in arguments]
        results = yield from _call(f, [*row, *captured_inputs])
        for result, shape in zip(results, output_shapes):
            if not shape.is_compatible_with(TensorShape(np.shape(result))):
                raise errors.invalid_argument(
                    f"Mismatch in function retval shape, {shape_text(np.shape(result))}, and "
                    f"expected output shape, {static_shape_text(shape)}."
                )
        rows.append(results)
    if rows:
        return tuple([_stacked(ctx.xp, column) for column in zip(*rows)])
    if any(not shape.is_fully_defined() for shape in output_shapes):
        raise errors.internal(
            "Missing 0-th output: there are no rows, and the shape of their results is not known."
        )
    return tuple(
        [
            ctx.xp.zeros([0, *shape.as_list()], dtype.numpy_dtype)
            for shape, dtype in zip(output_shapes, output_types)
        ]
    )


def _stacked(xp: Xp, values: Sequence[Array]) -> Array:
    """Stack the results of all calls."""
    if any(np.shape(value) != np.shape(values[0]) for value in values):
        raise errors.invalid_argument("The results of the calls have different shapes.")
    return array_of(values) if is_opaque(values[0]) else xp.stack(values)


# ------------------------------------------------------------------------------ small things beside


@register_op("ToBool", "input: T -> output: bool", "T: type", shape=_scalar_result)
def to_bool(xp: Xp, input: Array) -> Array:
    """Return whether a scalar is not 0 or empty, or another tensor has elements."""
    return np.bool_(_as_bool(input))


@register_op(
    "FakeParam",
    "-> output: dtype",
    "dtype: type",
    "shape: shape",
    shape=lambda c: c.attr("shape"),
    traits="unchecked_shape",
)
def fake_param(ctx: OpKernelContext, *, dtype: DType, shape: TensorShape) -> Array:
    """Return a placeholder value for the missing result of a branch; no node uses it."""
    dims = [size or 0 for size in (shape.dim_values or ())]
    state = ctx.kernel_state
    if "value" not in state:
        if dtype.name in ("resource", "variant"):
            state["value"] = np.empty(dims, object)
        else:
            filler = b"" if dtype.name == "string" else 0
            state["value"] = np.full(dims, filler, dtype.as_numpy_dtype)
    return state["value"]


@register_op(
    "DeviceIndex",
    "-> index: int32",
    "device_names: list(string)",
    stateful=True,
    shape=_scalar_result,
    host_memory=("index",),
)
def device_index(ctx: OpKernelContext, *, device_names: list[str]) -> Array:
    """Return the index of this device's type in a list; the list's length if it is not listed."""
    kind = ctx.device.device_type
    return np.int32(device_names.index(kind) if kind in device_names else len(device_names))


@register_op(
    "SymbolicGradient",
    "input: Tin -> output: Tout",
    "Tin: list(type) >= 1",
    "Tout: list(type) >= 1",
    "f: func",
    shape=lambda c: list(c.inputs[: c.num_outputs]),
)
def symbolic_gradient(
    ctx: OpKernelContext,
    input: list[Array],
    *,
    f: NameAttrList,
    Tin: list[DType],
    Tout: list[DType],
) -> Outputs:
    """Yield the gradients of a function's arguments, given the gradients of its results."""
    from tfnb.ops.control.symbolic_gradient import compute  # imports all modules that build graphs

    results = yield from compute(ctx, input, f, Tin)
    if len(results) != len(Tout):
        raise errors.invalid_argument(
            f"SymGrad expects to return {len(Tout)} tensor(s), but get {len(results)} tensor(s) "
            "instead."
        )
    return results

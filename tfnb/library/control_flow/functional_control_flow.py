"""Branches, loops, calls and gradients of functions that ``Defun`` made, as one node each.

These functions are in ``tensorflow.python.ops.functional_ops`` in TensorFlow. Tensors that a loop's
body captured are carried through the loop unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.functions.function import DefinedFunction, Defun, get_extra_args
from tfnb.framework.operation import Operation
from tfnb.framework.tensor import Tensor
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.control.functional_ops import for_ as for_op
from tfnb.ops.control.functional_ops import if_ as if_op
from tfnb.ops.control.functional_ops import partitioned_call as partitioned_call_op
from tfnb.ops.control.functional_ops import (
    stateful_partitioned_call as stateful_partitioned_call_op,
)
from tfnb.ops.control.functional_ops import symbolic_gradient
from tfnb.ops.control.functional_ops import while_ as while_op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "python.ops.functional_ops": [
        "For", "Gradient", "If", "While", "partitioned_call", "symbolic_gradient",
    ],
}  # fmt: skip

# Part of the FunctionDefs, in TensorFlow's words.
_WRAPPER_DESCRIPTION = "A wrapper that handles loop-carried captured inputs."
_FOR_BODY_DESCRIPTION = "A While wrapper for forbody that handles loop-carried captured inputs."


def If(  # TensorFlow's name
    cond: Any,
    inputs: Sequence[TensorLike],
    then_branch: DefinedFunction,
    else_branch: DefinedFunction,
    name: str | None = None,
) -> TensorResult:
    """Return ``then_branch(*inputs)`` if ``cond`` holds, else ``else_branch(*inputs)``.

    Args:
      cond: a scalar; if it is no bool, it holds unless it is 0 or empty.
      inputs: the arguments.
      then_branch: the function for a condition that holds.
      else_branch: the function for one that does not hold, with results of the same types.
      name: a name for the node.

    Returns:
      A list of the results.
    """
    types = [dtypes.as_dtype(arg.type) for arg in then_branch.definition.signature.output_arg]
    return if_op(
        cond,
        list(inputs),
        Tout=types,
        then_branch=then_branch,
        else_branch=else_branch,
        name=name or "If",
    )


def Gradient(  # TensorFlow's name
    inputs: Sequence[TensorLike], f: DefinedFunction, name: str | None = None
) -> TensorResult:
    """Return the gradients of a function's arguments.

    Args:
      inputs: the arguments, then the gradients of the results.
      f: the function.
      name: a name for the node.

    Returns:
      A list with a gradient for each argument.
    """
    types = [dtypes.as_dtype(arg.type) for arg in f.definition.signature.input_arg]
    return symbolic_gradient(list(inputs), Tout=types, f=f, name=name)


def partitioned_call(
    args: Sequence[Any],
    f: DefinedFunction,
    tout: Sequence[Any] | None = None,
    config: bytes = b"",
    executor_type: str = "",
    name: str | None = None,
) -> Any:
    """Return the results of ``f(*args)``, whose body may be spread over devices.

    Args:
      args: the arguments.
      f: the function.
      tout: the types of the results; by default those of the function.
      config: a serialized ConfigProto, which is ignored.
      executor_type: ignored.
      name: a name for the node.

    Returns:
      A list of the results, or the operation if there are none.
    """
    if tout is None:
        tout = [dtypes.as_dtype(arg.type) for arg in f.definition.signature.output_arg]
    call = stateful_partitioned_call_op if f.stateful_ops else partitioned_call_op
    inputs = [convert_to_tensor(arg) for arg in args]
    return call(
        inputs, Tout=list(tout), f=f, config_proto=config, executor_type=executor_type, name=name
    )


# ------------------------------------------------------------------------------------------ loops


def While(  # TensorFlow's name
    input_: Sequence[TensorLike],
    cond: DefinedFunction,
    body: DefinedFunction,
    name: str | None = None,
    hostmem: Sequence[int] | None = None,
) -> TensorResult:
    """Compute ``state = body(*state)`` for as long as ``cond(*state)`` holds.

    Args:
      input_: the state at the beginning.
      cond: a function with one result; it may not capture tensors.
      body: a function whose results have the types of its arguments.
      name: a name for the node.
      hostmem: which parts of the state stay in the host's memory.

    Returns:
      A list of the state at the end.

    Raises:
      ValueError: ``cond`` captures a tensor, or takes other types than ``body``.
    """
    if cond.captured_inputs:
        raise ValueError(
            "The 'cond' argument can not have implicitly captured inputs. Received "
            f"captured_inputs: {cond.captured_inputs}"
        )
    cond_types, body_types = cond.declared_input_types, body.declared_input_types
    if list(cond_types) != list(body_types):
        raise ValueError(
            "The 'cond' and 'body' signatures do not match. Received: "
            f"cond_input_types={cond_types}, body_input_types={body_types}"
        )
    captured = body.captured_inputs
    node_name = name or "While"
    if captured:
        types = [*body_types, *(tensor.dtype for tensor in captured)]

        def without_captured(*args: Any) -> Any:
            return cond(*args[: len(body_types)])

        without_captured.__doc__ = _WRAPPER_DESCRIPTION
        result = while_op(
            [*input_, *captured],
            cond=Defun(*types, func_name=f"{cond.name}_Wrapper")(without_captured),
            body=_passing_captured_on(body),
            name=node_name,
        )[: -len(captured)]
    else:
        result = while_op(list(input_), cond=cond, body=body, name=node_name)
    if hostmem:
        _mark_host_memory(result[0].op, hostmem, hostmem)
    return result


def For(  # TensorFlow's name
    start: TensorLike,
    limit: TensorLike,
    delta: TensorLike,
    inputs: Sequence[TensorLike],
    body: DefinedFunction,
    name: str | None = None,
    hostmem: Sequence[int] | None = None,
    rewrite_with_while: bool | None = None,
) -> Any:
    """Compute ``state = body(i, *state)`` for each i in ``range(start, limit, delta)``.

    Args:
      start: the first number, an int32 scalar.
      limit: the number to stop before.
      delta: the step.
      inputs: the state at the beginning.
      body: a function of an int32 and the state.
      name: a name for the node.
      hostmem: which parts of the state stay in the host's memory.
      rewrite_with_while: whether to build a While.

    Returns:
      A list of the state at the end.
    """
    if rewrite_with_while:
        return _for_as_while(start, limit, delta, inputs, body, name, hostmem)
    captured = body.captured_inputs
    node_name = name or "For"
    if captured:
        result = for_op(
            start,
            limit,
            delta,
            [*inputs, *captured],
            body=_passing_captured_on(body),
            name=node_name,
        )[: -len(captured)]
    else:
        result = for_op(start, limit, delta, list(inputs), body=body, name=node_name)
    if hostmem:
        _mark_host_memory(result[0].op, [3 + index for index in hostmem], hostmem)
    return result


def _results(result: TensorLike) -> tuple[Nested, ...]:
    """Return a call's results as a tuple, which is empty if the call returned the operation."""
    if isinstance(result, Operation):
        return ()
    return (result,) if isinstance(result, Tensor) else tuple(result)


def _passing_captured_on(body: DefinedFunction) -> DefinedFunction:
    """Return a body that takes the tensors captured by ``body`` as arguments and returns them."""

    def wrapper(*args: Any) -> Nested:
        return (*_results(body(*args)), *get_extra_args())

    wrapper.__doc__ = _WRAPPER_DESCRIPTION
    wrapped: DefinedFunction = Defun(*body.declared_input_types, func_name=f"{body.name}_Wrapper")(
        wrapper
    )
    return wrapped


def _mark_host_memory(op: Operation, inputs: Sequence[int], outputs: Sequence[int]) -> None:
    op._set_attr("_input_hostmem", list(inputs))
    op._set_attr("_output_hostmem", list(outputs))


def _for_as_while(
    start: TensorLike,
    limit: TensorLike,
    delta: TensorLike,
    inputs: Sequence[TensorLike],
    body: DefinedFunction,
    name: str | None,
    hostmem: Sequence[int] | None,
) -> list[Any]:
    """Return a loop over 0, 1, ... n - 1, so that the step may be negative."""
    from tfnb.ops.math.math_ops import abs as abs_

    step = abs_(delta)
    count = cast(
        cast(abs_(limit - start) + step - 1, dtypes.float32) / cast(step, dtypes.float32),
        dtypes.int32,
    )
    types = [dtypes.int32] * 4 + list(body.declared_input_types)[1:]

    @Defun(*types, func_name=f"{body.name}_Cond")
    def goes_on(i: TensorLike, n: TensorLike, *args: Any) -> TensorResult:
        return i < n

    def iteration(
        i: TensorLike, n: TensorLike, start: TensorLike, delta: TensorLike, *args: Any
    ) -> Nested:
        results = _results(body(start + i * delta, *args))
        return (i + 1, n, start, delta, *results)

    iteration.__doc__ = _FOR_BODY_DESCRIPTION
    step_body = Defun(*types, func_name=f"{body.name}_Body")(iteration)
    marked = [0, 1, 2, 3, *(4 + index for index in hostmem or ())]
    state = [0, count, start, delta, *inputs]
    result = While(state, goes_on, step_body, name=name, hostmem=marked)
    return list(result[4:])

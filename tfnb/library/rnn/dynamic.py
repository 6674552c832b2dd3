"""Cells run over time in a loop: ``dynamic_rnn``, ``bidirectional_dynamic_rnn``, ``raw_rnn``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, dimension_at_index
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.framework.structures import nest
from tfnb.library.control_flow.control_flow_assert import assert_
from tfnb.library.control_flow.tensor_array import TensorArray
from tfnb.library.control_flow.while_loop import while_loop
from tfnb.library.rnn.state import (
    assert_like_rnn_cell,
    dtype_of_state,
    joined_shape,
    joined_static_shape,
    shape_from,
)
from tfnb.library.rnn.step import keep_where, masked_step, read_variables_on_their_device
from tfnb.library.variables.variable_scope import variable_scope
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.concat_ops import concat, stack
from tfnb.ops.array.constant_ops import constant, zeros
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.array.shape_ops import rank, shape
from tfnb.ops.array.transpose_ops import reverse, reverse_sequence, transpose
from tfnb.ops.math import math_ops
from tfnb.ops.math.cwise_unary_ops import logical_not
from tfnb.ops.math.reduction_ops import reduce_all, reduce_max, reduce_min
from tfnb.ops.math.sequence_ops import range_

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, ScopeLike, TensorLike, TensorResult
    from tfnb.library.rnn.cells import RNNCell

EXPORTS = {"nn": ["bidirectional_dynamic_rnn", "dynamic_rnn", "raw_rnn"]}

_PARALLEL_ITERATIONS = 32


def transpose_batch_time(x: TensorLike) -> TensorResult:
    """Return a tensor with its first two dimensions exchanged.

    Raises:
      ValueError: there are fewer than two.
    """
    static = x.get_shape()
    if static.ndims is not None and static.ndims < 2:
        raise ValueError(
            f"Expected input tensor {x.name} to have rank at least 2, but saw shape: {static}"
        )
    order = concat(([1, 0], range_(2, rank(x))), axis=0)
    moved = transpose(x, order)
    if static.ndims is not None:
        sizes = static.as_list()
        moved.set_shape([sizes[1], sizes[0], *sizes[2:]])
    return moved


def _batch_size(inputs: list[TensorLike]) -> Nested:
    """Return the size of the second dimension: a number if it is known, else a tensor."""
    for value in inputs:
        static = value.get_shape()
        if static.ndims is None:
            continue
        if static.ndims < 2:
            raise ValueError(f"Expected input tensor {value.name} to have rank at least 2")
        size = static.as_list()[1]
        if size is not None:
            return size
    return shape(inputs[0])[1]


def _zero_state(cell: RNNCell, batch_size: TensorLike, dtype: DTypeLike | None) -> TensorResult:
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def dynamic_rnn(
    cell: RNNCell,
    inputs: TensorLike,
    sequence_length: TensorLike | None = None,
    initial_state: Nested | None = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: ScopeLike | None = None,
) -> tuple[Nested, Nested]:
    """Run a cell over time in a loop; return (outputs, last state).

    Args:
      cell: the cell.
      inputs: ``[batch, time, ...]``, or a nested structure of these tensors.
      sequence_length: the length of each sequence ``[batch]``; beyond it outputs are zeros and the
        state is kept.
      initial_state: the state before the first step; zeros by default.
      dtype: the type of the state, needed without ``initial_state``.
      parallel_iterations: how many steps may run at the same time; 32 by default.
      swap_memory: whether values for the gradient may leave the GPU meanwhile.
      time_major: whether inputs and outputs are ``[time, batch, ...]``, which is faster.
      scope: the variable scope, or its name; "rnn" by default.

    Raises:
      TypeError: ``cell`` is no cell.
      ValueError: there is neither state nor type, or the depth of the inputs is unknown.
    """
    assert_like_rnn_cell("cell", cell)
    with variable_scope(scope or "rnn") as opened:
        read_variables_on_their_device(opened)
        flat = nest.flatten(inputs)
        if not time_major:
            flat = [transpose_batch_time(convert_to_tensor(value)) for value in flat]
        if sequence_length is not None:
            sequence_length = cast(sequence_length, dtypes.int32)
            if sequence_length.get_shape().ndims not in (None, 1):
                raise ValueError(
                    "sequence_length must be a vector of length batch_size, but saw shape: "
                    f"{sequence_length.get_shape()}"
                )
            sequence_length = identity(sequence_length, name="sequence_length")
        batch_size = _batch_size(flat)
        if initial_state is not None:
            state = initial_state
        elif not dtype:
            raise ValueError("If no initial_state is provided, argument `dtype` must be specified")
        else:
            state = _zero_state(cell, batch_size, dtype)
        if sequence_length is not None:
            with control_dependencies([_has_length(sequence_length, batch_size)]):
                sequence_length = identity(sequence_length, name="CheckSeqLen")
        outputs, final_state = _loop(
            cell,
            nest.pack_sequence_as(inputs, flat),
            state,
            parallel_iterations or _PARALLEL_ITERATIONS,
            swap_memory,
            sequence_length,
            dtype,
        )
        if not time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
        return outputs, final_state


def _has_length(sequence_length: TensorLike, batch_size: TensorLike) -> TensorResult:
    found, wanted = shape(sequence_length), stack([batch_size])
    return assert_(
        reduce_all(math_ops.equal(found, wanted)),
        [
            f"Expected shape for Tensor {sequence_length.name} is ",
            wanted,
            " but saw shape: ",
            found,
        ],
    )


def _loop(
    cell: RNNCell,
    inputs: TensorLike,
    state: Nested,
    parallel_iterations: int,
    swap_memory: bool,
    sequence_length: TensorLike,
    dtype: DTypeLike | None,
) -> tuple[Nested, Nested]:
    flat_inputs = nest.flatten(inputs)
    flat_sizes = nest.flatten(cell.output_size)
    time_steps = shape(flat_inputs[0])[0]
    batch_size = _batch_size(flat_inputs)
    static_shapes = [value.get_shape().with_rank_at_least(3) for value in flat_inputs]
    static_time, static_batch = static_shapes[0].as_list()[:2]
    for value, known in zip(flat_inputs, static_shapes, strict=True):
        _check_input(value, known, static_time, static_batch)
    out_dtype = dtype_of_state(dtype, state)
    zero_output = nest.pack_sequence_as(
        cell.output_size,
        [zeros(stack(joined_shape(batch_size, size)), out_dtype) for size in flat_sizes],
    )
    shortest = longest = None
    if sequence_length is not None:
        shortest, longest = reduce_min(sequence_length), reduce_max(sequence_length)
    time = constant(0, dtype=dtypes.int32, name="time")
    with name_scope("dynamic_rnn") as base_name:
        pass

    def array(name: str, element_shape: TensorLike, element_dtype: Any) -> TensorArray:
        return TensorArray(
            dtype=element_dtype,
            size=time_steps,
            element_shape=element_shape,
            tensor_array_name=f"{base_name}{name}",
        )

    output_arrays = tuple(
        array(f"output_{i}", TensorShape([static_batch]).concatenate(shape_from(size)), out_dtype)
        for i, size in enumerate(flat_sizes)
    )
    input_arrays = [
        array(f"input_{i}", value.get_shape()[1:], value.dtype)
        for i, value in enumerate(flat_inputs)
    ]
    input_arrays = [to.unstack(value) for to, value in zip(input_arrays, flat_inputs, strict=True)]

    def one_step(time: TensorLike, arrays: Any, state: Nested) -> Nested:
        read = [source.read(time) for source in input_arrays]
        for value, known in zip(read, static_shapes, strict=True):
            value.set_shape(known[1:])
        current = nest.pack_sequence_as(inputs, read)
        if sequence_length is None:
            output, new_state = cell(current, state)
        else:
            output, new_state = masked_step(
                time,
                sequence_length,
                shortest,
                longest,
                zero_output,
                state,
                lambda: cell(current, state),
                skip_conditionals=True,
            )
        written = tuple(
            to.write(time, value) for to, value in zip(arrays, nest.flatten(output), strict=True)
        )
        return time + 1, written, new_state

    bound = time_steps if longest is None else longest
    # At least one step, because the gradient of a loop without iterations is undefined.
    bound = math_ops.minimum(time_steps, math_ops.maximum(1, bound))
    _, output_arrays, final_state = while_loop(
        cond=lambda time, *_: time < bound,
        body=one_step,
        loop_vars=(time, output_arrays, state),
        parallel_iterations=parallel_iterations,
        maximum_iterations=time_steps,
        swap_memory=swap_memory,
    )
    outputs = [made.stack() for made in output_arrays]
    for output, size in zip(outputs, flat_sizes, strict=True):
        output.set_shape(joined_static_shape([static_time, static_batch], size))
    return nest.pack_sequence_as(cell.output_size, outputs), final_state


def _check_input(
    value: TensorLike, known: TensorShape, time: int | None, batch: int | None
) -> None:
    sizes = known.as_list()
    if None in sizes[2:]:
        raise ValueError(
            "Input size (depth of inputs) must be accessible via shape inference, but saw value "
            f"None for input={value}."
        )
    if sizes[0] != time:
        raise ValueError(
            "Time steps is not the same for all the elements in the input in a batch. Received "
            f"time steps={sizes[0]} for input={value}."
        )
    if sizes[1] != batch:
        raise ValueError(
            "Batch_size is not the same for all the elements in the input. Received batch "
            f"size={sizes[1]} for input={value}."
        )


def bidirectional_dynamic_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: TensorLike,
    sequence_length: TensorLike | None = None,
    initial_state_fw: Nested | None = None,
    initial_state_bw: Nested | None = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: ScopeLike | None = None,
) -> tuple[Nested, Nested]:
    """Run one cell forwards and one backwards; return (outputs, last states), each a pair.

    Args:
      cell_fw: the cell that runs from the beginning.
      cell_bw: the cell that runs from the end.
      inputs: as in :func:`dynamic_rnn`.
      sequence_length: the length of each sequence; the backward cell starts at its end.
      initial_state_fw: the state before the first step.
      initial_state_bw: the state after the last step.
      dtype: the type of the states.
      parallel_iterations: how many steps may run at the same time.
      swap_memory: whether values for the gradient may leave the GPU meanwhile.
      time_major: whether inputs and outputs are ``[time, batch, ...]``.
      scope: the variable scope, or its name; "bidirectional_rnn" by default.
    """
    assert_like_rnn_cell("cell_fw", cell_fw)
    assert_like_rnn_cell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reversed_(value: TensorLike) -> TensorResult:
        if sequence_length is None:
            return reverse(value, axis=[time_axis])
        return reverse_sequence(
            input=value,
            seq_lengths=sequence_length,
            seq_axis=time_axis,
            batch_axis=batch_axis,
        )

    common: dict[str, Any] = {
        "sequence_length": sequence_length,
        "dtype": dtype,
        "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory,
        "time_major": time_major,
    }
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, initial_state=initial_state_fw, scope=fw_scope, **common
            )
        with variable_scope("bw") as bw_scope:
            backwards = nest.map_structure(reversed_, inputs)
            output_bw, state_bw = dynamic_rnn(
                cell_bw, backwards, initial_state=initial_state_bw, scope=bw_scope, **common
            )
    output_bw = nest.map_structure(reversed_, output_bw)
    return (output_fw, output_bw), (state_fw, state_bw)


def raw_rnn(
    cell: RNNCell,
    loop_fn: Callable[..., Nested],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: ScopeLike | None = None,
) -> tuple[Nested, Nested, Nested]:
    """Run a cell under a function's control; return (output TensorArrays, last state, loop state).

    Args:
      cell: the cell.
      loop_fn: takes (time, output, state, loop state) and returns (which rows are finished, next
        input, next state, what to emit, next loop state); at time 0 the output, state and loop
        state are None, and the value to emit describes the outputs.
      parallel_iterations: how many steps may run at the same time; 32 by default.
      swap_memory: whether values for the gradient may leave the GPU meanwhile.
      scope: the variable scope, or its name; "rnn" by default.

    Raises:
      TypeError: ``cell`` is no cell, or ``loop_fn`` cannot be called.
    """
    assert_like_rnn_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError(f"Argument `loop_fn` must be a callable. Received: {loop_fn}.")
    with variable_scope(scope or "rnn") as opened:
        read_variables_on_their_device(opened)
        time = constant(0, dtype=dtypes.int32)
        finished, next_input, state, emitted, loop_state = loop_fn(time, None, None, None)
        has_loop_state = loop_state is not None
        if not has_loop_state:
            loop_state = constant(0, dtype=dtypes.int32)
        flat_input = nest.flatten(next_input)
        static = dimension_at_index(flat_input[0].get_shape(), 0)
        for value in flat_input:
            static = static.merge_with(dimension_at_index(value.get_shape(), 0))
        batch_size = shape(flat_input[0])[0] if static.value is None else static.value
        nest.assert_same_structure(state, cell.state_size)
        state = nest.map_structure(convert_to_tensor, state)
        if emitted is None:
            emitted = cell.output_size
            sizes = nest.flatten(emitted)
            emit_dtypes = [nest.flatten(state)[0].dtype] * len(sizes)
        else:
            flat = nest.flatten(emitted)
            sizes = [e.get_shape() if e.get_shape().is_fully_defined() else shape(e) for e in flat]
            emit_dtypes = [value.dtype for value in flat]
        arrays = nest.pack_sequence_as(
            emitted,
            [
                TensorArray(
                    dtype=emit_dtype,
                    dynamic_size=True,
                    element_shape=TensorShape([static.value]).concatenate(shape_from(size)),
                    size=0,
                    name=f"rnn_output_{i}",
                )
                for i, (emit_dtype, size) in enumerate(zip(emit_dtypes, sizes, strict=True))
            ],
        )
        nothing = nest.pack_sequence_as(
            emitted,
            [
                zeros(joined_shape(batch_size, size), emit_dtype)
                for size, emit_dtype in zip(sizes, emit_dtypes, strict=True)
            ],
        )

        def body(
            time: TensorLike,
            finished: TensorLike,
            current: TensorLike,
            arrays: Any,
            state: Nested,
            loop_state: Any,
        ) -> Nested:
            output, cell_state = cell(current, state)
            nest.assert_same_structure(state, cell_state)
            nest.assert_same_structure(cell.output_size, output)
            next_time = time + 1
            next_finished, next_input, next_state, to_emit, next_loop_state = loop_fn(
                next_time, output, cell_state, loop_state
            )
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(current, next_input)
            nest.assert_same_structure(arrays, to_emit)

            def kept(before: TensorLike, after: TensorLike) -> TensorResult:
                return keep_where(finished, before, after)

            to_emit = nest.map_structure(kept, nothing, to_emit)
            next_state = nest.map_structure(kept, state, next_state)
            arrays = nest.map_structure(lambda to, value: to.write(time, value), arrays, to_emit)
            return (
                next_time,
                math_ops.logical_or(finished, next_finished),
                next_input,
                arrays,
                next_state,
                loop_state if next_loop_state is None else next_loop_state,
            )

        returned = while_loop(
            lambda _, finished, *others: logical_not(reduce_all(finished)),
            body,
            loop_vars=[time, finished, next_input, arrays, state, loop_state],
            parallel_iterations=parallel_iterations or _PARALLEL_ITERATIONS,
            swap_memory=swap_memory,
        )
        arrays, final_state, final_loop_state = returned[-3:]
        return arrays, final_state, final_loop_state if has_loop_state else None

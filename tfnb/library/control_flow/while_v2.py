"""``tf.while_loop`` as one node that repeats a function, and the gradient of this node.

Condition and body are functions of the loop variables and of all tensors that either captured,
which the body returns unchanged. Two variables come before those of the caller: a counter, which
gives the gradient its number of iterations, and the maximum number of iterations.

The gradient is a loop of this form, too. The forward body pushes the inner values that the gradient
needs to lists, one for each value, which become further variables of the forward loop; the
gradient's body pops them. Loop invariants are passed unchanged, constants are copied.

Corresponds to while_v2.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.functions.function_graph import placeholder
from tfnb.framework.indexed_slices import IndexedSlices, convert_to_tensor_or_indexed_slices
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.framework.structures.composite_tensor import is_composite, under_invariant
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.cond_v2 import scalar
from tfnb.library.control_flow.control_flow_v2 import (
    ControlFlowGraph,
    add_function_of,
    build_graph,
    captured_constant,
    flat_tensors,
    graph_of_function,
    mark_lowering,
    mark_read_only_inputs,
    op_and_outputs,
    resource_input_index,
    unique_function_name,
    unique_gradient_name,
)
from tfnb.library.control_flow.control_flow_values import (
    flow_of,
    identity_of,
    is_at_least_as_specific,
    is_tensor_array,
    read_variables,
    with_flow,
)
from tfnb.library.control_flow.default_gradient import (
    gradient_dtype,
    has_default_gradient,
    is_trainable,
)
from tfnb.library.control_flow.functions_above import backprop
from tfnb.library.control_flow.tensor_list_array import element_shape_input
from tfnb.library.control_flow.while_context import invariant_shapes
from tfnb.ops.array.constant_ops import constant, zeros, zeros_like
from tfnb.ops.array.identity_ops import identity, stop_gradient
from tfnb.ops.containers import list_ops
from tfnb.ops.control.functional_ops import stateless_while, while_

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.op_registry import OpDefinition
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Nested, TensorLike

_COUNTER, _FIRST = 0, 2
# The results of these ops are smaller than their inputs, so the result is kept for the gradient.
_SMALL_ANSWERS = frozenset({"Shape", "Size", "Rank", "TensorListElementShape", "TensorListLength"})


def while_loop(
    cond: Callable[..., Nested],
    body: Callable[..., Nested],
    loop_vars: Nested,
    shape_invariants: Nested | None = None,
    parallel_iterations: int = 10,
    maximum_iterations: TensorLike | None = None,
    name: str | None = None,
    return_same_structure: bool = True,
    back_prop: bool = True,
) -> Nested:
    """Repeat ``body`` while ``cond`` is true, as one While; arguments as of ``tf.while_loop``.

    Raises:
      TypeError: the body returns another type.
      ValueError: the body returns another structure or a shape that does not fit.
      AssertionError: the body returns None for a variable.
    """
    variables = _Variables(loop_vars, shape_invariants)
    with name_scope(name or "while") as scope:
        with name_scope(None):
            cond_name = unique_function_name(scope, "cond")
            body_name = unique_function_name(scope, "body")
        limit = -1 if maximum_iterations is None else maximum_iterations
        limit = convert_to_tensor(limit, dtypes.int32, name="maximum_iterations")
        counter = constant(0, dtypes.int32, name="loop_counter")
        values = [counter, limit, *variables.flat]

        cond_graph = _argument_graph(cond_name, values, variables.shapes)

        def goes_on(count: TensorLike, limit: TensorLike, *args: Any) -> Any:
            from tfnb.ops.math.comparison_ops import logical_and

            pred = cond(*variables.packed(args))
            if isinstance(pred, Tensor):
                pred = scalar(pred)
            return pred if maximum_iterations is None else logical_and(count < limit, pred)

        build_graph(cond_graph, goes_on, list(cond_graph.inputs))

        body_graph = _argument_graph(body_name, values, variables.shapes)

        def iteration(count: TensorLike, limit: TensorLike, *args: Any) -> Nested:
            for outside, inside in zip(variables.flat, args, strict=True):
                inside._handle_data = outside._handle_data
            # In the order of the condition's captures.
            for tensor in cond_graph.external_captures:
                body_graph.capture(tensor)
            results = variables.checked_results(body(*variables.packed(args)))
            given = sum(result is not None for result in results)
            if given < len(results):
                raise AssertionError(  # TensorFlow's class and words, then what to do
                    f"body_graph has {_FIRST + given} outputs; Expected: {_FIRST + len(results)}. "
                    "`body` gives None for a loop variable; it must give its next value."
                )
            return [count + 1, limit, *results]

        build_graph(body_graph, iteration, list(body_graph.inputs))
        values += body_graph.external_captures
        body_graph.outputs += body_graph.internal_captures
        _add_redundant_inputs(cond_graph, body_graph)

        count = len(variables.flat)
        own = slice(_FIRST, _FIRST + count)
        _check_shapes(body_graph.outputs[own], variables.shapes, values[own])
        _check_types(body_graph, values)
        shapes = body_graph.output_shapes
        shapes[own] = variables.shapes
        waits = [*cond_graph.control_captures, *body_graph.control_captures]
        with get_default_graph().control_dependencies(list(dict.fromkeys(waits))):
            outputs = _build_node(
                values, cond_graph, body_graph, shapes, parallel_iterations, scope
            )
        if not get_default_graph().building_function:
            # One Identity per result, so that a fetch of one result does not need the others.
            outputs = [identity(tensor) for tensor in outputs]
    results = outputs[own]
    if not back_prop:
        results = [stop_gradient(tensor) for tensor in results]
    packed = variables.packed(results)
    if return_same_structure:
        return packed
    flat = nest.flatten(packed, expand_composites=True)
    return flat[0] if len(flat) == 1 else packed


class _Variables:
    """The loop variables of the caller.

    Attributes:
      flat: their first values as tensors.
      shapes: the shapes that they keep.
    """

    def __init__(self, loop_vars: Nested, shape_invariants: Nested) -> None:
        loop_vars = read_variables(loop_vars)
        values = nest.map_structure(
            lambda one: one if is_tensor_array(one) else convert_to_tensor_or_indexed_slices(one),
            loop_vars,
            expand_composites=True,
        )
        flat = nest.flatten(values)
        if shape_invariants is None:
            invariants: list[TensorLike] = [None] * len(flat)
        else:
            nest.assert_same_structure(values, shape_invariants)
            invariants = nest.flatten(shape_invariants)
        pairs = list(zip(flat, invariants, strict=True))
        self.shapes: list[TensorShape] = [
            shape for value, one in pairs for shape in invariant_shapes(value, one)
        ]
        likes = [
            under_invariant(value, one) if is_composite(value) and one is not None else value
            for value, one in pairs
        ]
        self._structure = nest.pack_sequence_as(values, likes)
        self.flat: list[Tensor] = flat_tensors(values)

    def packed(self, tensors: Sequence[Tensor]) -> Nested:
        """Return tensors in the structure of the variables."""
        likes = nest.flatten(self._structure, expand_composites=True)
        flat = [with_flow(like, one) for like, one in zip(likes, tensors, strict=True)]
        return nest.pack_sequence_as(self._structure, flat, expand_composites=True)

    def checked_results(self, results: Any) -> list[Nested]:
        """Return the results of the body, as a list.

        Raises:
          ValueError: they have another structure than the variables.
        """
        if not nest.is_nested(results):
            results = [results]
        results = read_variables(results)
        nest.assert_same_structure(
            results, self._structure, check_types=False, expand_composites=True
        )
        return [
            flow_of(value) if is_tensor_array(value) else value
            for value in nest.flatten(results, expand_composites=True)
        ]


def _argument_graph(
    name: str, values: Sequence[Tensor], shapes: Sequence[TensorShape]
) -> ControlFlowGraph:
    """Return a graph with an argument for each loop variable."""
    graph = ControlFlowGraph(name)
    for value in values[:_FIRST]:
        graph.add_argument(value, value.op.name)
    with graph.as_default():
        for value, shape in zip(values[_FIRST:], shapes, strict=True):
            graph.inputs.append(placeholder(value.dtype, shape))
    return graph


def _add_redundant_inputs(cond_graph: ControlFlowGraph, body_graph: ControlFlowGraph) -> None:
    """Give the condition an argument for each tensor that only the body captured."""
    missing = body_graph.external_captures[len(cond_graph.external_captures) :]
    with cond_graph.as_default():
        prefix = cond_graph.unique_name(f"{cond_graph.name}___redundant_placeholder")
        for number, tensor in enumerate(missing):
            inside = placeholder(tensor.dtype, None, f"{prefix}{number}")
            cond_graph.captured[tensor] = inside
            cond_graph.inputs.append(inside)


def _check_shapes(
    results: Sequence[Tensor], shapes: Sequence[TensorShape], values: Sequence[Tensor]
) -> None:
    for result, shape, value in zip(results, shapes, values, strict=True):
        if not is_at_least_as_specific(result.shape, shape):
            raise ValueError(
                f"Input tensor `{value.name}` enters the loop with shape {shape}, but has shape "
                f"{result.shape} after one iteration. To allow the shape to vary across "
                "iterations, use the `shape_invariants` argument of tf.while_loop to specify a "
                "less-specific shape."
            )


def _check_types(body_graph: ControlFlowGraph, values: Sequence[Tensor]) -> None:
    for inside, result, value in zip(body_graph.inputs, body_graph.outputs, values, strict=True):
        if inside.dtype is not result.dtype:
            raise TypeError(
                f"Loop var {value.name} enters the loop with type {inside.dtype} but has type "
                f"{result.dtype} after 1 iteration. {value.name} type should remain constant."
            )


def _build_node(
    values: Sequence[Tensor],
    cond_graph: ControlFlowGraph,
    body_graph: ControlFlowGraph,
    shapes: Sequence[TensorShape],
    parallel_iterations: int,
    name: str,
) -> list[Tensor]:
    operations = [*cond_graph.operation_list, *body_graph.operation_list]
    build = while_ if any(op._is_stateful for op in operations) else stateless_while
    op, outputs = op_and_outputs(
        build(
            list(values),
            cond=add_function_of(cond_graph),
            body=add_function_of(body_graph),
            output_shapes=list(shapes),
            parallel_iterations=parallel_iterations,
            name=name,
        )
    )
    assert op is not None
    for result, tensor in zip(body_graph.outputs, outputs, strict=True):
        tensor._handle_data = result._handle_data
    mark_lowering(op)
    mark_read_only_inputs(op, [cond_graph, body_graph], first=0)
    op._set_attr("_num_original_outputs", len(body_graph.outputs))
    cond_graph.outer_graph = body_graph.outer_graph = get_default_graph()
    op.cond_graph = cond_graph  # type: ignore[attr-defined]
    op.body_graph = body_graph  # type: ignore[attr-defined]
    return outputs


# ---------------------------------------------------------------------------------------- gradient


def while_gradient(op: Operation, *grads: Any) -> list[Any]:
    """Return the gradient of While and StatelessWhile: a loop over the iterations in reverse."""
    cond_graph = _forward_graph(op, "cond")
    body_graph = _forward_graph(op, "body")
    num_before = len(body_graph.outputs)
    num_original = op.attrs.get("_num_original_outputs", len(op.outputs))
    incoming = [
        _incoming(grad, result, outside, output)
        for grad, result, outside, output in zip(
            grads[:num_original], body_graph.outputs, op.inputs, op.outputs
        )
    ]
    incoming += [None] * (len(op.outputs) - num_original)
    wanted = [index for index, grad in enumerate(incoming) if grad is not None]
    ys = [body_graph.outputs[index] for index in wanted]
    xs = [body_graph.inputs[index] for index in wanted]

    counter = constant(0, op.outputs[_COUNTER].dtype, name="grad_counter")
    args = [counter, op.inputs[1], op.outputs[_COUNTER], *(incoming[index] for index in wanted)]
    graph = _WhileGradientGraph(unique_gradient_name(body_graph.name), op, cond_graph, body_graph)
    _build_gradient_body(graph, ys, xs, args)
    if graph.accumulators:
        _keep_accumulators(op, cond_graph, body_graph, graph.accumulators, num_before)
    # A second derivative may need the gradients of the added outputs, too.
    op._set_attr("_num_original_outputs", len(op.outputs))

    captured = [_outside_of(tensor, op, body_graph) for tensor in graph.external_captures]
    values = [*args, *captured]
    back_cond = ControlFlowGraph(unique_gradient_name(op.attr("cond").name))
    with back_cond.as_default():
        back_cond.inputs = [placeholder(value.dtype, value._shape) for value in values]
    build_graph(
        back_cond,
        lambda counter, limit, total, *rest: identity(counter < total),
        list(back_cond.inputs),
    )
    outputs = _build_node(
        values,
        back_cond,
        graph,
        graph.output_shapes,
        op.attr("parallel_iterations"),
        f"{op.name}_grad",
    )
    outputs = [identity(tensor) for tensor in outputs]
    found: list[Any] = [None] * len(op.inputs)
    for position, index in enumerate(wanted, 3):
        found[index] = outputs[position]
    return found


def _forward_graph(op: Operation, which: str) -> ControlFlowGraph:
    graph: ControlFlowGraph | None = getattr(op, f"{which}_graph", None)
    if graph is None:
        graph = graph_of_function(op, op.attr(which).name, op.outputs)
        for outside, inside in zip(op.inputs, graph.inputs, strict=True):
            inside._handle_data = outside._handle_data
        setattr(op, f"{which}_graph", graph)
    graph.forward_op = op
    return graph


def _incoming(grad: TensorLike, result: Tensor, outside: Tensor, output: Tensor) -> Any:
    """Return the initial gradient of a result in the loop; None if the result has no gradient."""
    if not _has_gradient(result):
        return None
    opaque = output.dtype in (dtypes.resource, dtypes.variant)
    if grad is None and opaque and has_default_gradient(outside):
        if output.dtype is dtypes.resource:
            from tfnb.ops.state.resource_variable_ops import variable_shape

            return zeros(variable_shape(output), dtype=gradient_dtype(outside))
        return zeros_like(output)
    return convert_to_tensor(grad) if isinstance(grad, IndexedSlices) else grad


def _has_gradient(tensor: Tensor) -> bool:
    if not is_trainable(tensor):
        return False
    if tensor.op.type == "TensorListPopBack" and tensor.value_index == 0:
        return is_trainable(tensor.op.attr("element_dtype"))
    return True


def _build_gradient_body(
    graph: _WhileGradientGraph, ys: list[Tensor], xs: list[Tensor], args: Sequence[Tensor]
) -> None:
    with graph.as_default():
        graph.inputs = [placeholder(value.dtype, value._shape) for value in args]
        for outside, inside in zip(args, graph.inputs, strict=True):
            inside._handle_data = outside._handle_data

    def iteration(
        counter: TensorLike, limit: TensorLike, total: TensorLike, *grad_ys: Any
    ) -> list[Nested]:
        found = backprop(give_zeros=True, source=xs[0].graph).run(
            ys, xs, list(grad_ys), name="gradients"
        )
        dense = [convert_to_tensor(grad) for grad in found]
        return [identity_of(value) for value in (counter + 1, limit, total, *dense)]

    build_graph(graph, iteration, list(graph.inputs))
    graph.outputs += [graph.result_of_capture[inside] for inside in graph.internal_captures]
    graph.structured_outputs = list(graph.outputs)


def _keep_accumulators(
    op: Operation,
    cond_graph: ControlFlowGraph,
    body_graph: ControlFlowGraph,
    accumulators: Sequence[Tensor],
    num_before: int,
) -> None:
    """Make the lists of inner values further variables of the forward loop."""
    cond_graph.name += "_rewritten"
    body_graph.name += "_rewritten"
    op._set_attr("cond", add_function_of(cond_graph))
    op._set_attr("body", add_function_of(body_graph))
    added = body_graph.outputs[num_before:]
    assert len(added) == len(accumulators)
    op._set_attr("T", body_graph.output_types)
    op._set_attr("output_shapes", body_graph.output_shapes)
    op._add_while_inputs(accumulators)
    op._add_outputs([tensor.dtype for tensor in added], [tensor.shape for tensor in added])
    for result, tensor in zip(added, op.outputs[num_before:], strict=True):
        tensor._handle_data = result._handle_data


def _outside_of(tensor: Tensor, op: Operation, body_graph: ControlFlowGraph) -> Tensor:
    """Return the tensor outside of the forward body for a tensor that the gradient captured."""
    if tensor.graph is not body_graph:
        return tensor
    return next(
        op.outputs[index] for index, output in enumerate(body_graph.outputs) if output is tensor
    )


class _WhileGradientGraph(ControlFlowGraph):
    """The graph of the gradient's body, which uses inner values of the forward body.

    Attributes:
      accumulators: the empty lists that became further inputs of the forward loop.
      result_of_capture: the body's result for each captured tensor: itself, or the rest of a
        list.
    """

    def __init__(
        self,
        name: str,
        forward_op: Operation,
        cond_graph: ControlFlowGraph,
        body_graph: ControlFlowGraph,
    ) -> None:
        super().__init__(name)
        self._forward_while = forward_op
        self._forward_cond = cond_graph
        self._forward = body_graph
        self._found: dict[Tensor, Tensor] = {}
        self.accumulators: list[Tensor] = []
        self.result_of_capture: dict[Tensor, Tensor] = {}

    def _capture_new(self, tensor: Tensor, name: str | None) -> Tensor:
        found = self._found.get(tensor)
        if found is not None:
            return found
        name = name or tensor.op.name
        if tensor.graph is not self._forward:
            return self._pass_on(tensor, name)
        while tensor.op.type == "Identity":
            tensor = tensor.op.inputs[0]
        found = self._found.get(tensor)
        if found is None:
            found = self._found[tensor] = self._inner_value(tensor, name)
        return found

    def _pass_on(self, tensor: Tensor, name: str) -> Tensor:
        """Return the argument for a tensor whose value is the same in every iteration."""
        inside = self.captured.get(tensor)
        if inside is None:
            inside = self._add_captured_input(tensor, name)
            self.result_of_capture[inside] = inside
        self._found[tensor] = inside
        return inside

    def _inner_value(self, tensor: Tensor, name: str) -> Tensor:
        forward = self._forward
        if any(tensor is one for one in forward.inputs) and any(
            tensor is one for one in forward.outputs
        ):
            return self._pass_on(tensor, name)
        made = captured_constant(tensor)
        if made is not None:
            return made
        if tensor.dtype is dtypes.resource:
            return self._resource(tensor)
        accumulator = _accumulator_of(tensor)
        if accumulator is None:
            accumulator = self._accumulate(tensor)
        inside = self._add_captured_input(accumulator, name)
        rest, value = list_ops.tensor_list_pop_back(
            inside, -1, element_dtype=tensor.dtype, name="TensorListPopBack"
        )
        if tensor._handle_data is not None:
            value._handle_data = tensor._handle_data
        self.result_of_capture[inside] = rest
        found: Tensor = value
        return found

    def _resource(self, tensor: Tensor) -> Tensor:
        index = resource_input_index(tensor, self._forward)
        outside = self._forward_while.inputs[index]
        if index != resource_input_index(self._forward.outputs[index], self._forward):
            raise AssertionError(f"Resource tensors must be loop invariants {outside}")
        return self.capture(outside)

    def _accumulate(self, tensor: Tensor) -> Tensor:
        """Make the forward loop push a value of its body to a list in each iteration."""
        forward = self._forward
        outer = forward.outer_graph
        with outer.as_default():
            context = outer._get_control_flow_context()
            # An operation that the gradient waits for may itself wait for the loop.
            with outer.control_dependencies(None):
                outer._set_control_flow_context(context)
                empty = list_ops.empty_tensor_list(
                    element_shape_input(tensor.shape),
                    self._forward_while.inputs[1],
                    element_dtype=tensor.dtype,
                    name=f"{tensor.name}/accumulator".replace(":", "_"),
                )
        self.accumulators.append(empty)
        with forward.as_default():
            accumulator: Tensor = list_ops.tensor_list_push_back(empty, tensor)
        forward.outputs.append(accumulator)
        with self._forward_cond.as_default():
            self._forward_cond.capture(empty)
        return accumulator

    def operation_elsewhere(
        self,
        definition: OpDefinition,
        inputs: Sequence[Tensor],
        attrs: dict[str, Any],
        name: str,
        output_types: Nested,
    ) -> Operation | None:
        """Make an op whose result is small in the forward body, so that its result is kept."""
        if (
            definition.name not in _SMALL_ANSWERS
            or not all(tensor.graph is self._forward for tensor in inputs)
            or any(_accumulator_of(tensor) is not None for tensor in inputs)
        ):
            return None
        from tfnb.framework.operation_factory import create_operation

        forward = self._forward
        key = (definition.name, tuple(inputs), repr(sorted(attrs.items())), name)
        found = forward.moved_operations.get(key)
        if found is None:
            with forward.as_default():
                found = create_operation(
                    forward, definition, inputs, attrs, name.rstrip("/"), output_types
                )
            forward.moved_operations[key] = found
        return found


def _accumulator_of(tensor: Tensor) -> Tensor | None:
    """Return the loop variable that is the list of a body value's iterations, or None."""
    graph: Any = tensor.graph
    for user in tensor.consumers():
        if user.type != "TensorListPushBack":
            continue
        before = [index for index, one in enumerate(graph.inputs) if one is user.inputs[0]]
        if not before:
            continue
        ends = [user.outputs[0]]
        ends += [one.outputs[0] for one in ends[0].consumers() if one.type == "Identity"]
        for index, output in enumerate(graph.outputs):
            if index == before[0] and any(output is end for end in ends):
                found: Tensor = output
                return found
    return None

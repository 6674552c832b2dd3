"""``tf.cond`` and ``tf.switch_case`` as one node that calls one of several functions; gradients.

All branches take the same arguments: all tensors that any of them captured. The gradient of a
branch is a branch of its own. Inner values of the forward branch that it needs become further
results of the forward node, each wrapped in an optional, which is empty where another branch ran.

Corresponds to cond_v2.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.functions.function_graph import placeholder
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.framework.structures.composite_tensor import is_composite
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
    packed_like,
    resource_input_index,
    unique_function_name,
    unique_gradient_name,
)
from tfnb.library.control_flow.control_flow_values import identity_of
from tfnb.library.control_flow.default_gradient import is_trainable, zeros_of
from tfnb.library.control_flow.functions_above import backprop
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.containers.optional_ops import optional_from_value, optional_get_value, optional_none
from tfnb.ops.control.functional_ops import case as case_op
from tfnb.ops.control.functional_ops import if_, stateless_case, stateless_if

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike

# Stateful ops that do not make a Case stateful.
_RANDOM_OPS = frozenset(
    {
        "Multinomial", "ParameterizedTruncatedNormal", "RandomGamma", "RandomGammaGrad",
        "RandomPoisson", "RandomPoissonV2", "RandomShuffle", "RandomStandardNormal",
        "RandomUniform", "RandomUniformInt", "TruncatedNormal",
    }
)  # fmt: skip


def cond_v2(
    pred: TensorLike,
    true_fn: Callable[[], Nested],
    false_fn: Callable[[], Nested],
    name: str | None = None,
) -> Nested:
    """Return the result of ``true_fn()`` where ``pred`` holds, else of ``false_fn()``, as one If.

    Raises:
      TypeError: ``pred`` is a Python bool, or the branches have different structures or types.
      ValueError: a branch uses a tensor of the other one.
    """
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool", pred)
    with name_scope(name or "cond") as scope:
        names = [unique_function_name(scope, branch) for branch in ("true", "false")]
        pred = scalar(pred)
        graphs = _built(names, [true_fn, false_fn], pred)
        _check_captures(graphs, ["true_fn", "false_fn"])
        choice = _Choice(pred, graphs, is_case=False)
        return choice.build([graph.external_captures for graph in graphs], scope)


def indexed_case(
    branch_index: TensorLike, branch_fns: Sequence[Callable[[], Nested]], name: str = "indexed_case"
) -> Nested:
    """Return the result of the function with the number ``branch_index``, as one Case.

    Raises:
      TypeError: the branches have different structures or types.
      ValueError: a branch uses a tensor of another one.
    """
    with name_scope(name) as scope:
        names = [unique_function_name(scope, f"branch{i}") for i in range(len(branch_fns))]
        branch_index = convert_to_tensor(branch_index, name="branch_index")
        graphs = _built(names, branch_fns, branch_index)
        _check_captures(graphs, [f"branch {i}" for i in range(len(graphs))])
        choice = _Choice(branch_index, graphs, is_case=True)
        return choice.build([graph.external_captures for graph in graphs], scope)


def scalar(pred: TensorLike) -> Tensor:
    """Return a predicate as a tensor, squeezed unless it is known to be a scalar."""
    from tfnb.ops.array.shape_ops import squeeze

    tensor: Tensor = convert_to_tensor(pred)
    if tensor.shape.ndims != 0:
        tensor = squeeze(tensor)
    return tensor


def _built(
    names: Sequence[str], functions: Sequence[Callable[[], Nested]], result_of_operation: Tensor
) -> list[ControlFlowGraph]:
    graphs = []
    for name, function in zip(names, functions, strict=True):
        graph = ControlFlowGraph(name)
        build_graph(graph, function, result_of_operation=result_of_operation)
        graphs.append(graph)
    return graphs


def _check_captures(graphs: Sequence[ControlFlowGraph], names: Sequence[str]) -> None:
    name_of = dict(zip(graphs, names, strict=True))
    for graph in graphs:
        for tensor in graph.external_captures:
            owner: Any = tensor.graph
            if owner in name_of:
                raise ValueError(
                    f"Tensor {tensor.name} in {name_of[owner]} is accessed from {name_of[graph]}."
                )


# ---------------------------------------------------------------------------------------- the node


class _Choice:
    """One node that is being built: a predicate or number, and the graphs to choose from."""

    def __init__(self, chooser: Tensor, graphs: list[ControlFlowGraph], *, is_case: bool) -> None:
        self._chooser = chooser
        self._graphs = graphs
        self._is_case = is_case

    def build(
        self, inputs: Sequence[Sequence[Tensor]], name: str | None, lower: bool | None = None
    ) -> Any:
        """Add the node and return its results in the structure of the branches' results."""
        graphs = self._graphs
        _make_indices_types_match(graphs, self._is_case)
        check_same_outputs(graphs, self._is_case)
        arguments = make_inputs_match(graphs, inputs)
        waits = list(dict.fromkeys(op for graph in graphs for op in graph.control_captures))
        with get_default_graph().control_dependencies(waits):
            op, tensors = op_and_outputs(self._make(arguments, name))
            _copy_handle_data(tensors, graphs)
            for graph in graphs:
                graph.outer_graph = get_default_graph()
            if op is not None:
                op.branch_graphs = graphs  # type: ignore[attr-defined]
                mark_lowering(op, lower)
                mark_read_only_inputs(op, graphs, first=1)
                op.graph.prevent_fetching(op)
        # One Identity per result, so that a fetch of one result does not need the others.
        tensors = [identity(tensor) for tensor in tensors]
        return packed_like(_common_structure(graphs), tensors)

    def _make(self, arguments: list[Tensor], name: str | None) -> Any:
        graphs = self._graphs
        options: dict[str, Any] = {
            "Tout": graphs[0].output_types,
            "output_shapes": [_common_shape(shapes) for shapes in _by_output(graphs)],
            "name": name,
        }
        functions = [add_function_of(graph) for graph in graphs]
        if self._is_case:
            stateful = any(
                op._is_stateful and op.type not in _RANDOM_OPS
                for graph in graphs
                for op in graph.operation_list
            )
            build = case_op if stateful else stateless_case
            return build(self._chooser, arguments, branches=functions, **options)
        stateful = any(op._is_stateful for graph in graphs for op in graph.operation_list)
        build = if_ if stateful else stateless_if
        then_branch, else_branch = functions
        return build(
            self._chooser, arguments, then_branch=then_branch, else_branch=else_branch, **options
        )


def _by_output(graphs: Sequence[ControlFlowGraph]) -> list[tuple[TensorShape, ...]]:
    return list(zip(*[graph.output_shapes for graph in graphs], strict=True))


def _common_shape(shapes: Sequence[TensorShape]) -> TensorShape:
    found = shapes[0]
    for shape in shapes[1:]:
        found = found.most_specific_compatible_shape(shape)
    return found


def _common_structure(graphs: Sequence[ControlFlowGraph]) -> Nested:
    return graphs[0].structured_outputs


def _copy_handle_data(tensors: Sequence[Tensor], graphs: Sequence[ControlFlowGraph]) -> None:
    """Copy the handle data of resources and variants on which all branches agree."""
    for index, tensor in enumerate(tensors):
        known = [graph.outputs[index]._handle_data for graph in graphs]
        if not all(data is not None and len(data) == 1 for data in known):
            continue
        pairs = [data[0] for data in known if data]
        if len({dtype for dtype, _ in pairs}) == 1:
            shape = _common_shape([shape for _, shape in pairs])
            tensor._handle_data = [(pairs[0][0], shape)]


def make_inputs_match(
    graphs: Sequence[ControlFlowGraph], inputs: Sequence[Sequence[Tensor]]
) -> list[Tensor]:
    """Give all graphs the same arguments, unused ones too; return the arguments' values."""
    together = list(dict.fromkeys(tensor for one in inputs for tensor in one))
    for graph, own in zip(graphs, inputs, strict=True):
        parameter_of = dict(zip(own, graph.inputs))
        graph.inputs = [
            parameter_of[tensor] if tensor in parameter_of else _unused_input(graph, tensor)
            for tensor in together
        ]
        graph.reset_captures(together, graph.inputs)
    return together


def _unused_input(graph: ControlFlowGraph, like: Tensor) -> Tensor:
    with graph.as_default():
        return placeholder(like.dtype, like._shape)


def check_same_outputs(graphs: Sequence[ControlFlowGraph], is_case: bool) -> None:
    """Reject branches whose results differ in structure or type.

    Raises:
      TypeError: structures or types differ.
    """
    first = graphs[0]
    for index, graph in enumerate(graphs[1:], 1):
        try:
            nest.assert_same_structure(
                first.structured_outputs, graph.structured_outputs, expand_composites=True
            )
        except (TypeError, ValueError) as error:
            raise _different(graphs, index, is_case, str(error)) from None
        if len(first.outputs) != len(graph.outputs):
            raise ValueError(
                f"Lengths of branch outputs of {'case' if is_case else 'cond'} must match.\n"
                f"len(graphs[0].outputs): {len(first.outputs)}\n"
                f"len(graphs[{index}].outputs): {len(graph.outputs)}\n"
            )
        for one, other in zip(first.outputs, graph.outputs, strict=True):
            if one.dtype is not other.dtype:
                detail = f"{one} and {other} have different types"
                raise _different(graphs, index, is_case, detail)


def _different(
    graphs: Sequence[ControlFlowGraph], index: int, is_case: bool, detail: str
) -> TypeError:
    one, other, function = ("true_fn", "false_fn", "tf.cond")
    if is_case:
        one, other, function = "branches[0]", f"branches[{index}]", "tf.switch_case"
    return TypeError(
        f"{one} and {other} arguments to {function} must have the same number, type, and overall "
        f"structure of return values.\n\n{one} output: {graphs[0].structured_outputs}\n"
        f"{other} output: {graphs[index].structured_outputs}\n\nError details:\n{detail}"
    )


def _make_indices_types_match(graphs: Sequence[ControlFlowGraph], is_case: bool) -> None:
    """Make indices of IndexedSlices int64 in all branches where one branch has int64."""
    from tfnb.ops.array.cast_ops import cast

    flat = [nest.flatten(graph.structured_outputs) for graph in graphs]
    if len({len(one) for one in flat}) != 1:
        return  # check_same_outputs() rejects this
    position = 0
    changed = False
    for values in zip(*flat, strict=True):
        kinds = {isinstance(value, IndexedSlices) for value in values}
        if len(kinds) != 1:
            name = "switch_case" if is_case else "cond"
            raise TypeError(f"Cannot reconcile tf.{name} outputs:\n  branches returned: {values}")
        if kinds == {True}:
            types = {graph.outputs[position + 1].dtype for graph in graphs}
            for graph in graphs if len(types) > 1 else ():
                if graph.outputs[position + 1].dtype is dtypes.int32:
                    with graph.as_default():
                        graph.outputs[position + 1] = cast(
                            graph.outputs[position + 1], dtypes.int64
                        )
                    changed = True
        if values[0] is not None:
            composite = is_composite(values[0])
            position += len(nest.flatten(values[0], expand_composites=True)) if composite else 1
    if changed:
        for graph in graphs:
            graph.structured_outputs = packed_like(graph.structured_outputs, graph.outputs)


# --------------------------------------------------------------------------------------- gradients


def choice_gradient(op: Operation, *grads: Any) -> list[Nested]:
    """Return the gradient of If, Case and their stateless variants: a node of the same kind."""
    is_case = op.type in ("Case", "StatelessCase")
    graphs = _forward_graphs(op, is_case)
    gradient_graphs = [_gradient_graph(graph, grads) for graph in graphs]
    _fill_missing(graphs, gradient_graphs)
    if any(graph.wrapped for graph in gradient_graphs):
        _give_inner_values(op, graphs, gradient_graphs, is_case)
    inputs = [
        [_outside_of(tensor, forward, graph) for tensor in graph.external_captures]
        for forward, graph in zip(graphs, gradient_graphs, strict=True)
    ]
    _make_composites_match(gradient_graphs, is_case)
    lower = op.attrs.get("_lower_using_switch_merge") if is_case else None
    choice = _Choice(op.inputs[0], list(gradient_graphs), is_case=is_case)
    found = choice.build(inputs, "gradient" if is_case else None, lower)
    return [None, *found]


def _forward_graphs(op: Operation, is_case: bool) -> list[ControlFlowGraph]:
    graphs: list[ControlFlowGraph] | None = getattr(op, "branch_graphs", None)
    arguments = op.inputs[1:]
    if graphs is None:
        names = (
            [function.name for function in op.attr("branches")]
            if is_case
            else [op.attr("then_branch").name, op.attr("else_branch").name]
        )
        graphs = [graph_of_function(op, name, arguments) for name in names]
        op.branch_graphs = graphs  # type: ignore[attr-defined]
    for graph in graphs:
        for outside, inside in zip(arguments, graph.inputs, strict=True):
            if outside._handle_data is not None:
                inside._handle_data = outside._handle_data
        graph.reset_captures(arguments, graph.inputs)
        graph.forward_op = op
    return graphs


class _CondGradientGraph(ControlFlowGraph):
    """The graph of a branch's gradient, which uses inner values of the branch.

    Attributes:
      wrapped: inner value -> the optional in the forward graph that wraps it.
      needs_rewrite: whether the forward node still lacks some of these as results.
    """

    def __init__(self, name: str, forward: ControlFlowGraph) -> None:
        super().__init__(name)
        self._forward = forward
        self._unwrapped: dict[Tensor, Tensor] = {}
        self.wrapped: dict[Tensor, Tensor] = {}
        self.needs_rewrite = False

    def _capture_new(self, tensor: Tensor, name: str | None) -> Tensor:
        forward = self._forward
        if (
            tensor.graph is not forward
            or any(tensor is one for one in forward.inputs)
            or any(tensor is one for one in forward.outputs)
        ):
            return super()._capture_new(tensor, name)
        found = self._unwrapped.get(tensor)
        if found is None:
            found = self._unwrapped[tensor] = self._unwrap(tensor, name)
        return found

    def _unwrap(self, tensor: Tensor, name: str | None) -> Tensor:
        constant = captured_constant(tensor)
        if constant is not None:
            return constant
        if tensor.dtype is dtypes.resource:
            # The branch's argument for a resource stands for the same resource.
            return self.capture(self._forward.inputs[resource_input_index(tensor, self._forward)])
        optional = self._optional_of(tensor)
        self.wrapped[tensor] = optional
        captured = self.captured.get(optional)
        if captured is None:
            captured = self._add_captured_input(optional, name or tensor.op.name)
        value: Tensor = optional_get_value(
            captured, output_types=[tensor.dtype], output_shapes=[tensor.shape]
        )[0]
        return value

    def _optional_of(self, tensor: Tensor) -> Tensor:
        """Return the optional that an earlier gradient of the same node made, or a new one."""
        for user in tensor.consumers():
            if user.type == "OptionalFromValue" and any(
                user.outputs[0] is one for one in self._forward.outputs
            ):
                return user.outputs[0]
        with self._forward.as_default():
            optional: Tensor = optional_from_value([tensor])
        self.needs_rewrite = True
        return optional


def _gradient_graph(forward: ControlFlowGraph, grads: Sequence[TensorLike]) -> _CondGradientGraph:
    graph = _CondGradientGraph(unique_gradient_name(forward.name), forward)
    pairs = [(y, grad) for y, grad in zip(forward.outputs, grads, strict=True) if is_trainable(y)]

    def gradients() -> list[Nested]:
        found = backprop(source=forward).run(
            [y for y, _ in pairs],
            list(forward.inputs),
            [grad for _, grad in pairs],
            name="gradients",
        )
        return [None if grad is None else identity_of(grad) for grad in found]

    build_graph(graph, gradients)
    return graph


def _fill_missing(
    forward: Sequence[ControlFlowGraph], graphs: Sequence[_CondGradientGraph]
) -> None:
    """Put zeros where one branch has no gradient and another has one."""
    count = len(graphs[0].structured_outputs)
    for index in range(count):
        found = [graph.structured_outputs[index] for graph in graphs]
        if any(one is None for one in found) and any(one is not None for one in found):
            for graph, source in zip(graphs, forward, strict=True):
                if graph.structured_outputs[index] is None:
                    with graph.as_default():
                        graph.structured_outputs[index] = zeros_of(source.inputs[index])
    for graph in graphs:
        graph.outputs = flat_tensors(graph.structured_outputs)


def _give_inner_values(
    op: Operation,
    graphs: Sequence[ControlFlowGraph],
    gradient_graphs: Sequence[_CondGradientGraph],
    is_case: bool,
) -> None:
    """Make inner values results of the forward node, empty where the branch did not run."""
    if not any(graph.needs_rewrite for graph in gradient_graphs):
        return
    wrapped = [list(graph.wrapped.values()) for graph in gradient_graphs]
    count = max(map(len, wrapped))
    for graph, optionals in zip(graphs, wrapped, strict=True):
        with graph.as_default():
            missing = [optional_none() for _ in range(count - len(optionals))]
        graph.outputs += [*optionals, *missing]
        graph.name += "_rewritten"
    functions = [add_function_of(graph) for graph in graphs]
    if is_case:
        op._set_attr("branches", functions)
    else:
        op._set_attr("then_branch", functions[0])
        op._set_attr("else_branch", functions[1])
    added = graphs[0].outputs[len(op.outputs) :]
    op._set_attr("Tout", graphs[0].output_types)
    op._set_attr("output_shapes", graphs[0].output_shapes)
    op._add_outputs([tensor.dtype for tensor in added], [tensor.shape for tensor in added])


def _outside_of(tensor: Tensor, forward: ControlFlowGraph, graph: ControlFlowGraph) -> Tensor:
    """Return the tensor outside of the forward branch for a tensor that a gradient captured."""
    if tensor.graph is not forward:
        return tensor
    assert forward.forward_op is not None
    for index, output in enumerate(forward.outputs):
        if output is tensor:
            return forward.forward_op.outputs[index]
    for outside, inside in forward.captures:
        if inside is tensor:
            return outside
    raise ValueError(f"Could not find external tensor capture {tensor} in captures or outputs")


def _make_composites_match(graphs: Sequence[ControlFlowGraph], is_case: bool) -> None:
    """Make a gradient IndexedSlices where it is IndexedSlices in another branch."""
    from tfnb.library.control_flow.indexed_slices_ops import as_indexed_slices

    for index in range(len(graphs[0].structured_outputs)):
        found = [graph.structured_outputs[index] for graph in graphs]
        if not any(isinstance(one, IndexedSlices) for one in found):
            continue
        for graph, one in zip(graphs, found, strict=True):
            if not isinstance(one, IndexedSlices):
                with graph.as_default():
                    graph.structured_outputs[index] = as_indexed_slices(one)
    for graph in graphs:
        graph.outputs = flat_tensors(graph.structured_outputs)

"""``tf.custom_gradient``: a function that defines its own gradient.

The function's results go, together with its arguments, through one IdentityN whose gradient is the
user's function.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from typing import TYPE_CHECKING, Any

from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.gradient_registry import RegisterGradient, lookup
from tfnb.framework.structures import nest
from tfnb.library.control_flow.control_flow_values import is_resource_variable, read_variables
from tfnb.ops.array.identity_ops import identity, identity_n

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorResult, VariableLike

EXPORTS = {"tf": ["custom_gradient", "grad_pass_through", "recompute_grad"]}

_VARIABLE_OPS = frozenset({"Variable", "VariableV2", "VarHandleOp"})

_numbers = itertools.count()


class _CustomGradient:
    """A decorated function; also works as a method of a class."""

    def __init__(self, function: Callable[..., Nested]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return _CustomGradient(self._function.__get__(instance, owner))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the function's results, with its own gradient."""
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator does not support keyword arguments in a graph."
            )
        return _build(self._function, args)


def custom_gradient(f: Callable[..., Nested] | None = None) -> Any:
    """Decorate a function that defines its own gradient.

    Args:
      f: takes tensors; returns its results and a function that turns the gradients of the results
        into those of the arguments. If ``f`` reads variables, this function takes ``variables``
        as well, and returns a second list, with the variables' gradients.

    Returns:
      The function ``f(...)[0]`` with this gradient.
    """
    if f is None:
        return custom_gradient
    return _CustomGradient(f)


def grad_pass_through(f: Callable[..., Nested]) -> Callable[..., Any]:
    """Return a function like ``f`` whose gradient is that of the identity."""

    @custom_gradient
    def through(*args: Any) -> Nested:
        def grad(*grads: Any, variables: VariableLike | None = None) -> TensorResult:
            return grads if variables is None else (grads, [None] * len(variables))

        return f(*args), grad

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return through(*args, **kwargs)

    return decorated


def recompute_grad(f: Callable[..., Nested]) -> Callable[..., Any]:
    """Return a function like ``f`` whose gradient computes ``f`` again.

    Inner values of ``f`` are then not kept until its gradient is computed.
    """

    @custom_gradient
    def recomputing(*args: Any) -> Nested:
        from tfnb.library.variables.variable_scope import get_variable_scope

        scope = get_variable_scope()
        result = f(*args)

        def grad(*grads: Any, variables: VariableLike | None = None) -> Nested:
            from tfnb.library.gradients.gradients import gradients
            from tfnb.library.variables.variable_scope import variable_scope

            graph = get_default_graph()
            with graph.control_dependencies([one for one in grads if one is not None]):
                again = nest.map_structure(identity, list(args))
            with variable_scope(scope, reuse=True):
                ys = nest.flatten(f(*again))
            xs = nest.flatten(again)
            found = gradients(ys, [*xs, *(variables or ())], grad_ys=list(grads))
            if variables is None:
                return found
            return found[: len(xs)], found[len(xs) :]

        return result, grad

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return recomputing(*args, **kwargs)

    return decorated


def _build(function: Callable[..., Nested], args: Sequence[Any]) -> Any:
    graph = get_default_graph()
    args = nest.map_structure(convert_to_tensor, read_variables(list(args)))
    known = set(map(id, _all_variables()))
    result, grad_fn = function(*args)
    for variable in _all_variables():
        if id(variable) not in known and not is_resource_variable(variable):
            raise TypeError(
                "All variables used by a function wrapped with @custom_gradient must be "
                "`ResourceVariable`s. Ensure that no `variable_scope` is created with "
                "`use_resource=False`."
            )
    flat_args = nest.flatten(args)
    flat_result = nest.flatten(result)
    variables = _variables_between(flat_args, flat_result)
    _check_signature(grad_fn, variables)

    name = f"CustomGradient-{next(_numbers)}"

    @RegisterGradient(name)
    def _(op: Operation, *grads: Tensor) -> list[Any]:
        result_grads = grads[: len(flat_result)]
        if variables:
            input_grads, variable_grads = grad_fn(*result_grads, variables=variables)
            if len(variable_grads) != len(variables):
                raise ValueError(
                    "Must return gradient for each variable from @custom_gradient grad_fn."
                )
        else:
            input_grads, variable_grads = grad_fn(*result_grads), []
        # One gradient for each input of the IdentityN; its first inputs are the results.
        return [None] * len(flat_result) + nest.flatten(input_grads) + list(variable_grads)

    tensors = [*flat_result, *flat_args, *variables]
    with graph.gradient_override_map({"IdentityN": name}):
        outputs = identity_n(tensors)
    for variable in variables:
        convert_to_tensor(variable)  # TensorFlow reads it for a tape, which adds a node
    return nest.pack_sequence_as(result, outputs[: len(flat_result)])


def _all_variables() -> list[Nested]:
    graph = get_default_graph()
    return [
        *graph.get_collection(GraphKeys.GLOBAL_VARIABLES),
        *graph.get_collection(GraphKeys.LOCAL_VARIABLES),
    ]


def _variables_between(inputs: Iterable[Tensor], results: Sequence[Any]) -> list[TensorResult]:
    """Return the trainable variables that ``results`` depend on other than through ``inputs``."""
    ends = [identity(one) for one in results]
    by_op = {
        variable.op: variable
        for variable in get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        if hasattr(variable, "op")
    }
    stops = set(inputs)
    seen: set[Operation] = set()
    waiting = [tensor.op for tensor in ends]
    found = []
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type in _VARIABLE_OPS and getattr(by_op.get(op), "trainable", False):
            found.append(by_op[op])
        if _is_differentiable(op):
            waiting.extend(tensor.op for tensor in op.inputs if tensor not in stops)
    return sorted(found, key=lambda variable: str(variable.name))


def _is_differentiable(op: Operation) -> bool:
    try:
        return lookup(op.type) is not None
    except LookupError:
        return False


def _check_signature(grad_fn: Callable[..., Any], variables: Sequence[VariableLike]) -> None:
    if not variables:
        return
    parameters = inspect.signature(grad_fn).parameters
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    if "variables" not in parameters and not takes_any:
        raise TypeError(
            "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since function "
            f"uses variables: {list(variables)}"
        )

"""``tf.py_function``: a Python function of tensors that have values, as an op.

There is no eager mode. A call passes tensors of a new graph to the function, and a session runs
this graph when the function reads a value (``x.numpy()``, ``if x > 0``, ``np.sin(x)``). Computed
values are fed from then on, so that an op with side effects runs once. The gradient calls the
function again and differentiates the graph it built.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.session.session import Session
from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.graph import Graph
from tfnb.framework.tensor import Tensor
from tfnb.library.gradients.gradients import gradients
from tfnb.library.variables.variables import Variable
from tfnb.ops.control.script_ops import (
    call_node,
    check_callable,
    decorator_of,
    eager_py_func_op,
    types_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.framework.operation import Operation

EXPORTS = {"tf": ["py_function"]}


class EvaluatedTensor(Tensor):
    """A tensor whose value can be read: its graph exists during one call."""

    __slots__ = ()
    graph: EvaluatedGraph

    def numpy(self) -> Any:
        """Return the value: an array, a scalar of NumPy, bytes."""
        return self.graph.value(self)

    @property
    def shape(self) -> TensorShape:
        """The shape, which is known."""
        if self._shape.is_fully_defined():
            return self._shape
        return TensorShape(np.shape(self.numpy()))

    def get_shape(self) -> TensorShape:
        """Return the shape, which is known."""
        return self.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the value."""
        return np.array(self.numpy(), dtype)

    def __bool__(self) -> bool:  # type: ignore[override]
        """Return the truth of the value."""
        return bool(self.numpy())

    def __int__(self) -> int:
        """Return the value as an int."""
        return int(self.numpy())

    def __float__(self) -> float:
        """Return the value as a float."""
        return float(self.numpy())

    def __index__(self) -> int:
        """Return the value as an index."""
        return int(np.asarray(self.numpy()).__index__())

    def __len__(self) -> int:
        """Return the length of the first dimension."""
        return len(self.numpy())

    def __iter__(self) -> Iterator[Tensor]:
        """Return an iterator over the slices."""
        return iter([self[index] for index in range(len(self))])

    def __format__(self, spec: str) -> str:
        """Return the value as text."""
        return format(self.numpy(), spec)

    def __str__(self) -> str:
        return f"tf.Tensor({self.numpy()}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={self.numpy()!r}>"


class EvaluatedGraph(Graph):
    """A graph whose tensors have values."""

    def __init__(self) -> None:
        super().__init__()
        self._session: Session | None = None
        # The values that were computed.
        self._values: dict[Tensor, Any] = {}
        # Operations with effects that did not run yet.
        self._pending: list[Operation] = []

    def _add_op(self, op: Operation) -> None:
        super()._add_op(op)
        for tensor in op.outputs:
            # The class has no attributes of its own.
            tensor.__class__ = EvaluatedTensor
        if op._is_stateful and self._get_control_flow_context() is None:
            self._pending.append(op)

    def value(self, tensor: Tensor) -> Any:
        """Return the tensor's value."""
        if tensor not in self._values:
            self.run([tensor])
        return self._values[tensor]

    def run(self, tensors: Sequence[Tensor]) -> None:
        """Compute these values, and run the operations with effects."""
        if not tensors and not self._pending:
            return
        if self._session is None:
            self._session = Session(graph=self)
        wanted = {t for t in tensors if t not in self._values}
        wanted.update(t for op in self._pending for t in op.outputs if _has_value(t))
        fetched = list(wanted)
        pending, self._pending = self._pending, []
        values, _ = self._session.run((fetched, pending), self._values)
        self._values.update(zip(fetched, values, strict=True))

    def close(self) -> None:
        """End the session."""
        if self._session is not None:
            self._session.close()


def _has_value(tensor: Tensor) -> bool:
    return tensor.dtype not in (dtypes.resource, dtypes.variant) and not tensor.dtype.is_ref_dtype


def _evaluate(
    function: Callable[..., Any], dtypes_of_inputs: Sequence[Any], *arrays: Any
) -> list[Any]:
    """Call a function with tensors of these values; return the values of its results."""
    graph = EvaluatedGraph()
    try:
        with graph.as_default():
            inputs = [
                convert_to_tensor(array, dtype)
                for array, dtype in zip(arrays, dtypes_of_inputs, strict=True)
            ]
            outputs = function(*inputs)
            graph.run(outputs)
            return [graph.value(tensor) for tensor in outputs]
    finally:
        graph.close()


def _outputs(
    function: Callable[..., Any], types: Sequence[Any], inputs: Sequence[Any]
) -> list[Tensor]:
    """Call the function; return its results as tensors of these dtypes.

    A wrong number of results is returned unchanged; the node refuses it.

    Raises:
      RuntimeError: a result is a variable.
      ValueError: a result is of another graph.
    """
    found = function(*inputs)
    if not types:
        return []
    values = list(found) if isinstance(found, list | tuple) else [found]
    if found is None:
        values = []
    elif len(types) == 1 and len(values) != 1:
        values = [found]
    for value in values:
        if isinstance(value, Variable):
            raise RuntimeError(
                "Attempting to return a variable from an eagerly executed py_func. Only numeric "
                "data structures like Tensors or NumPy arrays should be returned; to return the "
                "value of a variable, make sure to obtain the Tensor backing it by calling "
                f"`.read_value()` on the variable in question: {value}"
            )
    if len(values) != len(types):
        return [convert_to_tensor(value) for value in values]
    tensors = [convert_to_tensor(value, dtype) for value, dtype in zip(values, types, strict=True)]
    for tensor in tensors:
        if not isinstance(tensor, EvaluatedTensor):
            raise ValueError(
                f"{tensor!r} is of the graph that calls the function, not of the same graph as the "
                "function's arguments: pass it in `inp`"
            )
    return tensors


def _slopes(
    function: Callable[..., Any], types: Sequence[Any], count: int, *inputs_and_grads: Any
) -> list[Tensor]:
    """Return the gradients by the inputs, zeros where there is no gradient."""
    inputs, grads = list(inputs_and_grads[:count]), list(inputs_and_grads[count:])
    outputs = _outputs(function, types, inputs)
    usable = [(y, g) for y, g in zip(outputs, grads, strict=True) if y.dtype.is_floating]
    sources = [x for x in inputs if x.dtype.is_floating]
    found = iter(
        gradients([y for y, _ in usable], sources, [g for _, g in usable])
        if usable and sources
        else [None] * len(sources)
    )
    slopes = [next(found) if x.dtype.is_floating else None for x in inputs]
    return [
        convert_to_tensor(np.zeros(x.shape.as_list(), x.dtype.as_numpy_dtype))
        if slope is None
        else convert_to_tensor(slope)
        for x, slope in zip(inputs, slopes, strict=True)
    ]


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,
    name: str | None = None,
) -> Any:
    """Wrap a Python function of tensors as an op that has a gradient.

    Args:
      func: gets a tensor for each of ``inp``, whose ``.numpy()`` returns the value; may use ops and
        Python's ``if``; returns one tensor or a value that can become one, a list of them, or None.
      inp: tensors, or values that can become tensors.
      Tout: the dtype, or a list of the dtypes, of the results of ``func``.
      name: the name of the op.

    Returns:
      A tensor, or a list of them if ``Tout`` is a list; the op itself if the list is empty.

    Raises:
      ValueError: ``func`` cannot be called.
      TypeError: ``Tout`` is not given.
    """
    if Tout is None or func is None:
        return decorator_of(py_function, Tout, name=name)
    check_callable(func)
    types, is_list = types_of(Tout)
    inputs = [convert_to_tensor(value) for value in inp or ()]
    input_types = [tensor.dtype.base_dtype for tensor in inputs]
    call = functools.partial(_evaluate, lambda *values: _outputs(func, types, values), input_types)
    back = functools.partial(
        _evaluate, functools.partial(_slopes, func, types, len(inputs)), [*input_types, *types]
    )
    found = call_node(eager_py_func_op, call, inputs, types, name, back)
    return found if is_list or not types else found[0]

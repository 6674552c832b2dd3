"""Python functions as ops: ``tf.py_func``.

A graph holds only a token; the function itself is known to the process that built the op.  A
GraphDef from a file can contain a token, but no code: without the function the op fails.
"""

from __future__ import annotations

import functools
import itertools
import threading
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, effects, errors
from tfnb.core.op_registry import register_op
from tfnb.core.process.signal_handlers import raised_by_handler
from tfnb.core.process.weak_registry import WeakRegistry
from tfnb.core.tensor_util import convert_to_ndarray
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.loaded_nodes import is_loaded, mark_derived

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, Nested

EXPORTS = {"tf": ["py_func", "numpy_function"]}

_lock = threading.Lock()
_tokens = itertools.count()
# Token -> function, kept as long as a graph that calls it exists; guarded by _lock.
_functions: WeakRegistry[_Registered] = WeakRegistry()


class _Registered:
    """A function under its token; the graphs that call it keep it alive."""

    __slots__ = ("__weakref__", "backward", "function", "token")

    def __init__(
        self, function: Callable[..., Nested], backward: Callable[..., Any] | None = None
    ) -> None:
        self.function = function
        self.backward = backward
        self.token = f"pyfunc_{next(_tokens)}"


def _call(token: str | bytes, inputs: Sequence[Array], types: Sequence[Array]) -> tuple[Array, ...]:
    if isinstance(token, bytes):  # not UTF-8
        raise errors.internal(
            "Failed to create python tuple. Please make sure `token` is a well-formed UTF-8 string."
        )
    registered = _functions.get(token)
    if registered is None:
        raise errors.invalid_argument(
            f"ValueError: Could not find callback with key={token} in the registry. The Python "
            "function of this op exists only in the process that built the graph; a graph from a "
            "file does not contain it. Feed this op's outputs instead."
        )
    effects.check("python")
    try:
        # The user's own function may have any effect: it is not checked.
        with effects.watched_by(None):
            found = registered.function(*[_argument(value) for value in inputs])
    except Exception as error:
        if raised_by_handler(error):
            raise
        raise _as_op_error(error) from error
    return _results(token, found, types)


def _argument(value: Array) -> Array:
    """Return a tensor as an argument: a writable array, or bytes for a scalar string."""
    array = np.asarray(value)
    if array.dtype == object and array.ndim == 0:
        return array[()]
    return value if isinstance(value, np.generic) else array.copy()


def _results(token: str, found: Any, types: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values of a function as arrays of these types; as in TensorFlow, none is cast.

    Raises:
      InvalidArgumentError: the number of values or the type of one is wrong.
      InternalError: a value cannot be held by a tensor.
    """
    if found is None:
        values: Sequence[Any] = ()
    else:
        values = found if isinstance(found, tuple | list) else (found,)
    if len(values) != len(types):
        raise errors.invalid_argument(
            f"{token} returns {len(values)} values, but expects to see {len(types)} values."
        )
    return tuple(
        _result(token, position, value, dtype)
        for position, (value, dtype) in enumerate(zip(values, types, strict=True))
    )


def _result(token: str, position: int, value: Any, dtype: DType) -> Any:
    array = np.asarray(value)
    if array.dtype.fields is not None:
        raise errors.internal("Unsupported numpy data type")
    is_text = array.dtype.kind in "SUO"
    if array.dtype == object:
        for element in array.reshape(-1):
            if not isinstance(element, bytes | str):
                raise errors.internal(f"Unsupported object type {type(element).__name__}")
    if is_text and dtype.name == "string":
        return convert_to_ndarray(value, dtype)
    if is_text or array.dtype != dtype.numpy_dtype:
        raise errors.invalid_argument(
            f"{position}-th value returned by {token} is "
            f"{'string' if is_text else _type_name(array)}, but expects {dtypes_word(dtype)}"
        )
    return array


def _type_name(array: Array) -> str:
    try:
        return dtypes_word(dtypes.as_dtype(array.dtype))
    except TypeError:
        return str(array.dtype)


def dtypes_word(dtype: Attr) -> str:
    """Return a dtype as TensorFlow's runtime writes it: float, double, int32."""
    return {"float32": "float", "float64": "double"}.get(dtype.name, str(dtype.name))


def _as_op_error(error: Exception) -> errors.OpError:
    text = f"{type(error).__name__}: {error}\n{''.join(traceback.format_exception(error))}"
    if isinstance(error, errors.OpError):
        return error
    if isinstance(error, ValueError | TypeError):
        return errors.invalid_argument(text)
    if isinstance(error, StopIteration):
        return errors.out_of_range(text)
    if isinstance(error, MemoryError):
        return errors.resource_exhausted(text)
    if isinstance(error, NotImplementedError):
        return errors.unimplemented(text)
    return errors.unknown(text)


@register_op(
    "PyFunc",
    "*input: Tin -> *output: Tout",
    "token: string",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    stateful=True,
    devices=("CPU",),
    expensive=True,
    effects="python",
    traits="unchecked_shape",
)
def py_func_op(xp: Xp, input: list[Array], *, token: str, Tout: list[DType]) -> tuple[Array, ...]:
    """Call the Python function behind ``token`` on the inputs, once per step."""
    return _call(token, input, Tout)


@register_op(
    "PyFuncStateless",
    "*input: Tin -> *output: Tout",
    "token: string",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    devices=("CPU",),
    expensive=True,
    effects="python",
    traits="unchecked_shape",
)
def py_func_stateless(
    xp: Xp, input: list[Array], *, token: str, Tout: list[DType]
) -> tuple[Array, ...]:
    """Call a stateless function as PyFunc does; equal inputs must give equal results."""
    return _call(token, input, Tout)


py_func_op.not_differentiable()
py_func_stateless.not_differentiable()


@register_op(
    "EagerPyFunc",
    "*input: Tin -> *output: Tout",
    "token: string",
    "is_async: bool = false",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    stateful=True,
    devices=("CPU",),
    expensive=True,
    effects="python",
    traits="unchecked_shape",
)
def eager_py_func_op(
    xp: Xp, input: list[Array], *, token: str, Tout: list[DType]
) -> tuple[Array, ...]:
    """Call a function of tensors that have values; see client/eager_function.py."""
    return _call(token, input, Tout)


@eager_py_func_op.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    token = op.get_attr("token").decode()
    registered = _functions.get(token)
    if registered is None or registered.backward is None:
        raise LookupError(
            f"Operation '{op.name}' has no gradient: its Python function is not in this process."
        )
    inputs, types = list(op.inputs), [tensor.dtype for tensor in op.inputs]
    found = call_node(
        eager_py_func_op, registered.backward, [*inputs, *grads], types, name="EagerPyFuncGrad"
    )
    if is_loaded(op):
        mark_derived(found[0].op)
    known = [tensor if tensor.dtype.is_floating else None for tensor in found]
    return known[0] if len(known) == 1 else known


def check_callable(func: Any) -> None:
    """Refuse an object that is not a function.

    Raises:
      ValueError: it cannot be called.
    """
    if not callable(func):
        raise ValueError(
            f"Expected func to be callable. Received func={func} of type {type(func)}."
        )


def decorator_of(function: Callable[..., Nested], Tout: Any, **options: Any) -> Any:
    """Return a decorator that turns a Python function into one that adds a node for its arguments.

    Raises:
      TypeError: ``Tout`` is missing.
    """
    if Tout is None:
        raise TypeError(
            "Missing required argument: 'Tout'\n  If using tf.py_function as a decorator, set "
            "`Tout`\n  **by name** above the function:\n  `@tf.py_function(Tout=tout)`"
        )

    def decorate(func: Callable[..., Nested]) -> Callable[..., Any]:
        @functools.wraps(func)
        def call(*args: Any) -> Any:
            return function(func, args, Tout, **options)

        return call

    return decorate


def types_of(Tout: Any) -> tuple[list[DType], bool]:
    """Return the dtypes of the function's results, and whether they form a list."""
    is_list = isinstance(Tout, list | tuple)
    return [dtypes.as_dtype(one) for one in (Tout if is_list else [Tout])], is_list


def py_func(
    func: Callable[..., Nested],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Wrap a Python function as an op.

    Args:
      func: receives NumPy arrays, one for each of ``inp``; returns one array, a list of them, or
        None.
      inp: tensors, or values that can be converted to tensors.
      Tout: a dtype, or a list of dtypes, of what ``func`` returns.
      stateful: whether every call has to happen; calls of a stateless function may be merged or
        omitted.
      name: the name of the op.

    Returns:
      A tensor, or a list of them where ``Tout`` is a list; where it is empty, the op itself if it
      is stateful.

    Raises:
      ValueError: ``func`` cannot be called.
    """
    check_callable(func)
    types, is_list = types_of(Tout)
    found = call_node(py_func_op if stateful else py_func_stateless, func, inp, types, name)
    if not types and not stateful:
        return []  # without outputs and effects the node is useless
    return found if is_list or not types else found[0]


def call_node(
    definition: Any,
    func: Callable[..., Nested],
    inp: Sequence[Any],
    types: Sequence[Nested],
    name: str | None,
    backward: Callable[..., Any] | None = None,
) -> Any:
    """Return a node that calls ``func``: its outputs, or the node if it has none.

    The graph keeps ``func`` alive.
    """
    registered = _Registered(func, backward)
    with _lock:
        _functions.add(registered, registered.token)
    graph: Any = get_default_graph()
    # A function's body is discarded once it is written; the graph that calls it remains.
    while graph.building_function:
        graph = graph.outer_graph
    kept: list[_Registered] = graph.__dict__.setdefault("_python_functions", [])
    kept.append(registered)
    found = definition(list(inp), token=registered.token, Tout=types, name=name)
    if not types:
        return found
    return list(found) if isinstance(found, list | tuple) else [found]


def numpy_function(
    func: Callable[..., Nested] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Wrap a Python function as :func:`py_func` does; without ``func``, return a decorator."""
    if Tout is None or func is None:
        return decorator_of(py_func, Tout, stateful=stateful, name=name)
    return py_func(func, inp or [], Tout, stateful, name)

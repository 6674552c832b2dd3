"""``tensorflow.python.framework.ops`` and its kin: names that are internal to TensorFlow."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any, cast

from tfnb.client.public.api import tf
from tfnb.framework.constant_value import constant_value_as_shape as constant_value_as_shape
from tfnb.framework.default_session import _default_session_stack as _default_session_stack
from tfnb.framework.graph import Graph
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.indexed_slices import IndexedSlicesValue as IndexedSlicesValue
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.tensor import Tensor
from tfnb.library.training.collection_protos import (
    get_collection_proto_type as get_collection_proto_type,
)
from tfnb.library.training.collection_protos import register_proto_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_NUMBERS = itertools.count()


class _TensorLike:
    """What tensors and their kin are instances of."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)


TensorLike = _TensorLike


class EagerTensor:
    """No tensor is eager."""


def _as_graph_element(obj: Any) -> Any:
    """Return the tensor that stands for a variable in a graph; None for other values."""
    convert = getattr(obj, "_as_graph_element", None)
    return convert() if convert is not None else None


def is_dense_tensor_like(t: Any) -> bool:
    """Return whether a value is a tensor or a variable."""
    return isinstance(t, Tensor) or bool(getattr(t, "is_tensor_like", False))


def is_tensor(x: Any) -> bool:
    """Return whether a value is a tensor, a variable or one of the composites."""
    return isinstance(x, Tensor | SparseTensor | IndexedSlices) or is_dense_tensor_like(x)


is_tf_type = is_tensor


class RegisterShape:
    """A decorator of a shape function in Python; ops have their own here, as in later versions."""

    def __init__(self, op_type: str) -> None:
        self.op_type = op_type

    def __call__(self, function: Any) -> Any:
        """Return the function."""
        return function


def uid() -> int:
    """Return a number that no earlier call returned."""
    return next(_NUMBERS)


def executing_eagerly_outside_functions() -> bool:
    """Return False."""
    return False


def inside_function() -> bool:
    """Return whether a function's body is being built."""
    return bool(tf.get_default_graph().building_function)


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Build outside of control dependencies."""
    with tf.control_dependencies(None):
        yield


def _get_graph_from_inputs(op_input_list: Sequence[Any], graph: Graph | None = None) -> Graph:
    """Return the graph of values, which have to be of one, or of the given graph."""
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    first = None
    for value in op_input_list:
        found = getattr(value, "graph", None)
        if found is None:
            continue
        if graph is not None:
            if found is not graph:
                raise ValueError(f"{value} is not from the passed-in graph.")
        elif first is None:
            first = value
        elif found is not first.graph:
            raise ValueError(
                f"{value} must be from the same graph as {first} (graphs are {found} and "
                f"{first.graph})."
            )
    return graph or (_get_default_graph() if first is None else cast("Graph", first.graph))


def _get_default_graph() -> Graph:
    graph: Graph = tf.get_default_graph()
    return graph


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Return a name without a scope at its start."""
    return name.removeprefix(f"{export_scope}/") if export_scope else name


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Return a name with a scope before it."""
    return f"{import_scope}/{name}" if import_scope else name


def register_proto_function(
    collection_name: str, proto_type: Any = None, to_proto: Any = None, from_proto: Any = None
) -> None:
    """Set how the items of a program's own collection are written to a MetaGraphDef, and read.

    Args:
      collection_name: its name.
      proto_type: the class of messages.
      to_proto: makes a message of an item.
      from_proto: makes an item of a message.

    Raises:
      TypeError: one of the two functions is missing or cannot be called.
    """
    if not (proto_type and callable(to_proto) and callable(from_proto)):
        raise TypeError(
            f"The collection {collection_name!r} needs proto_type, to_proto and from_proto."
        )
    register_proto_functions(collection_name, proto_type, to_proto, from_proto)


def _numbered(values: Any, name: str | None, convert: Callable[..., Any]) -> list[Any]:
    """Convert a list of values, with numbered names."""
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise TypeError("values must be a sequence.")
    return [
        convert(one, None if name is None else f"{name}_{number}")
        for number, one in enumerate(values)
    ]


def convert_n_to_tensor(
    values: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None
) -> list[Any]:
    """Return values as tensors, numbered below a name.

    Args:
      values: a list of them.
      dtype: of all tensors.
      name: before the number.
      preferred_dtype: of values that may have several.

    Raises:
      TypeError: they are no list.
    """
    return _numbered(
        values, name, lambda one, own: tf.convert_to_tensor(one, dtype, own, preferred_dtype)
    )


def convert_n_to_tensor_or_indexed_slices(
    values: Any, dtype: Any = None, name: str | None = None
) -> list[Any]:
    """Return values as tensors, numbered below a name; indexed slices and None stay.

    Args:
      values: a list of them.
      dtype: of all tensors.
      name: before the number.

    Raises:
      TypeError: they are no list.
    """

    def convert(one: Any, own: str | None) -> Any:
        return one if one is None else tf.convert_to_tensor_or_indexed_slices(one, dtype, own)

    return _numbered(values, name, convert)

"""Conversion of ``feed_dict`` to values that the runtime accepts.

``expand_feed_dict`` turns every key a user may write (tensor, name, nested tuple, SparseTensor, a
registered type) into single tensors. A ``Feed`` holds the fixed data of one fed tensor; its
``convert`` runs in every step and must be fast: it returns an array or NumPy scalar of exactly the
tensor's dtype, or raises an error.

Arrays are *lent*: the runtime gets a read-only view, never a copy. Code that keeps a value longer
than the step has to copy an array that is not writable, so that a user may refill a batch buffer
after ``run`` returned.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tfnb.client.session import conversions
from tfnb.client.session.tensor_handle import TensorHandle
from tfnb.core import dtypes, errors
from tfnb.core.text_bytes import text_bytes
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.framework.graph import Graph


# -- keys ------------------------------------------------------------------------------------------


def expand_feed_dict(graph: Graph, feed_dict: Mapping[Any, Any]) -> dict[Tensor, Any]:
    """Return the fed tensors and their values, in the user's form.

    Raises:
        TypeError: A key is not a tensor of this graph or a name of one.
        ValueError: A tensor may not be fed, or a nested key and its value do not match.
    """
    if not isinstance(feed_dict, Mapping):
        raise TypeError(
            "Argument `feed_dict` must be a dictionary of tensors and values, but got "
            f'"{type(feed_dict).__name__}".'
        )
    feeds: dict[Tensor, Any] = {}
    for key, value in _flat_items(feed_dict):
        for part, part_value in _parts_to_feed(key, value):
            feeds[fed_tensor(graph, part)] = part_value
    return feeds


def _flat_items(feed_dict: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the items, with keys that are nested tuples replaced by their members."""
    if not any(isinstance(key, tuple) for key in feed_dict):
        yield from feed_dict.items()
        return
    seen = set()
    for key, value in feed_dict.items():
        keys = _flatten(key) if isinstance(key, tuple) else [key]
        values = _flatten_like(key, value) if isinstance(key, tuple) else [value]
        for flat_key, flat_value in zip(keys, values, strict=True):
            if flat_key in seen:
                raise ValueError(f"Could not flatten dictionary: key {flat_key} is not unique.")
            seen.add(flat_key)
            yield flat_key, flat_value


def _flatten(key: Any) -> list[Any]:
    if isinstance(key, tuple | list):
        return [leaf for part in key for leaf in _flatten(part)]
    return [key]


def _flatten_like(key: Any, value: Any) -> list[Any]:
    """Return the parts of ``value`` at the positions of the leaves of ``key``."""
    if not isinstance(key, tuple | list):
        return [value]
    if not isinstance(value, tuple | list) or len(value) != len(key):
        count = len(value) if isinstance(value, tuple | list) else 1
        raise ValueError(
            f"Could not flatten dictionary. Key had {len(key)} elements, but value had {count} "
            f"elements. Key: {key}, value: {value}."
        )
    return [leaf for k, v in zip(key, value, strict=True) for leaf in _flatten_like(k, v)]


def _parts_to_feed(key: Any, value: Any) -> Any:
    if isinstance(key, Tensor | str):
        return ((key, value),)
    conversion = conversions.find(key)
    if conversion is None:
        return ((key, value),)
    if conversion.feed is None:
        raise TypeError(
            f'Cannot interpret feed_dict key as Tensor: "{type(key).__name__}" was registered '
            "without a function for feeding."
        )
    return conversion.feed(key, value)


def fed_tensor(graph: Graph, key: Any) -> Tensor:
    """Return the tensor of ``graph`` for a key."""
    try:
        tensor = graph.as_graph_element(key, allow_operation=False)
    except Exception as error:
        raise TypeError(
            f"Cannot interpret feed_dict key as Tensor: {error.args[0] if error.args else error}"
        ) from None
    if not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor.name} may not be fed.")
    return cast("Tensor", tensor)


# -- values ----------------------------------------------------------------------------------------


class Feed:
    """One fed tensor of a plan.

    Attributes:
        tensor: The fed tensor.
        name: Its name in the runtime.
        convert: Converts the user's value to the runtime's value.
    """

    __slots__ = ("_runtime", "convert", "name", "tensor")

    def __init__(self, tensor: Tensor, runtime: Any) -> None:
        """Prepare a feed.

        Args:
            tensor: The fed tensor.
            runtime: The runtime's session, which has the values of handles.
        """
        self._runtime = runtime
        self.tensor = tensor
        self.name: str = tensor.name
        dtype = tensor.dtype.base_dtype
        if dtype is dtypes.string:
            self.convert: Callable[[Any], Any] = self._convert_strings
        elif dtype in (dtypes.resource, dtypes.variant):
            self.convert = self._convert_opaque
        else:
            self.convert = _numeric_converter(tensor, runtime)

    def _convert_strings(self, value: Any) -> Any:
        if isinstance(value, int):
            raise TypeError(_precision_loss(self.tensor, value))
        array = as_array(self.tensor, value)
        if isinstance(array, TensorHandle):
            return array.fed_to(self._runtime)
        check_shape(self.tensor, array.shape)
        flat = np.empty(array.size, dtype=object)
        made = _all_as_bytes(array)
        if made is not None:
            flat[:] = made
            return flat.reshape(array.shape)
        for i, item in enumerate(array.flat):
            flat[i] = _as_bytes(self.tensor, item)
        return flat.reshape(array.shape)

    def _convert_opaque(self, value: Any) -> Any:
        if isinstance(value, TensorHandle):
            return value.fed_to(self._runtime)
        if isinstance(value, Tensor):
            raise TypeError(_fed_a_tensor(self.tensor, value))
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return value[()]
        return value

    def answer(self, value: Any) -> Any:
        """Return the result of fetching the fed tensor: a new array, never a NumPy scalar."""
        if isinstance(value, TensorHandle):
            return value.eval()
        if self.tensor.dtype.base_dtype in (dtypes.resource, dtypes.variant):
            return value
        array = as_array(self.tensor, value)
        check_shape(self.tensor, array.shape)
        return np.array(array)


def _numeric_converter(tensor: Tensor, runtime: Any) -> Callable[[Any], Any]:
    """Return the converter of one tensor of numbers or booleans."""
    dtype = np.dtype(tensor.dtype.as_numpy_dtype)
    scalar_type: Callable[[Any], Any] = dtype.type
    takes_python_float = dtype.kind in "fc"
    ndarray = np.ndarray
    shape = tensor.shape
    dims = shape.dim_values
    full_dims = dims if dims is not None and None not in dims else None
    rank = len(dims or ())
    known_dims = [(i, size) for i, size in enumerate(dims or ()) if size is not None]
    takes_scalar = not dims  # rank 0, or nothing known

    def convert(value: Any) -> Any:
        kind = value.__class__
        if kind is ndarray and value.dtype is dtype and value.shape == full_dims and rank:
            # The most frequent case.
            view = value.view()
            view.setflags(False)
            return view
        if kind is ndarray and value.dtype == dtype:
            array = value
        elif kind is float and takes_scalar and takes_python_float and tensor.shape is shape:
            return scalar_type(value)
        else:
            array = as_array(tensor, value)
            if array.__class__ is TensorHandle:
                return array.fed_to(runtime)
        found = array.shape
        if found != full_dims:
            if tensor.shape is not shape:
                check_shape(tensor, found)
            elif dims is not None:
                if len(found) != rank:
                    check_shape(tensor, found)
                for i, size in known_dims:
                    if found[i] != size:
                        check_shape(tensor, found)
        if array.ndim == 0:
            return array[()]
        view = array.view()
        view.setflags(False)
        return view

    return convert


def as_array(tensor: Tensor, value: Any) -> Any:
    """Return the value as an array of the tensor's NumPy dtype; a TensorHandle unchanged.

    Raises:
        TypeError: The value is itself a tensor, or an int that the dtype cannot hold.
    """
    if isinstance(value, TensorHandle):
        return value
    if isinstance(value, Tensor):
        raise TypeError(_fed_a_tensor(tensor, value))
    dtype = tensor.dtype.base_dtype.as_numpy_dtype
    try:
        array = np.asarray(value, dtype=dtype)
    except OverflowError:
        if isinstance(value, int):
            raise TypeError(_precision_loss(tensor, value)) from None
        # Too large numbers in a list wrap around, as in TensorFlow.
        array = np.asarray(value).astype(dtype)
    if isinstance(value, int) and not isinstance(value, bool) and array[()] != value:
        raise TypeError(_precision_loss(tensor, value))
    return array


def check_shape(tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Compare a value's shape with the static shape of the tensor.

    Raises:
        ValueError: They are not compatible.
    """
    expected = tensor.shape
    dims = expected.dim_values
    if dims is None:
        return
    if len(dims) == len(shape) and all(
        known is None or known == found for known, found in zip(dims, shape, strict=True)
    ):
        return
    raise ValueError(
        f"Cannot feed value of shape {shape} for Tensor {tensor.name}, which has shape {expected}"
        + _shape_advice(dims, shape)
    )


def _shape_advice(dims: tuple[int | None, ...], shape: tuple[int, ...]) -> str:
    """Return advice if it is obvious, else ""."""

    def fits(candidate: tuple[int, ...]) -> bool:
        return len(candidate) == len(dims) and all(
            known is None or known == found for known, found in zip(dims, candidate, strict=True)
        )

    if fits((1, *shape)):
        return ". The batch axis seems to be missing: feed x[None] instead of x."
    if fits((*shape, 1)):
        return ". The last axis seems to be missing: feed x[..., None] instead of x."
    if shape and shape[0] == 1 and fits(shape[1:]):
        return ". There is one axis too many: feed x[0] instead of x."
    if shape and shape[-1] == 1 and fits(shape[:-1]):
        return ". There is one axis too many: feed x[..., 0] instead of x."
    return ""


def _fed_a_tensor(key: Tensor, value: Tensor) -> str:
    return (
        "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python "
        "scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, the tensor "
        f"object was {value} which was passed to the feed with key {key}. Run it first: "
        f"sess.run({value.name!r})."
    )


def _precision_loss(tensor: Tensor, value: int) -> str:
    dtype = tensor.dtype.base_dtype
    kind = dtype.as_numpy_dtype if dtype == dtypes.string else dtype.name
    return (
        f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type "
        f"{kind}. Try explicitly setting the type of the feed tensor to a "
        "larger type (e.g. int64)."
    )


def _all_as_bytes(array: np.ndarray[Any, Any]) -> list[bytes] | None:
    """Return the elements of an array of text, or of bytes, as bytes; None if one needs a look."""
    if array.dtype.kind not in "OSU":
        return None
    items: list[Any] = array.reshape(-1).tolist()
    kinds = set(map(type, items))
    if kinds == {bytes}:
        return items
    if kinds == {str}:
        with contextlib.suppress(UnicodeEncodeError):
            return [item.encode() for item in items]
    return None


def _as_bytes(tensor: Tensor, item: Any) -> bytes:
    if item.__class__ is bytes:
        return item
    if isinstance(item, str):
        return text_bytes(item)
    if isinstance(item, bytes | bytearray):
        return bytes(item)
    raise errors.internal(
        f"Unsupported object type {type(item).__name__}: tensor {tensor.name} takes str or bytes."
    )

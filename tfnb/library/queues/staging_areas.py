"""``StagingArea`` and ``MapStagingArea``: the Python classes for the staging ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes as dtypes_
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import colocate_with, name_scope
from tfnb.framework.tensor import Tensor
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.control.control_flow_ops import no_op
from tfnb.ops.waiting import staging_ops

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.framework.tensor_types import Config, Nested, TensorLike, TensorResult


class BaseStagingArea:
    """Base class of both kinds of staging areas.

    Args:
      dtypes: the dtypes of the components.
      shapes: the shapes of the components, or None.
      names: the names of the components; if given, values are dicts.
      shared_name: the name under which several graphs of a session share one area.
      capacity: maximum number of tuples; 0 for no limit.
      memory_limit: maximum number of bytes; 0 for no limit.

    Raises:
      ValueError: a limit is negative, or the number of shapes or names differs from that of dtypes.
    """

    def __init__(
        self,
        dtypes: Sequence[Nested],
        shapes: Sequence[Nested] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        kind = type(self).__name__
        self._name = (
            get_default_graph().unique_name(kind) if shared_name is None else str(shared_name)
        )
        self._dtypes = [dtypes_.as_dtype(dtype) for dtype in dtypes]
        if shapes is not None and len(shapes) != len(self._dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        self._shapes = [TensorShape(shape) for shape in shapes or [None] * len(self._dtypes)]
        if names is not None and len(names) != len(self._dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._names = None if names is None else list(names)
        for what, limit in (("capacity", capacity), ("memory_limit", memory_limit)):
            if limit < 0:
                raise ValueError(f"{what} must be >= 0 and is {limit}")
        self._capacity = capacity
        self._memory_limit = memory_limit
        # All ops of an area are placed on the device where it was made.
        with name_scope(f"{self._name}_root"):
            self._coloc_op = no_op()

    @property
    def name(self) -> str:
        """The name of the area."""
        return self._name

    @property
    def dtypes(self) -> list[DType]:
        """The dtype of each component."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shape of each component, as far as it is known."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The name of each component, or None."""
        return self._names

    @property
    def capacity(self) -> int:
        """Maximum number of tuples."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """Maximum number of bytes."""
        return self._memory_limit

    def _attrs(self, dtypes: Sequence[Nested] | None = None) -> Config:
        return {
            "dtypes": self._dtypes if dtypes is None else list(dtypes),
            "shared_name": self._name,
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
        }

    def _checked(
        self, values: TensorLike, indices: Sequence[int] | None = None
    ) -> tuple[list[Nested], list[int]]:
        """Convert the values to tensors; return these and their component indices.

        Raises:
          ValueError: names or indices are missing or wrong, or a dtype or shape does not fit.
        """
        if isinstance(values, Mapping):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            unknown = set(values) - set(self._names)
            if unknown:
                raise ValueError(
                    f"Keys in dictionary to put do not match names of staging area. Dictionary: "
                    f"{sorted(values)}Queue: {sorted(self._names)}"
                )
            chosen = [i for i, name in enumerate(self._names) if name in values]
            listed = [values[self._names[i]] for i in chosen]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            if len(indices) != len(values):
                raise ValueError(
                    f"Number of indices {len(indices)} doesn't match number of values {len(values)}"
                )
            chosen, listed = list(indices), list(values)
        for i, value in zip(chosen, listed):
            if not 0 <= i < len(self._dtypes):
                raise ValueError(f"Index {i} is out of bounds: there are {len(self._dtypes)}")
            if not isinstance(value, Tensor):
                raise ValueError(f"Value {value!r} of component {i} is not a tensor")
            if value.dtype.base_dtype != self._dtypes[i]:
                raise ValueError(
                    f"Datatypes do not match. Received val.dtype {value.dtype} and dtype "
                    f"{self._dtypes[i]}"
                )
            value.shape.assert_is_compatible_with(self._shapes[i])
        return listed, chosen

    def _moved(self, tensors: list[TensorLike]) -> list[Nested]:
        """Copy tensors to the current device if it differs from the area's."""
        if no_op().device != self._coloc_op.device:
            return [identity(tensor) for tensor in tensors]
        return tensors

    def _given(self, found: Any, indices: Sequence[int]) -> Any:
        """Return the result of a get: tensors with static shapes, a dict if there are names."""
        tensors = list(found) if isinstance(found, list | tuple) else [found]
        for tensor, index in zip(tensors, indices):
            tensor.set_shape(self._shapes[index])
        tensors = self._moved(tensors)
        if self._names:
            return {self._names[index]: tensor for index, tensor in zip(indices, tensors)}
        return tensors


class StagingArea(BaseStagingArea):
    """A FIFO staging area of tuples of tensors."""

    def put(self, values: TensorLike, name: str | None = None) -> TensorResult:
        """Return an op that adds a tuple; it waits while the area is full."""
        with name_scope(name, f"{self._name}_put", _listed(values)) as scope:
            if not isinstance(values, list | tuple | Mapping):
                values = [values]
            tensors, _ = self._checked(values, range(len(values)))
            if len(tensors) != len(self._dtypes):
                raise ValueError(
                    f"Unexpected number of inputs {len(tensors)} vs. {len(self._dtypes)}"
                )
            with colocate_with(self._coloc_op):
                return staging_ops.stage(values=tensors, name=scope, **_limits(self._attrs()))

    def get(self, name: str | None = None) -> Nested:
        """Remove and return the oldest tuple, a list or dict; wait while there is none."""
        with colocate_with(self._coloc_op):
            found = staging_ops.unstage(name=name or f"{self._name}_get", **self._attrs())
        return self._given(found, range(len(self._dtypes)))

    def peek(self, index: TensorLike, name: str | None = None) -> Nested:
        """Return the tuple at an index without removing it."""
        with colocate_with(self._coloc_op):
            found = staging_ops.stage_peek(
                index, name=name or f"{self._name}_peek", **self._attrs()
            )
        return self._given(found, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> TensorResult:
        """Return the number of tuples, a scalar int32."""
        return staging_ops.stage_size(name=name or f"{self._name}_size", **self._attrs())

    def clear(self, name: str | None = None) -> TensorResult:
        """Return an op that removes everything."""
        return staging_ops.stage_clear(name=name or f"{self._name}_clear", **self._attrs())


class MapStagingArea(BaseStagingArea):
    """A staging area of tuples of tensors by key; components may be added separately.

    Args:
      dtypes: the dtypes of the components.
      shapes: the shapes of the components, or None.
      names: the names of the components; if given, values are dicts.
      shared_name: the name under which several graphs of a session share one area.
      ordered: whether :meth:`get` without a key takes the lowest key.
      capacity: maximum number of tuples; 0 for no limit.
      memory_limit: maximum number of bytes; 0 for no limit.
    """

    def __init__(
        self,
        dtypes: Sequence[Nested],
        shapes: Sequence[Nested] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "ordered_map" if ordered else "map"

    def _op(self, name: str) -> Any:
        return getattr(staging_ops, f"{self._prefix}_{name}")

    def put(
        self,
        key: TensorLike,
        vals: TensorLike,
        indices: TensorLike | None = None,
        name: str | None = None,
    ) -> TensorResult:
        """Return an op that adds components of a key's tuple; it waits while the area is full."""
        with name_scope(name, f"{self._name}_put", _listed(vals)) as scope:
            tensors, chosen = self._checked(vals, indices)
            with colocate_with(self._coloc_op):
                return self._op("stage")(
                    key, chosen, tensors, name=scope, **_limits(self._attrs(), keep_dtypes=True)
                )

    def _chosen(self, indices: TensorLike) -> list[int]:
        if indices is None:
            return list(range(len(self._dtypes)))
        if not isinstance(indices, list | tuple):
            indices = [indices]
        if all(isinstance(index, str) for index in indices):
            if self._names is None:
                raise ValueError(
                    f"String indices provided {indices}, but this Staging Area was not created "
                    "with names."
                )
            if any(index not in self._names for index in indices):
                raise ValueError(f"Named index not in Staging Area names {self._names}")
            return [self._names.index(index) for index in indices]
        if all(isinstance(index, int) for index in indices):
            return list(indices)
        raise TypeError(f"Mixed types in indices {indices}. May only be str or int")

    def get(
        self,
        key: TensorLike | None = None,
        indices: TensorLike | None = None,
        name: str | None = None,
    ) -> Nested:
        """Remove and return a (key, values) pair, of any key if none is given; wait for one."""
        chosen = self._chosen(indices)
        attrs = self._attrs([self._dtypes[index] for index in chosen])
        is_any = key is None
        with colocate_with(self._coloc_op):
            if is_any:
                found = self._op("unstage_no_key")(
                    chosen, name=name or f"{self._name}_get_nokey", **attrs
                )
                key, *values = _flat(found)
            else:
                values = _flat(
                    self._op("unstage")(key, chosen, name=name or f"{self._name}_get", **attrs)
                )
        if is_any:
            (key,) = self._moved([key])
        return key, self._given(values, chosen)

    def peek(
        self, key: TensorLike, indices: TensorLike | None = None, name: str | None = None
    ) -> Nested:
        """Return components of a key's tuple without removing them."""
        chosen = self._chosen(indices)
        attrs = self._attrs([self._dtypes[index] for index in chosen])
        with colocate_with(self._coloc_op):
            found = self._op("peek")(key, chosen, name=name or f"{self._name}_pop", **attrs)
        return self._given(found, chosen)

    def size(self, name: str | None = None) -> Any:
        """Return the number of complete tuples, a scalar int32."""
        return self._op("size")(name=name or f"{self._name}_size", **self._attrs())

    def incomplete_size(self, name: str | None = None) -> Any:
        """Return the number of keys with missing components, a scalar int32."""
        return self._op("incomplete_size")(
            name=name or f"{self._name}_incomplete_size", **self._attrs()
        )

    def clear(self, name: str | None = None) -> TensorResult:
        """Return an op that removes everything."""
        return self._op("clear")(name=name or f"{self._name}_clear", **self._attrs())


def _listed(values: TensorLike) -> list[TensorResult]:
    if isinstance(values, Mapping):
        return list(values.values())
    return list(values) if isinstance(values, list | tuple) else [values]


def _flat(found: Any) -> list[Nested]:
    if isinstance(found, Tensor):
        return [found]
    flat: list[TensorLike] = []
    for one in found:
        flat += one if isinstance(one, list) else [one]
    return flat


def _limits(attrs: dict[str, Any], *, keep_dtypes: bool = False) -> dict[str, Any]:
    """Return the attributes for an op that infers the dtypes from its inputs."""
    return {name: value for name, value in attrs.items() if keep_dtypes or name != "dtypes"}

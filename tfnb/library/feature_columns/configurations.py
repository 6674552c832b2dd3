"""Feature columns as named tuples, and as configurations of plain values.

Columns of TensorFlow are named tuples: they have fields, in an order. This module gives these to
classes that list the names. A configuration is a dict of fields, in which another column is its
class and its configuration; ``from_config`` makes an equal column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from tfnb.core import dtypes
from tfnb.core.dtypes import DType
from tfnb.library.variables import init_ops

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tfnb.framework.tensor_types import Config, TensorLike, TensorResult


class ColumnFields:
    """The fields of a column, as those of a named tuple.

    Attributes:
      _fields: the names of the attributes that the constructor takes, in its order.
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def __iter__(self) -> Iterator[TensorResult]:
        return (getattr(self, name) for name in self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __getitem__(self, place: Any) -> TensorResult:
        return tuple(self)[place]

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        pairs = zip(self._fields, self, strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in pairs)})"

    def count(self, value: TensorLike) -> int:
        """Return the number of fields that have a value."""
        return tuple(self).count(value)

    def index(self, value: TensorLike) -> int:
        """Return the position of the first field with a value.

        Raises:
          ValueError: no field has the value.
        """
        return tuple(self).index(value)

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def _replace(self, **fields: Any) -> Self:
        unknown = sorted(set(fields) - set(self._fields))
        if unknown:
            raise ValueError(f"Got unexpected field names: {unknown!r}")
        return self._from_fields({**self._asdict(), **fields})

    @classmethod
    def _from_fields(cls, fields: Mapping[str, Any]) -> Self:
        return cls(*(fields[name] for name in cls._fields))

    def get_config(self) -> Config:
        """Return the fields as plain values, from which ``from_config`` makes an equal column."""
        return {name: _plain(value) for name, value in self._asdict().items()}

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any],
        custom_objects: Mapping[str, Any] | None = None,
        columns_by_name: dict[str, Any] | None = None,
    ) -> Self:
        """Return a column made from the result of ``get_config``.

        Args:
          config: the fields.
          custom_objects: name -> function, for a ``normalizer_fn``.
          columns_by_name: name -> column: existing columns, which are not made again.

        Raises:
          ValueError: a class or a function is unknown.
        """
        known = {} if columns_by_name is None else columns_by_name
        fields = {
            name: _restored(name, config[name], custom_objects or {}, known) for name in cls._fields
        }
        return cls._from_fields(fields)


def _plain(value: TensorLike) -> Any:
    if isinstance(value, ColumnFields):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, DType):
        return value.name
    if isinstance(value, init_ops.Initializer):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    return value.__name__ if callable(value) else value


def _restored(
    name: str, value: TensorLike, functions: Mapping[str, Any], known: dict[str, Any]
) -> TensorResult:
    if isinstance(value, (tuple, list)):
        return tuple(_restored("", one, functions, known) for one in value)
    if isinstance(value, dict):
        return _object_of(value, functions, known)
    if name == "dtype":
        return dtypes.as_dtype(value)
    if name == "normalizer_fn" and isinstance(value, str):
        if value not in functions:
            raise ValueError(f"Unknown normalizer_fn: {value}. Pass it in custom_objects.")
        return functions[value]
    return value


def _object_of(
    value: dict[str, Any], functions: Mapping[str, Any], known: dict[str, Any]
) -> TensorResult:
    """Return the column or initializer of a class and a configuration."""
    name = value["class_name"]
    initializer = getattr(init_ops, name, None)
    if isinstance(initializer, type) and issubclass(initializer, init_ops.Initializer):
        return initializer.from_config(value["config"])
    column = _classes().get(name)
    if column is None:
        raise ValueError(f"Unknown class of columns: {name}.")
    made = column.from_config(value["config"], functions, known)
    return known.setdefault(made.name, made)


def _classes() -> dict[str, Any]:
    found: dict[str, Any] = {}
    waiting: list[Any] = [ColumnFields]
    while waiting:
        one = waiting.pop()
        found[one.__name__] = one
        waiting += one.__subclasses__()
    return found

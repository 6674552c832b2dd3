"""``record``: a dataclass that is made quickly when its module is imported.

The standard library compiles four to eight methods for each dataclass, from text, whenever a
process starts; for the runtime's eighty classes that is a seventh of the time to the first answer
of a small graph. ``record`` compiles ``__init__`` only; other methods are shared, or closures over
the names of the fields. Everything else is the standard library's: a record is a dataclass for
``dataclasses.fields`` and ``dataclasses.replace``, and type checkers take it for one.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as record

__all__ = ["record"]

# The default, in signatures, of a field whose value a factory makes.
_FACTORY: Any = type("FACTORY", (), {"__repr__": lambda _: "<factory>"})()

if not TYPE_CHECKING:

    def record(
        *, slots: bool = False, frozen: bool = False, eq: bool = True, weakref_slot: bool = False
    ) -> Callable[[type], type]:
        """Return a decorator that makes a dataclass.

        Args:
          slots: whether instances have slots instead of a dictionary.
          frozen: whether attributes cannot be set or deleted after ``__init__``; equal instances
            then have equal hashes.
          eq: whether instances are compared by their fields, not by identity.
          weakref_slot: whether instances with slots can have weak references.

        >>> @record(slots=True, frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(x=1, y=0), len({Point(1), Point(1)})
        (Point(x=1, y=0), True, 1)
        """

        def make(cls: type) -> type:
            made = dataclasses.dataclass(
                init=False, repr=False, eq=False, slots=slots, weakref_slot=weakref_slot
            )(cls)
            fields = dataclasses.fields(made)
            methods = {"__init__": _init(made, fields, frozen), "__repr__": _repr}
            if eq:
                methods |= _comparison(fields, frozen)
            if frozen:
                methods |= _FROZEN_SLOTS | _FROZEN if slots else _FROZEN
            for name, method in methods.items():
                _set(made, name, method)
            return made

        return make


def _set(cls: type, name: str, method: Any) -> None:
    """Set a method that the class does not define itself.

    A class that defines ``__eq__`` has ``__hash__`` None in its dictionary, unless it defines both.
    """
    if cls.__dict__.get(name) is None:
        setattr(cls, name, method)


def _init(cls: type, fields: tuple[Any, ...], frozen: bool) -> Any:
    """Return ``__init__``, compiled, because its arguments have names."""
    values: dict[str, Any] = {"_factory": _FACTORY, "_set": object.__setattr__}
    arguments, body = ["self"], []
    for field in fields:
        name = field.name
        value = name
        if field.default is not MISSING:
            values[f"_{name}_default"] = field.default
            default = f"_{name}_default"
        elif field.default_factory is not MISSING:
            values[f"_{name}_make"] = field.default_factory
            default, value = "_factory", f"_{name}_make() if {name} is _factory else {name}"
        else:
            default = ""
        if field.init:
            arguments.append(f"{name}={default}" if default else name)
        elif not default:
            continue  # __post_init__ sets it
        else:
            value = f"_{name}_make()" if default == "_factory" else default
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    lines = "\n  ".join(body or ["pass"])
    source = f"def make({', '.join(values)}):\n def __init__({', '.join(arguments)}):\n  {lines}\n"
    namespace: dict[str, Any] = {}
    exec(f"{source} return __init__", {}, namespace)
    return namespace["make"](**values)


@recursive_repr()
def _repr(self: Any) -> str:
    fields = dataclasses.fields(self)
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _comparison(fields: tuple[Any, ...], frozen: bool) -> dict[str, Any]:
    """Return ``__eq__``, and ``__hash__``, which is None unless instances are frozen."""
    names = [field.name for field in fields if field.compare]
    values: Callable[[Any], tuple[Any, ...]]
    if len(names) > 1:
        values = attrgetter(*names)
    else:  # attrgetter does not make a tuple of one value, or of none

        def values(one: Any) -> tuple[Any, ...]:
            return tuple(getattr(one, name) for name in names)

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


# Shared by all records whose attributes cannot be set; pickle would set those in slots.
_FROZEN = {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
_FROZEN_SLOTS = {"__getstate__": _get_state, "__setstate__": _set_state}

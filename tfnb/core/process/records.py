"""``record``: a dataclass that is made quickly when its module is imported.

The standard library compiles four to eight methods for each dataclass, from text, whenever a
process starts; for the runtime's eighty classes that is a seventh of the time to the first answer
of a small graph. ``record`` compiles ``__init__`` only, for the third instance of a class: of most
classes a process makes one or none. Other methods are shared, or closures over the names of the
fields. Everything else is the standard library's: a record is a dataclass for
``dataclasses.fields`` and ``dataclasses.replace``, and type checkers take it for one.
"""

from __future__ import annotations

import sys
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as record
    from dataclasses import field, replace

__all__ = ["field", "record", "replace"]

# No default. The name is seen in signatures only where it is the default of a factory.
_NONE: Any = type("NONE", (), {"__repr__": lambda _: "<none>"})()
# The default, in signatures, of a field whose value a factory makes.
_FACTORY: Any = type("FACTORY", (), {"__repr__": lambda _: "<factory>"})()
_FIELDS = "_record_fields"


class _Field:
    """What a class body says of one field; the arguments are those of ``dataclasses.field``."""

    __slots__ = ("annotation", "compare", "default", "default_factory", "init", "name", "repr")

    name: str
    annotation: Any

    def __init__(
        self,
        *,
        default: Any = _NONE,
        default_factory: Any = _NONE,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
    ) -> None:
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare = init, repr, compare

    def has_no_default(self) -> bool:
        """Return whether an instance needs an argument for the field."""
        return self.default is _NONE and self.default_factory is _NONE

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``dataclasses.field``."""
        found: dict[str, Any] = {"init": self.init, "repr": self.repr, "compare": self.compare}
        if self.default is not _NONE:
            found["default"] = self.default
        if self.default_factory is not _NONE:
            found["default_factory"] = self.default_factory
        return found


if not TYPE_CHECKING:
    field = _Field

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
            own = _own_fields(cls)
            fields = {**_inherited_fields(cls), **own}
            init = _Init(frozen)
            lasting = {
                _FIELDS: tuple(fields.values()),
                "__dataclass_fields__": _Standard("__dataclass_fields__", frozen),
                "__dataclass_params__": _Standard("__dataclass_params__", frozen),
            }
            methods: dict[str, Any] = {"__init__": init, "__repr__": _repr}
            methods["__match_args__"] = tuple(name for name, one in fields.items() if one.init)
            methods["__replace__"] = replace
            if eq:
                methods |= _comparison(fields, frozen)
            if frozen:
                methods |= _FROZEN_SLOTS | _FROZEN if slots else _FROZEN
            # A class that defines `__eq__` has `__hash__` None in its dictionary, unless it defines
            # both. What it defines itself stays.
            body = cls.__dict__
            lasting |= {name: one for name, one in methods.items() if body.get(name) is None}
            if slots:
                cls = _with_slots(cls, fields, weakref_slot, lasting)
            else:
                for name, one in own.items():
                    if one.default is not _NONE:
                        setattr(cls, name, one.default)
                    elif name in body:
                        delattr(cls, name)
                for name, value in lasting.items():
                    setattr(cls, name, value)
            for made in (init, lasting["__dataclass_fields__"], lasting["__dataclass_params__"]):
                made.cls = cls
            return cls

        return make

    def replace(one: Any, /, **changes: Any) -> Any:
        """Return a record like another one, with some fields changed.

        Raises:
            ValueError: A field that is no argument of the class is changed.
        """
        for spec in getattr(one, _FIELDS):
            if not spec.init:
                if spec.name in changes:
                    raise ValueError(
                        f"field {spec.name} is declared with init=False, it cannot be specified "
                        "with replace()"
                    )
            elif spec.name not in changes:
                changes[spec.name] = getattr(one, spec.name)
        return one.__class__(**changes)


def _own_fields(cls: type) -> dict[str, _Field]:
    """Return the fields that the body of a class declares, in its order.

    Raises:
        ValueError: A default can be changed, so that all instances would share it.
    """
    found = {}
    for name, annotation in cls.__annotations__.items():
        if "ClassVar" in (annotation if isinstance(annotation, str) else repr(annotation)):
            continue
        value = _from_standard(cls.__dict__.get(name, _NONE))
        one = value if isinstance(value, _Field) else _Field(default=value)
        if one.default is not _NONE and type(one.default).__hash__ is None:
            raise ValueError(
                f"mutable default {type(one.default)} for field {name} is not allowed: "
                "use default_factory"
            )
        one.name, one.annotation = name, annotation
        found[name] = one
    return found


def _from_standard(value: Any) -> Any:
    """Return a field of the standard library as one of ours, and any other value as it is."""
    dataclasses = sys.modules.get("dataclasses")
    if dataclasses is None or not isinstance(value, dataclasses.Field):
        return value
    arguments = {
        name: getattr(value, name)
        for name in ("default", "default_factory")
        if getattr(value, name) is not dataclasses.MISSING
    }
    return _Field(init=value.init, repr=value.repr, compare=value.compare, **arguments)


def _inherited_fields(cls: type) -> dict[str, _Field]:
    found = {}
    for base in reversed(cls.__mro__[1:]):
        for one in base.__dict__.get(_FIELDS, ()):
            found[one.name] = one
    return found


def _with_slots(
    cls: type, fields: dict[str, _Field], weakref_slot: bool, lasting: dict[str, Any]
) -> type:
    """Return the class again, with slots: they cannot be added to a class that exists.

    Its methods are in its body, because setting each afterwards takes longer than the class.
    """
    body = {**cls.__dict__, **lasting}
    inherited = {slot for base in cls.__mro__[1:-1] for slot in base.__dict__.get("__slots__", ())}
    names = (*fields, "__weakref__") if weakref_slot else tuple(fields)
    for name in (*fields, "__dict__", "__weakref__"):
        body.pop(name, None)
    body["__slots__"] = tuple(name for name in names if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


class _Standard:
    """An attribute by which ``dataclasses`` knows its classes, made when it asks for it."""

    __slots__ = ("_frozen", "_name", "cls")

    cls: type

    def __init__(self, name: str, frozen: bool) -> None:
        self._name, self._frozen = name, frozen

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        import dataclasses

        fields = getattr(self.cls, _FIELDS)
        body: dict[str, Any] = {one.name: dataclasses.field(**one.arguments()) for one in fields}
        body["__annotations__"] = {one.name: one.annotation for one in fields}
        body["__module__"], body["__doc__"] = self.cls.__module__, ""
        shadow: Any = dataclasses.dataclass(init=False, repr=False, eq=False, frozen=self._frozen)(
            type("Fields", (), body)
        )
        found = getattr(shadow, self._name)
        type.__setattr__(self.cls, self._name, found)
        return found


class _Init:
    """``__init__`` of a record, compiled for the third instance."""

    __slots__ = ("_frozen", "_num_made", "cls")

    cls: type

    def __init__(self, frozen: bool) -> None:
        self._frozen, self._num_made = frozen, 0

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None or self._num_made == 2:
            return self._compiled().__get__(instance, owner)
        self._num_made += 1
        return partial(self._fill, instance)

    def _compiled(self) -> Any:
        made = _compiled_init(self.cls, getattr(self.cls, _FIELDS), self._frozen)
        type.__setattr__(self.cls, "__init__", made)
        return made

    def _fill(self, instance: Any, /, *args: Any, **kwargs: Any) -> None:
        """Set the fields one by one; arguments that do not fit are left to the compiled way."""
        fields: tuple[_Field, ...] = getattr(self.cls, _FIELDS)
        arguments = [one for one in fields if one.init]
        given = dict(zip([one.name for one in arguments], args, strict=False)) | kwargs
        needed = {one.name for one in arguments if one.has_no_default()}
        if len(given) < len(args) + len(kwargs) or not needed <= given.keys() <= {
            one.name for one in arguments
        }:
            self._compiled()(instance, *args, **kwargs)
            return
        for one in fields:
            if one.name in given:
                value = given[one.name]
            elif one.default_factory is not _NONE:
                value = one.default_factory()
            elif one.default is not _NONE:
                value = one.default
            else:
                continue  # __post_init__ sets it
            (object.__setattr__ if self._frozen else setattr)(instance, one.name, value)
        if hasattr(self.cls, "__post_init__"):
            instance.__post_init__()


def _compiled_init(cls: type, fields: tuple[_Field, ...], frozen: bool) -> Any:
    """Return ``__init__``, compiled, because its arguments have names."""
    values: dict[str, Any] = {"_factory": _FACTORY, "_set": object.__setattr__}
    arguments, body = ["self"], []
    for one in fields:
        name = one.name
        value = name
        if one.default is not _NONE:
            values[f"_{name}_default"] = one.default
            default = f"_{name}_default"
        elif one.default_factory is not _NONE:
            values[f"_{name}_make"] = one.default_factory
            default, value = "_factory", f"_{name}_make() if {name} is _factory else {name}"
        else:
            default = ""
        if one.init:
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
    fields = getattr(self, _FIELDS)
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _comparison(fields: dict[str, _Field], frozen: bool) -> dict[str, Any]:
    """Return ``__eq__``, and ``__hash__``, which is None unless instances are frozen."""
    names = [name for name, one in fields.items() if one.compare]
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
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in getattr(self, _FIELDS)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(getattr(self, _FIELDS), state, strict=True):
        object.__setattr__(self, one.name, value)


# Shared by all records whose attributes cannot be set; pickle would set those in slots.
_FROZEN = {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
_FROZEN_SLOTS = {"__getstate__": _get_state, "__setstate__": _set_state}

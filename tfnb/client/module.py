"""``tf.Module``: an object that holds variables and other modules."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from tfnb.framework.scopes import name_scope
from tfnb.library.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXPORTS = {"tf": ["Module"]}

type_of_method = TypeVar("type_of_method", bound="Callable[..., Any]")
_NAME = re.compile(r"[A-Za-z_]\w*$")


def _snake_case(name: str) -> str:
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return name.lower()


class Module:
    """An object that finds variables and modules in its attributes, and in lists and dicts there.

    Args:
        name: Its name; derived from the name of the class if None.

    Raises:
        ValueError: The name is not a Python name.
    """

    def __init__(self, name: str | None = None) -> None:
        name = _snake_case(type(self).__name__) if name is None else name
        if not _NAME.match(name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = name
        with name_scope(name) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """A context manager for its name scope."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """All variables in it and in its modules."""
        return tuple(self._found(lambda one: isinstance(one, Variable)))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The variables that are trained."""
        return tuple(one for one in self.variables if one.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        """The variables that are not trained."""
        return tuple(one for one in self.variables if not one.trainable)

    @property
    def submodules(self) -> tuple[Any, ...]:
        """All modules in it and in its modules."""
        return tuple(self._found(lambda one: isinstance(one, Module)))

    def _found(self, fits: Callable[[Any], bool]) -> Iterator[Any]:
        """Yield each attribute that fits once, nearer ones first."""
        seen = {id(self)}
        waiting: list[Any] = [self]
        while waiting:
            module = waiting.pop(0)
            for value in _attributes(module):
                if id(value) in seen:
                    continue
                seen.add(id(value))
                if fits(value):
                    yield value
                if isinstance(value, Module):
                    waiting.append(value)

    def _trackable_children(self) -> list[tuple[str, Any]]:
        """Return the attributes that ``tf.train.Checkpoint`` saves."""
        return [(k, v) for k, v in sorted(vars(self).items()) if not k.startswith("_scope")]

    @classmethod
    def with_name_scope(cls, method: type_of_method) -> type_of_method:
        """Decorate a method so that it runs in the module's name scope."""

        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return call  # type: ignore[return-value]


def _attributes(module: Module) -> Iterator[Any]:
    for _, value in sorted(vars(module).items()):
        yield from _leaves(value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _leaves(value[key])
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _leaves(one)
    else:
        yield value

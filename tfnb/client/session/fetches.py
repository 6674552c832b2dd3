"""Conversion of nested fetches to a flat list of graph elements, and of flat values to the nest.

``FetchMapper`` walks the structure once. Each distinct tensor or operation gets one *slot*, however
often it is named, and the structure becomes a *builder*: a function that takes one value per slot
and returns the results in the structure of the fetches. Both are fixed; a mapper may be kept and
used for every run with the same fetches.

Types besides tensors, operations and names are registered: a ``Conversion`` defines how a type is
expanded into tensors, and how their values are put together again
(:mod:`tfnb.client.session.conversions`).

Corresponds to the fetch mappers of TensorFlow's ``python/client/session.py``.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from tfnb.client.session import conversions
from tfnb.core import errors
from tfnb.framework.operation import Operation
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from tfnb.framework.graph import Graph

Builder: TypeAlias = Callable[["Sequence[Any]"], Any]


class FetchMapper:
    """The fetches of one run: the elements to fetch, and the structure of the results.

    Attributes:
        slots: The distinct tensors and operations, in the order of their first occurrence.
        build_results: Takes one value per slot, returns the results.
        is_repeatable: Whether the same fetches have the same slots in every run, so that a plan
            may be kept.
    """

    __slots__ = ("_graph", "_index", "build_results", "is_repeatable", "slots")

    def __init__(self, graph: Graph, fetches: Any) -> None:
        self._graph = graph
        self._index: dict[Tensor | Operation, int] = {}
        self.slots: list[Tensor | Operation] = []
        self.is_repeatable = True
        try:
            self.build_results: Builder = self._map(fetches)
        except RecursionError:
            raise _nested_too_deep() from None
        if _are_slots(fetches, self.slots):
            self.build_results = type(fetches)  # the values are the result

    # -- the walk: each step returns the builder of one part ---------------------------------------

    def _map(self, fetch: Any) -> Builder:
        if isinstance(fetch, Tensor | Operation | str):
            return self._map_element(fetch)
        if fetch is None:
            raise TypeError(
                'Argument `fetch` = None has invalid type "NoneType". Cannot be None: fetch a '
                "tensor, an operation, a name, or a structure of these."
            )
        if isinstance(fetch, list | tuple):
            return self._map_sequence(fetch)
        if isinstance(fetch, Mapping):
            return self._map_mapping(fetch)
        conversion = conversions.find(fetch)
        if conversion is not None:
            return self._map_converted(fetch, conversion)
        if hasattr(type(fetch), "__attrs_attrs__"):
            return self._map_attrs(fetch)
        if hasattr(fetch, "__dataclass_fields__") and not hasattr(fetch, "_as_graph_element"):
            return self._map_dataclass(fetch)
        return self._map_element(fetch)

    def _map_sequence(self, fetch: Sequence[Any]) -> Builder:
        builders = [self._map(item) for item in fetch]
        kind = type(fetch)
        if isinstance(fetch, list):
            return lambda values: [build(values) for build in builders]
        if kind is tuple:
            return lambda values: tuple([build(values) for build in builders])
        if hasattr(kind, "_fields"):
            return lambda values: kind(*[build(values) for build in builders])
        return lambda values: kind([build(values) for build in builders])  # type: ignore[call-arg]

    def _map_mapping(self, fetch: Mapping[Any, Any]) -> Builder:
        keys = list(fetch)
        builders = [self._map(fetch[key]) for key in keys]
        kind: Callable[[], Any] = type(fetch)
        if isinstance(fetch, collections.defaultdict):
            factory = fetch.default_factory
            kind = lambda: collections.defaultdict(factory)  # noqa: E731

        def build_mapping(values: Sequence[Any]) -> Any:
            result = kind()
            for key, build in zip(keys, builders, strict=True):
                result[key] = build(values)
            return result

        return build_mapping

    def _map_attrs(self, fetch: Any) -> Builder:
        kind = type(fetch)
        attributes = [a for a in kind.__attrs_attrs__ if a.init]
        builders = [self._map(getattr(fetch, a.name)) for a in attributes]
        names = [
            a.name.lstrip("_") if getattr(a, "alias", None) is None else a.alias for a in attributes
        ]
        return lambda values: kind(
            **{name: build(values) for name, build in zip(names, builders, strict=True)}
        )

    def _map_dataclass(self, fetch: Any) -> Builder:
        kind = type(fetch)
        import dataclasses

        names = [f.name for f in dataclasses.fields(fetch) if f.init]
        builders = [self._map(getattr(fetch, name)) for name in names]
        return lambda values: kind(
            **{name: build(values) for name, build in zip(names, builders, strict=True)}
        )

    def _map_converted(self, fetch: Any, conversion: conversions.Conversion) -> Builder:
        kind = type(fetch)
        if conversion.is_stable and kind.__hash__ is _IDENTITY_HASH:
            LEAF_TYPES.add(kind)
        else:
            self.is_repeatable = False
        parts, contract = conversion.fetch(fetch)
        positions = [self._slot(part) for part in parts]
        return lambda values: contract([values[i] for i in positions])

    def _map_element(self, fetch: Any) -> Builder:
        kind = type(fetch)
        if kind not in LEAF_TYPES and not _is_own_leaf(kind):
            self.is_repeatable = False
        return itemgetter(self._slot(fetch))

    def _slot(self, fetch: Any) -> int:
        element = _graph_element(self._graph, fetch)
        position = self._index.get(element)
        if position is None:
            position = self._index[element] = len(self.slots)
            self.slots.append(element)
        return position


def _are_slots(fetches: Any, slots: Sequence[Any]) -> bool:
    """Return whether a list or tuple names each slot once, in order."""
    return (
        type(fetches) in (list, tuple)
        and len(fetches) == len(slots) > 0
        and all(fetch is slot for fetch, slot in zip(fetches, slots))
    )


def _graph_element(graph: Graph, fetch: Any) -> Tensor | Operation:
    """Return the tensor or operation of ``graph`` for a fetch."""
    try:
        element: Tensor | Operation = graph.as_graph_element(
            fetch, allow_tensor=True, allow_operation=True
        )
    except TypeError as error:
        raise TypeError(
            f'Argument `fetch` = {fetch} has invalid type "{type(fetch).__name__}" must be a '
            f"string or Tensor. ({error})"
        ) from None
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"Argument `fetch` = {fetch!r} cannot be interpreted as a Tensor. "
            f"({error.args[0] if error.args else error})"
        ) from None
    if not graph.is_fetchable(element):
        op = element if isinstance(element, Operation) else element.op
        raise errors.InaccessibleTensorError(
            f"Operation {op.name!r} has been marked as not fetchable. Typically this happens when "
            "it is made inside a loop or a function: return it from there, and fetch what is "
            "returned.\nTo see its value in every iteration: with tfnb.debugger.Debugger(session) "
            f"as d: seen = d.watch({op.name!r}); session.run(...)"
        )
    return element


# -- the key under which a plan for these fetches is kept ------------------------------------------

_IDENTITY_HASH: Any = object.__hash__
LEAF_TYPES: set[type] = {Tensor, Operation, str}


def _is_own_leaf(kind: type) -> bool:
    """Return whether objects of a class always are one graph element; stored in LEAF_TYPES.

    True for this library's own classes (variables) that are hashed by identity.
    """
    if kind.__module__.startswith("tfnb.") and kind.__hash__ is _IDENTITY_HASH:
        LEAF_TYPES.add(kind)
        return True
    return False


def structure_key(fetches: Any) -> Hashable | None:
    """Return a key that is equal for equal fetches, or None if no plan may be kept.

    >>> structure_key(["a:0", ("b:0",)])
    (<class 'list'>, 'a:0', (<class 'tuple'>, 'b:0'))

    Raises:
        ValueError: The structure is nested too deeply for Python's stack.
    """
    try:
        return _key(fetches)
    except RecursionError:
        raise _nested_too_deep() from None


def _nested_too_deep() -> ValueError:
    return ValueError(
        "The fetches are nested deeper than Python's stack has room for, or hold themselves. Fetch "
        "a flat list, such as tf.nest.flatten gives of a structure that is less deep."
    )


def _key(fetches: Any) -> Hashable | None:
    kind = fetches.__class__
    if kind in LEAF_TYPES:
        return fetches  # type: ignore[no-any-return]
    if kind is list or kind is tuple or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        parts = [part if part.__class__ in LEAF_TYPES else _key(part) for part in fetches]
    elif kind is dict or kind is collections.OrderedDict:
        parts = [*fetches, *map(_key, fetches.values())]
    else:
        return None
    return None if None in parts else (kind, *parts)

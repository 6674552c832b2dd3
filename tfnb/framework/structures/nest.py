"""Structures of lists, tuples, named tuples and dicts: flattening, packing, mapping, comparison.

Every other value is an atom: tensors, numbers, arrays, text, sets. Dicts are walked in the order of
their sorted keys, their views (``d.values()``) in their own order. With ``expand_composites`` a
SparseTensor or IndexedSlices counts as a container of its tensors. Corresponds to TensorFlow's
util/nest.py, with the same errors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, MappingView, Sequence
from typing import Any

from tfnb.framework.structures.composite_tensor import (
    are_compatible,
    components,
    is_composite,
    spec_text,
    with_components,
)

EXPORTS = {
    "nest": [
        "assert_same_structure",
        "flatten",
        "is_nested",
        "map_structure",
        "pack_sequence_as",
    ]
}

_TEXT = (str, bytes, bytearray)


# --------------------------------------------------------------------------------------- containers


def is_nested(seq: Any) -> bool:
    """Return whether a value is a container of other values.

    >>> is_nested([1, 2]), is_nested({"a": 1}), is_nested("ab"), is_nested({1, 2})
    (True, True, False, False)
    """
    if isinstance(seq, (list, tuple, dict)):
        return True
    return (
        isinstance(seq, (Sequence, Mapping, MappingView)) and not isinstance(seq, _TEXT)
    ) or _is_attrs(seq)


def is_nested_or_composite(structure: Any) -> bool:
    """Return whether a value is a container or consists of several tensors."""
    return is_nested(structure) or is_composite(structure)


def _is_attrs(value: Any) -> bool:
    return not isinstance(value, type) and hasattr(type(value), "__attrs_attrs__")


def is_namedtuple(value: Any) -> bool:
    """Return whether a value is a named tuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _attrs_names(value: Any) -> list[str]:
    return [attribute.name for attribute in type(value).__attrs_attrs__]


def _sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def _items(structure: Any) -> Iterator[tuple[Any, Any]]:
    """Return the members of a container, each with its key, name or position."""
    if isinstance(structure, Mapping):
        return ((key, structure[key]) for key in _sorted_keys(structure))
    if is_namedtuple(structure):
        return iter(zip(structure._fields, structure, strict=True))
    if _is_attrs(structure):
        return ((name, getattr(structure, name)) for name in _attrs_names(structure))
    if is_composite(structure):
        return ((type(structure).__name__, part) for part in components(structure))
    return enumerate(structure)


def values_of(structure: Any) -> Iterator[Any]:
    """Return the members of a container."""
    if isinstance(structure, (list, tuple)):
        return iter(structure)
    return (value for _, value in _items(structure))


def of_same_kind(like: Any, members: Sequence[Any]) -> Any:
    """Return a container of the kind of ``like`` with other members."""
    kind: Any = type(like)
    if isinstance(like, Mapping):
        by_key = dict(zip(_sorted_keys(like), members, strict=True))
        pairs = [(key, by_key[key]) for key in like]
        if isinstance(like, defaultdict):
            return kind(like.default_factory, pairs)
        return kind(pairs)
    if is_namedtuple(like) or _is_attrs(like):
        return kind(*members)
    if is_composite(like):
        return with_components(like, members)
    if isinstance(like, (MappingView, range)):
        return list(members)
    return kind(members)


# --------------------------------------------------------------------------------- flatten and pack


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the atoms of a structure, in order; for an atom, a list of itself.

    >>> flatten({"b": 1, "a": [2, (3,)]})
    [2, 3, 1]

    Args:
      structure: any value.
      expand_composites: whether SparseTensor and IndexedSlices are containers.

    Raises:
      TypeError: a dict has keys that cannot be sorted.
    """
    flat: list[Any] = []
    _flatten_into(structure, _test(expand_composites), flat)
    return flat


def _flatten_into(structure: Any, test: Callable[[Any], bool], flat: list[Any]) -> None:
    if not test(structure):
        flat.append(structure)
        return
    for value in values_of(structure):
        _flatten_into(value, test, flat)


def _test(expand_composites: bool) -> Callable[[Any], bool]:
    return is_nested_or_composite if expand_composites else is_nested


def pack_sequence_as(
    structure: Any, flat_sequence: Sequence[Any], expand_composites: bool = False
) -> Any:
    """Return a structure like ``structure`` with the values of ``flat_sequence`` as its atoms.

    >>> pack_sequence_as([0, {"a": 0}], [1, 2])
    [1, {'a': 2}]

    Args:
      structure: the structure of the result.
      flat_sequence: as many values as ``structure`` has atoms.
      expand_composites: whether SparseTensor and IndexedSlices are containers.

    Raises:
      TypeError: ``flat_sequence`` is not a sequence.
      ValueError: the numbers differ.
    """
    test = _test(expand_composites)
    if not test(flat_sequence):
        raise TypeError(
            f"Attempted to pack value:\n  {_short(flat_sequence)}\ninto a structure, but found "
            f"incompatible type `{type(flat_sequence)}` instead."
        )
    if not test(structure):
        if len(flat_sequence) != 1:
            raise ValueError(
                f"The target structure is of type `{type(structure)}`\n  {_short(structure)}\n"
                f"However the input is a sequence ({type(flat_sequence)}) of length "
                f"{len(flat_sequence)}.\n  {_short(flat_sequence)}\n"
                "nest cannot guarantee that it is safe to map one to the other."
            )
        return flat_sequence[0]
    num_atoms = len(flatten(structure, expand_composites))
    if num_atoms != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {num_atoms} atoms, but flat_sequence had "
            f"{len(flat_sequence)} items.  Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return _pack(structure, iter(flat_sequence), test)


def _pack(structure: Any, flat: Iterator[Any], test: Callable[[Any], bool]) -> Any:
    if not test(structure):
        return next(flat)
    return of_same_kind(structure, [_pack(value, flat, test) for value in values_of(structure)])


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 100 else text[:100] + "..."


# ---------------------------------------------------------------------------------------------- map


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return a structure of the results of ``func`` for the atoms of equal structures.

    >>> map_structure(lambda x, y: x + y, [1, (2,)], [10, (20,)])
    [11, (22,)]

    Args:
      func: takes one atom of each structure.
      *structure: structures that are equal except for their atoms.
      **kwargs: ``check_types`` (default True): whether kinds of containers must agree;
        ``expand_composites`` (default False): whether SparseTensor and IndexedSlices are
        containers.

    Raises:
      TypeError: ``func`` cannot be called, or the kinds of containers differ.
      ValueError: there is no structure, they differ, or an argument is unknown.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(
            "Only valid keyword arguments are `check_types` and `expand_composites`, not: "
            f"`{'`, `'.join(kwargs)}`"
        )
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand_composites)
    flat = [flatten(one, expand_composites) for one in structure]
    results = [func(*atoms) for atoms in zip(*flat, strict=True)]
    return pack_sequence_as(structure[0], results, expand_composites)


# ------------------------------------------------------------------------------------------ compare


class _Difference(Exception):
    """A difference of two structures; ``kind`` is the exception class for the user."""

    def __init__(self, kind: type[Exception], text: str) -> None:
        super().__init__(text)
        self.kind = kind


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that two structures are equal except for their atoms.

    Args:
      nest1: a structure.
      nest2: another structure.
      check_types: whether kinds of containers must agree (any dict agrees with any other, and named
        tuples with the same names and fields).
      expand_composites: whether SparseTensor and IndexedSlices are containers, which must be of one
        kind.

    Raises:
      ValueError: numbers of members, keys or nesting differ.
      TypeError: kinds of containers differ.
    """
    check_types = bool(check_types)
    try:
        _compare(nest1, nest2, check_types, _test(expand_composites))
    except _Difference as difference:
        raise difference.kind(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {_described(nest1)}\n\nSecond structure: {_described(nest2)}\n\n"
            f"More specifically: {difference}\n"
            f"Entire first structure:\n{_outline(nest1)}\n"
            f"Entire second structure:\n{_outline(nest2)}"
        ) from None


def _compare(one: Any, other: Any, check_types: bool, test: Callable[[Any], bool]) -> None:
    is_container = test(one)
    if is_container != test(other):
        sequence, atom = (one, other) if is_container else (other, one)
        raise _Difference(
            ValueError,
            f'Substructure "{_described(sequence)}" is a sequence, while substructure '
            f'"{_described(atom)}" is not',
        )
    if not is_container:
        return
    if is_composite(one) or is_composite(other):
        _compare_composites(one, other)
        return
    if check_types:
        _compare_kinds(one, other)
    ours, theirs = list(values_of(one)), list(values_of(other))
    if len(ours) != len(theirs):
        raise _Difference(
            ValueError,
            "The two structures don't have the same number of elements. First structure: "
            f"{_described(one)}. Second structure: {_described(other)}",
        )
    for mine, yours in zip(ours, theirs, strict=True):
        _compare(mine, yours, check_types, test)


def _compare_composites(one: Any, other: Any) -> None:
    if not (is_composite(one) and is_composite(other)):
        raise _Difference(TypeError, _different_kinds(one, other))
    if not are_compatible(one, other):
        first, second = (
            f"type={type(value).__name__}Spec str={spec_text(value)}" for value in (one, other)
        )
        raise _Difference(
            ValueError, f"Incompatible CompositeTensor TypeSpecs: {first} vs. {second}"
        )


def _compare_kinds(one: Any, other: Any) -> None:
    if is_namedtuple(one) and is_namedtuple(other):
        same = type(one).__name__ == type(other).__name__ and one._fields == other._fields
    elif isinstance(one, Mapping) and isinstance(other, Mapping):
        if set(one) != set(other):
            raise _Difference(
                ValueError,
                "The two dictionaries don't have the same set of keys. First structure has keys "
                f"{_described(list(one))}, while second structure has keys "
                f"{_described(list(other))}",
            )
        return
    else:
        same = type(one) is type(other) or (
            isinstance(one, MappingView) and isinstance(other, MappingView)
        )
    if not same:
        raise _Difference(TypeError, _different_kinds(one, other))


def _different_kinds(one: Any, other: Any) -> str:
    return (
        "The two namedtuples don't have the same sequence type. First structure "
        f"{_described(one)} has type {type(one).__name__}, while second structure "
        f"{_described(other)} has type {type(other).__name__}"
    )


def _described(value: Any) -> str:
    return f"type={type(value).__name__} str={value}"


class _Dot:
    """An atom in the outline of a structure."""

    def __repr__(self) -> str:
        return "."


_DOT = _Dot()


def _outline(structure: Any) -> str:
    return str(map_structure(lambda _: _DOT, structure))


# ----------------------------------------------------------------------------- up to a shallow tree


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that ``input_tree`` has the structure of ``shallow_tree``, to the depth of the latter.

    Raises:
      TypeError: one has a container where the other has an atom or another kind of container.
      ValueError: numbers of members or keys differ.
    """
    test = _test(expand_composites)
    if not test(shallow_tree):
        return
    if not test(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}."
        )
    if check_types:
        try:
            if not (isinstance(shallow_tree, Mapping) and isinstance(input_tree, Mapping)):
                _compare_kinds(shallow_tree, input_tree)
        except _Difference:
            raise TypeError(
                "The two structures don't have the same sequence type. Input structure has type "
                f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
            ) from None
    for inner, value in _paired(shallow_tree, input_tree):
        assert_shallow_structure(inner, value, check_types, expand_composites)


def _paired(shallow: Any, tree: Any) -> Iterator[tuple[Any, Any]]:
    """Return the members of two containers, side by side."""
    if isinstance(shallow, Mapping) and isinstance(tree, Mapping):
        missing = sorted(set(shallow) - set(tree))
        if missing:
            raise ValueError(
                "The shallow_tree's keys are not a subset of the input_tree's keys. The "
                f"shallow_tree has the following keys that are not in the input_tree: {missing}."
            )
        return ((shallow[key], tree[key]) for key in _sorted_keys(shallow))
    ours, theirs = list(values_of(shallow)), list(values_of(tree))
    if len(ours) != len(theirs):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(theirs)}, while shallow structure has length {len(ours)}."
        )
    return zip(ours, theirs, strict=True)


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """Return the parts of ``input_tree`` at the positions of the atoms of ``shallow_tree``.

    >>> flatten_up_to([0, 0], [1, [2, 3]])
    [1, [2, 3]]

    Raises:
      TypeError: one has a container where the other has an atom or another kind of container.
      ValueError: numbers of members or keys differ.
    """
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites)
    return list(_up_to(shallow_tree, input_tree, _test(expand_composites)))


def _up_to(shallow: Any, tree: Any, test: Callable[[Any], bool]) -> Iterator[Any]:
    if not test(shallow):
        yield tree
        return
    for inner, value in _paired(shallow, tree):
        yield from _up_to(inner, value, test)


def map_structure_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Return the results of ``func`` for the parts of the inputs at the atoms of ``shallow_tree``.

    Args:
      shallow_tree: the structure of the result.
      func: takes one part of each input.
      *inputs: structures that have the structure of ``shallow_tree``, to its depth.
      **kwargs: ``check_types`` and ``expand_composites`` as for :func:`map_structure`.

    Raises:
      TypeError: one has a container where the other has an atom or another kind of container.
      ValueError: there is no input, or numbers of members or keys differ.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    flat = [flatten_up_to(shallow_tree, one, check_types, expand_composites) for one in inputs]
    results = [func(*parts) for parts in zip(*flat, strict=True)]
    return pack_sequence_as(shallow_tree, results, expand_composites)


# -------------------------------------------------------------------------------------------- paths


def flatten_with_tuple_paths(
    structure: Any, expand_composites: bool = False
) -> list[tuple[tuple[Any, ...], Any]]:
    """Return the atoms of a structure, each with the keys and positions that lead to it.

    >>> flatten_with_tuple_paths({"a": [5]})
    [(('a', 0), 5)]
    """
    return list(_with_paths(structure, _test(expand_composites), ()))


def _with_paths(
    structure: Any, test: Callable[[Any], bool], path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if not test(structure):
        yield path, structure
        return
    for key, value in _items(structure):
        yield from _with_paths(value, test, (*path, key))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Return the atoms of a structure, each with the path to it as text.

    >>> flatten_with_joined_string_paths({"a": [5]})
    [('a/0', 5)]
    """
    return [
        (separator.join(map(str, path)), atom)
        for path, atom in flatten_with_tuple_paths(structure, expand_composites)
    ]


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Map like :func:`map_structure`, with the path of the atoms, as text, as first argument."""
    expand_composites = kwargs.get("expand_composites", False)
    paths = iter(flatten_with_joined_string_paths(structure[0], "/", expand_composites))
    return map_structure(lambda *atoms: func(next(paths)[0], *atoms), *structure, **kwargs)


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a dict whose keys and values may be structures, with both flattened.

    >>> flatten_dict_items({(1, (2,)): ("a", ("b",))})
    {1: 'a', 2: 'b'}

    Raises:
      TypeError: it is not a dict.
      ValueError: a key and its value have different structures, or a key appears twice.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys = flatten(key) if is_nested(key) else [key]
        values = flatten(value) if is_nested(key) else [value]
        if is_nested(key):
            assert_same_structure(key, value)
        for one, its_value in zip(keys, values, strict=True):
            if one in flat:
                raise ValueError(f"Could not flatten dictionary: key {one} is not unique.")
            flat[one] = its_value
    return flat

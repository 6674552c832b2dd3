"""Nested structures are flattened, packed, mapped and compared."""

from __future__ import annotations

import doctest
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import pytest

import tfnb as tf
from tfnb.framework.structures import nest


class Point(NamedTuple):
    """A named tuple."""

    x: Any
    y: Any


class Other(NamedTuple):
    """Another one with the same fields."""

    x: Any
    y: Any


@pytest.fixture(name="sparse")
def _sparse() -> tf.SparseTensor:
    with tf.Graph().as_default():
        return tf.SparseTensor([[0]], [1.0], [2])


def test_examples_in_docstrings() -> None:
    """The examples of the docstrings are right."""
    assert doctest.testmod(nest).failed == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], True),
        ((), True),
        ({}, True),
        (Point(1, 2), True),
        ({"a": 1}.values(), True),
        ("text", False),
        (b"bytes", False),
        ({1, 2}, False),
        (None, False),
        (1.5, False),
    ],
)
def test_is_nested(value: Any, expected: bool) -> None:
    """Sequences and mappings are nested; text and sets are atoms."""
    assert nest.is_nested(value) is expected


@pytest.mark.parametrize(
    ("view", "flat"),
    [
        ({"b": 1, "a": 2, "c": 0}.values(), [1, 2, 0]),
        ({"b": 1, "a": 2, "c": 0}.keys(), ["b", "a", "c"]),
        ({"b": 1, "a": 2}.items(), ["b", 1, "a", 2]),
    ],
)
def test_views_of_dicts_keep_their_order(view: Any, flat: list[Any]) -> None:
    """Members of a view are not sorted, because tensors cannot be compared."""
    assert nest.flatten(view) == flat
    assert nest.flatten(nest.map_structure(lambda x: x, view)) == flat


def test_values_of_a_dict_are_variables_to_train_and_elements_to_map() -> None:
    """minimize() and map_fn take the values of a dict, in its order."""
    with tf.Graph().as_default(), tf.Session() as session:
        weights = {"w": tf.Variable(1.0, name="w"), "b": tf.Variable(2.0, name="b")}
        optimizer = tf.train.GradientDescentOptimizer(1.0)
        pairs = optimizer.compute_gradients(weights["w"] * weights["b"], var_list=weights.values())
        assert [variable.name for _, variable in pairs] == ["w:0", "b:0"]
        elements = {"q": tf.constant([1, 2]), "a": tf.constant([10, 20])}.values()
        found = tf.map_fn(lambda pair: pair[0] * 2 + pair[1], elements, dtype=tf.int32)
        assert session.run(found).tolist() == [12, 24]


def test_flatten_sorts_dicts_by_key() -> None:
    """A dict's order of insertion does not matter."""
    assert nest.flatten({"b": 1, "a": [2, (3,)]}) == [2, 3, 1]


def test_flatten_of_an_atom_is_a_list_of_it() -> None:
    """None and text are atoms like numbers."""
    assert nest.flatten(None) == [None]
    assert nest.flatten("abc") == ["abc"]


def test_flatten_refuses_keys_that_cannot_be_sorted() -> None:
    """Without an order of keys there is no order of atoms."""
    with pytest.raises(TypeError, match="sortable keys"):
        nest.flatten({1: 1, "a": 2})


def test_flatten_expands_composites_on_demand(sparse: tf.SparseTensor) -> None:
    """A SparseTensor is one atom, or three tensors."""
    assert nest.flatten([sparse]) == [sparse]
    parts = nest.flatten([sparse], expand_composites=True)
    assert parts == [sparse.indices, sparse.values, sparse.dense_shape]


@pytest.mark.parametrize(
    "structure",
    [
        [1, [2, 3]],
        (1, {"b": 2, "a": (3,)}),
        Point(1, [2]),
        OrderedDict([("b", 1), ("a", 2)]),
        {"a": [1, {"c": 2}], "b": ()},
        5,
    ],
)
def test_pack_sequence_as_undoes_flatten(structure: Any) -> None:
    """Packing what was flattened gives the same structure, of the same kinds."""
    packed = nest.pack_sequence_as(structure, nest.flatten(structure))
    assert packed == structure
    assert type(packed) is type(structure)


def test_pack_keeps_the_order_and_kind_of_dicts() -> None:
    """Values go to sorted keys, but the dict stays as it was."""
    packed = nest.pack_sequence_as(OrderedDict([("b", 0), ("a", 0)]), [1, 2])
    assert list(packed.items()) == [("b", 2), ("a", 1)]
    made = nest.pack_sequence_as(defaultdict(list, {"a": 0}), [5])
    assert made == {"a": 5}
    assert made["new"] == []


def test_pack_checks_the_number_of_values() -> None:
    """Too many and too few values are refused."""
    with pytest.raises(ValueError, match="Structure had 1 atoms, but flat_sequence had 2 items"):
        nest.pack_sequence_as([0], [1, 2])
    with pytest.raises(ValueError, match="Structure had 2 atoms, but flat_sequence had 1 items"):
        nest.pack_sequence_as([0, 0], [1])
    with pytest.raises(ValueError, match="target structure is of type"):
        nest.pack_sequence_as(0, [1, 2])
    with pytest.raises(TypeError, match="Attempted to pack value"):
        nest.pack_sequence_as(0, 1)


def test_map_structure_takes_several_structures() -> None:
    """The function gets one atom of each."""
    assert nest.map_structure(lambda x, y: x + y, [1, {"a": 2}], [3, {"a": 4}]) == [4, {"a": 6}]


def test_map_structure_checks_its_arguments() -> None:
    """The arguments are a function, structures and known options."""
    with pytest.raises(TypeError, match="func must be callable, got: 1"):
        nest.map_structure(1, [1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Must provide at least one structure"):
        nest.map_structure(len)
    with pytest.raises(ValueError, match="Only valid keyword arguments"):
        nest.map_structure(len, [1], other=1)


@pytest.mark.parametrize(
    ("first", "second", "kind", "text"),
    [
        ([1, [2]], [1, 2], ValueError, "is a sequence, while substructure"),
        ([1, 2], [1, [2]], ValueError, "is a sequence, while substructure"),
        ([1, 2], [1, 2, 3], ValueError, "same number of elements"),
        ([1, 2], (1, 2), TypeError, "same sequence type"),
        (Point(1, 2), Other(1, 2), TypeError, "same sequence type"),
        (Point(1, 2), (1, 2), TypeError, "same sequence type"),
        ({"a": 1}, {"b": 1}, ValueError, "same set of keys"),
        ({"a": 1}, [1], TypeError, "same sequence type"),
    ],
)
def test_different_structures_are_told_apart(
    first: Any, second: Any, kind: type[Exception], text: str
) -> None:
    """The error says where they differ and shows both."""
    with pytest.raises(kind, match=text) as info:
        nest.assert_same_structure(first, second)
    assert "Entire first structure" in str(info.value)


def test_kinds_of_containers_may_be_ignored() -> None:
    """Without check_types a tuple matches a list."""
    nest.assert_same_structure([1, Point(1, 2)], (1, [1, 2]), check_types=False)


def test_dicts_of_any_kind_agree() -> None:
    """An OrderedDict matches a dict."""
    nest.assert_same_structure(OrderedDict(a=1), {"a": 2})


def test_composites_agree_by_kind_and_types(sparse: tf.SparseTensor) -> None:
    """A SparseTensor agrees with one of the same dtype only, and with no tensor."""
    with sparse.graph.as_default():
        longer = tf.SparseTensor([[0], [1]], [1.0, 2.0], [9])
        integers = tf.SparseTensor([[0]], [1], [2])
        slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    nest.assert_same_structure([sparse], [longer], expand_composites=True)
    nest.assert_same_structure([sparse], [1.0])
    for other in (integers, slices):
        with pytest.raises(ValueError, match="Incompatible CompositeTensor TypeSpecs"):
            nest.assert_same_structure([sparse], [other], expand_composites=True)
    with pytest.raises(ValueError, match="is a sequence, while substructure"):
        nest.assert_same_structure([sparse], [1.0], expand_composites=True)


def test_flatten_up_to_stops_at_the_shallow_structure() -> None:
    """Deeper structures stay together."""
    assert nest.flatten_up_to([0, 0], [1, [2, 3]]) == [1, [2, 3]]
    assert nest.map_structure_up_to({"a": 0}, len, {"a": [1, 2]}) == {"a": 2}


def test_shallow_structure_must_fit() -> None:
    """Numbers, kinds and keys are compared down to its depth."""
    with pytest.raises(ValueError, match="Input structure has length 1"):
        nest.assert_shallow_structure([1, 2], [1])
    with pytest.raises(TypeError, match="input must also be a sequence"):
        nest.assert_shallow_structure([1, 2], 1)
    with pytest.raises(TypeError, match="same sequence type"):
        nest.assert_shallow_structure([1, 2], (1, 2))
    with pytest.raises(ValueError, match="keys are not a subset"):
        nest.assert_shallow_structure({"a": 1}, {"b": 1})


def test_paths_lead_to_atoms() -> None:
    """Keys, names of fields and positions make up a path."""
    structure = {"a": [1, 2], "b": Point(3, 4)}
    assert nest.flatten_with_joined_string_paths(structure) == [
        ("a/0", 1),
        ("a/1", 2),
        ("b/x", 3),
        ("b/y", 4),
    ]
    named = nest.map_structure_with_paths(lambda path, atom: (path, atom), {"a": [1]})
    assert named == {"a": [("a/0", 1)]}


def test_specs_of_several_tensors_are_taken_apart() -> None:
    """With expand_composites, as their values are; the specs of tensors are atoms."""
    specs = [tf.SparseTensorSpec([3], tf.int32), tf.RaggedTensorSpec([2, None], tf.string)]
    flat = nest.flatten(specs, expand_composites=True)

    assert [one.dtype for one in flat] == [tf.int64, tf.int32, tf.int64, tf.string, tf.int64]
    assert nest.flatten(specs) == specs
    with tf.Graph().as_default():
        parts = [tf.placeholder(one.dtype, one.shape) for one in flat]
        sparse, ragged = nest.pack_sequence_as(specs, parts, expand_composites=True)

        assert (sparse.values, ragged.values) == (parts[1], parts[3])
        assert [sparse._type_spec, ragged._type_spec.dtype] == [specs[0], tf.string]
        assert specs[1]._from_components(parts[3:]).row_splits is parts[4]
        assert specs[0]._to_components(sparse) == parts[:3]
        assert specs[0]._component_specs == flat[:3]
        slices = tf.IndexedSlices(parts[1], tf.placeholder(tf.int64, [None]))
        assert slices._type_spec.value_type is tf.IndexedSlices
    assert nest.flatten(tf.TensorSpec([1]), expand_composites=True) == [tf.TensorSpec([1])]

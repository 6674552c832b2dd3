"""`tensorflow.python.data.util`: structures in which a list is a value, and their specs."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.usefixtures("as_tensorflow")


class _Pair(NamedTuple):
    """A named tuple whose names are not in order."""

    b: Any
    a: Any


@pytest.fixture
def nest() -> Any:
    """Return the module as a program gets it."""
    return importlib.import_module("tensorflow.python.data.util.nest")


def test_lists_are_values_and_tuples_and_dicts_structures(nest: Any) -> None:
    """Dicts are in the order of their keys."""
    structure = ([1, 2], {"y": (3,), "x": [4]}, _Pair(5, [6]))
    flat = nest.flatten(structure)
    assert flat == [[1, 2], [4], 3, 5, [6]]
    assert nest.pack_sequence_as(structure, list("abcde")) == (
        "a", {"y": ("c",), "x": "b"}, _Pair("d", "e"),
    )  # fmt: skip
    assert nest.map_structure(lambda a, b: [a, b], ([1], 2), (3, [4])) == ([[1], 3], [2, [4]])
    assert nest.flatten([1, (2,)]) == [[1, (2,)]]
    assert nest.flatten_up_to((0, 0), ([1], (2, 3))) == [[1], (2, 3)]
    assert nest.map_structure_up_to((0, (0,)), len, ([1], ((2, 3),))) == (1, (2,))
    assert not nest.is_sequence([1])
    assert nest.is_sequence((1,))


@pytest.mark.parametrize(
    ("name", "arguments", "error", "match"),
    [
        ("assert_same_structure", ((1, 2), [1, 2]), ValueError, "same nested structure"),
        ("assert_same_structure", ((1, [2]), (1, (2,))), ValueError, "same nested structure"),
        ("assert_same_structure", ((1, (2,)), (1, {"a": 2})), TypeError, "same sequence type"),
        (
            "assert_same_structure",
            ({"a": 1}, {"b": 1}),
            ValueError,
            "same (set of keys|nested structure)",
        ),
        ("assert_shallow_structure", ((1, 2), 3), TypeError, "input must also be a sequence"),
        ("assert_shallow_structure", ((1, 2), (3,)), ValueError, "same sequence length"),
        ("assert_shallow_structure", ({"a": 1}, {"b": 1}), ValueError, "same keys"),
        ("pack_sequence_as", (1, [2, 3]), ValueError, "Structure is a scalar"),
        ("pack_sequence_as", ((1, 2), [3]), ValueError, "Could not pack sequence"),
        ("pack_sequence_as", ((1, 2), "ab"), TypeError, "flat_sequence"),
        ("map_structure", (1, (2,)), TypeError, "func must be callable"),
        ("map_structure", (len,), ValueError, "at least one structure"),
    ],
)
def test_structures_of_other_forms_are_refused(
    nest: Any, name: str, arguments: tuple[Any, ...], error: type[Exception], match: str
) -> None:
    """The errors are TensorFlow's."""
    with pytest.raises(error, match=match):
        getattr(nest, name)(*arguments)


def test_specs_of_elements_and_their_tensors() -> None:
    """`tensorflow.python.data.util.structure` has one tensor for each value of an element."""
    tf = importlib.import_module("tensorflow")
    structure = importlib.import_module("tensorflow.python.data.util.structure")
    ragged = importlib.import_module("tensorflow.python.ops.ragged.ragged_tensor")
    with tf.Graph().as_default(), tf.Session() as session:
        element = {"a": tf.constant([1, 2]), "b": (tf.constant(3.0),)}
        spec = structure.type_spec_from_value(element)
        assert spec == {"a": tf.TensorSpec([2], tf.int32), "b": (tf.TensorSpec([], tf.float32),)}
        assert structure.get_flat_tensor_types(spec) == [tf.int32, tf.float32]
        tensors = structure.to_tensor_list(spec, element)
        again = structure.from_tensor_list(spec, tensors)
        assert session.run(again["b"][0]) == 3.0
        assert structure.are_compatible(spec, structure.type_spec_from_value(again))
        assert not structure.are_compatible(spec, (spec["a"], spec["b"]))
        assert not structure.are_compatible(spec, {**spec, "a": tf.TensorSpec([3], tf.int32)})
        with pytest.raises(ValueError, match="Expected 2 tensors"):
            structure.from_tensor_list(spec, tensors[:1])
        assert ragged.is_ragged(tf.ragged.constant([[1], []]))
        assert not ragged.is_ragged(element["a"])


def test_values_become_tensors_or_ragged_tensors() -> None:
    """`convert_to_tensor_or_ragged_tensor` keeps ragged tensors, and converts their values."""
    tf = importlib.import_module("tensorflow")
    ragged = importlib.import_module("tensorflow.python.ops.ragged.ragged_tensor")
    convert = ragged.convert_to_tensor_or_ragged_tensor
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.ragged.constant([[1], [2, 3]])
        assert convert(rows) is rows
        value = session.run(rows)
        assert session.run(convert(value, tf.float32)).to_list() == [[1.0], [2.0, 3.0]]
        assert session.run(convert([1, 2], preferred_dtype=tf.int64)).dtype == "int64"
        with pytest.raises(ValueError, match="for RaggedTensor with dtype int32"):
            convert(rows, tf.float32)

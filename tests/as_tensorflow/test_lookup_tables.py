"""Tables of `tf.contrib.lookup` with ids for words that they do not have."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_tensorflow")

_WORDS = ["a", "b", "new", "other"]


@pytest.fixture
def tf() -> Iterator[Any]:
    """TensorFlow, with a graph of its own."""
    module = importlib.import_module("tensorflow")
    with module.Graph().as_default():
        yield module


def _run(tf: Any, fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run(fetches)


# Words that the table lacks share ids by these hashes, whose values are TensorFlow's.
@pytest.mark.parametrize(
    ("hasher", "expected"),
    [
        (lambda lookup: lookup.FastHashSpec, [0, 1, 81, 28]),
        (lambda lookup: lookup.StrongHashSpec([3, 5]), [0, 1, 3, 2]),
    ],
    ids=["fast", "strong"],
)
def test_other_words_share_ids_by_a_hash(tf: Any, hasher: Any, expected: list[int]) -> None:
    """After the ids of the table."""
    table = tf.contrib.lookup.index_table_from_tensor(
        ["a", "b"], num_oov_buckets=100, hasher_spec=hasher(tf.contrib.lookup)
    )
    found, size = _run(tf, (table.lookup(tf.constant(_WORDS)), table.size()))
    assert found.tolist() == expected
    assert size == 102


def test_a_table_of_any_kind_gets_further_ids(tf: Any, tmp_path: Path) -> None:
    """From files and lists, of texts and integers, for sparse keys, too."""
    lookup = tf.contrib.lookup
    (tmp_path / "words").write_text("x\ny\n")
    path = str(tmp_path / "words")
    words = lookup.HashTable(lookup.TextFileIdTableInitializer(path), -1)
    texts = lookup.HashTable(lookup.TextFileStringTableInitializer(path), "?")
    ids = lookup.IdTableWithHashBuckets(words, 1)
    keys = tf.SparseTensor([[0, 1], [2, 0]], ["y", "z"], [3, 2])
    numbers = lookup.index_table_from_tensor([7, 9], 1, dtype=tf.int64)
    none = lookup.IdTableWithHashBuckets(None, 1)
    sparse, back, more, last, size = _run(
        tf,
        (
            ids.lookup(keys),
            texts.lookup(tf.constant([1, 2], tf.int64)),
            numbers[tf.constant([9, 8], tf.int64)],
            none.lookup(tf.constant("z")),
            none.size(),
        ),
    )
    assert sparse.values.tolist() == [1, 2]
    assert back.tolist() == [b"y", b"?"]
    assert more.tolist() == [1, 2]
    assert (last, size) == (0, 1)


def test_words_are_numbers_and_back_without_a_table(tf: Any) -> None:
    """As programs before version 1 do."""
    lookup = tf.contrib.lookup
    places = lookup.string_to_index(tf.constant(["b", "c"]), ["a", "b"])
    words = lookup.index_to_string(tf.constant([1, 2], tf.int64), ["a", "b"])
    found, back = _run(tf, (places, words))
    np.testing.assert_array_equal(found, [1, -1])
    assert back.tolist() == [b"b", b"UNK"]


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda x: x.IdTableWithHashBuckets(None, 0), ValueError, "`oov_buckets` must be > 0"),
        (lambda x: x.StrongHashSpec([1]), ValueError, "must have size 2"),
        (lambda x: x.StrongHashSpec([1, 2.0]), TypeError, "unsigned integer"),
        (
            lambda x: x.index_table_from_tensor(["a"], 1, hasher_spec=1),
            TypeError,
            "must be of type HasherSpec",
        ),
        (
            lambda x: x.index_table_from_tensor(
                ["a"], 1, hasher_spec=x.HasherSpec("own", 0)
            ).lookup("a"),
            ValueError,
            "unknown hasher own",
        ),
        (
            lambda x: x.index_table_from_tensor(["a"], 1).lookup(1),
            TypeError,
            "Dtype of argument `keys` must be",
        ),
        (
            lambda x: x.IdTableWithHashBuckets(
                x.index_table_from_tensor(["a"]), 1, key_dtype="int32"
            ),
            TypeError,
            "Invalid `key dtype`, expected integer",
        ),
        (
            lambda x: x.IdTableWithHashBuckets(x.index_to_string_table_from_tensor(["a"]), 1),
            TypeError,
            "Invalid `value_dtype`",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tf: Any, make: Any, error: Any, says: str) -> None:
    """With TensorFlow's errors."""
    with pytest.raises(error, match=says):
        make(tf.contrib.lookup)


def test_tables_of_one_name_share_their_contents(tf: Any) -> None:
    """`tf.contrib.lookup.HashTable` takes the name, by place or by keyword."""
    lookup = importlib.import_module("tensorflow.contrib.lookup")
    first = lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], [1]), -1, "shared")
    other = lookup.HashTable(
        lookup.KeyValueTensorInitializer(["a"], [1]), -2, shared_name="shared", name="other"
    )
    apart = lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], [1]), -1)
    with tf.Session() as session:
        session.run(first.init)
        assert session.run(other.lookup(tf.constant(["a", "b"]))).tolist() == [1, -2]
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(apart.lookup(tf.constant(["a"])))
    assert other.name == "other"


@pytest.mark.parametrize("dtype", ["bool", "float64"])
def test_ids_are_of_integers_and_texts(tf: Any, dtype: str) -> None:
    """Other keys are refused."""
    lookup = importlib.import_module("tensorflow.contrib.lookup")
    with pytest.raises(TypeError, match="Invalid `key_dtype`, expected integer or string"):
        lookup.IdTableWithHashBuckets(None, 5, key_dtype=tf.as_dtype(dtype))

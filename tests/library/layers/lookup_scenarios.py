"""Lookup tables: further programs for layer_scenarios.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.library.layers.layer_scenarios import program, values_only


def _words(tf: Any) -> Any:
    return tf.lookup.KeyValueTensorInitializer(
        ["a", "b"], [0, 1], key_dtype=tf.string, value_dtype=tf.int64
    )


def _mutable(tf: Any, **kwargs: Any) -> Any:
    return tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, **kwargs)


@program
def _static_table(tf: Any) -> Any:
    table = tf.lookup.StaticHashTable(_words(tf), -1)
    return table.lookup(tf.constant([["b", "z"]])), table.size(), tf.sort(table.export()[1])


@program
def _static_table_of_sparse_keys(tf: Any) -> Any:
    table = tf.lookup.StaticHashTable(_words(tf), 7, name="words")
    found = table.lookup(tf.SparseTensor([[0, 1]], ["b"], [1, 2]))
    return found.indices, found.values


@program
def _static_vocabulary(tf: Any) -> Any:
    table = tf.lookup.StaticVocabularyTable(_words(tf), num_oov_buckets=3)
    return table.lookup(tf.constant(["a", "z", "b", "y"])), table.size()


@program
def _static_vocabulary_of_integers(tf: Any) -> Any:
    words = tf.lookup.KeyValueTensorInitializer(
        [5, 6], [0, 1], key_dtype=tf.int64, value_dtype=tf.int64
    )
    table = tf.lookup.StaticVocabularyTable(words, 3, lookup_key_dtype=tf.int32)
    return table.lookup(tf.constant([5, 9]))


@program
def _static_vocabulary_of_nothing(tf: Any) -> Any:
    table = tf.lookup.StaticVocabularyTable(None, 3)
    return table.lookup(tf.constant(["a", "b"])), table.size()


@values_only
def _static_table_from_a_file(tf: Any) -> Any:
    file = str(Path(__file__).with_name("lookup_words.txt"))
    index = tf.lookup.TextFileIndex
    lines = tf.lookup.TextFileInitializer(
        file, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    )
    columns = tf.lookup.TextFileInitializer(file, tf.string, 0, tf.int64, 1, vocab_size=2)
    first = tf.lookup.StaticHashTable(lines, -1).lookup(tf.constant(["two\t2", "two"]))
    second = tf.lookup.StaticHashTable(columns, -1).lookup(tf.constant(["two", "six"]))
    assert len(tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)) == 2
    return first, second


@program
def _mutable_table(tf: Any) -> Any:
    table = _mutable(tf)
    with tf.control_dependencies([table.insert(tf.constant(["a", "b"]), [3, 4])]):
        size = table.size()
    with tf.control_dependencies([size]):
        removed = table.remove(tf.constant(["a"]))
    with tf.control_dependencies([removed]):
        return size, table.lookup(tf.constant(["a", "b"])), table.size()


@program
def _mutable_table_of_vectors(tf: Any) -> Any:
    table = tf.lookup.experimental.MutableHashTable(
        tf.string, tf.float32, [0.0, 1.0], name="vectors", checkpoint=False
    )
    with tf.control_dependencies([table.insert(tf.constant(["a"]), [[3.0, 4.0]])]):
        return table.lookup(tf.constant(["a", "b"]))


@program
def _dense_table(tf: Any) -> Any:
    table = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, default_value=-1, empty_key=0, deleted_key=-5
    )
    keys = tf.constant([4, 6], tf.int64)
    with tf.control_dependencies([table.insert(keys, [3, 9])]):
        return table.lookup(keys + 2), table.size()


@program
def _static_table_of_other_keys_is_an_error(tf: Any) -> Any:
    return tf.lookup.StaticHashTable(_words(tf), -1).lookup(tf.constant([1]))


@program
def _static_table_with_two_defaults_is_an_error(tf: Any) -> Any:
    return tf.lookup.StaticHashTable(_words(tf), [1, 2])


@program
def _vocabulary_without_buckets_is_an_error(tf: Any) -> Any:
    return tf.lookup.StaticVocabularyTable(_words(tf), 0)


@program
def _vocabulary_of_other_keys_is_an_error(tf: Any) -> Any:
    return tf.lookup.StaticVocabularyTable(_words(tf), 1, lookup_key_dtype=tf.int64)


@program
def _vocabulary_of_floats_is_an_error(tf: Any) -> Any:
    return tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(["a"], [1.0]), 1)


def _text_error(name: str, *arguments: Any, **kwargs: Any) -> None:
    def build(tf: Any) -> Any:
        given = [getattr(tf, a) if isinstance(a, str) and a != "f" and a else a for a in arguments]
        return tf.lookup.TextFileInitializer(*given, **kwargs)

    build.__name__ = f"_text_file_{name}_is_an_error"
    program(build)


_text_error("without_name", "", "string", 0, "int64", 1)
_text_error("of_low_key_index", "f", "string", -3, "int64", 1)
_text_error("of_low_value_index", "f", "string", 0, "int64", -3)
_text_error("of_text_line_numbers", "f", "string", -1, "int64", 1)
_text_error("of_text_value_numbers", "f", "string", 0, "string", -1)
_text_error("of_float_lines", "f", "float32", -2, "int64", 1)
_text_error("of_no_words", "f", "string", 0, "int64", 1, vocab_size=0)

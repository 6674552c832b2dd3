"""Layers of feature columns; TensorFlow's nodes and values are stored.

``python scripts/oracle/feature_columns.py`` writes tests/golden/feature_columns.json.xz.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

_FEATURES = """{
    "x": tf.constant([[1.0], [2.5]]), "y": tf.constant([[1, 2], [3, 4]]), "v": tf.constant([3, 9]),
    "s": tf.constant([["a", ""], ["b", "c"]]), "n": tf.constant([[1, -1], [2, 7]], tf.int64),
    "p": tf.SparseTensor([[0, 0], [1, 0], [1, 2]], ["b", "zz", "a"], [2, 3]),
    "w": tf.SparseTensor([[0, 0], [1, 0], [1, 2]], [0.5, 2.0, -1.0], [2, 3]),
    "d": tf.constant([[0.5, 2.0], [1.0, 3.0]]),
}"""
_COLUMNS = {
    "numeric": "fc.numeric_column('x')",
    "numeric_normalized": "fc.numeric_column('y', 2, normalizer_fn=lambda x: x * 2)",
    "numeric_of_vector": "fc.numeric_column('v', dtype=tf.int64)",
    "bucketized": "fc.bucketized_column(fc.numeric_column('y', shape=(2,)), [1.5, 3.0])",
    "hashed": "fc.indicator_column(fc.categorical_column_with_hash_bucket('s', 7))",
    "hashed_numbers": (
        "fc.indicator_column(fc.categorical_column_with_hash_bucket('n', 7, tf.int64))"
    ),
    "identity": "fc.indicator_column(fc.categorical_column_with_identity('n', 5, default_value=0))",
    "identity_refused": "fc.indicator_column(fc.categorical_column_with_identity('n', 5))",
    "list": "fc.indicator_column(fc.categorical_column_with_vocabulary_list('p', ['a', 'b']))",
    "list_default": (
        "fc.indicator_column(fc.categorical_column_with_vocabulary_list('s', ['a', 'b'], "
        "default_value=1))"
    ),
    "list_others": (
        "fc.indicator_column(fc.categorical_column_with_vocabulary_list('p', ['a', 'b'], "
        "num_oov_buckets=3))"
    ),
    "list_of_numbers": (
        "fc.indicator_column(fc.categorical_column_with_vocabulary_list('n', [7, 2]))"
    ),
    "file": "fc.indicator_column(fc.categorical_column_with_vocabulary_file('p', words))",
    "file_cut": (
        "fc.indicator_column(fc.categorical_column_with_vocabulary_file('p', words, 1, "
        "num_oov_buckets=1))"
    ),
    "weighted": (
        "fc.indicator_column(fc.weighted_categorical_column("
        "fc.categorical_column_with_vocabulary_list('p', ['a', 'b']), 'w'))"
    ),
    "embedding": (
        "fc.embedding_column(fc.categorical_column_with_vocabulary_list('p', ['a', 'b']), 3, "
        "initializer=tf.ones_initializer())"
    ),
    "embedding_of_weights": (
        "fc.embedding_column(fc.weighted_categorical_column("
        "fc.categorical_column_with_hash_bucket('p', 4), 'w'), 2, combiner='sqrtn', max_norm=0.5, "
        "initializer=tf.constant_initializer([[1.0, 2.0]] * 4))"
    ),
    "embedding_unsafe": (
        "fc.embedding_column(fc.categorical_column_with_hash_bucket('p', 4), 2, combiner='sum', "
        "initializer=tf.ones_initializer(), use_safe_embedding_lookup=False, trainable=False)"
    ),
    "embedding_random": "fc.embedding_column(fc.categorical_column_with_hash_bucket('p', 4), 2)",
}
_CATEGORICAL = {
    "hashed": "fc.categorical_column_with_hash_bucket('s', 7)",
    "identity": "fc.categorical_column_with_identity('n', 9, default_value=0)",
    "weighted": (
        "fc.weighted_categorical_column(fc.categorical_column_with_hash_bucket('p', 4), 'w')"
    ),
    "weighted_dense": (
        "fc.weighted_categorical_column(fc.categorical_column_with_hash_bucket('s', 4), 'd')"
    ),
    "bucketized": "fc.bucketized_column(fc.numeric_column('y', shape=(2,)), [1.5, 3.0])",
    "numeric": "fc.numeric_column('y', 2)",
    "crossed": "fc.crossed_column(['s', 'p'], 11)",
    "crossed_buckets": (
        "fc.crossed_column([fc.crossed_column(['s', 'p'], 11), "
        "fc.bucketized_column(fc.numeric_column('x'), [2.0])], 13, hash_key=5)"
    ),
}
_ERRORS = (
    "fc.input_layer(features, [])",
    "fc.input_layer(features, [fc.numeric_column('none')])",
    "fc.input_layer(features, [fc.categorical_column_with_hash_bucket('s', 7)])",
    "fc.input_layer(features, [fc.numeric_column('x'), fc.numeric_column('x')])",
    "fc.input_layer(features, ['x'])",
    "fc.input_layer({'x': 1.0}, [fc.numeric_column('x')])",
    "fc.input_layer({'x': [1.0], 'z': [1.0, 2.0]}, [fc.numeric_column(key) for key in 'xz'])",
    "fc.numeric_column('x', 0)",
    "fc.numeric_column('x', 'a')",
    "fc.numeric_column('x', dtype=tf.string)",
    "fc.numeric_column('x', default_value=[1.0, 2.0])",
    "fc.numeric_column('x', default_value='a')",
    "fc.numeric_column(1)",
    "fc.bucketized_column(fc.numeric_column('x'), [2.0, 1.0])",
    "fc.bucketized_column('x', [2.0])",
    "fc.categorical_column_with_hash_bucket('s', 0)",
    "fc.categorical_column_with_hash_bucket('s', None)",
    "fc.categorical_column_with_hash_bucket('s', 3, tf.float32)",
    "fc.categorical_column_with_identity('n', 3, default_value=3)",
    "fc.categorical_column_with_vocabulary_list('n', [])",
    "fc.categorical_column_with_vocabulary_list('n', ['a', 'a'])",
    "fc.categorical_column_with_vocabulary_list('n', ['a'], num_oov_buckets=1, default_value=0)",
    "fc.categorical_column_with_vocabulary_file('n', '')",
    "fc.embedding_column(fc.categorical_column_with_hash_bucket('s', 3), 0)",
    "fc.crossed_column(['a'], 3)",
    "fc.crossed_column(['a', fc.categorical_column_with_hash_bucket('s', 3)], 3)",
    "fc.crossed_column(['a', 1], 3)",
    "fc.weighted_categorical_column(fc.categorical_column_with_identity('s', 3), 'w', tf.string)",
)  # fmt: skip
_SPECS = (
    "fc.make_parse_example_spec([fc.numeric_column('x', (2,), 1.5), fc.numeric_column('z')])",
    "fc.make_parse_example_spec([fc.crossed_column(['a', fc.bucketized_column("
    "fc.numeric_column('x'), [1.0])], 5), fc.weighted_categorical_column("
    "fc.categorical_column_with_identity('n', 4), 'w')])",
    "fc.make_parse_example_spec([fc.numeric_column('x'), fc.embedding_column("
    "fc.categorical_column_with_hash_bucket('x', 4), 2)])",
)


def rows() -> list[str]:
    """All expressions."""
    found = [f"fc.input_layer(features, [{column}])" for column in _COLUMNS.values()]
    found += [
        f"fc.linear_model(features, [{column}], units=2, sparse_combiner='mean')"
        for column in _CATEGORICAL.values()
    ]
    both = "[fc.numeric_column('x'), fc.categorical_column_with_hash_bucket('s', 7)]"
    found.append(f"fc.linear_model(features, {both})")
    shared = (
        "fc.shared_embedding_columns([fc.categorical_column_with_hash_bucket('p', 4), "
        "fc.categorical_column_with_hash_bucket('s', 4)], 2, initializer=tf.ones_initializer())"
    )
    found.append(f"fc.input_layer(features, {shared})")
    all_columns = ", ".join(
        _COLUMNS[name] for name in ("numeric", "hashed", "bucketized", "embedding")
    )
    found.append(f"fc.input_layer(features, [{all_columns}])")
    return [*found, *_ERRORS, *_SPECS]


def describe(tf: Any, row: str) -> dict[str, Any]:
    """Return the nodes of an expression, the variables, and the value or error."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default() as graph:
        words = Path(folder, "words.txt")
        words.write_text("a\nc\nb\n")
        tf.set_random_seed(3)
        names = {"tf": tf, "fc": tf.feature_column, "words": str(words)}
        names["features"] = eval(_FEATURES, names)
        try:
            made = eval(row, names)
        except Exception as error:
            return {"error": type(error).__name__, "text": str(error)[:30]}
        if isinstance(made, dict):
            return {"spec": {key: repr(made[key]).replace("'", "") for key in sorted(made)}}
        found["nodes"] = sorted(f"{op.name} {op.type}" for op in graph.get_operations())
        found["shape"] = str(made.shape)
        found["variables"] = [v.op.name for v in tf.global_variables()]
        found["trained"] = [v.op.name for v in tf.trainable_variables()]
        # Trained variables begin with zeros; other numbers show which are used.
        given = [
            tf.assign(v, tf.reshape(tf.range(1.0, v.shape.num_elements() + 1.0), v.shape))
            for v in tf.global_variables()
            if v.op.name.startswith("linear_model")
        ]
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            session.run(given)
            try:
                found["value"] = np.asarray(session.run(made)).tolist()
            except tf.errors.OpError as error:
                found["error"] = type(error).__name__
    return found

"""The model y = x / 2 + 2, with signatures to predict, classify and regress.

``python -m tests.serving.half_plus_two FOLDER`` writes it for ``scripts/oracle/serving_client.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tfnb as tf


def write_half_plus_two(folder: Path) -> str:
    """Write the SavedModel; return its path."""
    with tf.Graph().as_default(), tf.Session() as sess:
        serialized = tf.placeholder(tf.string, [None], name="tf_example")
        features = tf.parse_example(serialized, {"x": tf.FixedLenFeature([1], tf.float32)})
        x = tf.placeholder_with_default(features["x"], [None, 1], name="x")
        y = tf.add(tf.get_variable("a", initializer=0.5) * x, 2.0, name="y")
        labels = tf.tile(tf.constant([["low", "high"]]), [tf.shape(x)[0], 1])
        scores = tf.concat([1 - y, y], 1)
        sess.run(tf.global_variables_initializer())
        info, signature = tf.saved_model.build_tensor_info, tf.saved_model.build_signature_def
        builder = tf.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(
            sess,
            ["serve"],
            {
                "serving_default": signature(
                    {"x": info(x)}, {"y": info(y)}, "tensorflow/serving/predict"
                ),
                "regress_x_to_y": signature(
                    {"inputs": info(serialized)},
                    {"outputs": info(y)},
                    "tensorflow/serving/regress",
                ),
                "classify_x_to_y": signature(
                    {"inputs": info(serialized)},
                    {"classes": info(labels), "scores": info(scores)},
                    "tensorflow/serving/classify",
                ),
            },
        )
        builder.save()
    return str(folder)


if __name__ == "__main__":
    print(write_half_plus_two(Path(sys.argv[1])))

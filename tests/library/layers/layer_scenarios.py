"""Layers and recurrent networks, built and run in the same way with TensorFlow and with tfnb.

A program builds into the default graph and returns the fetches. Its nodes, collections and values
are compared; the graph's seed is set, so that random initial values are equal too.
``scripts/oracle/layers.py`` stores TensorFlow's results.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from tests import exact_numbers
from tests.ops.waiting.pipeline_scenarios import nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS: dict[str, Callable[[Any], Any]] = {}
# Their nodes differ: gradients of reductions, and TensorFlow 2's nodes for ones_like and sparse
# inputs.
VALUES_ONLY: set[str] = set()


def program(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register a program whose nodes and values are compared."""
    PROGRAMS[build.__name__.removeprefix("_")] = build
    return build


def values_only(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register a program of which only values are compared."""
    VALUES_ONLY.add(build.__name__.removeprefix("_"))
    return program(build)


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    """Return numbers between -1 and 1 that are equal on every machine."""
    count = int(np.prod(shape))
    return (
        exact_numbers.sin(np.arange(count, dtype=np.float64) * 1.7)
        .reshape(shape)
        .astype(np.float32)
    )


def answer(tf: Any, build: Callable[[Any], Any]) -> dict[str, Any]:
    """Return nodes, collections, shapes and values of a program, or its error."""
    with tf.Graph().as_default() as graph, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tf.set_random_seed(7)
        try:
            fetched = build(tf)
        except Exception as error:
            text = re.sub(r"Dimension\((\w+)\)", r"\1", str(error))
            return {"error": [type(error).__name__, text.split(" Originally defined")[0].strip()]}
        answers: dict[str, Any] = {
            "nodes": {
                name: [
                    *node[:3],
                    {k: re.sub("[0-9a-f-]{36}", "UUID", v) for k, v in node[3].items()},
                ]
                for name, node in nodes_of(graph).items()
            },
            "collections": {
                key: [item.name for item in graph.get_collection(key)]
                for key in sorted(graph.get_all_collection_keys(), key=str)
                if isinstance(key, str) and not key.startswith(("_", "cond_", "while_"))
            },
            "shapes": [str(t.shape) for t in _flat(fetched)],
        }
        updates = graph.get_collection("update_ops")
        initializer = [tf.global_variables_initializer(), tf.tables_initializer()]
        with tf.Session() as session:
            session.run(initializer)
            values = [session.run(_flat(fetched))]
            if updates:
                session.run(updates)
                values.append(session.run(_flat(fetched)))
                averages = [v for v in tf.global_variables() if "moving" in v.name]
                values.append(session.run(averages))
            answers["values"] = [
                [np.asarray(value, np.float64).round(6).tolist() for value in step]
                for step in values
            ]
        return answers


def _flat(fetched: Any) -> list[Any]:
    if isinstance(fetched, (list, tuple)):
        return [leaf for item in fetched for leaf in _flat(item)]
    return [fetched]


# ------------------------------------------------------------------------------------------- dense


@program
def _dense_stack(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4))
    hidden = tf.layers.dense(x, 5, activation=tf.nn.relu)
    return tf.layers.dense(hidden, 2, use_bias=False)


@program
def _dense_named_and_reused(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4))
    first = tf.layers.dense(x, 4, name="shared")
    return first, tf.layers.dense(first, 4, name="shared", reuse=True)


@program
def _dense_without_reuse_is_an_error(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4))
    tf.layers.dense(x, 4, name="shared")
    return tf.layers.dense(x, 4, name="shared")


@program
def _dense_in_reusing_scope(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4))
    outputs = []
    for _ in range(2):
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            hidden = tf.layers.dense(x, 4, activation=tf.nn.tanh)
            outputs.append(tf.layers.dense(hidden, 2, name="out"))
    return outputs


@program
def _dense_of_rank_three(tf: Any) -> Any:
    return tf.layers.dense(tf.constant(numbers(2, 3, 4)), 5)


@program
def _dense_with_regularizers_and_constraints(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4))
    return tf.layers.dense(
        x,
        2,
        kernel_initializer=tf.truncated_normal_initializer(stddev=0.5),
        bias_initializer=tf.constant_initializer(0.25),
        kernel_regularizer=tf.nn.l2_loss,
        bias_regularizer=lambda v: 0.5 * tf.reduce_sum(tf.abs(v)),
        activity_regularizer=tf.nn.l2_loss,
        kernel_constraint=lambda v: tf.clip_by_value(v, -1.0, 1.0),
    )


@program
def _dense_takes_the_scopes_defaults(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4))
    with tf.variable_scope(
        "net", initializer=tf.ones_initializer(), use_resource=True, reuse=tf.AUTO_REUSE
    ):
        return tf.layers.dense(x, 2)


@program
def _dense_by_names(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4))
    return tf.layers.dense(x, 2, activation="relu", kernel_initializer="he_normal")


@program
def _dense_layer_called_twice(tf: Any) -> Any:
    layer = tf.layers.Dense(4, name="twice", trainable=False)
    first = layer(tf.constant(numbers(3, 4)))
    second = layer(first)
    with tf.name_scope("elsewhere"):
        return first, second, layer(second)


@program
def _dense_layers_count_up(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3))
    layers = [tf.layers.Dense(3) for _ in range(3)]
    for layer in layers:
        x = layer.apply(x)
    tf.no_op(name="names_" + "_".join(layer.name for layer in layers))
    tf.no_op(name="scopes_" + "_".join(layer.scope_name for layer in layers))
    return x


@program
def _dense_of_partitioned_variables(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4))
    with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(2)):
        return tf.layers.dense(x, 2, kernel_regularizer=tf.nn.l2_loss)


@program
def _dense_of_a_vector_is_an_error(tf: Any) -> Any:
    return tf.layers.dense(tf.constant(numbers(3)), 2)


@program
def _dense_of_unknown_size_is_an_error(tf: Any) -> Any:
    return tf.layers.dense(tf.placeholder(tf.float32, [3, None]), 2)


@program
def _dense_of_integers_is_an_error(tf: Any) -> Any:
    return tf.layers.dense(tf.constant([[1, 2]]), 2)


@program
def _dense_called_with_another_size_is_an_error(tf: Any) -> Any:
    layer = tf.layers.Dense(4, name="d")
    layer(tf.constant(numbers(3, 4)))
    return layer(tf.constant(numbers(3, 5)))


@values_only
def _dense_of_a_sparse_tensor(tf: Any) -> Any:
    x = tf.SparseTensor([[0, 1], [1, 0], [1, 3]], [1.0, 2.0, 3.0], [3, 4])
    return tf.layers.dense(x, 2, kernel_initializer=tf.constant_initializer(0.5))


@program
def _dense_of_doubles(tf: Any) -> Any:
    return tf.layers.dense(tf.constant(numbers(3, 4).astype(np.float64)), 2)


@values_only
def _gradients_of_dense(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4))
    y = tf.layers.dense(tf.layers.dense(x, 5, activation=tf.nn.sigmoid), 1)
    return tf.gradients(tf.reduce_mean(tf.square(y)), tf.trainable_variables())


@program
def _own_layer(tf: Any) -> Any:
    class Scale(tf.layers.Layer):  # type: ignore[misc, name-defined]
        def build(self, input_shape: Any) -> None:
            self.factor = self.add_variable("factor", [input_shape[-1].value])
            self.count = self.add_weight(
                "count", [], dtype=tf.int32, initializer=tf.zeros_initializer(), trainable=False
            )
            super().build(input_shape)

        def call(self, inputs: Any) -> Any:
            self.add_loss(tf.reduce_sum(inputs), inputs=inputs)
            self.add_update(tf.assign_add(self.count, 1))
            return inputs * self.factor

    layer = Scale()
    outputs = layer(tf.constant(numbers(2, 3)))
    listed = "_".join(v.op.name.replace("/", "-") for v in layer.variables)
    tf.no_op(name=f"variables_{listed}")
    return outputs, layer.losses


# ----------------------------------------------------------------------------- dropout and flatten


@program
def _dropout_while_training(tf: Any) -> Any:
    return tf.layers.dropout(tf.constant(numbers(3, 4)), rate=0.4, training=True)


@program
def _dropout_while_not_training(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4))
    return tf.layers.dropout(x), tf.layers.dropout(x, rate=0.0, training=True)


@program
def _dropout_by_a_tensor(tf: Any) -> Any:
    training = tf.placeholder_with_default(True, [])
    x = tf.constant(numbers(3, 4))
    return tf.layers.dropout(x, 0.5, noise_shape=[None, 1], seed=3, training=training, name="drop")


@program
def _dropout_of_a_wrong_rate_is_an_error(tf: Any) -> Any:
    return tf.layers.dropout(tf.constant(numbers(3, 4)), rate=1.5)


@program
def _flatten_of_all_kinds(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3, 4))
    unknown = tf.placeholder_with_default(x, [None, None, 4])
    batch = tf.placeholder_with_default(x, [None, 3, 4])
    known = tf.placeholder_with_default(x, [2, None, 4])
    return [tf.layers.flatten(value) for value in (x, unknown, batch, known, tf.constant([1.0]))]


@program
def _flatten_of_channels_first(tf: Any) -> Any:
    return tf.layers.flatten(tf.constant(numbers(2, 3, 2, 2)), data_format="channels_first")


# ----------------------------------------------------------------------------------- convolutions


@program
def _conv1d(tf: Any) -> Any:
    x = tf.constant(numbers(2, 7, 3))
    same = tf.layers.conv1d(x, 4, 3, padding="same", activation=tf.nn.relu)
    strided = tf.layers.conv1d(x, 4, 3, strides=2)
    return same, strided, tf.layers.conv1d(x, 2, 3, dilation_rate=2)


@program
def _conv2d(tf: Any) -> Any:
    x = tf.constant(numbers(2, 6, 5, 3))
    same = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu)
    strided = tf.layers.conv2d(x, 4, [3, 2], strides=(2, 1), use_bias=False)
    return same, strided, tf.layers.conv2d(x, 2, 2, dilation_rate=2)


@program
def _conv2d_named_and_reused(tf: Any) -> Any:
    x = tf.constant(numbers(1, 4, 4, 2))
    y = tf.layers.conv2d(x, 2, 3, padding="SAME", name="conv", kernel_regularizer=tf.nn.l2_loss)
    return tf.layers.conv2d(
        y, 2, 3, padding="SAME", name="conv", reuse=True, kernel_regularizer=tf.nn.l2_loss
    )


@program
def _conv3d(tf: Any) -> Any:
    x = tf.constant(numbers(1, 4, 4, 4, 2))
    return tf.layers.conv3d(x, 3, 2, strides=2), tf.layers.conv3d(x, 2, 3, padding="same")


@program
def _conv2d_transpose(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3, 4, 3))
    unknown = tf.placeholder_with_default(x, [None, None, None, 3])
    return [
        tf.layers.conv2d_transpose(x, 2, 3, strides=2, padding="same"),
        tf.layers.conv2d_transpose(x, 2, 3, strides=2, activation=tf.nn.tanh),
        tf.layers.conv2d_transpose(unknown, 2, [3, 1], strides=(2, 3), use_bias=False),
    ]


@program
def _conv3d_transpose(tf: Any) -> Any:
    x = tf.constant(numbers(1, 2, 3, 2, 2))
    return tf.layers.conv3d_transpose(x, 3, 2, strides=2, padding="same")


@program
def _separable_conv1d(tf: Any) -> Any:
    x = tf.constant(numbers(2, 7, 3))
    return tf.layers.separable_conv1d(x, 4, 3, depth_multiplier=2, padding="same")


@program
def _separable_conv2d(tf: Any) -> Any:
    x = tf.constant(numbers(2, 6, 5, 3))
    first = tf.layers.separable_conv2d(x, 4, 3, activation=tf.nn.relu)
    return first, tf.layers.separable_conv2d(x, 2, 3, strides=2, depth_multiplier=2)


@program
def _conv2d_of_unknown_channels_is_an_error(tf: Any) -> Any:
    return tf.layers.conv2d(tf.placeholder(tf.float32, [1, 4, 4, None]), 2, 3)


@program
def _conv2d_of_a_matrix_is_an_error(tf: Any) -> Any:
    return tf.layers.conv2d(tf.constant(numbers(4, 4)), 2, 3)


@program
def _conv2d_of_wrong_padding_is_an_error(tf: Any) -> Any:
    return tf.layers.conv2d(tf.constant(numbers(1, 4, 4, 1)), 2, 3, padding="full")


@program
def _conv2d_of_wrong_sizes_is_an_error(tf: Any) -> Any:
    return tf.layers.conv2d(tf.constant(numbers(1, 4, 4, 1)), 2, (3, 3, 3))


@values_only
def _gradients_of_a_small_cnn(tf: Any) -> Any:
    x = tf.constant(numbers(2, 6, 6, 1))
    y = tf.layers.conv2d(x, 3, 3, activation=tf.nn.relu)
    y = tf.layers.max_pooling2d(y, 2, 2)
    y = tf.layers.dense(tf.layers.flatten(y), 2)
    return tf.gradients(tf.reduce_sum(tf.square(y)), tf.trainable_variables())


# ----------------------------------------------------------------------------------------- pooling


@program
def _pooling1d(tf: Any) -> Any:
    x = tf.constant(numbers(2, 7, 3))
    return tf.layers.max_pooling1d(x, 2, 2), tf.layers.average_pooling1d(x, 3, 2, padding="same")


@program
def _pooling1d_of_channels_first(tf: Any) -> Any:
    return tf.layers.max_pooling1d(
        tf.constant(numbers(2, 3, 7)), 2, 2, data_format="channels_first"
    )


@program
def _pooling2d(tf: Any) -> Any:
    x = tf.constant(numbers(2, 6, 5, 3))
    return (
        tf.layers.max_pooling2d(x, 2, 2),
        tf.layers.average_pooling2d(x, (3, 2), 1, padding="same"),
        tf.layers.max_pooling2d(x, pool_size=3, strides=2, name="pool1"),
    )


@program
def _pooling3d(tf: Any) -> Any:
    x = tf.constant(numbers(1, 4, 4, 4, 2))
    return (
        tf.layers.max_pooling3d(x, 2, 2),
        tf.layers.average_pooling3d(x, 2, 1, padding="same"),
        tf.layers.max_pooling3d(x, 2, 2, data_format="channels_first"),
    )


# --------------------------------------------------------------------------- batch normalization


@program
def _fused_normalization_while_training(tf: Any) -> Any:
    return tf.layers.batch_normalization(tf.constant(numbers(2, 3, 3, 2)), training=True)


@program
def _fused_normalization_while_not_training(tf: Any) -> Any:
    return tf.layers.batch_normalization(tf.constant(numbers(2, 3, 3, 2)), name="norm")


@program
def _fused_normalization_by_a_tensor(tf: Any) -> Any:
    training = tf.placeholder_with_default(True, [])
    x = tf.constant(numbers(2, 3, 3, 2))
    return tf.layers.batch_normalization(x, momentum=0.9, training=training)


@program
def _fused_normalization_without_parameters(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3, 3, 2))
    return tf.layers.batch_normalization(x, center=False, scale=False, training=True)


@program
def _plain_normalization_while_training(tf: Any) -> Any:
    return tf.layers.batch_normalization(tf.constant(numbers(4, 3)), training=True)


@program
def _plain_normalization_while_not_training(tf: Any) -> Any:
    return tf.layers.batch_normalization(tf.constant(numbers(4, 3)))


@program
def _plain_normalization_by_a_tensor(tf: Any) -> Any:
    training = tf.placeholder_with_default(True, [])
    return tf.layers.batch_normalization(tf.constant(numbers(4, 3)), training=training)


@program
def _plain_normalization_of_images(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3, 3, 2))
    along = tf.layers.batch_normalization(x, axis=1, fused=False, training=True)
    return along, tf.layers.batch_normalization(x, axis=[1, 3], training=True)


@program
def _normalization_that_is_not_trained(tf: Any) -> Any:
    x = tf.constant(numbers(4, 3))
    return tf.layers.batch_normalization(x, training=True, trainable=False)


@program
def _normalization_of_halves(tf: Any) -> Any:
    x = tf.constant(numbers(4, 3).astype(np.float16))
    return tf.layers.batch_normalization(x, training=True)


@program
def _renormalization_while_training(tf: Any) -> Any:
    return tf.layers.batch_normalization(
        tf.constant(numbers(4, 3)),
        training=True,
        renorm=True,
        renorm_clipping={"rmin": 0.5, "rmax": 2.0, "dmax": 1.0},
        renorm_momentum=0.8,
    )


@values_only
def _renormalization_by_a_tensor(tf: Any) -> Any:
    training = tf.placeholder_with_default(True, [])
    return tf.layers.batch_normalization(tf.constant(numbers(4, 3)), training=training, renorm=True)


@program
def _normalization_of_virtual_batches(tf: Any) -> Any:
    x = tf.constant(numbers(4, 3))
    return tf.layers.batch_normalization(x, training=True, virtual_batch_size=2)


@program
def _normalization_with_adjustment(tf: Any) -> Any:
    x = tf.constant(numbers(4, 3))

    def adjust(shape: Any) -> Any:
        return tf.fill([shape[0], 1], 1.5), tf.fill([shape[0], 1], 0.5)

    return tf.layers.batch_normalization(x, training=True, adjustment=adjust)


@program
def _normalization_of_a_wrong_axis_is_an_error(tf: Any) -> Any:
    return tf.layers.batch_normalization(tf.constant(numbers(4, 3)), axis=2)


@values_only
def _gradients_of_normalization(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3, 3, 2))
    y = tf.layers.batch_normalization(x, training=True)
    y = tf.layers.batch_normalization(tf.layers.flatten(y), training=True)
    return tf.gradients(tf.reduce_sum(y**3), tf.trainable_variables())


# ---------------------------------------------------------------------------------- unknown ranks


@program
def _flatten_of_unknown_rank(tf: Any) -> Any:
    return tf.layers.flatten(tf.placeholder_with_default(numbers(2, 3, 4), None))


@program
def _pooling_of_unknown_rank(tf: Any) -> Any:
    x = tf.placeholder_with_default(numbers(1, 4, 4, 1), None)
    return tf.layers.max_pooling2d(x, 2, 2)


@program
def _dense_of_unknown_rank_is_an_error(tf: Any) -> Any:
    return tf.layers.dense(tf.placeholder(tf.float32), 2)


@program
def _normalization_of_unknown_rank_is_an_error(tf: Any) -> Any:
    return tf.layers.batch_normalization(tf.placeholder(tf.float32))


@program
def _dense_of_no_tensor_is_an_error(tf: Any) -> Any:
    return tf.layers.dense("a", 2)

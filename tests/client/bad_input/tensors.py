"""Tensors whose content contradicts their description, in messages and as feeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.client.bad_input.writing import FLOAT, case, node, run_nodes


def _const(tf: Any, sess: Any, tensor: str, dtype: str = FLOAT) -> Any:
    return run_nodes(
        tf, sess, "c:0", node("c", "Const", dtype=dtype, value=f"tensor {{ {tensor} }}")
    )


@case("c")
def tensor_content_too_short(tf: Any, sess: Any) -> Any:
    shape = "tensor_shape { dim { size: 4 } }"
    return _const(tf, sess, f"dtype: DT_FLOAT {shape} tensor_content: '1234'")


@case("c")
def tensor_content_too_long(tf: Any, sess: Any) -> Any:
    return _const(tf, sess, "dtype: DT_FLOAT tensor_shape { } tensor_content: '12345678'")


@case("c")
def tensor_of_8_terabytes_from_4_bytes(tf: Any, sess: Any) -> Any:
    shape = "tensor_shape { dim { size: 2000000000000 } }"
    return _const(tf, sess, f"dtype: DT_FLOAT {shape} float_val: 1")


@case("c")
def tensor_of_8_terabytes_from_nothing(tf: Any, sess: Any) -> Any:
    return _const(tf, sess, "dtype: DT_FLOAT tensor_shape { dim { size: 2000000000000 } }")


@case("c")
def tensor_of_negative_size(tf: Any, sess: Any) -> Any:
    return _const(tf, sess, "dtype: DT_FLOAT tensor_shape { dim { size: -5 } } float_val: 1")


@case("c")
def tensor_size_overflows(tf: Any, sess: Any) -> Any:
    dim = "dim { size: 4294967296 }"
    return _const(tf, sess, f"dtype: DT_FLOAT tensor_shape {{ {dim} {dim} {dim} }} float_val: 1")


@case("c")
def tensor_of_rank_300(tf: Any, sess: Any) -> Any:
    shape = "tensor_shape { " + "dim { size: 1 } " * 300 + "}"
    return _const(tf, sess, f"dtype: DT_FLOAT {shape} float_val: 1")


@case("c")
def tensor_of_unknown_rank(tf: Any, sess: Any) -> Any:
    return _const(tf, sess, "dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 1")


@case("c")
def tensor_of_another_dtype(tf: Any, sess: Any) -> Any:
    return _const(tf, sess, "dtype: DT_INT32 tensor_shape { } int_val: 1")


@case("c")
def tensor_of_a_resource(tf: Any, sess: Any) -> Any:
    return _const(tf, sess, "dtype: DT_RESOURCE tensor_shape { }", "type: DT_RESOURCE")


@case("c")
def tensor_of_references(tf: Any, sess: Any) -> Any:
    return _const(tf, sess, "dtype: DT_FLOAT_REF tensor_shape { }", "type: DT_FLOAT_REF")


@case("c")
def tensor_of_invalid_dtype(tf: Any, sess: Any) -> Any:
    return _const(tf, sess, "dtype: DT_INVALID tensor_shape { }", "type: DT_INVALID")


@case("p")
def missing_feed(tf: Any, sess: Any) -> None:
    sess.run(tf.placeholder(tf.float32, name="p") + 1.0)


@case("p")
def feed_of_another_shape(tf: Any, sess: Any) -> None:
    p = tf.placeholder(tf.float32, [2, 3], name="p")
    sess.run(p + 1.0, {p: np.zeros((3, 2))})


@case()
def feed_of_another_dtype(tf: Any, sess: Any) -> None:
    p = tf.placeholder(tf.float32, name="p")
    sess.run(p + 1.0, {p: "words"})


@case()
def feed_of_an_object_array(tf: Any, sess: Any) -> None:
    p = tf.placeholder(tf.float32, name="p")
    sess.run(p + 1.0, {p: np.array([object(), None], object)})


@case()
def feed_of_an_object_array_of_strings(tf: Any, sess: Any) -> None:
    p = tf.placeholder(tf.string, name="p")
    sess.run(tf.identity(p), {p: np.array([object(), None], object)})


@case()
def feed_ragged(tf: Any, sess: Any) -> None:
    p = tf.placeholder(tf.float32, name="p")
    sess.run(p + 1.0, {p: [[1.0, 2.0], [3.0]]})


@case()
def feed_without_strides(tf: Any, sess: Any) -> Any:
    p = tf.placeholder(tf.float32, name="p")
    value = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (32768, 32768), (0, 0))
    return sess.run(tf.shape(p), {p: value})


@case()
def feed_not_in_graph(tf: Any, sess: Any) -> None:
    sess.run(tf.constant(1.0), {"nowhere:0": 1.0})


@case()
def fetch_of_junk(tf: Any, sess: Any) -> None:
    tf.constant(1.0)
    sess.run(37)

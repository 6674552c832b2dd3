"""Results that exceed any memory, or whose size is invalid."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.client.bad_input.writing import (
    FLOAT,
    INT,
    LONG,
    case,
    const,
    floats,
    ints,
    load,
    node,
    run_kernel,
    run_nodes,
)

_HUGE = 2_000_000_000


@case("bad")
def fill_too_large(tf: Any, sess: Any) -> Any:
    return run_kernel(
        tf, sess, "Fill", [ints(_HUGE, _HUGE), np.float32(1)], T=FLOAT, index_type=INT
    )


@case("bad")
def fill_overflows(tf: Any, sess: Any) -> Any:
    dims = ints(_HUGE, _HUGE, _HUGE)
    return run_kernel(tf, sess, "Fill", [dims, np.float32(1)], T=FLOAT, index_type=INT)


@case("bad")
def fill_8_terabytes(tf: Any, sess: Any) -> Any:
    dims = ints(2_000_000, 1_000_000)
    return run_kernel(tf, sess, "Fill", [dims, np.float32(1)], T=FLOAT, index_type=INT)


@case("bad")
def fill_negative(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Fill", [ints(-1), np.float32(1)], T=FLOAT, index_type=INT)


@case("bad")
def fill_with_a_vector(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Fill", [ints(2), floats(3)], T=FLOAT, index_type=INT)


@case("bad")
def reshape_to_another_size(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Reshape", [floats(4), ints(3)], T=FLOAT, Tshape=INT)


@case("bad")
def reshape_with_two_unknowns(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Reshape", [floats(4), ints(-1, -1)], T=FLOAT, Tshape=INT)


@case("bad")
def reshape_negative(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Reshape", [floats(4), ints(-2, -2)], T=FLOAT, Tshape=INT)


@case("bad")
def reshape_overflows(tf: Any, sess: Any) -> Any:
    sizes = np.array([2**62, 2**62, 16], np.int64)
    return run_kernel(tf, sess, "Reshape", [floats(0), sizes], T=FLOAT, Tshape=LONG)


@case("bad")
def reshape_unknown_beside_zero(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Reshape", [floats(4), ints(0, -1)], T=FLOAT, Tshape=INT)


@case("bad")
def tile_too_large(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Tile", [floats(10), ints(_HUGE)], T=FLOAT, Tmultiples=INT)


@case("bad")
def tile_overflows(tf: Any, sess: Any) -> Any:
    multiples = np.array([2**62], np.int64)
    return run_kernel(tf, sess, "Tile", [floats(10), multiples], T=FLOAT, Tmultiples=LONG)


@case("bad")
def tile_negative(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Tile", [floats(2), ints(-1)], T=FLOAT, Tmultiples=INT)


@case("bad")
def tile_of_another_rank(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Tile", [floats(2), ints(1, 2)], T=FLOAT, Tmultiples=INT)


@case("bad")
def range_too_large(tf: Any, sess: Any) -> Any:
    limits = [np.int64(0), np.int64(2**62), np.int64(1)]
    return run_kernel(tf, sess, "Range", limits, Tidx=LONG)


@case("bad")
def range_of_step_zero(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Range", [np.int32(0), np.int32(5), np.int32(0)], Tidx=INT)


@case("bad")
def range_backwards(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Range", [np.int32(5), np.int32(0), np.int32(1)], Tidx=INT)


@case("bad")
def range_of_nan(tf: Any, sess: Any) -> Any:
    limits = [np.float32(0), np.float32("nan"), np.float32(1)]
    return run_kernel(tf, sess, "Range", limits, Tidx=FLOAT)


@case("bad")
def range_to_infinity(tf: Any, sess: Any) -> Any:
    limits = [np.float32(0), np.float32("inf"), np.float32(1)]
    return run_kernel(tf, sess, "Range", limits, Tidx=FLOAT)


@case("bad")
def linspace_too_large(tf: Any, sess: Any) -> Any:
    values = [np.float32(0), np.float32(1), np.int64(2**60)]
    return run_kernel(tf, sess, "LinSpace", values, T=FLOAT, Tidx=LONG)


@case("bad")
def linspace_of_nothing(tf: Any, sess: Any) -> Any:
    values = [np.float32(0), np.float32(1), np.int32(0)]
    return run_kernel(tf, sess, "LinSpace", values, T=FLOAT, Tidx=INT)


@case("bad")
def broadcast_too_large(tf: Any, sess: Any) -> Any:
    sizes = np.array([2**40, 2**20], np.int64)
    return run_kernel(tf, sess, "BroadcastTo", [floats(1), sizes], T=FLOAT, Tidx=LONG)


@case("bad")
def broadcast_to_another_shape(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "BroadcastTo", [floats(2), ints(3)], T=FLOAT, Tidx=INT)


@case("bad")
def broadcast_to_negative(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "BroadcastTo", [floats(2), ints(-3)], T=FLOAT, Tidx=INT)


@case("bad")
def sum_of_shapes_that_do_not_fit(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "AddV2", [floats(2), floats(3)], T=FLOAT)


@case("bad")
def outer_sum_too_large(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "AddV2", [floats(2_000_000, 1), floats(2_000_000)], T=FLOAT)


@case("bad")
def pad_too_large(tf: Any, sess: Any) -> Any:
    paddings = np.array([[2**40, 2**40]], np.int64)
    return run_kernel(tf, sess, "Pad", [floats(1), paddings], T=FLOAT, Tpaddings=LONG)


@case("bad")
def pad_negative(tf: Any, sess: Any) -> Any:
    paddings = np.array([[-1, 0]], np.int32)
    return run_kernel(tf, sess, "Pad", [floats(3), paddings], T=FLOAT, Tpaddings=INT)


@case("bad")
def one_hot_too_large(tf: Any, sess: Any) -> Any:
    values = [np.zeros(2000, np.int32), np.int32(_HUGE), np.float32(1), np.float32(0)]
    return run_kernel(tf, sess, "OneHot", values, T=FLOAT, TI=INT, axis="i: -1")


@case("bad")
def one_hot_of_negative_depth(tf: Any, sess: Any) -> Any:
    values = [ints(1), np.int32(-1), np.float32(1), np.float32(0)]
    return run_kernel(tf, sess, "OneHot", values, T=FLOAT, TI=INT, axis="i: -1")


@case("bad")
def eye_too_large(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "MatrixDiag", [floats(3_000_000)], T=FLOAT)


@case("bad")
def zeros_like_broadcast_gather(tf: Any, sess: Any) -> Any:
    indices = np.zeros((4_000_000,), np.int32)
    values = [floats(1, 1_000_000), indices, np.int32(0)]
    return run_kernel(
        tf, sess, "GatherV2", values, Tparams=FLOAT, Tindices=INT, Taxis=INT, batch_dims="i: 0"
    )


@case("bad")
def random_too_large(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "RandomUniform", [ints(_HUGE, 1000)], T=INT, dtype=FLOAT)


@case("bad")
def random_negative(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "RandomUniform", [ints(-2)], T=INT, dtype=FLOAT)


@case("bad")
def tensor_array_too_large(tf: Any, sess: Any) -> Any:
    load(
        tf,
        const("size", INT, "int_val: 2147483647"),
        node("bad", "TensorArrayV3", "size", dtype=FLOAT),
    )
    return sess.run(sess.graph.get_tensor_by_name("bad:1"))


@case("bad")
def tensor_array_of_negative_size(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "bad:1",
        const("size", INT, "int_val: -2"),
        node("bad", "TensorArrayV3", "size", dtype=FLOAT),
    )


@case("write")
def tensor_array_write_out_of_range(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "write:0",
        const("size", INT, "int_val: 2"),
        const("at", INT, "int_val: 2147483647"),
        const("value", FLOAT, "float_val: 2"),
        node("array", "TensorArrayV3", "size", dtype=FLOAT, dynamic_size="b: true"),
        node("write", "TensorArrayWriteV3", "array", "at", "value", "array:1", T=FLOAT),
    )


@case("read")
def tensor_array_read_negative(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "read:0",
        const("size", INT, "int_val: 2"),
        const("at", INT, "int_val: -1"),
        node("array", "TensorArrayV3", "size", dtype=FLOAT),
        node("read", "TensorArrayReadV3", "array", "at", "array:1", dtype=FLOAT),
    )

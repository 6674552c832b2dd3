"""Numbers, indices and axes that a kernel must refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.client.bad_input.writing import (
    CASES,
    FLOAT,
    INT,
    Case,
    case,
    floats,
    ints,
    node,
    numbers,
    placeholder,
    run_kernel,
    run_nodes,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def _binary(op: str, x: int, y: int) -> Callable[[Any, Any], Any]:
    def do(tf: Any, sess: Any) -> Any:
        return run_kernel(tf, sess, op, [ints(x), ints(y)], T=INT)

    return do


for _op in ("Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod"):
    CASES[f"{_op}_by_zero"] = Case(_binary(_op, 5, 0), "bad")
    CASES[f"{_op}_of_the_smallest_by_minus_one"] = Case(_binary(_op, -(2**31), -1), "bad")
CASES["integer_power_negative"] = Case(_binary("Pow", 2, -1), "bad")


@case("bad")
def gather_out_of_range(tf: Any, sess: Any) -> Any:
    values = [floats(3), ints(3)]
    return run_kernel(tf, sess, "Gather", values, Tparams=FLOAT, Tindices=INT)


@case("bad")
def gather_negative(tf: Any, sess: Any) -> Any:
    values = [floats(3), ints(-1)]
    return run_kernel(tf, sess, "Gather", values, Tparams=FLOAT, Tindices=INT)


@case("bad")
def gather_bad_axis(tf: Any, sess: Any) -> Any:
    values = [floats(3), ints(0), np.int32(4)]
    return run_kernel(
        tf, sess, "GatherV2", values, Tparams=FLOAT, Tindices=INT, Taxis=INT, batch_dims="i: 0"
    )


@case("bad")
def gather_nd_out_of_range(tf: Any, sess: Any) -> Any:
    indices = np.array([[0, 7]], np.int32)
    return run_kernel(tf, sess, "GatherNd", [floats(2, 2), indices], Tparams=FLOAT, Tindices=INT)


@case("bad")
def gather_nd_too_deep(tf: Any, sess: Any) -> Any:
    indices = np.array([[0, 0, 0]], np.int32)
    return run_kernel(tf, sess, "GatherNd", [floats(2, 2), indices], Tparams=FLOAT, Tindices=INT)


@case("bad")
def scatter_nd_out_of_range(tf: Any, sess: Any) -> Any:
    values = [np.array([[9]], np.int32), floats(1), ints(3)]
    return run_kernel(tf, sess, "ScatterNd", values, T=FLOAT, Tindices=INT)


@case("bad")
def scatter_nd_too_large(tf: Any, sess: Any) -> Any:
    values = [np.array([[0, 0]], np.int32), floats(1), ints(2_000_000_000, 2_000_000_000)]
    return run_kernel(tf, sess, "ScatterNd", values, T=FLOAT, Tindices=INT)


@case("bad")
def segment_sum_negative(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "SegmentSum", [floats(2), ints(-1, 0)], T=FLOAT, Tindices=INT)


@case("bad")
def segment_sum_not_sorted(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "SegmentSum", [floats(2), ints(1, 0)], T=FLOAT, Tindices=INT)


@case("bad")
def segment_sum_too_large(tf: Any, sess: Any) -> Any:
    values = [floats(1, 1000), ints(2_000_000_000)]
    return run_kernel(tf, sess, "SegmentSum", values, T=FLOAT, Tindices=INT)


@case("bad")
def unsorted_segment_sum_negative_count(tf: Any, sess: Any) -> Any:
    values = [floats(2), ints(0, 0), np.int32(-4)]
    return run_kernel(
        tf, sess, "UnsortedSegmentSum", values, T=FLOAT, Tindices=INT, Tnumsegments=INT
    )


@case("bad")
def unsorted_segment_sum_out_of_range(tf: Any, sess: Any) -> Any:
    values = [floats(2), ints(0, 9), np.int32(3)]
    return run_kernel(
        tf, sess, "UnsortedSegmentSum", values, T=FLOAT, Tindices=INT, Tnumsegments=INT
    )


@case("bad")
def slice_out_of_range(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Slice", [floats(3), ints(2), ints(5)], T=FLOAT, Index=INT)


@case("bad")
def slice_negative(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Slice", [floats(3), ints(-2), ints(1)], T=FLOAT, Index=INT)


@case("bad")
def strided_slice_of_step_zero(tf: Any, sess: Any) -> Any:
    values = [floats(3), ints(0), ints(3), ints(0)]
    return run_kernel(tf, sess, "StridedSlice", values, T=FLOAT, Index=INT)


@case("bad")
def strided_slice_too_deep(tf: Any, sess: Any) -> Any:
    values = [floats(3), ints(0, 0), ints(1, 1), ints(1, 1)]
    return run_kernel(tf, sess, "StridedSlice", values, T=FLOAT, Index=INT)


@case("bad")
def strided_slice_index_out_of_range(tf: Any, sess: Any) -> Any:
    values = [floats(3), ints(7), ints(8), ints(1)]
    return run_kernel(tf, sess, "StridedSlice", values, T=FLOAT, Index=INT, shrink_axis_mask="i: 1")


@case("bad")
def transpose_not_a_permutation(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Transpose", [floats(2, 3), ints(0, 0)], T=FLOAT, Tperm=INT)


@case("bad")
def transpose_out_of_range(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Transpose", [floats(2, 3), ints(0, 2)], T=FLOAT, Tperm=INT)


@case("bad")
def transpose_of_another_rank(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Transpose", [floats(2, 3), ints(0)], T=FLOAT, Tperm=INT)


@case("bad")
def sum_over_a_bad_axis(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Sum", [floats(2, 3), ints(2)], T=FLOAT, Tidx=INT)


@case("bad")
def sum_over_an_axis_twice(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Sum", [floats(2, 3), ints(0, 0)], T=FLOAT, Tidx=INT)


@case("bad")
def arg_max_over_a_bad_axis(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "ArgMax", [floats(2, 3), np.int32(5)], T=FLOAT, Tidx=INT)


@case("bad")
def arg_max_of_nothing(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "ArgMax", [floats(2, 0), np.int32(1)], T=FLOAT, Tidx=INT)


@case("bad")
def cumsum_over_a_bad_axis(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Cumsum", [floats(2, 3), np.int32(5)], T=FLOAT, Tidx=INT)


@case("bad")
def concat_over_a_bad_axis(tf: Any, sess: Any) -> Any:
    values = [floats(2), floats(2), np.int32(3)]
    return run_kernel(tf, sess, "ConcatV2", values, T=FLOAT, Tidx=INT, N="i: 2")


@case("bad")
def concat_of_shapes_that_do_not_fit(tf: Any, sess: Any) -> Any:
    values = [floats(2, 2), floats(2, 3), np.int32(0)]
    return run_kernel(tf, sess, "ConcatV2", values, T=FLOAT, Tidx=INT, N="i: 2")


@case("bad")
def pack_of_shapes_that_differ(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Pack", [floats(2), floats(3)], T=FLOAT, N="i: 2")


@case("bad")
def unpack_another_number(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Unpack", [floats(2)], T=FLOAT, num="i: 3")


@case("bad")
def split_unevenly(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Split", [np.int32(0), floats(3)], T=FLOAT, num_split="i: 2")


@case("bad")
def split_over_a_bad_axis(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Split", [np.int32(3), floats(3)], T=FLOAT, num_split="i: 3")


@case("bad")
def split_v_of_another_total(tf: Any, sess: Any) -> Any:
    values = [floats(3), ints(1, 1), np.int32(0)]
    return run_kernel(tf, sess, "SplitV", values, T=FLOAT, Tlen=INT, num_split="i: 2")


@case("bad")
def expand_dims_at_a_bad_axis(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "ExpandDims", [floats(3), np.int32(5)], T=FLOAT, Tdim=INT)


@case("bad")
def squeeze_of_more_than_one(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Squeeze", [floats(3)], T=FLOAT, squeeze_dims=numbers(0))


@case("bad")
def reverse_over_a_bad_axis(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "ReverseV2", [floats(3), ints(4)], T=FLOAT, Tidx=INT)


@case("bad")
def matmul_of_shapes_that_do_not_fit(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "MatMul", [floats(2, 3), floats(2, 3)], T=FLOAT)


@case("bad")
def matmul_of_vectors(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "MatMul", [floats(2), floats(2)], T=FLOAT)


@case("bad")
def top_k_of_too_many(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "TopKV2", [floats(3), np.int32(4)], T=FLOAT)


@case("bad")
def top_k_negative(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "TopKV2", [floats(3), np.int32(-4)], T=FLOAT)


@case("bad")
def in_top_k_of_shapes_that_do_not_fit(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "InTopKV2", [floats(3, 4), ints(0, 0), np.int32(1)], T=INT)


@case("bad")
def sparse_to_dense_out_of_range(tf: Any, sess: Any) -> Any:
    values = [ints(9), ints(3), np.float32(1), np.float32(0)]
    return run_kernel(tf, sess, "SparseToDense", values, T=FLOAT, Tindices=INT)


@case("bad")
def stitch_negative(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "DynamicStitch", [ints(-1), floats(1)], T=FLOAT, N="i: 1")


@case("bad")
def stitch_too_large(tf: Any, sess: Any) -> Any:
    values = [ints(2147483646), floats(1, 1000)]
    return run_kernel(tf, sess, "DynamicStitch", values, T=FLOAT, N="i: 1")


@case("bad")
def partition_out_of_range(tf: Any, sess: Any) -> Any:
    values = [floats(1), ints(5)]
    return run_kernel(tf, sess, "DynamicPartition", values, T=FLOAT, num_partitions="i: 2")


@case("bad")
def bincount_too_large(tf: Any, sess: Any) -> Any:
    values = [ints(1), np.int32(-1), floats(0)]
    return run_kernel(tf, sess, "Bincount", values, T=FLOAT)


@case("bad")
def invert_permutation_of_something_else(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "InvertPermutation", [ints(1, 1)], T=INT)


@case("bad")
def reverse_sequence_out_of_range(tf: Any, sess: Any) -> Any:
    values = [floats(2, 3), ints(1, 9)]
    return run_kernel(
        tf, sess, "ReverseSequence", values, T=FLOAT, Tlen=INT, seq_dim="i: 1", batch_dim="i: 0"
    )


@case("bad")
def cross_entropy_label_out_of_range(tf: Any, sess: Any) -> Any:
    values = [floats(1, 3), ints(7)]
    return run_kernel(tf, sess, "SparseSoftmaxCrossEntropyWithLogits", values, T=FLOAT, Tlabels=INT)


@case("bad")
def check_numerics_of_nan(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "CheckNumerics", [np.float32("nan")], T=FLOAT, message=text("hm"))


@case("bad")
def batch_to_space_of_zero(tf: Any, sess: Any) -> Any:
    crops = np.zeros((1, 2), np.int32)
    return run_kernel(
        tf,
        sess,
        "BatchToSpaceND",
        [floats(4, 2), ints(0), crops],
        T=FLOAT,
        Tblock_shape=INT,
        Tcrops=INT,
    )


@case("bad")
def depth_to_space_unevenly(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "DepthToSpace", [floats(1, 1, 1, 3)], T=FLOAT, block_size="i: 2")


@case("bad")
def cholesky_of_something_else(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Cholesky", [-np.eye(2, dtype=np.float32)], T=FLOAT)


@case("bad")
def inverse_of_a_singular_matrix(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "MatrixInverse", [floats(2, 2)], T=FLOAT)


@case("bad")
def string_to_number_of_words(tf: Any, sess: Any) -> Any:
    values = [np.array(["words"], object)]
    return run_kernel(tf, sess, "StringToNumber", values, out_type=FLOAT)


@case("bad")
def substr_out_of_range(tf: Any, sess: Any) -> Any:
    values = [np.array(["abc"], object), ints(9), ints(1)]
    return run_kernel(tf, sess, "Substr", values, T=INT)


@case("bad")
def decode_raw_of_an_odd_length(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "DecodeRaw", [np.array(["abc"], object)], out_type=FLOAT)


@case("bad")
def read_file_that_is_not_there(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "ReadFile", [np.array("/nowhere/at/all", object)])


@case("bad")
def bitcast_to_a_size_that_does_not_fit(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "Bitcast", [floats(3)], T=FLOAT, type="type: DT_DOUBLE")


@case("bad")
def placeholder_default_of_another_shape(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "bad:0",
        placeholder("a", FLOAT),
        node("bad", "EnsureShape", "a", T=FLOAT, shape="shape { dim { size: 2 } dim { size: 3 } }"),
        feeds={"a:0": floats(3, 2)},
    )

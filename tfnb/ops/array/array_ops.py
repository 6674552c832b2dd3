"""All array ops under one name, as in TensorFlow; each family has a file of its own.

A family is imported when one of its names is used: most ops use this module in their gradients
only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfnb.ops.array.concat_ops import concat as concat
    from tfnb.ops.array.concat_ops import concat_offset as concat_offset
    from tfnb.ops.array.concat_ops import concat_v2 as concat_v2
    from tfnb.ops.array.concat_ops import pack as pack
    from tfnb.ops.array.concat_ops import parallel_stack as parallel_stack
    from tfnb.ops.array.concat_ops import split as split
    from tfnb.ops.array.concat_ops import stack as stack
    from tfnb.ops.array.concat_ops import tile as tile
    from tfnb.ops.array.concat_ops import unpack as unpack
    from tfnb.ops.array.concat_ops import unstack as unstack
    from tfnb.ops.array.constant_ops import constant as constant
    from tfnb.ops.array.constant_ops import constant_v1 as constant_v1
    from tfnb.ops.array.constant_ops import fill as fill
    from tfnb.ops.array.constant_ops import ones as ones
    from tfnb.ops.array.constant_ops import ones_like as ones_like
    from tfnb.ops.array.constant_ops import placeholder as placeholder
    from tfnb.ops.array.constant_ops import placeholder_with_default as placeholder_with_default
    from tfnb.ops.array.constant_ops import zeros as zeros
    from tfnb.ops.array.constant_ops import zeros_like as zeros_like
    from tfnb.ops.array.gather_ops import batch_gather as batch_gather
    from tfnb.ops.array.gather_ops import gather as gather
    from tfnb.ops.array.gather_ops import gather_nd as gather_nd
    from tfnb.ops.array.identity_ops import bitcast as bitcast
    from tfnb.ops.array.identity_ops import identity as identity
    from tfnb.ops.array.identity_ops import identity_n as identity_n
    from tfnb.ops.array.identity_ops import prevent_gradient as prevent_gradient
    from tfnb.ops.array.identity_ops import stop_gradient as stop_gradient
    from tfnb.ops.array.matrix_diag_ops import diag as diag
    from tfnb.ops.array.matrix_diag_ops import diag_part as diag_part
    from tfnb.ops.array.matrix_diag_ops import matrix_band_part as matrix_band_part
    from tfnb.ops.array.matrix_diag_ops import matrix_diag as matrix_diag
    from tfnb.ops.array.matrix_diag_ops import matrix_diag_part as matrix_diag_part
    from tfnb.ops.array.matrix_diag_ops import matrix_set_diag as matrix_set_diag
    from tfnb.ops.array.one_hot_ops import one_hot as one_hot
    from tfnb.ops.array.pad_ops import mirror_pad as mirror_pad
    from tfnb.ops.array.pad_ops import pad as pad
    from tfnb.ops.array.scatter_nd_ops import scatter_nd as scatter_nd
    from tfnb.ops.array.shape_ops import broadcast_args as broadcast_args
    from tfnb.ops.array.shape_ops import broadcast_dynamic_shape as broadcast_dynamic_shape
    from tfnb.ops.array.shape_ops import broadcast_gradient_args as broadcast_gradient_args
    from tfnb.ops.array.shape_ops import broadcast_static_shape as broadcast_static_shape
    from tfnb.ops.array.shape_ops import broadcast_to as broadcast_to
    from tfnb.ops.array.shape_ops import ensure_shape as ensure_shape
    from tfnb.ops.array.shape_ops import expand_dims as expand_dims
    from tfnb.ops.array.shape_ops import rank as rank
    from tfnb.ops.array.shape_ops import rank_internal as rank_internal
    from tfnb.ops.array.shape_ops import reshape as reshape
    from tfnb.ops.array.shape_ops import shape as shape
    from tfnb.ops.array.shape_ops import shape_internal as shape_internal
    from tfnb.ops.array.shape_ops import shape_n as shape_n
    from tfnb.ops.array.shape_ops import size as size
    from tfnb.ops.array.shape_ops import size_internal as size_internal
    from tfnb.ops.array.shape_ops import squeeze as squeeze
    from tfnb.ops.array.slice_ops import slice as slice
    from tfnb.ops.array.slice_ops import slice_helper as slice_helper
    from tfnb.ops.array.slice_ops import strided_slice as strided_slice
    from tfnb.ops.array.space_ops import batch_to_space as batch_to_space
    from tfnb.ops.array.space_ops import batch_to_space_nd as batch_to_space_nd
    from tfnb.ops.array.space_ops import depth_to_space as depth_to_space
    from tfnb.ops.array.space_ops import space_to_batch as space_to_batch
    from tfnb.ops.array.space_ops import space_to_batch_nd as space_to_batch_nd
    from tfnb.ops.array.space_ops import space_to_depth as space_to_depth
    from tfnb.ops.array.transpose_ops import invert_permutation as invert_permutation
    from tfnb.ops.array.transpose_ops import matrix_transpose as matrix_transpose
    from tfnb.ops.array.transpose_ops import reverse as reverse
    from tfnb.ops.array.transpose_ops import reverse_sequence as reverse_sequence
    from tfnb.ops.array.transpose_ops import roll as roll
    from tfnb.ops.array.transpose_ops import transpose as transpose
    from tfnb.ops.array.unique_ops import setdiff1d as setdiff1d
    from tfnb.ops.array.where_ops import boolean_mask as boolean_mask
    from tfnb.ops.array.where_ops import where as where
    from tfnb.ops.array.where_ops import where_v2 as where_v2

_FAMILIES = {
    name: family
    for family, names in {
        "concat_ops": (
            "concat concat_offset concat_v2 pack parallel_stack split stack tile unpack unstack"
        ),
        "constant_ops": (
            "constant constant_v1 fill ones ones_like placeholder placeholder_with_default "
            "zeros zeros_like"
        ),
        "gather_ops": "batch_gather gather gather_nd",
        "identity_ops": "bitcast identity identity_n prevent_gradient stop_gradient",
        "matrix_diag_ops": (
            "diag diag_part matrix_band_part matrix_diag matrix_diag_part matrix_set_diag"
        ),
        "one_hot_ops": "one_hot",
        "pad_ops": "mirror_pad pad",
        "scatter_nd_ops": "scatter_nd",
        "shape_ops": (
            "broadcast_args broadcast_dynamic_shape broadcast_gradient_args "
            "broadcast_static_shape broadcast_to ensure_shape expand_dims rank rank_internal "
            "reshape shape shape_internal shape_n size size_internal squeeze"
        ),
        "slice_ops": "slice slice_helper strided_slice",
        "space_ops": (
            "batch_to_space batch_to_space_nd depth_to_space space_to_batch "
            "space_to_batch_nd space_to_depth"
        ),
        "transpose_ops": (
            "invert_permutation matrix_transpose reverse reverse_sequence roll transpose"
        ),
        "unique_ops": "setdiff1d",
        "where_ops": "boolean_mask where where_v2",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    family = _FAMILIES.get(name)
    if family is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"tfnb.ops.array.{family}"), name)
    globals()[name] = found
    return found

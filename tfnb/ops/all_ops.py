"""Imports every family, which registers every op."""

from __future__ import annotations

from tfnb.ops import (  # noqa: F401
    cast_ops,
    clip_ops,
    complex_ops,
    control_flow_ops,
    cwise_binary_ops,
    cwise_unary_ops,
    function_ops,
    math_ops,
    matmul_ops,
    reduction_ops,
    sendrecv_ops,
    sequence_ops,
)

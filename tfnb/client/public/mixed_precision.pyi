# The names of tf.mixed_precision; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.training.loss_scale import (
    MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer,
)
from tfnb.ops.training.loss_scale import (
    disable_mixed_precision_graph_rewrite as disable_mixed_precision_graph_rewrite,
)
from tfnb.ops.training.loss_scale import (
    enable_mixed_precision_graph_rewrite as enable_mixed_precision_graph_rewrite,
)
from tfnb.ops.training.loss_scale import DynamicLossScale as DynamicLossScale
from tfnb.ops.training.loss_scale import FixedLossScale as FixedLossScale
from tfnb.ops.training.loss_scale import LossScale as LossScale

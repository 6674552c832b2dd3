# The names of tf.mixed_precision; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.training.loss_scale import (
    MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer,
)
from tfnb.library.training.loss_scale import (
    disable_mixed_precision_graph_rewrite as disable_mixed_precision_graph_rewrite,
)
from tfnb.library.training.loss_scale import (
    enable_mixed_precision_graph_rewrite as enable_mixed_precision_graph_rewrite,
)
from tfnb.library.training.loss_scale import DynamicLossScale as DynamicLossScale
from tfnb.library.training.loss_scale import FixedLossScale as FixedLossScale
from tfnb.library.training.loss_scale import LossScale as LossScale

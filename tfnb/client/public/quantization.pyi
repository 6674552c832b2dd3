# The names of tf.quantization; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.fake_quant_ops import (
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
)
from tfnb.ops.fake_quant_ops import (
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
)
from tfnb.ops.fake_quant_ops import (
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
)
from tfnb.ops.fake_quant_ops import (
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
from tfnb.ops.fake_quant_ops import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from tfnb.ops.fake_quant_ops import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars

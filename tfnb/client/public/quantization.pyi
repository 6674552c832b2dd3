# The names of tf.quantization; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.quantized.fake_quant_ops import (
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
)
from tfnb.ops.quantized.fake_quant_ops import (
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
)
from tfnb.ops.quantized.fake_quant_ops import (
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
)
from tfnb.ops.quantized.fake_quant_ops import (
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
)
from tfnb.ops.quantized.fake_quant_ops import (
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
)
from tfnb.ops.quantized.fake_quant_ops import (
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
from tfnb.ops.quantized.quantization_ops import dequantize as dequantize
from tfnb.ops.quantized.quantization_ops import quantize as quantize
from tfnb.ops.quantized.quantize_and_dequantize_ops import (
    quantize_and_dequantize as quantize_and_dequantize,
)
from tfnb.ops.quantized.quantize_and_dequantize_ops import (
    quantize_and_dequantize_v2 as quantize_and_dequantize_v2,
)
from tfnb.ops.quantized.quantized_math_ops import quantized_concat as quantized_concat

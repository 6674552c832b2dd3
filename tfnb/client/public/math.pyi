# The names of tf.math; written by scripts/generate_public_names.py.
# ruff: noqa
from typing import Any

from tfnb.library.control_flow.check_ops import is_non_decreasing as is_non_decreasing
from tfnb.library.control_flow.check_ops import is_strictly_increasing as is_strictly_increasing
from tfnb.library.nn.confusion_matrix import confusion_matrix as confusion_matrix
from tfnb.library.nn.nn_ops import l2_normalize as l2_normalize
from tfnb.library.nn.nn_ops import zero_fraction as zero_fraction
from tfnb.ops.array.transpose_ops import invert_permutation as invert_permutation
from tfnb.ops.math.bessel_ops import bessel_i0 as bessel_i0
from tfnb.ops.math.bessel_ops import bessel_i0e as bessel_i0e
from tfnb.ops.math.bessel_ops import bessel_i1 as bessel_i1
from tfnb.ops.math.bessel_ops import bessel_i1e as bessel_i1e
from tfnb.ops.math.comparison_ops import greater as greater
from tfnb.ops.math.comparison_ops import greater_equal as greater_equal
from tfnb.ops.math.comparison_ops import less as less
from tfnb.ops.math.comparison_ops import less_equal as less_equal
from tfnb.ops.math.comparison_ops import logical_and as logical_and
from tfnb.ops.math.comparison_ops import logical_or as logical_or
from tfnb.ops.math.complex_ops import angle as angle
from tfnb.ops.math.complex_ops import imag as imag
from tfnb.ops.math.complex_ops import real as real
from tfnb.ops.math.cwise_binary_ops import atan2 as atan2
from tfnb.ops.math.cwise_binary_ops import floor_mod as floormod
from tfnb.ops.math.cwise_binary_ops import floor_mod as mod
from tfnb.ops.math.cwise_binary_ops import maximum as maximum
from tfnb.ops.math.cwise_binary_ops import minimum as minimum
from tfnb.ops.math.cwise_binary_ops import next_after as nextafter
from tfnb.ops.math.cwise_binary_ops import squared_difference as squared_difference
from tfnb.ops.math.cwise_unary_ops import acosh as acosh
from tfnb.ops.math.cwise_unary_ops import asin as asin
from tfnb.ops.math.cwise_unary_ops import asinh as asinh
from tfnb.ops.math.cwise_unary_ops import atan as atan
from tfnb.ops.math.cwise_unary_ops import atanh as atanh
from tfnb.ops.math.cwise_unary_ops import conj as conj
from tfnb.ops.math.cwise_unary_ops import cos as cos
from tfnb.ops.math.cwise_unary_ops import cosh as cosh
from tfnb.ops.math.cwise_unary_ops import expm1 as expm1
from tfnb.ops.math.cwise_unary_ops import is_finite as is_finite
from tfnb.ops.math.cwise_unary_ops import is_inf as is_inf
from tfnb.ops.math.cwise_unary_ops import is_nan as is_nan
from tfnb.ops.math.cwise_unary_ops import log as log
from tfnb.ops.math.cwise_unary_ops import log1p as log1p
from tfnb.ops.math.cwise_unary_ops import neg as negative
from tfnb.ops.math.cwise_unary_ops import reciprocal as reciprocal
from tfnb.ops.math.cwise_unary_ops import rint as rint
from tfnb.ops.math.cwise_unary_ops import sin as sin
from tfnb.ops.math.cwise_unary_ops import sinh as sinh
from tfnb.ops.math.cwise_unary_ops import square as square
from tfnb.ops.math.cwise_unary_ops import tan as tan
from tfnb.ops.math.cwise_unary_ops import tanh as tanh
from tfnb.ops.math.histogram_ops import bincount as bincount
from tfnb.ops.math.math_ops import abs as abs
from tfnb.ops.math.math_ops import accumulate_n as accumulate_n
from tfnb.ops.math.math_ops import acos as acos
from tfnb.ops.math.math_ops import add as add
from tfnb.ops.math.math_ops import add_n as add_n
from tfnb.ops.math.math_ops import ceil as ceil
from tfnb.ops.math.math_ops import div_no_nan as divide_no_nan
from tfnb.ops.math.math_ops import divide as divide
from tfnb.ops.math.math_ops import equal as equal
from tfnb.ops.math.math_ops import exp as exp
from tfnb.ops.math.math_ops import floor as floor
from tfnb.ops.math.math_ops import floordiv as floordiv
from tfnb.ops.math.math_ops import logical_xor as logical_xor
from tfnb.ops.math.math_ops import multiply as multiply
from tfnb.ops.math.math_ops import multiply_no_nan as multiply_no_nan
from tfnb.ops.math.math_ops import not_equal as not_equal
from tfnb.ops.math.math_ops import polyval as polyval
from tfnb.ops.math.math_ops import pow as pow
from tfnb.ops.math.math_ops import reciprocal_no_nan as reciprocal_no_nan
from tfnb.ops.math.math_ops import round as round
from tfnb.ops.math.math_ops import rsqrt as rsqrt
from tfnb.ops.math.math_ops import scalar_mul as scalar_mul
from tfnb.ops.math.math_ops import sigmoid as sigmoid
from tfnb.ops.math.math_ops import sign as sign
from tfnb.ops.math.math_ops import sqrt as sqrt
from tfnb.ops.math.math_ops import subtract as subtract
from tfnb.ops.math.math_ops import truediv as truediv
from tfnb.ops.math.math_ops import xdivy as xdivy
from tfnb.ops.math.math_ops import xlog1py as xlog1py
from tfnb.ops.math.math_ops import xlogy as xlogy
from tfnb.ops.math.reduction_ops import argmax as argmax
from tfnb.ops.math.reduction_ops import argmin as argmin
from tfnb.ops.math.reduction_ops import count_nonzero as count_nonzero
from tfnb.ops.math.reduction_ops import reduce_all as reduce_all
from tfnb.ops.math.reduction_ops import reduce_any as reduce_any
from tfnb.ops.math.reduction_ops import reduce_euclidean_norm as reduce_euclidean_norm
from tfnb.ops.math.reduction_ops import reduce_logsumexp as reduce_logsumexp
from tfnb.ops.math.reduction_ops import reduce_max as reduce_max
from tfnb.ops.math.reduction_ops import reduce_mean as reduce_mean
from tfnb.ops.math.reduction_ops import reduce_min as reduce_min
from tfnb.ops.math.reduction_ops import reduce_prod as reduce_prod
from tfnb.ops.math.reduction_ops import reduce_std as reduce_std
from tfnb.ops.math.reduction_ops import reduce_sum as reduce_sum
from tfnb.ops.math.reduction_ops import reduce_variance as reduce_variance
from tfnb.ops.math.segment_ops import segment_max as segment_max
from tfnb.ops.math.segment_ops import segment_mean as segment_mean
from tfnb.ops.math.segment_ops import segment_min as segment_min
from tfnb.ops.math.segment_ops import segment_prod as segment_prod
from tfnb.ops.math.segment_ops import segment_sum as segment_sum
from tfnb.ops.math.segment_ops import unsorted_segment_max as unsorted_segment_max
from tfnb.ops.math.segment_ops import unsorted_segment_mean as unsorted_segment_mean
from tfnb.ops.math.segment_ops import unsorted_segment_min as unsorted_segment_min
from tfnb.ops.math.segment_ops import unsorted_segment_prod as unsorted_segment_prod
from tfnb.ops.math.segment_ops import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from tfnb.ops.math.segment_ops import unsorted_segment_sum as unsorted_segment_sum
from tfnb.ops.math.sequence_ops import cumprod as cumprod
from tfnb.ops.math.sequence_ops import cumsum as cumsum
from tfnb.ops.math.sequence_ops import cumulative_logsumexp as cumulative_logsumexp
from tfnb.ops.math.special_math_ops import betainc as betainc
from tfnb.ops.math.special_math_ops import digamma as digamma
from tfnb.ops.math.special_math_ops import erf as erf
from tfnb.ops.math.special_math_ops import erfc as erfc
from tfnb.ops.math.special_math_ops import erfcinv as erfcinv
from tfnb.ops.math.special_math_ops import erfinv as erfinv
from tfnb.ops.math.special_math_ops import igamma as igamma
from tfnb.ops.math.special_math_ops import igammac as igammac
from tfnb.ops.math.special_math_ops import lbeta as lbeta
from tfnb.ops.math.special_math_ops import lgamma as lgamma
from tfnb.ops.math.special_math_ops import ndtri as ndtri
from tfnb.ops.math.special_math_ops import polygamma as polygamma
from tfnb.ops.math.special_math_ops import zeta as zeta
from tfnb.ops.nn.activation_ops import log_sigmoid as log_sigmoid
from tfnb.ops.nn.activation_ops import softplus as softplus
from tfnb.ops.nn.activation_ops import softsign as softsign
from tfnb.ops.nn.softmax_ops import log_softmax as log_softmax
from tfnb.ops.nn.softmax_ops import softmax as softmax
from tfnb.ops.nn.top_k_ops import approx_max_k as approx_max_k
from tfnb.ops.nn.top_k_ops import approx_min_k as approx_min_k
from tfnb.ops.nn.top_k_ops import in_top_k as in_top_k
from tfnb.ops.nn.top_k_ops import top_k as top_k
from tfnb.ops.random.sobol_ops import sobol_sample as sobol_sample

logical_not: Any

__all__ = [
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_n",
    "angle",
    "approx_max_k",
    "approx_min_k",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "betainc",
    "bincount",
    "ceil",
    "confusion_matrix",
    "conj",
    "cos",
    "cosh",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "digamma",
    "divide",
    "divide_no_nan",
    "equal",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "igamma",
    "igammac",
    "imag",
    "in_top_k",
    "invert_permutation",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
    "l2_normalize",
    "lbeta",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log1p",
    "log_sigmoid",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "multiply_no_nan",
    "ndtri",
    "negative",
    "nextafter",
    "not_equal",
    "polygamma",
    "polyval",
    "pow",
    "real",
    "reciprocal",
    "reciprocal_no_nan",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "rint",
    "round",
    "rsqrt",
    "scalar_mul",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sobol_sample",
    "softmax",
    "softplus",
    "softsign",
    "special",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tan",
    "tanh",
    "top_k",
    "truediv",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "xdivy",
    "xlog1py",
    "xlogy",
    "zero_fraction",
    "zeta",
]

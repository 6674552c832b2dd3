# The names of tf.nn; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.nn.convolution import atrous_conv2d as atrous_conv2d
from tfnb.library.nn.convolution import atrous_conv2d_transpose as atrous_conv2d_transpose
from tfnb.library.nn.convolution import conv1d as conv1d
from tfnb.library.nn.convolution import conv1d_transpose as conv1d_transpose
from tfnb.library.nn.convolution import conv2d as conv2d
from tfnb.library.nn.convolution import conv2d_backprop_filter as conv2d_backprop_filter
from tfnb.library.nn.convolution import conv2d_backprop_input as conv2d_backprop_input
from tfnb.library.nn.convolution import conv2d_transpose as conv2d_transpose
from tfnb.library.nn.convolution import conv3d as conv3d
from tfnb.library.nn.convolution import conv3d_backprop_filter_v2 as conv3d_backprop_filter
from tfnb.library.nn.convolution import conv3d_backprop_filter_v2 as conv3d_backprop_filter_v2
from tfnb.library.nn.convolution import conv3d_transpose as conv3d_transpose
from tfnb.library.nn.convolution import conv_transpose as conv_transpose
from tfnb.library.nn.convolution import convolution as convolution
from tfnb.library.nn.cross_entropy import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from tfnb.library.nn.ctc_dense import collapse_repeated as collapse_repeated
from tfnb.library.nn.ctc_dense import ctc_loss_v2 as ctc_loss_v2
from tfnb.library.nn.ctc_dense import ctc_unique_labels as ctc_unique_labels
from tfnb.library.nn.depthwise_convolution import (
    depthwise_conv2d_native_backprop_filter as depthwise_conv2d_backprop_filter,
)
from tfnb.library.nn.depthwise_convolution import (
    depthwise_conv2d_native_backprop_filter as depthwise_conv2d_native_backprop_filter,
)
from tfnb.library.nn.depthwise_convolution import (
    depthwise_conv2d_native_backprop_input as depthwise_conv2d_backprop_input,
)
from tfnb.library.nn.depthwise_convolution import (
    depthwise_conv2d_native_backprop_input as depthwise_conv2d_native_backprop_input,
)
from tfnb.library.nn.depthwise_convolution import depthwise_conv2d as depthwise_conv2d
from tfnb.library.nn.depthwise_convolution import depthwise_conv2d_native as depthwise_conv2d_native
from tfnb.library.nn.depthwise_convolution import separable_conv2d as separable_conv2d
from tfnb.library.nn.dilated_windows import with_space_to_batch as with_space_to_batch
from tfnb.library.nn.embedding_ops import (
    safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
)
from tfnb.library.nn.embedding_ops import embedding_lookup as embedding_lookup
from tfnb.library.nn.embedding_ops import embedding_lookup_sparse as embedding_lookup_sparse
from tfnb.library.nn.losses import compute_average_loss as compute_average_loss
from tfnb.library.nn.losses import scale_regularization_loss as scale_regularization_loss
from tfnb.library.nn.nn_ops import (
    batch_norm_with_global_normalization as batch_norm_with_global_normalization,
)
from tfnb.library.nn.nn_ops import batch_normalization as batch_normalization
from tfnb.library.nn.nn_ops import dropout as dropout
from tfnb.library.nn.nn_ops import fused_batch_norm as fused_batch_norm
from tfnb.library.nn.nn_ops import l2_normalize as l2_normalize
from tfnb.library.nn.nn_ops import moments as moments
from tfnb.library.nn.nn_ops import normalize_moments as normalize_moments
from tfnb.library.nn.nn_ops import relu_layer as relu_layer
from tfnb.library.nn.nn_ops import sufficient_statistics as sufficient_statistics
from tfnb.library.nn.nn_ops import weighted_moments as weighted_moments
from tfnb.library.nn.nn_ops import xw_plus_b as xw_plus_b
from tfnb.library.nn.nn_ops import zero_fraction as zero_fraction
from tfnb.library.nn.pooling import avg_pool as avg_pool
from tfnb.library.nn.pooling import avg_pool as avg_pool2d
from tfnb.library.nn.pooling import avg_pool1d as avg_pool1d
from tfnb.library.nn.pooling import avg_pool3d as avg_pool3d
from tfnb.library.nn.pooling import avg_pool_v2 as avg_pool_v2
from tfnb.library.nn.pooling import max_pool as max_pool
from tfnb.library.nn.pooling import max_pool1d as max_pool1d
from tfnb.library.nn.pooling import max_pool2d as max_pool2d
from tfnb.library.nn.pooling import max_pool3d as max_pool3d
from tfnb.library.nn.pooling import max_pool_v2 as max_pool_v2
from tfnb.library.nn.pooling import max_pool_with_argmax as max_pool_with_argmax
from tfnb.library.nn.pooling import pool as pool
from tfnb.library.nn.sampled_losses import nce_loss as nce_loss
from tfnb.library.nn.sampled_losses import sampled_softmax_loss as sampled_softmax_loss
from tfnb.library.nn.silu import silu as silu
from tfnb.library.nn.silu import silu as swish
from tfnb.library.rnn.dynamic import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from tfnb.library.rnn.dynamic import dynamic_rnn as dynamic_rnn
from tfnb.library.rnn.dynamic import raw_rnn as raw_rnn
from tfnb.library.rnn.static import static_bidirectional_rnn as static_bidirectional_rnn
from tfnb.library.rnn.static import static_rnn as static_rnn
from tfnb.library.rnn.static import static_state_saving_rnn as static_state_saving_rnn
from tfnb.ops.array.space_ops import batch_to_space as batch_to_space
from tfnb.ops.array.space_ops import depth_to_space as depth_to_space
from tfnb.ops.array.space_ops import space_to_batch as space_to_batch
from tfnb.ops.array.space_ops import space_to_depth as space_to_depth
from tfnb.ops.conv.fractional_pooling_ops import fractional_avg_pool as fractional_avg_pool
from tfnb.ops.conv.fractional_pooling_ops import fractional_max_pool as fractional_max_pool
from tfnb.ops.image.image_patch_ops import dilation2d as dilation2d
from tfnb.ops.image.image_patch_ops import erosion2d as erosion2d
from tfnb.ops.math.cwise_unary_ops import tanh as tanh
from tfnb.ops.math.math_ops import sigmoid as sigmoid
from tfnb.ops.nn.activation_ops import crelu as crelu
from tfnb.ops.nn.activation_ops import elu as elu
from tfnb.ops.nn.activation_ops import leaky_relu as leaky_relu
from tfnb.ops.nn.activation_ops import relu as relu
from tfnb.ops.nn.activation_ops import relu6 as relu6
from tfnb.ops.nn.activation_ops import selu as selu
from tfnb.ops.nn.activation_ops import softplus as softplus
from tfnb.ops.nn.activation_ops import softsign as softsign
from tfnb.ops.nn.bias_ops import bias_add as bias_add
from tfnb.ops.nn.candidate_sampling_ops import (
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
)
from tfnb.ops.nn.candidate_sampling_ops import (
    learned_unigram_candidate_sampler as learned_unigram_candidate_sampler,
)
from tfnb.ops.nn.candidate_sampling_ops import (
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
)
from tfnb.ops.nn.candidate_sampling_ops import (
    uniform_candidate_sampler as uniform_candidate_sampler,
)
from tfnb.ops.nn.candidate_sampling_ops import all_candidate_sampler as all_candidate_sampler
from tfnb.ops.nn.candidate_sampling_ops import compute_accidental_hits as compute_accidental_hits
from tfnb.ops.nn.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
)
from tfnb.ops.nn.cross_entropy_ops import (
    softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
)
from tfnb.ops.nn.cross_entropy_ops import (
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
)
from tfnb.ops.nn.cross_entropy_ops import (
    weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
)
from tfnb.ops.nn.cross_entropy_ops import log_poisson_loss as log_poisson_loss
from tfnb.ops.nn.ctc_ops import ctc_beam_search_decoder as ctc_beam_search_decoder
from tfnb.ops.nn.ctc_ops import ctc_beam_search_decoder_v2 as ctc_beam_search_decoder_v2
from tfnb.ops.nn.ctc_ops import ctc_greedy_decoder as ctc_greedy_decoder
from tfnb.ops.nn.ctc_ops import ctc_loss as ctc_loss
from tfnb.ops.nn.local_response_ops import lrn as local_response_normalization
from tfnb.ops.nn.local_response_ops import lrn as lrn
from tfnb.ops.nn.normalization_ops import l2_loss as l2_loss
from tfnb.ops.nn.softmax_ops import log_softmax as log_softmax
from tfnb.ops.nn.softmax_ops import softmax as softmax
from tfnb.ops.nn.top_k_ops import approx_max_k as approx_max_k
from tfnb.ops.nn.top_k_ops import approx_min_k as approx_min_k
from tfnb.ops.nn.top_k_ops import in_top_k as in_top_k
from tfnb.ops.nn.top_k_ops import top_k as top_k
from tfnb.ops.quantized.quantized_nn_ops import quantized_avg_pool as quantized_avg_pool
from tfnb.ops.quantized.quantized_nn_ops import quantized_conv2_d as quantized_conv2d
from tfnb.ops.quantized.quantized_nn_ops import quantized_max_pool as quantized_max_pool
from tfnb.ops.quantized.quantized_nn_ops import quantized_relu_x as quantized_relu_x

__all__ = [
    "all_candidate_sampler",
    "approx_max_k",
    "approx_min_k",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "batch_to_space",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "collapse_repeated",
    "compute_accidental_hits",
    "compute_average_loss",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_backprop_filter",
    "conv3d_backprop_filter_v2",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "ctc_loss_v2",
    "ctc_unique_labels",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dilation2d",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "experimental",
    "fixed_unigram_candidate_sampler",
    "fractional_avg_pool",
    "fractional_max_pool",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_v2",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "quantized_avg_pool",
    "quantized_conv2d",
    "quantized_max_pool",
    "quantized_relu_x",
    "raw_rnn",
    "relu",
    "relu6",
    "relu_layer",
    "rnn_cell",
    "safe_embedding_lookup_sparse",
    "sampled_softmax_loss",
    "scale_regularization_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "with_space_to_batch",
    "xw_plus_b",
    "zero_fraction",
]

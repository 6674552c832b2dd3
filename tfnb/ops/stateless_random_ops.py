"""Random numbers that are a function of a seed tensor."""

from __future__ import annotations

from tfnb.core.op_registry import register_op

stateless_random_uniform = register_op(
    "StatelessRandomUniform",
    "shape: T, seed: Tseed -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "T: {int32, int64} = DT_INT32",
    "Tseed: {int32, int64} = DT_INT64",
)(None)
stateless_random_normal = register_op(
    "StatelessRandomNormal",
    "shape: T, seed: Tseed -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "T: {int32, int64} = DT_INT32",
    "Tseed: {int32, int64} = DT_INT64",
)(None)
stateless_truncated_normal = register_op(
    "StatelessTruncatedNormal",
    "shape: T, seed: Tseed -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "T: {int32, int64} = DT_INT32",
    "Tseed: {int32, int64} = DT_INT64",
)(None)
stateless_random_uniform_int = register_op(
    "StatelessRandomUniformInt",
    "shape: T, seed: Tseed, minval: dtype, maxval: dtype -> output: dtype",
    "dtype: {int32, int64}",
    "T: {int32, int64}",
    "Tseed: {int32, int64} = DT_INT64",
)(None)
stateless_random_uniform_full_int = register_op(
    "StatelessRandomUniformFullInt",
    "shape: T, seed: Tseed -> output: dtype",
    "dtype: {int32, int64, uint32, uint64} = DT_UINT64",
    "T: {int32, int64} = DT_INT32",
    "Tseed: {int32, int64, uint32, uint64} = DT_INT64",
)(None)
stateless_multinomial = register_op(
    "StatelessMultinomial",
    "logits: T, num_samples: int32, seed: Tseed -> output: output_dtype",
    "T: realnumbertype",
    "Tseed: {int32, int64} = DT_INT64",
    "output_dtype: {int32, int64} = DT_INT64",
)(None)
stateless_random_binomial = register_op(
    "StatelessRandomBinomial",
    "shape: S, seed: Tseed, counts: T, probs: T -> output: dtype",
    "S: {int32, int64}",
    "Tseed: {int32, int64} = DT_INT64",
    "T: {half, float, double, int32, int64} = DT_DOUBLE",
    "dtype: {half, float, double, int32, int64} = DT_INT64",
)(None)
stateless_parameterized_truncated_normal = register_op(
    "StatelessParameterizedTruncatedNormal",
    "shape: S, seed: Tseed, means: dtype, stddevs: dtype, minvals: dtype, maxvals: dtype -> output: dtype",
    "S: {int32, int64}",
    "Tseed: {int32, int64} = DT_INT64",
    "dtype: {half, float, double}",
)(None)
stateless_random_poisson = register_op(
    "StatelessRandomPoisson",
    "shape: T, seed: Tseed, lam: Rtype -> output: dtype",
    "Rtype: {half, float, double, int32, int64}",
    "dtype: {half, float, double, int32, int64}",
    "T: {int32, int64}",
    "Tseed: {int32, int64} = DT_INT64",
)(None)
stateless_random_gamma_v2 = register_op(
    "StatelessRandomGammaV2",
    "shape: T, seed: Tseed, alpha: dtype -> output: dtype",
    "dtype: {half, float, double}",
    "T: {int32, int64}",
    "Tseed: {int32, int64} = DT_INT64",
)(None)
stateless_random_uniform_v2 = register_op(
    "StatelessRandomUniformV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "Tshape: {int32, int64} = DT_INT32",
)(None)
stateless_random_normal_v2 = register_op(
    "StatelessRandomNormalV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "Tshape: {int32, int64} = DT_INT32",
)(None)
stateless_truncated_normal_v2 = register_op(
    "StatelessTruncatedNormalV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "Tshape: {int32, int64} = DT_INT32",
)(None)
stateless_random_uniform_int_v2 = register_op(
    "StatelessRandomUniformIntV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: dtype, maxval: dtype -> output: dtype",
    "dtype: {int32, int64, uint32, uint64}",
    "Tshape: {int32, int64} = DT_INT32",
)(None)
stateless_random_uniform_full_int_v2 = register_op(
    "StatelessRandomUniformFullIntV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype",
    "dtype: {int32, int64, uint32, uint64} = DT_UINT64",
    "Tshape: {int32, int64} = DT_INT32",
)(None)
stateless_random_get_key_counter = register_op(
    "StatelessRandomGetKeyCounter",
    "seed: Tseed -> key: uint64, counter: uint64",
    "Tseed: {int32, int64} = DT_INT64",
)(None)
stateless_random_get_alg = register_op("StatelessRandomGetAlg", "-> alg: int32", stateful=True)(
    None
)
stateless_random_get_key_counter_alg = register_op(
    "StatelessRandomGetKeyCounterAlg",
    "seed: Tseed -> key: uint64, counter: uint64, alg: int32",
    "Tseed: {int32, int64} = DT_INT64",
)(None)
stateless_random_gamma_v3 = register_op(
    "StatelessRandomGammaV3",
    "shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: dtype -> output: dtype",
    "dtype: {half, float, double}",
    "shape_dtype: {int32, int64} = DT_INT32",
)(None)
stateless_shuffle = register_op(
    "StatelessShuffle",
    "value: T, key: uint64, counter: uint64, alg: int32 -> output: T",
    "T: type",
)(None)

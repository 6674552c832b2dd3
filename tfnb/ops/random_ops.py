"""Random numbers: TensorFlow's, bit for bit, for the same seeds."""

from __future__ import annotations

from tfnb.core.op_registry import register_op

random_uniform = register_op(
    "RandomUniform",
    "shape: T -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {half, bfloat16, float, double}",
    "T: {int32, int64}",
    stateful=True,
)(None)
random_uniform_int = register_op(
    "RandomUniformInt",
    "shape: T, minval: Tout, maxval: Tout -> output: Tout",
    "seed: int = 0",
    "seed2: int = 0",
    "Tout: {int32, int64}",
    "T: {int32, int64}",
    stateful=True,
)(None)
random_standard_normal = register_op(
    "RandomStandardNormal",
    "shape: T -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {half, bfloat16, float, double}",
    "T: {int32, int64}",
    stateful=True,
)(None)
truncated_normal = register_op(
    "TruncatedNormal",
    "shape: T -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {half, bfloat16, float, double}",
    "T: {int32, int64}",
    stateful=True,
)(None)
parameterized_truncated_normal = register_op(
    "ParameterizedTruncatedNormal",
    "shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {half, bfloat16, float, double}",
    "T: {int32, int64}",
    stateful=True,
)(None)
random_shuffle = register_op(
    "RandomShuffle",
    "value: T -> output: T",
    "seed: int = 0",
    "seed2: int = 0",
    "T: type",
    stateful=True,
)(None)
multinomial = register_op(
    "Multinomial",
    "logits: T, num_samples: int32 -> output: output_dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "T: realnumbertype",
    "output_dtype: {int32, int64} = DT_INT64",
    stateful=True,
)(None)
random_gamma = register_op(
    "RandomGamma",
    "shape: S, alpha: T -> output: T",
    "seed: int = 0",
    "seed2: int = 0",
    "S: {int32, int64}",
    "T: {half, float, double}",
    stateful=True,
)(None)
random_gamma_grad = register_op(
    "RandomGammaGrad", "alpha: T, sample: T -> output: T", "T: {float, double}"
)(None)
random_poisson = register_op(
    "RandomPoisson",
    "shape: S, rate: dtype -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "S: {int32, int64}",
    "dtype: {half, float, double}",
    stateful=True,
    deprecated=(25, ""),
)(None)
random_poisson_v2 = register_op(
    "RandomPoissonV2",
    "shape: S, rate: R -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "S: {int32, int64}",
    "R: {half, float, double, int32, int64} = DT_DOUBLE",
    "dtype: {half, float, double, int32, int64} = DT_INT64",
    stateful=True,
)(None)

# The names of tf.random; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.framework.random_seed import get_seed as get_seed
from tfnb.framework.random_seed import set_random_seed as set_random_seed
from tfnb.library.math.random_generator import Generator as Generator
from tfnb.library.math.random_generator import create_rng_state as create_rng_state
from tfnb.library.math.random_generator import get_global_generator as get_global_generator
from tfnb.library.math.random_generator import set_global_generator as set_global_generator
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
from tfnb.ops.random.random_ops import categorical as categorical
from tfnb.ops.random.random_ops import multinomial as multinomial
from tfnb.ops.random.random_ops import random_gamma as gamma
from tfnb.ops.random.random_ops import random_normal as normal
from tfnb.ops.random.random_ops import random_poisson as poisson
from tfnb.ops.random.random_ops import random_shuffle as shuffle
from tfnb.ops.random.random_ops import random_uniform as uniform
from tfnb.ops.random.random_ops import truncated_normal as truncated_normal
from tfnb.ops.random.stateless_random_ops import (
    stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
)
from tfnb.ops.random.stateless_random_ops import (
    stateless_truncated_normal as stateless_truncated_normal,
)
from tfnb.ops.random.stateless_random_ops import Algorithm as Algorithm
from tfnb.ops.random.stateless_random_ops import fold_in as fold_in
from tfnb.ops.random.stateless_random_ops import split as split
from tfnb.ops.random.stateless_random_ops import stateless_binomial as stateless_binomial
from tfnb.ops.random.stateless_random_ops import stateless_categorical as stateless_categorical
from tfnb.ops.random.stateless_random_ops import stateless_gamma as stateless_gamma
from tfnb.ops.random.stateless_random_ops import stateless_multinomial as stateless_multinomial
from tfnb.ops.random.stateless_random_ops import stateless_normal as stateless_normal
from tfnb.ops.random.stateless_random_ops import stateless_poisson as stateless_poisson
from tfnb.ops.random.stateless_random_ops import stateless_uniform as stateless_uniform

__all__ = [
    "Algorithm",
    "Generator",
    "all_candidate_sampler",
    "categorical",
    "create_rng_state",
    "experimental",
    "fixed_unigram_candidate_sampler",
    "fold_in",
    "gamma",
    "get_global_generator",
    "get_seed",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "poisson",
    "set_global_generator",
    "set_random_seed",
    "shuffle",
    "split",
    "stateless_binomial",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_parameterized_truncated_normal",
    "stateless_poisson",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]

# The names of tf.distributions; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.distributions.discrete import Bernoulli as Bernoulli
from tfnb.ops.distributions.discrete import Categorical as Categorical
from tfnb.ops.distributions.distribution import Distribution as Distribution
from tfnb.ops.distributions.distribution import FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED
from tfnb.ops.distributions.distribution import NOT_REPARAMETERIZED as NOT_REPARAMETERIZED
from tfnb.ops.distributions.distribution import ReparameterizationType as ReparameterizationType
from tfnb.ops.distributions.gamma import Beta as Beta
from tfnb.ops.distributions.gamma import Exponential as Exponential
from tfnb.ops.distributions.gamma import Gamma as Gamma
from tfnb.ops.distributions.kullback_leibler import RegisterKL as RegisterKL
from tfnb.ops.distributions.kullback_leibler import kl_divergence as kl_divergence
from tfnb.ops.distributions.location_scale import Laplace as Laplace
from tfnb.ops.distributions.location_scale import StudentT as StudentT
from tfnb.ops.distributions.location_scale import Uniform as Uniform
from tfnb.ops.distributions.multivariate import Dirichlet as Dirichlet
from tfnb.ops.distributions.multivariate import DirichletMultinomial as DirichletMultinomial
from tfnb.ops.distributions.multivariate import Multinomial as Multinomial
from tfnb.ops.distributions.normal import Normal as Normal

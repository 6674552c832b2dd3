# The names of tf.distributions; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.distributions.discrete import Bernoulli as Bernoulli
from tfnb.library.distributions.discrete import Categorical as Categorical
from tfnb.library.distributions.distribution import Distribution as Distribution
from tfnb.library.distributions.distribution import FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED
from tfnb.library.distributions.distribution import NOT_REPARAMETERIZED as NOT_REPARAMETERIZED
from tfnb.library.distributions.distribution import ReparameterizationType as ReparameterizationType
from tfnb.library.distributions.gamma import Beta as Beta
from tfnb.library.distributions.gamma import Exponential as Exponential
from tfnb.library.distributions.gamma import Gamma as Gamma
from tfnb.library.distributions.kullback_leibler import RegisterKL as RegisterKL
from tfnb.library.distributions.kullback_leibler import kl_divergence as kl_divergence
from tfnb.library.distributions.location_scale import Laplace as Laplace
from tfnb.library.distributions.location_scale import StudentT as StudentT
from tfnb.library.distributions.location_scale import Uniform as Uniform
from tfnb.library.distributions.multivariate import Dirichlet as Dirichlet
from tfnb.library.distributions.multivariate import DirichletMultinomial as DirichletMultinomial
from tfnb.library.distributions.multivariate import Multinomial as Multinomial
from tfnb.library.distributions.normal import Normal as Normal

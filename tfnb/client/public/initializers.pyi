# The names of tf.initializers; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.tables.lookup import tables_initializer as tables_initializer
from tfnb.library.variables.init_ops import constant_initializer as constant
from tfnb.library.variables.init_ops import glorot_normal_initializer as glorot_normal
from tfnb.library.variables.init_ops import glorot_uniform_initializer as glorot_uniform
from tfnb.library.variables.init_ops import he_normal as he_normal
from tfnb.library.variables.init_ops import he_uniform as he_uniform
from tfnb.library.variables.init_ops import identity_initializer as identity
from tfnb.library.variables.init_ops import lecun_normal as lecun_normal
from tfnb.library.variables.init_ops import lecun_uniform as lecun_uniform
from tfnb.library.variables.init_ops import ones_initializer as ones
from tfnb.library.variables.init_ops import orthogonal_initializer as orthogonal
from tfnb.library.variables.init_ops import random_normal_initializer as random_normal
from tfnb.library.variables.init_ops import random_uniform_initializer as random_uniform
from tfnb.library.variables.init_ops import truncated_normal_initializer as truncated_normal
from tfnb.library.variables.init_ops import uniform_unit_scaling_initializer as uniform_unit_scaling
from tfnb.library.variables.init_ops import variance_scaling_initializer as variance_scaling
from tfnb.library.variables.init_ops import zeros_initializer as zeros
from tfnb.library.variables.variables import global_variables_initializer as global_variables
from tfnb.library.variables.variables import local_variables_initializer as local_variables
from tfnb.library.variables.variables import variables_initializer as variables

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "tables_initializer",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]

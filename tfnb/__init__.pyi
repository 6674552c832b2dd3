# The names of tfnb; written by scripts/generate_public_names.py.
# ruff: noqa
from typing import Any

from tfnb.as_tensorflow.doctor import doctor as doctor
from tfnb.as_tensorflow.finder import install_as_tensorflow as install_as_tensorflow
from tfnb.as_tensorflow.finder import uninstall_as_tensorflow as uninstall_as_tensorflow
from tfnb.client.behavior import (
    executing_eagerly_outside_functions as executing_eagerly_outside_functions,
)
from tfnb.client.behavior import disable_eager_execution as disable_eager_execution
from tfnb.client.behavior import disable_tensor_equality as disable_tensor_equality
from tfnb.client.behavior import disable_v2_behavior as disable_v2_behavior
from tfnb.client.behavior import disable_v2_tensorshape as disable_v2_tensorshape
from tfnb.client.behavior import enable_eager_execution as enable_eager_execution
from tfnb.client.behavior import enable_tensor_equality as enable_tensor_equality
from tfnb.client.behavior import enable_v2_behavior as enable_v2_behavior
from tfnb.client.behavior import enable_v2_tensorshape as enable_v2_tensorshape
from tfnb.client.behavior import executing_eagerly as executing_eagerly
from tfnb.client.eager_function import py_function as py_function
from tfnb.client.model import Model as Model
from tfnb.client.model import load as load
from tfnb.client.module import Module as Module
from tfnb.client.public import app as app
from tfnb.client.public import audio as audio
from tfnb.client.public import bitwise as bitwise
from tfnb.client.public import compat as compat
from tfnb.client.public import config as config
from tfnb.client.public import dask as dask
from tfnb.client.public import data as data
from tfnb.client.public import debugger as debugger
from tfnb.client.public import debugging as debugging
from tfnb.client.public import distribute as distribute
from tfnb.client.public import distributions as distributions
from tfnb.client.public import dtypes as dtypes
from tfnb.client.public import errors as errors
from tfnb.client.public import estimator as estimator
from tfnb.client.public import experimental as experimental
from tfnb.client.public import feature_column as feature_column
from tfnb.client.public import flags as flags
from tfnb.client.public import gfile as gfile
from tfnb.client.public import graph_util as graph_util
from tfnb.client.public import image as image
from tfnb.client.public import initializers as initializers
from tfnb.client.public import io as io
from tfnb.client.public import layers as layers
from tfnb.client.public import linalg as linalg
from tfnb.client.public import logging as logging
from tfnb.client.public import lookup as lookup
from tfnb.client.public import losses as losses
from tfnb.client.public import manip as manip
from tfnb.client.public import math as math
from tfnb.client.public import metrics as metrics
from tfnb.client.public import mixed_precision as mixed_precision
from tfnb.client.public import nest as nest
from tfnb.client.public import nn as nn
from tfnb.client.public import onnx as onnx
from tfnb.client.public import profiler as profiler
from tfnb.client.public import python as python
from tfnb.client.public import python_io as python_io
from tfnb.client.public import quantization as quantization
from tfnb.client.public import queue as queue
from tfnb.client.public import ragged as ragged
from tfnb.client.public import random as random
from tfnb.client.public import resource_loader as resource_loader
from tfnb.client.public import safety as safety
from tfnb.client.public import saved_model as saved_model
from tfnb.client.public import sets as sets
from tfnb.client.public import signal as signal
from tfnb.client.public import sparse as sparse
from tfnb.client.public import spectral as spectral
from tfnb.client.public import strings as strings
from tfnb.client.public import summary as summary
from tfnb.client.public import sysconfig as sysconfig
from tfnb.client.public import test as test
from tfnb.client.public import testing as testing
from tfnb.client.public import train as train
from tfnb.client.public import version as version
from tfnb.client.session.session import InteractiveSession as InteractiveSession
from tfnb.client.session.session import Session as Session
from tfnb.client.sysconfig import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from tfnb.client.sysconfig import CXX_VERSION as CXX_VERSION
from tfnb.client.sysconfig import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from tfnb.client.tf_logging import get_logger as get_logger
from tfnb.client.version import COMPILER_VERSION as COMPILER_VERSION
from tfnb.client.version import GIT_VERSION as GIT_VERSION
from tfnb.client.version import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from tfnb.client.version import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from tfnb.client.version import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from tfnb.client.version import VERSION as VERSION
from tfnb.core.device_spec import DeviceSpec as DeviceSpec
from tfnb.core.dtypes import DType as DType
from tfnb.core.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from tfnb.core.dtypes import as_dtype as as_dtype
from tfnb.core.dtypes import bfloat16 as bfloat16
from tfnb.core.dtypes import bool as bool
from tfnb.core.dtypes import complex128 as complex128
from tfnb.core.dtypes import complex64 as complex64
from tfnb.core.dtypes import double as double
from tfnb.core.dtypes import float16 as float16
from tfnb.core.dtypes import float32 as float32
from tfnb.core.dtypes import float64 as float64
from tfnb.core.dtypes import half as half
from tfnb.core.dtypes import int16 as int16
from tfnb.core.dtypes import int32 as int32
from tfnb.core.dtypes import int64 as int64
from tfnb.core.dtypes import int8 as int8
from tfnb.core.dtypes import qint16 as qint16
from tfnb.core.dtypes import qint32 as qint32
from tfnb.core.dtypes import qint8 as qint8
from tfnb.core.dtypes import quint16 as quint16
from tfnb.core.dtypes import quint8 as quint8
from tfnb.core.dtypes import resource as resource
from tfnb.core.dtypes import string as string
from tfnb.core.dtypes import uint16 as uint16
from tfnb.core.dtypes import uint32 as uint32
from tfnb.core.dtypes import uint64 as uint64
from tfnb.core.dtypes import uint8 as uint8
from tfnb.core.dtypes import variant as variant
from tfnb.core.errors import OpError as OpError
from tfnb.core.tensor_shape import Dimension as Dimension
from tfnb.core.tensor_shape import TensorShape as TensorShape
from tfnb.core.tensor_shape import dimension_at_index as dimension_at_index
from tfnb.core.tensor_shape import dimension_value as dimension_value
from tfnb.core.tensor_util import make_ndarray as make_ndarray
from tfnb.core.tensor_util import make_tensor_proto as make_tensor_proto
from tfnb.dask_runtime.sweep import sweep as sweep
from tfnb.framework.collections import GraphKeys as GraphKeys
from tfnb.framework.constant_value import constant_value as get_static_value
from tfnb.framework.convert import (
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from tfnb.framework.convert import convert_to_tensor as convert_to_tensor
from tfnb.framework.convert import is_symbolic_tensor as is_symbolic_tensor
from tfnb.framework.convert import is_tensor as is_tensor
from tfnb.framework.default_graph import get_default_graph as get_default_graph
from tfnb.framework.default_graph import reset_default_graph as reset_default_graph
from tfnb.framework.default_session import get_default_session as get_default_session
from tfnb.framework.gradient_registry import NoGradient as NoGradient
from tfnb.framework.gradient_registry import NotDifferentiable as NotDifferentiable
from tfnb.framework.gradient_registry import RegisterGradient as RegisterGradient
from tfnb.framework.gradient_registry import no_gradient as no_gradient
from tfnb.framework.graph import Graph as Graph
from tfnb.framework.importing.importer import import_graph_def as import_graph_def
from tfnb.framework.indexed_slices import (
    convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices,
)
from tfnb.framework.indexed_slices import IndexedSlices as IndexedSlices
from tfnb.framework.operation import Operation as Operation
from tfnb.framework.random_seed import get_seed as get_seed
from tfnb.framework.random_seed import set_random_seed as set_random_seed
from tfnb.framework.scopes import add_to_collection as add_to_collection
from tfnb.framework.scopes import add_to_collections as add_to_collections
from tfnb.framework.scopes import colocate_with as colocate_with
from tfnb.framework.scopes import container as container
from tfnb.framework.scopes import control_dependencies as control_dependencies
from tfnb.framework.scopes import device as device
from tfnb.framework.scopes import get_collection as get_collection
from tfnb.framework.scopes import get_collection_ref as get_collection_ref
from tfnb.framework.scopes import init_scope as init_scope
from tfnb.framework.scopes import name_scope as name_scope
from tfnb.framework.scopes import op_scope as op_scope
from tfnb.framework.sparse_tensor import (
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
)
from tfnb.framework.sparse_tensor import SparseTensor as SparseTensor
from tfnb.framework.sparse_tensor import SparseTensorValue as SparseTensorValue
from tfnb.framework.tensor import Tensor as Tensor
from tfnb.framework.type_spec import TypeSpec as TypeSpec
from tfnb.library.control_flow.case import case as case
from tfnb.library.control_flow.case import switch_case as switch_case
from tfnb.library.control_flow.check_ops import assert_equal as assert_equal
from tfnb.library.control_flow.check_ops import assert_greater as assert_greater
from tfnb.library.control_flow.check_ops import assert_greater_equal as assert_greater_equal
from tfnb.library.control_flow.check_ops import assert_integer as assert_integer
from tfnb.library.control_flow.check_ops import assert_less as assert_less
from tfnb.library.control_flow.check_ops import assert_less_equal as assert_less_equal
from tfnb.library.control_flow.check_ops import assert_near as assert_near
from tfnb.library.control_flow.check_ops import assert_negative as assert_negative
from tfnb.library.control_flow.check_ops import assert_non_negative as assert_non_negative
from tfnb.library.control_flow.check_ops import assert_non_positive as assert_non_positive
from tfnb.library.control_flow.check_ops import assert_none_equal as assert_none_equal
from tfnb.library.control_flow.check_ops import assert_positive as assert_positive
from tfnb.library.control_flow.check_ops import assert_proper_iterable as assert_proper_iterable
from tfnb.library.control_flow.check_ops import assert_rank as assert_rank
from tfnb.library.control_flow.check_ops import assert_rank_at_least as assert_rank_at_least
from tfnb.library.control_flow.check_ops import assert_rank_in as assert_rank_in
from tfnb.library.control_flow.check_ops import assert_same_float_dtype as assert_same_float_dtype
from tfnb.library.control_flow.check_ops import assert_scalar as assert_scalar
from tfnb.library.control_flow.check_ops import assert_type as assert_type
from tfnb.library.control_flow.check_ops import is_non_decreasing as is_non_decreasing
from tfnb.library.control_flow.check_ops import is_numeric_tensor as is_numeric_tensor
from tfnb.library.control_flow.check_ops import is_strictly_increasing as is_strictly_increasing
from tfnb.library.control_flow.cond import cond as cond
from tfnb.library.control_flow.control_flow import group as group
from tfnb.library.control_flow.control_flow import tuple_ as tuple
from tfnb.library.control_flow.control_flow_assert import assert_ as Assert
from tfnb.library.control_flow.control_flow_toggle import (
    control_flow_v2_enabled as control_flow_v2_enabled,
)
from tfnb.library.control_flow.control_flow_toggle import (
    disable_control_flow_v2 as disable_control_flow_v2,
)
from tfnb.library.control_flow.control_flow_toggle import (
    enable_control_flow_v2 as enable_control_flow_v2,
)
from tfnb.library.control_flow.map_fn import foldl as foldl
from tfnb.library.control_flow.map_fn import foldr as foldr
from tfnb.library.control_flow.map_fn import map_fn as map_fn
from tfnb.library.control_flow.map_fn import scan as scan
from tfnb.library.control_flow.tensor_array import TensorArray as TensorArray
from tfnb.library.control_flow.while_loop import while_loop as while_loop
from tfnb.library.data.ragged_spec import RaggedTensorSpec as RaggedTensorSpec
from tfnb.library.data.structure import SparseTensorSpec as SparseTensorSpec
from tfnb.library.data.tensor_spec import TensorSpec as TensorSpec
from tfnb.library.data.type_specs import IndexedSlicesSpec as IndexedSlicesSpec
from tfnb.library.data.type_specs import NoneTensorSpec as NoneTensorSpec
from tfnb.library.data.type_specs import OptionalSpec as OptionalSpec
from tfnb.library.data.type_specs import TensorArraySpec as TensorArraySpec
from tfnb.library.data.type_specs import type_spec_from_value as type_spec_from_value
from tfnb.library.gradients.custom_gradient import custom_gradient as custom_gradient
from tfnb.library.gradients.custom_gradient import grad_pass_through as grad_pass_through
from tfnb.library.gradients.custom_gradient import recompute_grad as recompute_grad
from tfnb.library.gradients.gradients import UnconnectedGradients as UnconnectedGradients
from tfnb.library.gradients.gradients import gradients as gradients
from tfnb.library.gradients.gradients import hessians as hessians
from tfnb.library.image.image_ops import extract_image_patches as extract_image_patches
from tfnb.library.image.random_crop import random_crop as random_crop
from tfnb.library.mapping.vectorized_map import vectorized_map as vectorized_map
from tfnb.library.math.clip_ops import clip_by_average_norm as clip_by_average_norm
from tfnb.library.math.clip_ops import clip_by_global_norm as clip_by_global_norm
from tfnb.library.math.clip_ops import clip_by_norm as clip_by_norm
from tfnb.library.math.clip_ops import global_norm as global_norm
from tfnb.library.math.clip_ops import saturate_cast as saturate_cast
from tfnb.library.math.histograms import histogram_fixed_width as histogram_fixed_width
from tfnb.library.math.histograms import histogram_fixed_width_bins as histogram_fixed_width_bins
from tfnb.library.math.linalg_ops import matrix_solve_ls as matrix_solve_ls
from tfnb.library.math.linalg_ops import norm as norm
from tfnb.library.math.linalg_ops import self_adjoint_eig as self_adjoint_eig
from tfnb.library.math.linalg_ops import self_adjoint_eigvals as self_adjoint_eigvals
from tfnb.library.math.linalg_ops import svd as svd
from tfnb.library.math.numerics import add_check_numerics_ops as add_check_numerics_ops
from tfnb.library.math.numerics import verify_tensor_all_finite as verify_tensor_all_finite
from tfnb.library.math.sort_ops import argsort as argsort
from tfnb.library.math.sort_ops import sort as sort
from tfnb.library.nn.confusion_matrix import confusion_matrix as confusion_matrix
from tfnb.library.queues.accumulators import (
    ConditionalAccumulatorBase as ConditionalAccumulatorBase,
)
from tfnb.library.queues.accumulators import (
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
from tfnb.library.queues.accumulators import ConditionalAccumulator as ConditionalAccumulator
from tfnb.library.queues.batch_functions import (
    nondifferentiable_batch_function as nondifferentiable_batch_function,
)
from tfnb.library.queues.critical_section import CriticalSection as CriticalSection
from tfnb.library.queues.queues import FIFOQueue as FIFOQueue
from tfnb.library.queues.queues import PaddingFIFOQueue as PaddingFIFOQueue
from tfnb.library.queues.queues import PriorityQueue as PriorityQueue
from tfnb.library.queues.queues import QueueBase as QueueBase
from tfnb.library.queues.queues import RandomShuffleQueue as RandomShuffleQueue
from tfnb.library.queues.record_readers import FixedLengthRecordReader as FixedLengthRecordReader
from tfnb.library.queues.record_readers import IdentityReader as IdentityReader
from tfnb.library.queues.record_readers import ReaderBase as ReaderBase
from tfnb.library.queues.record_readers import TFRecordReader as TFRecordReader
from tfnb.library.queues.record_readers import TextLineReader as TextLineReader
from tfnb.library.queues.record_readers import WholeFileReader as WholeFileReader
from tfnb.library.ragged.ragged_tensor import RaggedTensor as RaggedTensor
from tfnb.library.ragged.string_split import string_split as string_split
from tfnb.library.sparse.sparse_functions import (
    sparse_reduce_max_sparse as sparse_reduce_max_sparse,
)
from tfnb.library.sparse.sparse_functions import (
    sparse_reduce_sum_sparse as sparse_reduce_sum_sparse,
)
from tfnb.library.sparse.sparse_functions import deserialize_many_sparse as deserialize_many_sparse
from tfnb.library.sparse.sparse_functions import serialize_many_sparse as serialize_many_sparse
from tfnb.library.sparse.sparse_functions import serialize_sparse as serialize_sparse
from tfnb.library.sparse.sparse_functions import sparse_add as sparse_add
from tfnb.library.sparse.sparse_functions import sparse_concat as sparse_concat
from tfnb.library.sparse.sparse_functions import sparse_mask as sparse_mask
from tfnb.library.sparse.sparse_functions import sparse_maximum as sparse_maximum
from tfnb.library.sparse.sparse_functions import sparse_merge as sparse_merge
from tfnb.library.sparse.sparse_functions import sparse_minimum as sparse_minimum
from tfnb.library.sparse.sparse_functions import sparse_reduce_max as sparse_reduce_max
from tfnb.library.sparse.sparse_functions import sparse_reduce_sum as sparse_reduce_sum
from tfnb.library.sparse.sparse_functions import sparse_reset_shape as sparse_reset_shape
from tfnb.library.sparse.sparse_functions import sparse_reshape as sparse_reshape
from tfnb.library.sparse.sparse_functions import sparse_retain as sparse_retain
from tfnb.library.sparse.sparse_functions import sparse_softmax as sparse_softmax
from tfnb.library.sparse.sparse_functions import sparse_split as sparse_split
from tfnb.library.sparse.sparse_functions import sparse_to_indicator as sparse_to_indicator
from tfnb.library.sparse.sparse_functions import sparse_transpose as sparse_transpose
from tfnb.library.tables.lookup import initialize_all_tables as initialize_all_tables
from tfnb.library.tables.lookup import tables_initializer as tables_initializer
from tfnb.library.tables.parsing_features import (
    parse_single_sequence_example as parse_single_sequence_example,
)
from tfnb.library.tables.parsing_features import FixedLenFeature as FixedLenFeature
from tfnb.library.tables.parsing_features import FixedLenSequenceFeature as FixedLenSequenceFeature
from tfnb.library.tables.parsing_features import SparseFeature as SparseFeature
from tfnb.library.tables.parsing_features import VarLenFeature as VarLenFeature
from tfnb.library.tables.parsing_features import parse_example as parse_example
from tfnb.library.tables.parsing_features import parse_single_example as parse_single_example
from tfnb.library.variables.init_ops import (
    truncated_normal_initializer as truncated_normal_initializer,
)
from tfnb.library.variables.init_ops import (
    uniform_unit_scaling_initializer as uniform_unit_scaling_initializer,
)
from tfnb.library.variables.init_ops import (
    variance_scaling_initializer as variance_scaling_initializer,
)
from tfnb.library.variables.init_ops import constant_initializer as constant_initializer
from tfnb.library.variables.init_ops import glorot_normal_initializer as glorot_normal_initializer
from tfnb.library.variables.init_ops import glorot_uniform_initializer as glorot_uniform_initializer
from tfnb.library.variables.init_ops import ones_initializer as ones_initializer
from tfnb.library.variables.init_ops import orthogonal_initializer as orthogonal_initializer
from tfnb.library.variables.init_ops import random_normal_initializer as random_normal_initializer
from tfnb.library.variables.init_ops import random_uniform_initializer as random_uniform_initializer
from tfnb.library.variables.init_ops import zeros_initializer as zeros_initializer
from tfnb.library.variables.partitioned_creation import (
    create_partitioned_variables as create_partitioned_variables,
)
from tfnb.library.variables.partitioned_variable import (
    fixed_size_partitioner as fixed_size_partitioner,
)
from tfnb.library.variables.partitioned_variable import (
    min_max_variable_partitioner as min_max_variable_partitioner,
)
from tfnb.library.variables.partitioned_variable import (
    variable_axis_size_partitioner as variable_axis_size_partitioner,
)
from tfnb.library.variables.resource_variables_toggle import (
    disable_resource_variables as disable_resource_variables,
)
from tfnb.library.variables.resource_variables_toggle import (
    enable_resource_variables as enable_resource_variables,
)
from tfnb.library.variables.resource_variables_toggle import (
    resource_variables_enabled as resource_variables_enabled,
)
from tfnb.library.variables.template import make_template as make_template
from tfnb.library.variables.variable_scope import VariableScope as VariableScope
from tfnb.library.variables.variable_scope import get_local_variable as get_local_variable
from tfnb.library.variables.variable_scope import get_variable as get_variable
from tfnb.library.variables.variable_scope import get_variable_scope as get_variable_scope
from tfnb.library.variables.variable_scope import variable_op_scope as variable_op_scope
from tfnb.library.variables.variable_scope import variable_scope as variable_scope
from tfnb.library.variables.variable_store import AUTO_REUSE as AUTO_REUSE
from tfnb.library.variables.variable_store import no_regularizer as no_regularizer
from tfnb.library.variables.variables import (
    assert_variables_initialized as assert_variables_initialized,
)
from tfnb.library.variables.variables import (
    global_variables_initializer as global_variables_initializer,
)
from tfnb.library.variables.variables import (
    initialize_local_variables as initialize_local_variables,
)
from tfnb.library.variables.variables import (
    local_variables_initializer as local_variables_initializer,
)
from tfnb.library.variables.variables import (
    report_uninitialized_variables as report_uninitialized_variables,
)
from tfnb.library.variables.variables import Variable as Variable
from tfnb.library.variables.variables import Variable as VariableV1
from tfnb.library.variables.variables import VariableAggregation as VariableAggregation
from tfnb.library.variables.variables import VariableSynchronization as VariableSynchronization
from tfnb.library.variables.variables import all_variables as all_variables
from tfnb.library.variables.variables import global_variables as global_variables
from tfnb.library.variables.variables import initialize_all_variables as initialize_all_variables
from tfnb.library.variables.variables import initialize_variables as initialize_variables
from tfnb.library.variables.variables import local_variables as local_variables
from tfnb.library.variables.variables import model_variables as model_variables
from tfnb.library.variables.variables import moving_average_variables as moving_average_variables
from tfnb.library.variables.variables import trainable_variables as trainable_variables
from tfnb.library.variables.variables import variable_creator_scope as variable_creator_scope
from tfnb.library.variables.variables import variable_creator_scope as variable_creator_scope_v1
from tfnb.library.variables.variables import variables_initializer as variables_initializer
from tfnb.ops.array.array_extras import fingerprint as fingerprint
from tfnb.ops.array.array_extras import meshgrid as meshgrid
from tfnb.ops.array.array_extras import sequence_mask as sequence_mask
from tfnb.ops.array.array_extras import unravel_index as unravel_index
from tfnb.ops.array.cast_ops import cast as cast
from tfnb.ops.array.cast_ops import to_bfloat16 as to_bfloat16
from tfnb.ops.array.cast_ops import to_complex128 as to_complex128
from tfnb.ops.array.cast_ops import to_complex64 as to_complex64
from tfnb.ops.array.cast_ops import to_double as to_double
from tfnb.ops.array.cast_ops import to_float as to_float
from tfnb.ops.array.cast_ops import to_int32 as to_int32
from tfnb.ops.array.cast_ops import to_int64 as to_int64
from tfnb.ops.array.concat_ops import concat as concat
from tfnb.ops.array.concat_ops import parallel_stack as parallel_stack
from tfnb.ops.array.concat_ops import split as split
from tfnb.ops.array.concat_ops import stack as stack
from tfnb.ops.array.concat_ops import tile as tile
from tfnb.ops.array.concat_ops import unstack as unstack
from tfnb.ops.array.constant_ops import constant as constant
from tfnb.ops.array.constant_ops import fill as fill
from tfnb.ops.array.constant_ops import guarantee_const as guarantee_const
from tfnb.ops.array.constant_ops import ones as ones
from tfnb.ops.array.constant_ops import ones_like as ones_like
from tfnb.ops.array.constant_ops import placeholder as placeholder
from tfnb.ops.array.constant_ops import placeholder_with_default as placeholder_with_default
from tfnb.ops.array.constant_ops import zeros as zeros
from tfnb.ops.array.constant_ops import zeros_like as zeros_like
from tfnb.ops.array.data_flow_ops import dynamic_partition as dynamic_partition
from tfnb.ops.array.data_flow_ops import dynamic_stitch as dynamic_stitch
from tfnb.ops.array.gather_ops import batch_gather as batch_gather
from tfnb.ops.array.gather_ops import gather as gather
from tfnb.ops.array.gather_ops import gather_nd as gather_nd
from tfnb.ops.array.identity_ops import bitcast as bitcast
from tfnb.ops.array.identity_ops import identity as identity
from tfnb.ops.array.identity_ops import identity_n as identity_n
from tfnb.ops.array.identity_ops import stop_gradient as stop_gradient
from tfnb.ops.array.matrix_diag_ops import diag as diag
from tfnb.ops.array.matrix_diag_ops import diag_part as diag_part
from tfnb.ops.array.matrix_diag_ops import matrix_band_part as matrix_band_part
from tfnb.ops.array.matrix_diag_ops import matrix_diag as matrix_diag
from tfnb.ops.array.matrix_diag_ops import matrix_diag_part as matrix_diag_part
from tfnb.ops.array.matrix_diag_ops import matrix_set_diag as matrix_set_diag
from tfnb.ops.array.one_hot_ops import one_hot as one_hot
from tfnb.ops.array.pad_ops import pad as pad
from tfnb.ops.array.repeat_ops import repeat as repeat
from tfnb.ops.array.scatter_nd_ops import scatter_nd as scatter_nd
from tfnb.ops.array.scatter_nd_ops import tensor_scatter_nd_add as tensor_scatter_add
from tfnb.ops.array.scatter_nd_ops import tensor_scatter_nd_add as tensor_scatter_nd_add
from tfnb.ops.array.scatter_nd_ops import tensor_scatter_nd_max as tensor_scatter_nd_max
from tfnb.ops.array.scatter_nd_ops import tensor_scatter_nd_min as tensor_scatter_nd_min
from tfnb.ops.array.scatter_nd_ops import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from tfnb.ops.array.scatter_nd_ops import tensor_scatter_nd_sub as tensor_scatter_sub
from tfnb.ops.array.scatter_nd_ops import tensor_scatter_nd_update as tensor_scatter_nd_update
from tfnb.ops.array.scatter_nd_ops import tensor_scatter_nd_update as tensor_scatter_update
from tfnb.ops.array.shape_ops import broadcast_dynamic_shape as broadcast_dynamic_shape
from tfnb.ops.array.shape_ops import broadcast_static_shape as broadcast_static_shape
from tfnb.ops.array.shape_ops import broadcast_to as broadcast_to
from tfnb.ops.array.shape_ops import ensure_shape as ensure_shape
from tfnb.ops.array.shape_ops import expand_dims as expand_dims
from tfnb.ops.array.shape_ops import rank as rank
from tfnb.ops.array.shape_ops import reshape as reshape
from tfnb.ops.array.shape_ops import shape as shape
from tfnb.ops.array.shape_ops import shape_n as shape_n
from tfnb.ops.array.shape_ops import size as size
from tfnb.ops.array.shape_ops import squeeze as squeeze
from tfnb.ops.array.slice_ops import slice as slice
from tfnb.ops.array.slice_ops import strided_slice as strided_slice
from tfnb.ops.array.space_ops import (
    required_space_to_batch_paddings as required_space_to_batch_paddings,
)
from tfnb.ops.array.space_ops import batch_to_space as batch_to_space
from tfnb.ops.array.space_ops import batch_to_space_nd as batch_to_space_nd
from tfnb.ops.array.space_ops import depth_to_space as depth_to_space
from tfnb.ops.array.space_ops import space_to_batch as space_to_batch
from tfnb.ops.array.space_ops import space_to_batch_nd as space_to_batch_nd
from tfnb.ops.array.space_ops import space_to_depth as space_to_depth
from tfnb.ops.array.transpose_ops import invert_permutation as invert_permutation
from tfnb.ops.array.transpose_ops import matrix_transpose as matrix_transpose
from tfnb.ops.array.transpose_ops import reverse as reverse
from tfnb.ops.array.transpose_ops import reverse as reverse_v2
from tfnb.ops.array.transpose_ops import reverse_sequence as reverse_sequence
from tfnb.ops.array.transpose_ops import roll as roll
from tfnb.ops.array.transpose_ops import transpose as transpose
from tfnb.ops.array.unique_ops import setdiff1d as setdiff1d
from tfnb.ops.array.unique_ops import unique_v1 as unique
from tfnb.ops.array.unique_ops import unique_with_counts_v1 as unique_with_counts
from tfnb.ops.array.where_ops import boolean_mask as boolean_mask
from tfnb.ops.array.where_ops import where as where
from tfnb.ops.array.where_ops import where_v2 as where_v2
from tfnb.ops.control.control_flow_ops import no_op as no_op
from tfnb.ops.control.script_ops import numpy_function as numpy_function
from tfnb.ops.control.script_ops import py_func as py_func
from tfnb.ops.image.image_patch_ops import extract_volume_patches as extract_volume_patches
from tfnb.ops.io.io_ops import matching_files as matching_files
from tfnb.ops.io.io_ops import read_file as read_file
from tfnb.ops.io.io_ops import write_file as write_file
from tfnb.ops.io.logging_ops import Print as Print
from tfnb.ops.io.logging_ops import print_ as print
from tfnb.ops.io.logging_ops import timestamp as timestamp
from tfnb.ops.io.parsing_ops import decode_compressed as decode_compressed
from tfnb.ops.io.parsing_ops import decode_csv as decode_csv
from tfnb.ops.io.parsing_ops import decode_json_example as decode_json_example
from tfnb.ops.io.parsing_ops import decode_raw as decode_raw
from tfnb.ops.io.parsing_ops import parse_tensor as parse_tensor
from tfnb.ops.io.parsing_ops import serialize_tensor as serialize_tensor
from tfnb.ops.linalg.einsum_ops import einsum as einsum
from tfnb.ops.linalg.matrix_decomposition_ops import cholesky as cholesky
from tfnb.ops.linalg.matrix_decomposition_ops import matrix_square_root as matrix_square_root
from tfnb.ops.linalg.matrix_decomposition_ops import qr as qr
from tfnb.ops.linalg.matrix_functions import cholesky_solve as cholesky_solve
from tfnb.ops.linalg.matrix_functions import eye as eye
from tfnb.ops.linalg.matrix_functions import matrix_triangular_solve as matrix_triangular_solve
from tfnb.ops.linalg.matrix_solve_ops import matrix_determinant as matrix_determinant
from tfnb.ops.linalg.matrix_solve_ops import matrix_inverse as matrix_inverse
from tfnb.ops.linalg.matrix_solve_ops import matrix_solve as matrix_solve
from tfnb.ops.math.clip_value_ops import clip_by_value as clip_by_value
from tfnb.ops.math.comparison_ops import greater as greater
from tfnb.ops.math.comparison_ops import greater_equal as greater_equal
from tfnb.ops.math.comparison_ops import less as less
from tfnb.ops.math.comparison_ops import less_equal as less_equal
from tfnb.ops.math.comparison_ops import logical_and as logical_and
from tfnb.ops.math.comparison_ops import logical_or as logical_or
from tfnb.ops.math.complex_ops import angle as angle
from tfnb.ops.math.complex_ops import complex_ as complex
from tfnb.ops.math.complex_ops import imag as imag
from tfnb.ops.math.complex_ops import real as real
from tfnb.ops.math.cwise_binary_ops import atan2 as atan2
from tfnb.ops.math.cwise_binary_ops import floor_div as floor_div
from tfnb.ops.math.cwise_binary_ops import floor_mod as floormod
from tfnb.ops.math.cwise_binary_ops import floor_mod as mod
from tfnb.ops.math.cwise_binary_ops import maximum as maximum
from tfnb.ops.math.cwise_binary_ops import minimum as minimum
from tfnb.ops.math.cwise_binary_ops import real_div as realdiv
from tfnb.ops.math.cwise_binary_ops import squared_difference as squared_difference
from tfnb.ops.math.cwise_binary_ops import truncate_div as truncatediv
from tfnb.ops.math.cwise_binary_ops import truncate_mod as truncatemod
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
from tfnb.ops.math.math_ops import div as div
from tfnb.ops.math.math_ops import div_no_nan as div_no_nan
from tfnb.ops.math.math_ops import divide as divide
from tfnb.ops.math.math_ops import equal as equal
from tfnb.ops.math.math_ops import exp as exp
from tfnb.ops.math.math_ops import floor as floor
from tfnb.ops.math.math_ops import floordiv as floordiv
from tfnb.ops.math.math_ops import logical_xor as logical_xor
from tfnb.ops.math.math_ops import multiply as multiply
from tfnb.ops.math.math_ops import not_equal as not_equal
from tfnb.ops.math.math_ops import pow as pow
from tfnb.ops.math.math_ops import round as round
from tfnb.ops.math.math_ops import rsqrt as rsqrt
from tfnb.ops.math.math_ops import scalar_mul as scalar_mul
from tfnb.ops.math.math_ops import sigmoid as sigmoid
from tfnb.ops.math.math_ops import sign as sign
from tfnb.ops.math.math_ops import sqrt as sqrt
from tfnb.ops.math.math_ops import subtract as subtract
from tfnb.ops.math.math_ops import tensordot as tensordot
from tfnb.ops.math.math_ops import trace as trace
from tfnb.ops.math.math_ops import truediv as truediv
from tfnb.ops.math.matmul_ops import matmul as matmul
from tfnb.ops.math.matmul_ops import sparse_mat_mul as sparse_matmul
from tfnb.ops.math.numerics_ops import check_numerics as check_numerics
from tfnb.ops.math.reduction_ops import arg_max as arg_max
from tfnb.ops.math.reduction_ops import arg_min as arg_min
from tfnb.ops.math.reduction_ops import argmax as argmax
from tfnb.ops.math.reduction_ops import argmin as argmin
from tfnb.ops.math.reduction_ops import count_nonzero as count_nonzero
from tfnb.ops.math.reduction_ops import reduce_all as reduce_all
from tfnb.ops.math.reduction_ops import reduce_any as reduce_any
from tfnb.ops.math.reduction_ops import reduce_logsumexp as reduce_logsumexp
from tfnb.ops.math.reduction_ops import reduce_max as reduce_max
from tfnb.ops.math.reduction_ops import reduce_mean as reduce_mean
from tfnb.ops.math.reduction_ops import reduce_min as reduce_min
from tfnb.ops.math.reduction_ops import reduce_prod as reduce_prod
from tfnb.ops.math.reduction_ops import reduce_sum as reduce_sum
from tfnb.ops.math.searchsorted_ops import searchsorted as searchsorted
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
from tfnb.ops.math.sequence_ops import cross as cross
from tfnb.ops.math.sequence_ops import cumprod as cumprod
from tfnb.ops.math.sequence_ops import cumsum as cumsum
from tfnb.ops.math.sequence_ops import linspace as lin_space
from tfnb.ops.math.sequence_ops import linspace as linspace
from tfnb.ops.math.sequence_ops import range_ as range
from tfnb.ops.math.sparse_segment_ops import sparse_segment_mean as sparse_segment_mean
from tfnb.ops.math.sparse_segment_ops import sparse_segment_sqrt_n as sparse_segment_sqrt_n
from tfnb.ops.math.sparse_segment_ops import sparse_segment_sum as sparse_segment_sum
from tfnb.ops.math.special_math_ops import betainc as betainc
from tfnb.ops.math.special_math_ops import digamma as digamma
from tfnb.ops.math.special_math_ops import erf as erf
from tfnb.ops.math.special_math_ops import erfc as erfc
from tfnb.ops.math.special_math_ops import igamma as igamma
from tfnb.ops.math.special_math_ops import igammac as igammac
from tfnb.ops.math.special_math_ops import lbeta as lbeta
from tfnb.ops.math.special_math_ops import lgamma as lgamma
from tfnb.ops.math.special_math_ops import polygamma as polygamma
from tfnb.ops.math.special_math_ops import zeta as zeta
from tfnb.ops.nn.activation_ops import log_sigmoid as log_sigmoid
from tfnb.ops.nn.top_k_ops import approx_top_k as approx_top_k
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
from tfnb.ops.quantized.quantization_ops import quantize_v2 as quantize_v2
from tfnb.ops.quantized.quantized_math_ops import quantized_concat as quantized_concat
from tfnb.ops.random.random_index_shuffle_ops import random_index_shuffle as random_index_shuffle
from tfnb.ops.random.random_ops import multinomial as multinomial
from tfnb.ops.random.random_ops import random_gamma as random_gamma
from tfnb.ops.random.random_ops import random_normal as random_normal
from tfnb.ops.random.random_ops import random_poisson as random_poisson
from tfnb.ops.random.random_ops import random_shuffle as random_shuffle
from tfnb.ops.random.random_ops import random_uniform as random_uniform
from tfnb.ops.random.random_ops import truncated_normal as truncated_normal
from tfnb.ops.signal.fft_ops import fft as fft
from tfnb.ops.signal.fft_ops import fft2d as fft2d
from tfnb.ops.signal.fft_ops import fft3d as fft3d
from tfnb.ops.signal.fft_ops import ifft as ifft
from tfnb.ops.signal.fft_ops import ifft2d as ifft2d
from tfnb.ops.signal.fft_ops import ifft3d as ifft3d
from tfnb.ops.sparse.ragged_ops import ragged_fill_empty_rows as ragged_fill_empty_rows
from tfnb.ops.sparse.ragged_ops import ragged_fill_empty_rows_grad as ragged_fill_empty_rows_grad
from tfnb.ops.sparse.set_ops import edit_distance as edit_distance
from tfnb.ops.sparse.sparse_ops import sparse_fill_empty_rows as sparse_fill_empty_rows
from tfnb.ops.sparse.sparse_ops import sparse_placeholder as sparse_placeholder
from tfnb.ops.sparse.sparse_ops import sparse_reorder as sparse_reorder
from tfnb.ops.sparse.sparse_ops import sparse_slice as sparse_slice
from tfnb.ops.sparse.sparse_ops import sparse_tensor_dense_matmul as sparse_tensor_dense_matmul
from tfnb.ops.sparse.sparse_ops import sparse_tensor_to_dense as sparse_tensor_to_dense
from tfnb.ops.sparse.sparse_ops import sparse_to_dense as sparse_to_dense
from tfnb.ops.state.session_ops import delete_session_tensor as delete_session_tensor
from tfnb.ops.state.session_ops import get_session_handle as get_session_handle
from tfnb.ops.state.session_ops import get_session_tensor as get_session_tensor
from tfnb.ops.state.state_ops import assign as assign
from tfnb.ops.state.state_ops import assign_add as assign_add
from tfnb.ops.state.state_ops import assign_sub as assign_sub
from tfnb.ops.state.state_ops import batch_scatter_update as batch_scatter_update
from tfnb.ops.state.state_ops import count_up_to as count_up_to
from tfnb.ops.state.state_ops import is_variable_initialized as is_variable_initialized
from tfnb.ops.state.state_ops import scatter_add as scatter_add
from tfnb.ops.state.state_ops import scatter_div as scatter_div
from tfnb.ops.state.state_ops import scatter_max as scatter_max
from tfnb.ops.state.state_ops import scatter_min as scatter_min
from tfnb.ops.state.state_ops import scatter_mul as scatter_mul
from tfnb.ops.state.state_ops import scatter_nd_add as scatter_nd_add
from tfnb.ops.state.state_ops import scatter_nd_sub as scatter_nd_sub
from tfnb.ops.state.state_ops import scatter_nd_update as scatter_nd_update
from tfnb.ops.state.state_ops import scatter_sub as scatter_sub
from tfnb.ops.state.state_ops import scatter_update as scatter_update
from tfnb.ops.strings.regex_ops import regex_replace as regex_replace
from tfnb.ops.strings.string_hash_ops import (
    string_to_hash_bucket_fast as string_to_hash_bucket_fast,
)
from tfnb.ops.strings.string_hash_ops import (
    string_to_hash_bucket_strong as string_to_hash_bucket_strong,
)
from tfnb.ops.strings.string_hash_ops import string_to_hash_bucket as string_to_hash_bucket
from tfnb.ops.strings.string_join_ops import reduce_join as reduce_join
from tfnb.ops.strings.string_join_ops import string_join as string_join
from tfnb.ops.strings.string_number_ops import as_string as as_string
from tfnb.ops.strings.string_number_ops import string_to_number as string_to_number
from tfnb.ops.strings.string_ops import decode_base64 as decode_base64
from tfnb.ops.strings.string_ops import encode_base64 as encode_base64
from tfnb.ops.strings.string_ops import string_strip as string_strip
from tfnb.ops.strings.string_ops import substr as substr
from tfnb.proto.attr_value_pb2 import AttrValue as AttrValue
from tfnb.proto.attr_value_pb2 import NameAttrList as NameAttrList
from tfnb.proto.config_pb2 import ConfigProto as ConfigProto
from tfnb.proto.config_pb2 import GPUOptions as GPUOptions
from tfnb.proto.config_pb2 import GraphOptions as GraphOptions
from tfnb.proto.config_pb2 import OptimizerOptions as OptimizerOptions
from tfnb.proto.config_pb2 import RunMetadata as RunMetadata
from tfnb.proto.config_pb2 import RunOptions as RunOptions
from tfnb.proto.event_pb2 import Event as Event
from tfnb.proto.event_pb2 import LogMessage as LogMessage
from tfnb.proto.event_pb2 import SessionLog as SessionLog
from tfnb.proto.graph_pb2 import GraphDef as GraphDef
from tfnb.proto.graph_pb2 import NodeDef as NodeDef
from tfnb.proto.meta_graph_pb2 import MetaGraphDef as MetaGraphDef
from tfnb.proto.meta_graph_pb2 import TensorInfo as TensorInfo
from tfnb.proto.summary_pb2 import HistogramProto as HistogramProto
from tfnb.proto.summary_pb2 import Summary as Summary
from tfnb.proto.summary_pb2 import SummaryMetadata as SummaryMetadata

AggregationMethod: Any
__version__: str
logical_not: Any
newaxis: None
raw_ops: Any

__all__ = [
    "AUTO_REUSE",
    "AggregationMethod",
    "Assert",
    "AttrValue",
    "COMPILER_VERSION",
    "CXX11_ABI_FLAG",
    "CXX_VERSION",
    "ConditionalAccumulator",
    "ConditionalAccumulatorBase",
    "ConfigProto",
    "CriticalSection",
    "DType",
    "DeviceSpec",
    "Dimension",
    "Event",
    "FIFOQueue",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FixedLengthRecordReader",
    "GIT_VERSION",
    "GPUOptions",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "Graph",
    "GraphDef",
    "GraphKeys",
    "GraphOptions",
    "HistogramProto",
    "IdentityReader",
    "IndexedSlices",
    "IndexedSlicesSpec",
    "InteractiveSession",
    "LogMessage",
    "MONOLITHIC_BUILD",
    "MetaGraphDef",
    "Model",
    "Module",
    "NameAttrList",
    "NoGradient",
    "NodeDef",
    "NoneTensorSpec",
    "NotDifferentiable",
    "OpError",
    "Operation",
    "OptimizerOptions",
    "OptionalSpec",
    "PaddingFIFOQueue",
    "Print",
    "PriorityQueue",
    "QUANTIZED_DTYPES",
    "QueueBase",
    "RaggedTensor",
    "RaggedTensorSpec",
    "RandomShuffleQueue",
    "ReaderBase",
    "RegisterGradient",
    "RunMetadata",
    "RunOptions",
    "Session",
    "SessionLog",
    "SparseConditionalAccumulator",
    "SparseFeature",
    "SparseTensor",
    "SparseTensorSpec",
    "SparseTensorValue",
    "Summary",
    "SummaryMetadata",
    "TFRecordReader",
    "Tensor",
    "TensorArray",
    "TensorArraySpec",
    "TensorInfo",
    "TensorShape",
    "TensorSpec",
    "TextLineReader",
    "TypeSpec",
    "UnconnectedGradients",
    "VERSION",
    "VarLenFeature",
    "Variable",
    "VariableAggregation",
    "VariableScope",
    "VariableSynchronization",
    "VariableV1",
    "WholeFileReader",
    "__version__",
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_check_numerics_ops",
    "add_n",
    "add_to_collection",
    "add_to_collections",
    "all_variables",
    "angle",
    "app",
    "approx_top_k",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_type",
    "assert_variables_initialized",
    "assign",
    "assign_add",
    "assign_sub",
    "atan",
    "atan2",
    "atanh",
    "audio",
    "batch_gather",
    "batch_scatter_update",
    "batch_to_space",
    "batch_to_space_nd",
    "betainc",
    "bfloat16",
    "bincount",
    "bitcast",
    "bitwise",
    "bool",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "ceil",
    "check_numerics",
    "cholesky",
    "cholesky_solve",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "colocate_with",
    "compat",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "cond",
    "config",
    "confusion_matrix",
    "conj",
    "constant",
    "constant_initializer",
    "container",
    "control_dependencies",
    "control_flow_v2_enabled",
    "convert_to_tensor",
    "convert_to_tensor_or_indexed_slices",
    "convert_to_tensor_or_sparse_tensor",
    "cos",
    "cosh",
    "count_nonzero",
    "count_up_to",
    "create_partitioned_variables",
    "cross",
    "cumprod",
    "cumsum",
    "custom_gradient",
    "dask",
    "data",
    "debugger",
    "debugging",
    "decode_base64",
    "decode_compressed",
    "decode_csv",
    "decode_json_example",
    "decode_raw",
    "delete_session_tensor",
    "depth_to_space",
    "dequantize",
    "deserialize_many_sparse",
    "device",
    "diag",
    "diag_part",
    "digamma",
    "dimension_at_index",
    "dimension_value",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "distribute",
    "distributions",
    "div",
    "div_no_nan",
    "divide",
    "doctor",
    "double",
    "dtypes",
    "dynamic_partition",
    "dynamic_stitch",
    "edit_distance",
    "einsum",
    "enable_control_flow_v2",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_tensor_equality",
    "enable_v2_behavior",
    "enable_v2_tensorshape",
    "encode_base64",
    "ensure_shape",
    "equal",
    "erf",
    "erfc",
    "errors",
    "estimator",
    "executing_eagerly",
    "executing_eagerly_outside_functions",
    "exp",
    "expand_dims",
    "experimental",
    "expm1",
    "extract_image_patches",
    "extract_volume_patches",
    "eye",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "feature_column",
    "fft",
    "fft2d",
    "fft3d",
    "fill",
    "fingerprint",
    "fixed_size_partitioner",
    "flags",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "foldl",
    "foldr",
    "gather",
    "gather_nd",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "get_local_variable",
    "get_logger",
    "get_seed",
    "get_session_handle",
    "get_session_tensor",
    "get_static_value",
    "get_variable",
    "get_variable_scope",
    "gfile",
    "global_norm",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "grad_pass_through",
    "gradients",
    "graph_util",
    "greater",
    "greater_equal",
    "group",
    "guarantee_const",
    "half",
    "hessians",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "identity",
    "identity_n",
    "ifft",
    "ifft2d",
    "ifft3d",
    "igamma",
    "igammac",
    "imag",
    "image",
    "import_graph_def",
    "init_scope",
    "initialize_all_tables",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "initializers",
    "install_as_tensorflow",
    "int16",
    "int32",
    "int64",
    "int8",
    "invert_permutation",
    "io",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_symbolic_tensor",
    "is_tensor",
    "is_variable_initialized",
    "layers",
    "lbeta",
    "less",
    "less_equal",
    "lgamma",
    "lin_space",
    "linalg",
    "linspace",
    "load",
    "load_ipython_extension",
    "local_variables",
    "local_variables_initializer",
    "log",
    "log1p",
    "log_sigmoid",
    "logging",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lookup",
    "losses",
    "make_ndarray",
    "make_template",
    "make_tensor_proto",
    "manip",
    "map_fn",
    "matching_files",
    "math",
    "matmul",
    "matrix_band_part",
    "matrix_determinant",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_inverse",
    "matrix_set_diag",
    "matrix_solve",
    "matrix_solve_ls",
    "matrix_square_root",
    "matrix_transpose",
    "matrix_triangular_solve",
    "maximum",
    "meshgrid",
    "metrics",
    "min_max_variable_partitioner",
    "minimum",
    "mixed_precision",
    "mod",
    "model_variables",
    "moving_average_variables",
    "multinomial",
    "multiply",
    "name_scope",
    "negative",
    "nest",
    "newaxis",
    "nn",
    "no_gradient",
    "no_op",
    "no_regularizer",
    "nondifferentiable_batch_function",
    "norm",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "onnx",
    "op_scope",
    "orthogonal_initializer",
    "pad",
    "parallel_stack",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "placeholder",
    "placeholder_with_default",
    "polygamma",
    "pow",
    "print",
    "profiler",
    "py_func",
    "py_function",
    "python",
    "python_io",
    "qint16",
    "qint32",
    "qint8",
    "qr",
    "quantization",
    "quantize",
    "quantize_v2",
    "quantized_concat",
    "queue",
    "quint16",
    "quint8",
    "ragged",
    "ragged_fill_empty_rows",
    "ragged_fill_empty_rows_grad",
    "random",
    "random_crop",
    "random_gamma",
    "random_index_shuffle",
    "random_normal",
    "random_normal_initializer",
    "random_poisson",
    "random_shuffle",
    "random_uniform",
    "random_uniform_initializer",
    "range",
    "rank",
    "raw_ops",
    "read_file",
    "real",
    "realdiv",
    "reciprocal",
    "recompute_grad",
    "reduce_all",
    "reduce_any",
    "reduce_join",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "regex_replace",
    "register_tensor_conversion_function",
    "repeat",
    "report_uninitialized_variables",
    "required_space_to_batch_paddings",
    "reset_default_graph",
    "reshape",
    "resource",
    "resource_loader",
    "resource_variables_enabled",
    "reverse",
    "reverse_sequence",
    "reverse_v2",
    "rint",
    "roll",
    "round",
    "rsqrt",
    "safety",
    "saturate_cast",
    "saved_model",
    "scalar_mul",
    "scan",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
    "searchsorted",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "self_adjoint_eig",
    "self_adjoint_eigvals",
    "sequence_mask",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "set_random_seed",
    "setdiff1d",
    "sets",
    "shape",
    "shape_n",
    "sigmoid",
    "sign",
    "signal",
    "sin",
    "sinh",
    "size",
    "slice",
    "sort",
    "space_to_batch",
    "space_to_batch_nd",
    "space_to_depth",
    "sparse",
    "sparse_add",
    "sparse_concat",
    "sparse_fill_empty_rows",
    "sparse_mask",
    "sparse_matmul",
    "sparse_maximum",
    "sparse_merge",
    "sparse_minimum",
    "sparse_placeholder",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_reorder",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "sparse_slice",
    "sparse_softmax",
    "sparse_split",
    "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "sparse_to_indicator",
    "sparse_transpose",
    "spectral",
    "split",
    "sqrt",
    "square",
    "squared_difference",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string",
    "string_join",
    "string_split",
    "string_strip",
    "string_to_hash_bucket",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
    "string_to_number",
    "strings",
    "substr",
    "subtract",
    "summary",
    "svd",
    "sweep",
    "switch_case",
    "sysconfig",
    "tables_initializer",
    "tan",
    "tanh",
    "tensor_scatter_add",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "tensordot",
    "test",
    "testing",
    "tile",
    "timestamp",
    "to_bfloat16",
    "to_complex128",
    "to_complex64",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "trace",
    "train",
    "trainable_variables",
    "transpose",
    "truediv",
    "truncated_normal",
    "truncated_normal_initializer",
    "truncatediv",
    "truncatemod",
    "tuple",
    "type_spec_from_value",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uniform_unit_scaling_initializer",
    "uninstall_as_tensorflow",
    "unique",
    "unique_with_counts",
    "unload_ipython_extension",
    "unravel_index",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "unstack",
    "variable_axis_size_partitioner",
    "variable_creator_scope",
    "variable_creator_scope_v1",
    "variable_op_scope",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "variant",
    "vectorized_map",
    "verify_tensor_all_finite",
    "version",
    "where",
    "where_v2",
    "while_loop",
    "write_file",
    "zeros",
    "zeros_initializer",
    "zeros_like",
    "zeta",
]

def load_ipython_extension(ipython: Any) -> None: ...
def unload_ipython_extension(ipython: Any) -> None: ...

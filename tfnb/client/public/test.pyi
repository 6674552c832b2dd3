# The names of tf.test; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.testing.benchmark import Benchmark as Benchmark
from tfnb.client.testing.benchmark import StubOutForTesting as StubOutForTesting
from tfnb.client.testing.benchmark import benchmark_config as benchmark_config
from tfnb.client.testing.testing import TestCase as TestCase
from tfnb.client.testing.testing import assert_equal_graph_def as assert_equal_graph_def
from tfnb.client.testing.testing import compute_gradient as compute_gradient
from tfnb.client.testing.testing import compute_gradient_error as compute_gradient_error
from tfnb.client.testing.testing import get_temp_dir as get_temp_dir
from tfnb.client.testing.testing import gpu_device_name as gpu_device_name
from tfnb.client.testing.testing import is_built_with_cuda as is_built_with_cuda
from tfnb.client.testing.testing import is_built_with_gpu_support as is_built_with_gpu_support
from tfnb.client.testing.testing import is_built_with_rocm as is_built_with_rocm
from tfnb.client.testing.testing import is_built_with_xla as is_built_with_xla
from tfnb.client.testing.testing import is_cpu_target_available as is_cpu_target_available
from tfnb.client.testing.testing import is_gpu_available as is_gpu_available
from tfnb.client.testing.testing import main as main
from tfnb.client.testing.testing import mock as mock
from tfnb.client.testing.testing import test_src_dir_path as test_src_dir_path
from tfnb.client.training.server import create_local_cluster as create_local_cluster

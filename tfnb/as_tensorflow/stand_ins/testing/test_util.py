"""``tensorflow.python.framework.test_util``: the modes of tests, which here are always one."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import unittest
from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf
from tfnb.library.training.collection_protos import get_collection_proto_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Function = Callable[..., Any]

TensorFlowTestCase = tf.test.TestCase


def _optional(decorate: Callable[..., Function]) -> Function:
    """Return a decorator that may be written with arguments, or with parentheses alone."""

    @functools.wraps(decorate)
    def decorator(func: Function | None = None, **options: Any) -> Any:
        if func is None:
            return functools.partial(decorate, **options)
        return decorate(func, **options)

    return decorator


@_optional
def run_in_graph_and_eager_modes(func: Function, **options: Any) -> Function:
    """Run a test in a session of the test case; there is no eager mode."""
    use_gpu, config = options.get("use_gpu", True), options.get("config")

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        with self.test_session(use_gpu=use_gpu, config=config):
            func(self, *args, **kwargs)

    return run


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """Run each test of a class in a session of the test case."""
    for name, value in [*vars(cls).items()]:
        if callable(value) and name.startswith("test") and name != "test_session":
            setattr(cls, name, run_in_graph_and_eager_modes(value))
    return cls


@_optional
def run_deprecated_v1(func: Function) -> Function:
    """Leave a test as it is: graphs are what tfnb runs."""
    return func


deprecated_graph_mode_only = run_deprecated_v1


def run_all_in_deprecated_graph_mode_only(cls: type) -> type:
    """Leave a class of tests as it is: graphs are what tfnb runs."""
    return cls


def run_v1_only(reason: str, func: Function | None = None) -> Any:
    """Leave a test of TensorFlow 1 as it is."""
    return func if func is not None else run_deprecated_v1


def run_v2_only(func: Function) -> Function:
    """Skip a test of TensorFlow 2."""

    @functools.wraps(func)
    def skip(self: Any, *args: Any, **kwargs: Any) -> None:
        self.skipTest("Test is only compatible with v2")

    return skip


def enable_control_flow_v2(func: Function) -> Function:
    """Build the conds and loops of a test as functional ops."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        before = tf.control_flow_v2_enabled()
        tf.enable_control_flow_v2()
        try:
            return func(*args, **kwargs)
        finally:
            if not before:
                tf.disable_control_flow_v2()

    return run


def disable_control_flow_v2(unused_msg: str) -> Callable[[Function], Function]:
    """Mark a test that `with_control_flow_v2` must not run with functional ops."""

    def mark(func: Function) -> Function:
        func._disable_control_flow_v2 = True  # type: ignore[attr-defined]
        return func

    return mark


def with_control_flow_v2(cls: type) -> type:
    """Add to each test of a class one whose conds and loops are functional ops."""
    if not tf.control_flow_v2_enabled():
        for name, value in _tests_of(cls):
            if not getattr(value, "_disable_control_flow_v2", False):
                setattr(cls, f"{name}WithControlFlowV2", enable_control_flow_v2(value))
    return cls


def _tests_of(cls: type) -> list[tuple[str, Function]]:
    """Return the names and functions of a class's own tests."""
    prefix = unittest.TestLoader.testMethodPrefix
    return [
        (name, value)
        for name, value in vars(cls).items()
        if callable(value) and name.startswith(prefix)
    ]


def for_all_test_methods(decorator: Function, *args: Any, **kwargs: Any) -> Function:
    """Return a decorator of classes that applies another one to each test."""

    def decorate(cls: type) -> type:
        for name, value in _tests_of(cls):
            setattr(cls, name, decorator(*args, **kwargs)(value))
        return cls

    return decorate


def skip_if(condition: Any) -> Callable[[Function], Function]:
    """Return a decorator that leaves a test out where a condition, or what it returns, holds."""

    def decorate(func: Function) -> Function:
        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> Any:
            if not (condition() if callable(condition) else condition):
                return func(*args, **kwargs)
            return None

        return run

    return decorate


def _unchanged(target: Any) -> Any:
    """Return a test or a class of tests as it is."""
    return target


# The C API, eager mode and functions of TensorFlow 2 are no modes of tfnb's.
with_c_api = enable_c_api = disable_c_api = _unchanged
enable_c_shapes = with_c_shapes = _unchanged
also_run_as_tf_function = py_func_if_in_function = _unchanged
build_as_function_and_v1_graph = run_deprecated_v1
assert_no_new_pyobjects_executing_eagerly = run_deprecated_v1
enable_output_all_intermediates = _unchanged
use_deterministic_cudnn = _unchanged


def _for_a_reason(description: str) -> Callable[[Any], Any]:
    """Return a decorator that changes nothing: XLA never compiles a graph."""
    return _unchanged


disable_xla = no_xla_auto_jit = xla_allow_fallback = _for_a_reason
enable_tf_xla_constant_folding = disable_mlir_bridge = disable_tfrt = _for_a_reason


@_optional
def run_gpu_only(func: Function) -> Function:
    """Skip a test where there is no GPU."""

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not tf.test.is_gpu_available():
            self.skipTest("Test requires GPU")
        return func(self, *args, **kwargs)

    return run


run_cuda_only = run_gpu_only


def is_xla_enabled() -> bool:
    """Return False: nothing is compiled by XLA."""
    return False


def IsGoogleCudaEnabled() -> bool:
    """Return whether there is a GPU of NVIDIA."""
    return bool(tf.test.is_gpu_available())


IsCudaEnabled = IsGoogleCudaEnabled


def IsBuiltWithROCm() -> bool:
    """Return False: tfnb has no kernels for ROCm."""
    return False


def IsMklEnabled() -> bool:
    """Return False: kernels follow those of Eigen."""
    return False


def CudaSupportsHalfMatMulAndConv() -> bool:
    """Return whether half precision is computed on a GPU."""
    return bool(tf.test.is_gpu_available())


GpuSupportsHalfMatMulAndConv = CudaSupportsHalfMatMulAndConv


def memory_profiler_is_available() -> bool:
    """Return False: tests that measure memory are left out."""
    return False


def InstallStackTraceHandler() -> None:
    """Do nothing: a signal ends Python in its own way."""


@contextlib.contextmanager
def device(use_gpu: bool) -> Iterator[None]:
    """Place what is built inside on the first GPU, if it is wanted and there is one."""
    name = tf.test.gpu_device_name() if use_gpu else ""
    with tf.device(name or "/device:CPU:0"):
        yield


def use_gpu() -> contextlib.AbstractContextManager[None]:
    """Place what is built inside on the first GPU, if there is one."""
    return device(use_gpu=True)


def force_gpu() -> Any:
    """Place what is built inside on the first GPU."""
    return tf.device("/device:GPU:0")


def force_cpu() -> Any:
    """Place what is built inside on the CPU."""
    return tf.device("/device:CPU:0")


def _permuted(value: Any, order: Sequence[int]) -> Any:
    """Return a tensor, a shape or a list with its dimensions in another order."""
    if isinstance(value, tf.Tensor):
        return tf.transpose(value, order)
    return [value[index] for index in order]


_TO_CHANNELS_FIRST = {4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}
_TO_CHANNELS_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


def _rank(value: Any) -> int:
    return len(value.shape) if isinstance(value, tf.Tensor) else len(value)


def NHWCToNCHW(input_tensor: Any) -> Any:
    """Return a tensor, or a list of sizes, with the channels after the batch.

    Args:
      input_tensor: a tensor or a list of rank 4 or 5; the channels are last.
    """
    return _permuted(input_tensor, _TO_CHANNELS_FIRST[_rank(input_tensor)])


def NCHWToNHWC(input_tensor: Any) -> Any:
    """Return a tensor, or a list of sizes, with the channels last.

    Args:
      input_tensor: a tensor or a list of rank 4 or 5; the channels are after the batch.
    """
    return _permuted(input_tensor, _TO_CHANNELS_LAST[_rank(input_tensor)])


def get_node_def_from_graph(node_name: str, graph_def: Any) -> Any:
    """Return the node of that name of a GraphDef, or None."""
    return next((node for node in graph_def.node if node.name == node_name), None)


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Any) -> dict[str, Any]:
    """Return the nodes of a graph that are expected, by name.

    Args:
      expected_ops: name of a node -> its op.
      graph: the graph.

    Raises:
      ValueError: a node is missing, or has another op.
    """
    nodes = {node.name: node for node in graph.as_graph_def().node}
    found = {name: nodes[name] for name in expected_ops if name in nodes}
    for name, node in found.items():
        if node.op != expected_ops[name]:
            raise ValueError(f"Expected op for node {name} is different. {expected_ops[name]}")
    if len(found) < len(expected_ops):
        missing = sorted(expected_ops.keys() - found.keys())
        raise ValueError(f"Not all expected ops are present. Missing: {missing}")
    return found


def set_producer_version(graph: Any, producer_version: int) -> None:
    """Say which version of GraphDefs a graph was made by."""
    graph_def = tf.GraphDef()
    graph_def.versions.producer = producer_version
    with graph.as_default():
        tf.import_graph_def(graph_def)


def create_identity_with_grad_check_fn(
    expected_gradient: Any, expected_dtype: Any = None
) -> Function:
    """Return an identity whose gradient is compared with an expected one while it is computed."""

    def identity(x: Any) -> Any:
        def grad(dx: Any) -> Any:
            if expected_dtype:
                assert dx.dtype == expected_dtype
            expected = tf.convert_to_tensor(expected_gradient, dtype=dx.dtype, name="expected")
            check = tf.Assert(tf.reduce_all(tf.equal(expected, dx)), [expected, dx])
            with tf.control_dependencies([check]):
                return tf.identity(dx)

        return tf.identity(x), grad

    checked: Function = tf.custom_gradient(identity)
    return checked


def assert_no_new_tensors(func: Function) -> Function:
    """Run a test in a graph of its own, and fail if a tensor of it is still alive afterwards."""

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = {id(one) for one in _living_tensors()}
        with tf.Graph().as_default():
            result = func(self, *args, **kwargs)
        gc.collect()
        left = [one for one in _living_tensors() if id(one) not in before]
        if left:
            raise AssertionError(f"{len(left)} Tensors not deallocated after test: {left}")
        return result

    return run


def _living_tensors() -> list[Any]:
    kinds = (tf.Tensor, tf.Variable, tf.TensorShape)
    return [one for one in gc.get_objects() if isinstance(one, kinds)]


def assert_no_garbage_created(func: Function) -> Function:
    """Fail if a test leaves objects that only the garbage collector can free."""

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        gc.collect()
        flags, length = gc.get_debug(), len(gc.garbage)
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            result = func(self, *args, **kwargs)
            gc.collect()
        finally:
            gc.set_debug(flags)
        left = gc.garbage[length:]
        del gc.garbage[length:]
        assert left == [], f"{len(left)} objects are in cycles of references"
        return result

    return run


def generate_combinations_with_testcase_name(**kwargs: Any) -> list[dict[str, Any]]:
    """Return the arguments of tests: one value of each list, and a name made of them."""
    found = []
    for values in itertools.product(*kwargs.values()):
        arguments = dict(zip(kwargs, values, strict=True))
        words = (
            f"_{''.join(filter(str.isalnum, name))}_{''.join(filter(str.isalnum, str(value)))}"
            for name, value in arguments.items()
        )
        found.append({**arguments, "testcase_name": f"_test{''.join(words)}"})
    return found


def assert_meta_graph_protos_equal(tester: Any, a: Any, b: Any) -> None:
    """Fail a test unless two MetaGraphDefs are equal, but for the order and names of a Saver."""
    one, other = (tf.MetaGraphDef.FromString(each.SerializeToString()) for each in (a, b))
    assert set(one.collection_def) == set(other.collection_def)
    for key, values in one.collection_def.items():
        message = get_collection_proto_type(key)
        others = other.collection_def[key]
        if message is None:
            assert values == others
            continue
        assert len(values.bytes_list.value) == len(others.bytes_list.value)
        for left, right in zip(values.bytes_list.value, others.bytes_list.value, strict=True):
            tester.assertProtoEquals(message.FromString(left), message.FromString(right))
    tf.test.assert_equal_graph_def(one.graph_def, other.graph_def, checkpoint_v2=True)
    tester.assertProtoEquals(one.graph_def.versions, other.graph_def.versions)
    for each in (one, other):
        each.ClearField("collection_def")
        each.ClearField("graph_def")
    tester.assertProtoEquals(one, other)

"""``tf.test``: unittest with sessions, and comparisons of arrays."""

# ruff: noqa: PT009 - this is unittest, and its assertions are not stripped by python -O

from __future__ import annotations

import contextlib
import os
import random
import re
import sys
import tempfile
import threading
import unittest
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn
from unittest import mock as mock

import numpy as np

from tfnb.client.session.session import InteractiveSession, Session
from tfnb.client.testing.test_assertions import MoreAssertions
from tfnb.core import errors
from tfnb.core.device_spec import canonical_name
from tfnb.core.tensor_shape import as_shape
from tfnb.framework.default_graph import (
    _default_graph_stack,
    get_default_graph,
    reset_default_graph,
)
from tfnb.framework.default_session import _default_session_stack, get_default_session
from tfnb.framework.random_seed import DEFAULT_GRAPH_SEED
from tfnb.framework.tensor import Tensor
from tfnb.library.ragged.ragged_tensor import RaggedTensor, RaggedTensorValue
from tfnb.proto.config_pb2 import ConfigProto

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.framework.graph import Graph
    from tfnb.proto.graph_pb2 import GraphDef

__all__ = ["mock"]

_SEED = 301


class TestCase(MoreAssertions):
    """A test with a fresh default graph, fixed random seeds, and TensorFlow's assertions."""

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._cached_session: Session | None = None
        self._tempdir: str | None = None

    def setUp(self) -> None:
        """Begin with an empty graph and known random numbers."""
        self._clear_cached_session()
        random.seed(_SEED)
        np.random.seed(_SEED)  # noqa: NPY002 - tested code may use the global generator
        _default_graph_stack.reset()  # a test that failed may have left graphs entered
        reset_default_graph()
        get_default_graph().seed = DEFAULT_GRAPH_SEED

    def tearDown(self) -> None:
        """Close the session that the test shared."""
        self._clear_cached_session()

    def _clear_cached_session(self) -> None:
        if self._cached_session is not None:
            self._cached_session.close()
            self._cached_session = None

    def fail(self, msg: Any = None, user_msg: Any = None) -> NoReturn:
        """Fail with a message, followed by the user's own message if there is one."""
        super().fail(self._formatMessage(user_msg, msg))

    def get_temp_dir(self) -> str:
        """Return a directory that only this test uses."""
        if self._tempdir is None:
            self._tempdir = tempfile.mkdtemp(dir=get_temp_dir())
        return self._tempdir

    # -- sessions ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(
        self,
        graph: Graph | None = None,
        config: Any = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """Return a context with a session as default session, its graph as default graph.

        Args:
            graph: The graph; the default graph if not given.
            config: A ``ConfigProto``.
            use_gpu: Whether ops may be placed on a GPU.
            force_gpu: Whether ops must be placed on a GPU.
        """
        with Session(graph=graph, config=_prepared(config, force_gpu)) as sess:
            with self._on_device(sess, use_gpu, force_gpu):
                yield sess

    @contextlib.contextmanager
    def cached_session(
        self,
        graph: Graph | None = None,
        config: Any = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """Return a context with one session for the whole test."""
        if self._cached_session is None:
            self._cached_session = Session(graph=graph, config=_prepared(config, force_gpu))
        sess = self._cached_session
        with sess.graph.as_default(), sess.as_default(), self._on_device(sess, use_gpu, force_gpu):
            yield sess

    def test_session(
        self,
        graph: Graph | None = None,
        config: Any = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> contextlib.AbstractContextManager[Session]:
        """Return a context by the deprecated name: the shared session; a new one for a graph."""
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")  # its name is that of one
        chosen = self.cached_session if graph is None else self.session
        return chosen(graph, config, use_gpu, force_gpu)

    def _on_device(self, sess: Session, use_gpu: bool, force_gpu: bool) -> Any:
        if force_gpu:
            return sess.graph.device(gpu_device_name() or "/device:GPU:0")
        return contextlib.nullcontext() if use_gpu else sess.graph.device("/device:CPU:0")

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors: from the default session, else from the shared one.

        Another graph than that of the shared session gets a session of its own.
        """
        sess = get_default_session()
        if sess is not None:
            return sess.run(tensors)
        shared = self._cached_session
        is_another = shared is not None and shared.graph is not get_default_graph()
        with self.session() if is_another else self.cached_session() as own:
            return own.run(tensors)

    def checkedThread(
        self, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> _CheckedThread:
        """Return a thread whose failure fails the test when it is joined."""
        return _CheckedThread(self, target, args or (), kwargs or {})

    # -- comparisons -------------------------------------------------------------------------------

    def _array(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            value = self.evaluate(value)
        return value if isinstance(value, np.ndarray) else np.array(value)

    def _list(self, value: Any) -> Any:
        if isinstance(value, (Tensor, RaggedTensor)):
            value = self.evaluate(value)
        if isinstance(value, RaggedTensorValue):
            return value.to_list()
        return value.tolist() if isinstance(value, np.ndarray) else value

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Refuse arrays that differ in shape or in an element; NaN equals NaN.

        Ragged values are compared as nested lists.
        """
        if any(isinstance(one, (RaggedTensor, RaggedTensorValue)) for one in (a, b)):
            self.assertEqual(self._list(a), self._list(b), msg)
            return
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, msg)
        a, b = _comparable(a), _comparable(b)
        same = a == b
        if a.dtype.kind in "fc":
            same = np.logical_or(same, np.logical_and(np.isnan(a), np.isnan(b)))
        self._refuse(~np.asarray(same), a, b, msg)

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Refuse arrays that are equal."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(msg or "The two values are equal at all elements.")

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Refuse values further apart than ``atol + rtol * |b|``, also inside structures."""
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            self.assertEqual(sorted(a), sorted(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"{msg or ''} at {key!r}")
            return
        if hasattr(a, "_asdict") and hasattr(b, "_asdict"):
            self.assertAllClose(a._asdict(), b._asdict(), rtol, atol, msg)
            return
        if isinstance(a, list | tuple) and _is_nested(a):
            self.assertEqual(len(a), len(b), msg)
            for i, (item, other) in enumerate(zip(a, b, strict=True)):
                self.assertAllClose(item, other, rtol, atol, f"{msg or ''} at {i}")
            return
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, msg)
        with np.errstate(invalid="ignore"):
            close = np.isclose(_wide(a), _wide(b), rtol, atol, equal_nan=True)
        self._refuse(~close, a, b, msg or f"not close, rtol={rtol}, atol={atol}")

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """Compare like assertAllClose, with the tolerance of the coarser of the two dtypes."""
        a, b = self._array(a), self._array(b)
        for names, type_rtol, type_atol in (
            (("float32", "complex64"), float_rtol, float_atol),
            (("float16",), half_rtol, half_atol),
            (("bfloat16",), bfloat16_rtol, bfloat16_atol),
        ):
            if a.dtype.name in names or b.dtype.name in names:
                rtol, atol = max(rtol, type_rtol), max(atol, type_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Refuse values that are close everywhere."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except AssertionError:
            return
        self.fail(msg or "The two values are close at all elements.")

    def _refuse(self, wrong: Any, a: Any, b: Any, msg: str | None) -> None:
        if not np.any(wrong):
            return
        wrong, a, b = np.atleast_1d(wrong), np.atleast_1d(a), np.atleast_1d(b)
        lines = [
            f"{np.count_nonzero(wrong)} of {wrong.size} elements differ"
            + (f" ({msg})" if msg else "")
        ]
        for index in list(zip(*np.nonzero(wrong), strict=True))[:10]:
            place = ", ".join(str(int(i)) for i in index)
            lines.append(f"  [{place}]: {a[index]!r} and {b[index]!r}")
        self.fail("\n".join(lines))

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Refuse numbers further apart than ``err``."""
        self.assertTrue(
            f1 == f2 or abs(f1 - f2) <= err, f"{f1!r} != {f2!r} +/- {err!r} {msg or ''}"
        )

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Refuse sequences with numbers further apart than ``err``."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Refuse arrays whose difference has a norm of ``err`` or more."""
        self.assertLess(np.linalg.norm(np.subtract(ndarray1, ndarray2)), err, msg)

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Refuse elements that are not greater."""
        self.assertGreater(np.min(self._array(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Refuse elements that are not less."""
        self.assertLess(np.max(self._array(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Refuse elements that are less."""
        self.assertGreaterEqual(np.min(self._array(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Refuse elements that are greater."""
        self.assertLessEqual(np.max(self._array(a)), comparison_target)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Refuse elements outside a range."""
        target = self._array(target)
        below = target <= lower_bound if open_lower_bound else target < lower_bound
        above = target >= upper_bound if open_upper_bound else target > upper_bound
        wrong = below | above | np.isnan(target)
        self.assertFalse(np.any(wrong), f"outside of the range: {target[wrong]!r}")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Refuse elements that are not in a set."""
        others = set(self._array(target).ravel().tolist()) - set(expected_set)
        self.assertFalse(others, f"not in the set: {others!r}")

    def assertItemsEqual(self, first: Any, second: Any, msg: str | None = None) -> None:
        """Refuse sequences with different elements; the order is ignored."""
        self.assertCountEqual(first, second, msg)

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Refuse arrays and tensors whose (static) shapes differ."""
        first, second = (as_shape(one.shape).as_list() for one in (input_a, input_b))
        self.assertAllEqual(first, second, msg)

    def assertDictEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Refuse dictionaries with other keys or values; values may be arrays."""
        try:
            super().assertDictEqual(a, b, msg)
        except (ValueError, AssertionError):
            self.assertSameElements(a.keys(), b.keys(), msg)
            for key, value in a.items():
                is_number = np.issubdtype(self._array(value).dtype, np.floating)
                compare = self.assertAllClose if is_number else self.assertAllEqual
                compare(value, b[key], msg=msg or f"for key {key!r}")

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Refuse device names that mean different devices."""
        self.assertEqual(canonical_name(device1), canonical_name(device2), msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Refuse text with another beginning."""
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r}: {expected_start!r}")

    def assertProtoEquals(
        self,
        expected_message_maybe_ascii: Any,
        validate_message: Any,
        msg: str | None = None,
        relative_tolerance: float | None = None,
    ) -> None:
        """Refuse a message that differs from another, which may be given as text.

        Args:
          expected_message_maybe_ascii: the expected message, or its text.
          validate_message: the message to compare.
          msg: the failure message.
          relative_tolerance: largest relative difference of two floats, by the larger one.
        """
        expected = expected_message_maybe_ascii
        if isinstance(expected, str | bytes):
            from google.protobuf import text_format

            expected = text_format.Parse(expected, type(validate_message)())
        if relative_tolerance is not None:
            copy = type(validate_message)()
            copy.CopyFrom(validate_message)
            validate_message = _with_near_floats(copy, expected, relative_tolerance)
        self.assertEqual(str(expected), str(validate_message), msg)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """Refuse code that does not raise a matching error, by pattern or predicate."""
        expected = expected_err_re_or_predicate

        def fits(error: BaseException) -> bool:
            if callable(expected):
                return bool(expected(error))
            text = error.message if isinstance(error, errors.OpError) else str(error)
            return re.search(expected, text) is not None

        try:
            yield
        except exception_type as error:
            self.assertTrue(fits(error), f"Exception of unexpected text {type(error)}: {error}")
        else:
            self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Refuse code that does not raise an OpError that matches a pattern or predicate."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)


class _CheckedThread:
    """A thread that passes its exception to the test."""

    def __init__(self, test: TestCase, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._test = test
        self._error: BaseException | None = None

        def run() -> None:
            try:
                target(*args, **kwargs)
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=run)

    def start(self) -> None:
        """Start the thread.

        Raises:
          UnimplementedError: no thread can be started.
        """
        errors.require_threads("checkedThread", "Call the function yourself.")
        self._thread.start()

    def join(self) -> None:
        """Wait for the thread; fail the test if it failed."""
        self._thread.join()
        if self._error is not None:
            self._test.fail(f"Error in checkedThread: {self._error}")

    def is_alive(self) -> bool:
        """Return whether the thread runs."""
        return self._thread.is_alive()


def _prepared(config: ConfigProto | None, force_gpu: bool) -> ConfigProto | None:
    """Return the configuration of a test's session.

    Without one, nodes may run on another device than the requested one, unless a GPU is forced.
    """
    if config is None:
        return ConfigProto(allow_soft_placement=not force_gpu)
    if not (force_gpu and config.allow_soft_placement):
        return config
    strict = ConfigProto()
    strict.CopyFrom(config)
    strict.allow_soft_placement = False
    return strict


def _is_nested(value: list[Any] | tuple[Any, ...]) -> bool:
    """Return whether to compare a sequence part by part: it is not an array in list form."""
    if any(isinstance(item, Mapping | Tensor | np.ndarray) for item in value):
        return True
    try:
        np.shape(value)
    except ValueError:
        return True
    return False


def _comparable(array: Any) -> Any:
    """Convert text to bytes, so that both forms are equal."""
    if array.dtype.kind == "U":
        return np.char.encode(array, "utf-8").astype(object)
    return array.astype(object) if array.dtype.kind == "S" else array


def _with_near_floats(found: Any, expected: Any, tolerance: float) -> Any:
    """Return a copy of a message with the expected floats where its own are near them."""
    for field, value in expected.ListFields():
        if field.type not in (field.TYPE_FLOAT, field.TYPE_DOUBLE, field.TYPE_MESSAGE):
            continue
        ours = getattr(found, field.name)
        if hasattr(value, "keys"):
            for key in value:
                if key not in ours:
                    continue
                if hasattr(value[key], "ListFields"):
                    _with_near_floats(ours[key], value[key], tolerance)
                elif _is_near(ours[key], value[key], tolerance):
                    ours[key] = value[key]
        elif field.type == field.TYPE_MESSAGE:
            many = isinstance(value, Sequence)
            for one, wanted in zip(ours, value) if many else [(ours, value)]:
                _with_near_floats(one, wanted, tolerance)
        elif isinstance(value, Sequence):
            for i, (one, wanted) in enumerate(zip(ours, value)):
                if _is_near(one, wanted, tolerance):
                    ours[i] = wanted
        elif _is_near(ours, value, tolerance):
            setattr(found, field.name, value)
    return found


def _is_near(one: Any, other: Any, tolerance: float) -> bool:
    return isinstance(one, float) and abs(one - other) <= tolerance * max(abs(one), abs(other))


def _wide(array: Any) -> Any:
    """Convert small floats to float32, which NumPy's comparisons support."""
    return array.astype(np.float32) if array.dtype.name in ("bfloat16", "float16") else array


def reset_state() -> None:
    """Remove the default graphs and sessions that this thread has entered and not left.

    Call it at the beginning of a test, because the previous one may have failed halfway: afterwards
    the default graph is a new, empty one, and there is no default session. Interactive sessions
    that were left open are closed; other sessions live as long as they are referenced.
    """
    left = [sess for sess in _default_session_stack.stack if isinstance(sess, InteractiveSession)]
    _default_session_stack.reset()
    _default_graph_stack.reset()
    for sess in reversed(left):
        sess.close()
    _default_session_stack.reset()
    reset_default_graph()


def main(argv: list[str] | None = None) -> None:
    """Run the tests of the script; with ``--benchmarks=all`` or a pattern, its benchmarks."""
    words = list(sys.argv if argv is None else argv)
    chosen = [word.partition("=")[2] for word in words if word.startswith("--benchmarks=")]
    if chosen:
        from tfnb.client.testing.benchmark import run_benchmarks

        run_benchmarks(chosen[-1])
        return
    unittest.main(module="__main__", argv=argv)


def get_temp_dir() -> str:
    """Return a directory for the files of tests."""
    path = os.path.join(tempfile.gettempdir(), "tfnb_tests")
    os.makedirs(path, exist_ok=True)
    return path


def test_src_dir_path(relative_path: str) -> str:
    """Return a path beside the running script."""
    return os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), relative_path)


def gpu_device_name() -> str:
    """Return the first GPU that a session would have, ``/device:GPU:0``; empty if there is none."""
    with Session(graph=None) as sess:
        names = [d.name for d in sess.list_devices() if d.device_type == "GPU"]
    return "/device:GPU:" + names[0].rpartition(":")[2] if names else ""


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Return whether a session would have a GPU."""
    return bool(gpu_device_name())


def is_built_with_cuda() -> bool:
    """Return whether CuPy, which tfnb needs for GPUs, is installed."""
    import importlib.util

    return importlib.util.find_spec("cupy") is not None


is_built_with_gpu_support = is_built_with_cuda


def is_cpu_target_available(target: str) -> bool:
    """Return False: no code is compiled for any kind of CPU."""
    return False


def is_built_with_rocm() -> bool:
    """Return False: AMD GPUs are not supported."""
    return False


def is_built_with_xla() -> bool:
    """Return False: graphs are not compiled by XLA."""
    return False


def assert_equal_graph_def(
    actual: GraphDef,
    expected: GraphDef,
    checkpoint_v2: bool = False,
    hash_table_shared_name: bool = False,
) -> None:
    """Refuse graphs with different nodes, in any order; versions and libraries are ignored.

    Args:
        actual: A graph.
        expected: The expected graph.
        checkpoint_v2: Whether to ignore the random part of the names of temporary files.
        hash_table_shared_name: Whether to ignore the names by which tables are shared.

    Raises:
        AssertionError: The graphs differ; the error names the first different node.
        TypeError: An argument is not a GraphDef.
    """
    for title, graph in (("actual", actual), ("expected", expected)):
        if not hasattr(graph, "node"):
            raise TypeError(f"Expected tf.GraphDef for {title}, got {type(graph).__name__}")

    def comparable(node: Any) -> Any:
        copied = type(node)()
        copied.CopyFrom(node)
        # Control inputs have no order.
        names = list(node.input)
        data = [name for name in names if not name.startswith("^")]
        del copied.input[:]
        copied.input.extend([*data, *sorted(set(names) - set(data))])
        if hash_table_shared_name and node.op == "HashTableV2":
            copied.attr.pop("shared_name", None)
        value = copied.attr["value"].tensor if node.op == "Const" else None
        if checkpoint_v2 and value is not None:
            texts = [
                re.sub(rb"_temp_[0-9a-z]{32}/part", b"_temp/part", t) for t in value.string_val
            ]
            value.string_val[:] = texts
        return copied

    found, wanted = (
        {node.name: comparable(node) for node in graph.node} for graph in (actual, expected)
    )
    if set(found) != set(wanted):
        raise AssertionError(
            f"The graphs have different nodes: {sorted(set(found) ^ set(wanted))} are in one only"
        )
    for name, node in wanted.items():
        if found[name] != node:
            raise AssertionError(f"Node {name!r} differs:\n{found[name]}\nand\n{node}")


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Return the Jacobian of ``y`` by ``x``, from the gradient ops and from finite differences.

    Runs in the default session.

    Args:
        x: A tensor, or a list of tensors.
        x_shape: Its shape, or a list of shapes.
        y: A tensor.
        y_shape: Its shape.
        x_init_value: The value of ``x`` for the derivative; random numbers if not given.
        delta: The step of the differences.
        init_targets: Operations to run first.
        extra_feed_dict: Values for other placeholders.

    Returns:
        A pair of arrays of shape (size of x, size of y), or a list of pairs. A complex element
        counts as two real ones: the arrays are real.
    """
    sess = get_default_session()
    assert sess is not None, "compute_gradient needs a default session"
    if init_targets is not None:
        sess.run(init_targets)
    several = isinstance(x, list | tuple)
    tensors = list(x) if several else [x]
    shapes = list(x_shape) if several else [x_shape]
    given = list(x_init_value) if several and x_init_value is not None else [x_init_value]
    if len(given) < len(tensors):
        given = [None] * len(tensors)
    feeds = dict(extra_feed_dict or {})
    generator = np.random.RandomState(_SEED)
    for tensor, shape, value in zip(tensors, shapes, given, strict=True):
        if value is None:
            value = generator.random_sample(shape)
            if tensor.dtype.is_complex:
                value = value + 1j * generator.random_sample(shape)
        feeds[tensor] = np.array(value, tensor.dtype.base_dtype.as_numpy_dtype).reshape(shape)
    pairs = [
        (
            jacobian_by_ops(sess, tensor, y, y_shape, feeds),
            jacobian_by_differences(sess, tensor, y, y_shape, feeds, delta),
        )
        for tensor in tensors
    ]
    return pairs if several else pairs[0]


def _reals(value: Any) -> Any:
    """Return the numbers of an array; a complex one is two. A view, if the array is contiguous."""
    flat = np.ravel(value)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _no_jacobian(at: Any, y: Tensor, y_shape: Any) -> Any:
    """Return zeros for the Jacobian of ``y`` by the value ``at``."""
    found = _reals(at)
    columns = int(np.prod(y_shape)) * (2 if y.dtype.is_complex else 1)
    return np.zeros((found.size, columns), found.dtype)


def jacobian_by_ops(sess: Any, x: Tensor, y: Tensor, y_shape: Any, feeds: Any) -> Any:
    """Return the Jacobian of ``y`` by ``x``, [size of x, size of y], from the gradient ops.

    Args:
        sess: The session that computes it.
        x: A tensor.
        y: A tensor that depends on it.
        y_shape: Its shape.
        feeds: Values to feed, among them that of ``x``.
    """
    from tfnb.framework.indexed_slices import IndexedSlicesValue
    from tfnb.library.gradients.gradients import gradients
    from tfnb.ops.array.constant_ops import placeholder

    direction = placeholder(y.dtype, y_shape)
    (gradient,) = gradients(y, x, grad_ys=direction)
    jacobian = _no_jacobian(feeds[x], y, y_shape)
    if gradient is None:
        return jacobian
    for column in range(jacobian.shape[1]):
        one = np.zeros(y_shape, y.dtype.as_numpy_dtype)
        _reals(one)[column] = 1
        value = sess.run(gradient, {**feeds, direction: one})
        if isinstance(value, IndexedSlicesValue):
            dense = np.zeros(feeds[x].shape, feeds[x].dtype)
            np.add.at(dense, value.indices, value.values)
            value = dense
        jacobian[:, column] = _reals(value)
    return jacobian


def jacobian_by_differences(
    sess: Any, x: Tensor, y: Tensor, y_shape: Any, feeds: Any, delta: float
) -> Any:
    """Return the Jacobian of ``y`` by ``x``, [size of x, size of y], from central differences.

    Args:
        sess: The session that computes it.
        x: A tensor.
        y: A tensor that depends on it.
        y_shape: Its shape.
        feeds: Values to feed, among them that of ``x``.
        delta: The step of the differences.
    """
    at = feeds[x]
    jacobian = _no_jacobian(at, y, y_shape)
    for row in range(len(jacobian)):
        ends = []
        for step in (delta, -delta):
            moved = at.copy()
            _reals(moved)[row] += step
            ends.append(_reals(sess.run(y, {**feeds, x: moved})))
        jacobian[row] = (ends[0] - ends[1]) / (2 * delta)
    return jacobian


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> float:
    """Return the largest difference between the two Jacobians of ``compute_gradient``."""
    found = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = found if isinstance(found, list) else [found]
    return max((np.max(np.abs(a - b)) for a, b in pairs if a.size), default=0.0)

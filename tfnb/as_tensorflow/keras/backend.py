"""The backend inside of TensorFlow 1.15's ``tf.keras``, on which Keras 2.3 builds.

Graphs, sessions, variables and functions are here; what builds tensors is in
``backend_tensors.py``.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.as_tensorflow.keras.backend_tensors import binary_crossentropy as binary_crossentropy
from tfnb.as_tensorflow.keras.backend_tensors import (
    categorical_crossentropy as categorical_crossentropy,
)
from tfnb.as_tensorflow.keras.backend_tensors import hard_sigmoid as hard_sigmoid
from tfnb.as_tensorflow.keras.backend_tensors import random_binomial as random_binomial
from tfnb.as_tensorflow.keras.backend_tensors import rnn as rnn
from tfnb.as_tensorflow.keras.backend_tensors import (
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from tfnb.as_tensorflow.keras.number_settings import cast_to_floatx as cast_to_floatx
from tfnb.as_tensorflow.keras.number_settings import epsilon as epsilon
from tfnb.as_tensorflow.keras.number_settings import floatx as floatx
from tfnb.as_tensorflow.keras.number_settings import image_data_format as image_data_format
from tfnb.as_tensorflow.keras.number_settings import set_epsilon as set_epsilon
from tfnb.as_tensorflow.keras.number_settings import set_floatx as set_floatx
from tfnb.as_tensorflow.keras.number_settings import (
    set_image_data_format as set_image_data_format,
)
from tfnb.client.public.api import tf
from tfnb.client.session.callable import CallableFromOptions
from tfnb.core.process.weak_registry import WeakTable
from tfnb.framework.structures import nest
from tfnb.proto.config_pb2 import CallableOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

get_graph = tf.get_default_graph
random_normal = tf.random_normal
random_uniform = tf.random_uniform
truncated_normal = tf.truncated_normal


class _State:
    """What Keras keeps between calls."""

    def __init__(self) -> None:
        self.session: Any = None
        # By graph: 0, 1, or the name of the placeholder, since a tensor keeps its graph alive.
        self.learning_phases: WeakTable[Any, int | str] = WeakTable()
        self.uids: WeakTable[Any, defaultdict[str, int]] = WeakTable()
        self.variables_are_the_users = False


_state = _State()


def get_uid(prefix: str = "") -> int:
    """Return the next number of a prefix in the default graph; the first is 1."""
    graph = get_graph()
    numbers = _state.uids.get(graph)
    if numbers is None:
        numbers = _state.uids[graph] = defaultdict(int)
    numbers[prefix] += 1
    return numbers[prefix]


def reset_uids() -> None:
    """Begin again to number names."""
    _state.uids = WeakTable()


def manual_variable_initialization(value: bool) -> None:
    """Set whether the program initializes the variables."""
    _state.variables_are_the_users = value


def learning_phase() -> Any:
    """Return the learning phase of the default graph, a placeholder that is False unless fed."""
    graph = get_graph()
    known = _state.learning_phases.get(graph)
    if known is not None:
        return graph.get_tensor_by_name(known) if isinstance(known, str) else known
    with tf.init_scope(), tf.name_scope(""):
        phase = tf.placeholder_with_default(False, shape=(), name="keras_learning_phase")
    _state.learning_phases[graph] = phase.name
    return phase


def set_learning_phase(value: int) -> None:
    """Set the learning phase of the default graph.

    Raises:
      ValueError: it is neither 0 nor 1.
    """
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    _state.learning_phases[get_graph()] = value


def get_session() -> Any:
    """Return the default session, else Keras' own; variables of its graph are initialized."""
    session = tf.get_default_session()
    if session is None:
        session = _state.session
        if session is None or session.graph is not get_graph():
            session = _state.session = tf.Session(config=_config())
    if not _state.variables_are_the_users:
        _initialize_variables(session)
    return session


def _config() -> Any:
    threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
    return tf.ConfigProto(allow_soft_placement=True, intra_op_parallelism_threads=threads)


def set_session(session: Any) -> None:
    """Set Keras' own session."""
    _state.session = session


def clear_session() -> None:
    """Begin with a new default graph and a new session."""
    tf.reset_default_graph()
    reset_uids()
    _state.session = None
    _state.learning_phases = WeakTable()


def _initialize_variables(session: Any) -> None:
    """Initialize the variables of a session's graph that have no value yet."""
    with session.graph.as_default():
        new = [v for v in tf.global_variables() if not getattr(v, "_keras_initialized", False)]
        if not new:
            return
        flags = session.run([tf.is_variable_initialized(v) for v in new])
        for variable in new:
            variable._keras_initialized = True
        missing = [v for v, has_value in zip(new, flags) if not has_value]
        if missing:
            session.run(tf.variables_initializer(missing))


def variable(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    constraint: Callable[[Any], Any] | None = None,
) -> Any:
    """Return a variable, or a sparse tensor of a matrix of SciPy."""
    dtype = dtype or floatx()
    if hasattr(value, "tocoo"):
        matrix = value.tocoo()
        indices = np.stack([matrix.row, matrix.col], axis=1).astype(np.int64)
        return tf.SparseTensor(indices, matrix.data, matrix.shape)
    return tf.Variable(
        value, dtype=tf.as_dtype(dtype), name=name, constraint=constraint, use_resource=True
    )


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """Return a constant tensor."""
    return tf.constant(value, dtype=dtype or floatx(), shape=shape, name=name or "Const")


def placeholder(
    shape: Any = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Return a placeholder of a shape, or of a number of dimensions."""
    if shape is None and ndim is not None:
        shape = (None,) * ndim
    make = tf.sparse_placeholder if sparse else tf.placeholder
    return make(dtype or floatx(), shape=shape, name=name)


def batch_get_value(ops: Sequence[Any]) -> list[Any]:
    """Return the values of variables."""
    return get_session().run(ops) if ops else []


def set_value(x: Any, value: Any) -> None:
    """Set the value of a variable."""
    batch_set_value([(x, value)])


def batch_set_value(tuples: Iterable[tuple[Any, Any]]) -> None:
    """Set the values of variables."""
    assignments = []
    feeds = {}
    for variable, value in tuples:
        array = np.asarray(value, dtype=variable.dtype.base_dtype.as_numpy_dtype)
        assignment = getattr(variable, "keras_assignment", None)
        if assignment is None:
            with variable.graph.as_default():
                fed = tf.placeholder(variable.dtype.base_dtype, shape=(None,) * array.ndim)
                assignment = variable.keras_assignment = (fed, variable.assign(fed).op)
        feeds[assignment[0]] = array
        assignments.append(assignment[1])
    if assignments:
        get_session().run(assignments, feeds)


class GraphExecutionFunction:
    """Runs outputs and updates of a graph for inputs.

    Args:
      inputs: placeholders, in any structure.
      outputs: tensors to return, in any structure.
      updates: operations, or pairs of a variable and its new value; run after the outputs.
      name: a name for people.
      session_kwargs: ``feed_dict`` (more values to feed), ``fetches`` (more to run),
        ``options`` and ``run_metadata`` as for ``Session.run``.
    """

    def __init__(
        self,
        inputs: Any,
        outputs: Any,
        updates: Sequence[Any] | None = None,
        name: str | None = None,
        **session_kwargs: Any,
    ) -> None:
        if not isinstance(updates or [], (list, tuple)):
            raise TypeError("`updates` in a Keras backend function should be a list or tuple.")
        self._structure = outputs
        self.inputs = nest.flatten(inputs)
        self.outputs = [_as_tensor(one) for one in nest.flatten(outputs)]
        with tf.control_dependencies([self.outputs[0]] if self.outputs else []):
            self.updates_op = tf.group(*[_update(one) for one in updates or []])
        self.name = name
        self.feed_dict = session_kwargs.pop("feed_dict", None) or {}
        fetches = session_kwargs.pop("fetches", [])
        self.fetches = [
            tf.identity(one) for one in (fetches if isinstance(fetches, list) else [fetches])
        ]
        self.fetch_callbacks: dict[Any, Callable[[Any], None]] = {}
        self.run_options = session_kwargs.pop("options", None)
        self.run_metadata = session_kwargs.pop("run_metadata", None)
        if session_kwargs:
            raise ValueError(
                f"Some keys in session_kwargs are not supported at this time: {[*session_kwargs]}"
            )
        self._callables: list[tuple[Any, tuple[Any, ...], tuple[Any, ...], Any]] = []

    def __call__(self, inputs: Any) -> Any:
        """Return the values of the outputs, in their structure."""
        session = get_session()
        arrays: list[Any] = []
        fed: list[Any] = []
        connections: list[tuple[Any, Any]] = []
        for tensor, value in zip(self.inputs, nest.flatten(inputs), strict=False):
            if value is None:
                continue
            if tf.is_tensor(value):
                connections.append((tensor, value))
            else:
                fed.append(tensor)
                arrays.append(np.asarray(value, dtype=tensor.dtype.base_dtype.as_numpy_dtype))
        for tensor, value in self.feed_dict.items():
            fed.append(tensor)
            arrays.append(np.asarray(value, dtype=tensor.dtype.base_dtype.as_numpy_dtype))
        run = self._callable(session, tuple(fed), tuple(connections))
        fetched = run(*arrays, run_metadata=self.run_metadata)
        count = len(self.outputs)
        for tensor, value in zip(self.fetches, fetched[count:]):
            if tensor in self.fetch_callbacks:
                self.fetch_callbacks[tensor](value)
        return nest.pack_sequence_as(self._structure, fetched[:count])

    def _callable(
        self, session: Any, fed: tuple[Any, ...], connections: tuple[tuple[Any, Any], ...]
    ) -> Any:
        for known_session, known_fed, known_connections, run in self._callables:
            if known_session is session and (known_fed, known_connections) == (fed, connections):
                return run
        options = CallableOptions()
        options.feed.extend(tensor.name for tensor in fed)
        for tensor, value in connections:
            connection = options.tensor_connection.add()
            connection.from_tensor = tf.cast(tf.convert_to_tensor(value), tensor.dtype).name
            connection.to_tensor = tensor.name
        options.fetch.extend(tensor.name for tensor in self.outputs + self.fetches)
        options.target.append(self.updates_op.name)
        if self.run_options:
            options.run_options.CopyFrom(self.run_options)
        run = CallableFromOptions(session, options)
        self._callables = [one for one in self._callables if one[0] is session][-3:]
        self._callables.append((session, fed, connections, run))
        return run


def _as_tensor(value: Any) -> Any:
    return tf.convert_to_tensor(value) if isinstance(value, tf.Variable) else value


def _update(update: Any) -> Any:
    if isinstance(update, tuple):
        variable, value = update
        return tf.assign(variable, value)
    return update


def function(
    inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any
) -> Any:
    """Return a function from values of inputs to values of outputs."""
    return GraphExecutionFunction(inputs, outputs, updates=updates, name=name, **kwargs)

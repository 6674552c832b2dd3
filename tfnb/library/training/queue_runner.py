"""``tf.train.QueueRunner``: threads that fill a queue while a session runs."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.process.weak_registry import WeakTable
from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.default_session import get_default_session
from tfnb.framework.scope_names import prepend_name_scope, strip_name_scope
from tfnb.framework.scopes import add_to_collection
from tfnb.library.training.coordinator import Coordinator, SessionThread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import TensorLike, TensorResult
    from tfnb.proto import queue_runner_pb2

EXPORTS = {
    "train": ["QueueRunner", "add_queue_runner", "start_queue_runners"],
    "train.queue_runner": ["QueueRunner", "add_queue_runner", "start_queue_runners"],
}

_log = logging.getLogger("tensorflow")


class QueueRunner:
    """A set of threads, each of which runs one of ``enqueue_ops`` until the source has ended.

    When the last thread ends, ``close_op`` runs; when a coordinator stops, ``cancel_op`` runs, so
    that no thread waits for space in the queue.

    Args:
      queue: the queue to fill.
      enqueue_ops: the ops that the threads run.
      close_op: closes the queue; ``queue.close()`` if not given.
      cancel_op: closes it and cancels waiting ops; ``queue.close(cancel_pending_enqueues=True)``
        if not given.
      queue_closed_exception_types: errors that mean the source has ended; ``OutOfRangeError`` if
        not given.
      queue_runner_def: a message to make the runner from, instead of the other arguments.
      import_scope: name scope of ``queue_runner_def``'s names in the graph.

    Raises:
      ValueError: both or neither of ``queue`` and ``queue_runner_def`` are given.
      TypeError: ``queue_closed_exception_types`` are not error classes.
    """

    def __init__(
        self,
        queue: TensorLike | None = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Operation | None = None,
        cancel_op: Operation | None = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: queue_runner_pb2.QueueRunnerDef | None = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read(queue_runner_def, import_scope)
        else:
            if not queue or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            self._queue = queue
            self._enqueue_ops = list(enqueue_ops)
            self._close_op = queue.close() if close_op is None else close_op
            self._cancel_op = (
                queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
            )
            self._closed_types = _error_types(queue_closed_exception_types)
        self._lock = threading.Lock()
        self._exceptions_raised: list[Exception] = []  # guarded by self._lock
        # Number of enqueue threads per session; guarded by self._lock
        self._running: WeakTable[Any, int] = WeakTable()

    def _read(self, described: queue_runner_pb2.QueueRunnerDef, scope: str | None) -> None:
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_name_scope(name, scope))

        self._queue = element(described.queue_name)
        self._enqueue_ops = [element(name) for name in described.enqueue_op_name]
        self._close_op = element(described.close_op_name)
        self._cancel_op = element(described.cancel_op_name)
        self._closed_types = tuple(
            errors.exception_type_from_error_code(code)
            for code in described.queue_closed_exception_types
        ) or (errors.OutOfRangeError,)

    @property
    def queue(self) -> TensorResult:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The ops that the threads run."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """The op that runs when the source has ended."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """The op that runs when the coordinator stops."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[errors.OpError], ...]:
        """Errors that mean the source has ended."""
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """The errors of threads that run without a coordinator."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue's op."""
        found: str = self._queue.name
        return found

    def create_threads(
        self,
        sess: Any,
        coord: Coordinator | None = None,
        daemon: bool = False,
        start: bool = False,
    ) -> list[threading.Thread]:
        """Make a thread for each enqueue op; with ``coord`` one more that cancels.

        Args:
          sess: the session in which they run.
          coord: receives failures, and stops the threads.
          daemon: whether the program may end while they run.
          start: whether to start them.

        Returns:
          The threads; none if those made before are still running in ``sess``.

        Raises:
          UnimplementedError: no thread can be started.
        """
        errors.require_threads(
            f"QueueRunner of queue '{self.name}'",
            "Run its enqueue ops yourself between steps, or read from a tf.data.Dataset.",
        )
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        made: list[threading.Thread] = [
            SessionThread(
                target=self._run,
                args=(sess, op, coord),
                name=f"QueueRunnerThread-{self.name}-{op.name}",
                daemon=daemon,
            )
            for op in self._enqueue_ops
        ]
        if coord is not None:
            made.append(
                threading.Thread(
                    target=self._close_on_stop,
                    args=(sess, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                    daemon=daemon,
                )
            )
        for thread in made:
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return made

    def enqueuing(self, sess: Any, enqueue_op: Any) -> Callable[[], Any]:
        """Return the function by which a thread runs its op once."""
        run: Callable[[], Any] = sess.make_callable(enqueue_op)
        return run

    def _run(self, sess: Any, enqueue_op: Any, coord: Coordinator | None) -> None:
        """Run one enqueue op until the source ends; the body of a thread."""
        is_counted = True
        try:
            enqueue = self.enqueuing(sess, enqueue_op)
            while coord is None or not coord.should_stop():
                try:
                    enqueue()
                except self._closed_types:
                    is_counted = False
                    if self._one_less(sess):
                        self._close(sess)
                    return
        except Exception as error:
            if coord is not None:
                is_expected = isinstance(error, errors.CancelledError) and coord.should_stop()
                if not is_expected:
                    coord.request_stop(error)
                return
            _log.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._exceptions_raised.append(error)
            raise
        finally:
            if is_counted:
                self._one_less(sess)

    def _one_less(self, sess: Any) -> bool:
        """Decrement the number of threads; return whether it was the last."""
        with self._lock:
            left = self._running.get(sess, 0) - 1
            self._running[sess] = left
            return left == 0

    def _close(self, sess: Any) -> None:
        try:
            sess.run(self._close_op)
        except Exception as error:  # the queue or the session may be closed already
            _log.log(1, "Ignored exception: %s", error)

    def _close_on_stop(self, sess: Any, coord: Coordinator) -> None:
        """Wait for the coordinator to stop, then cancel; the body of a thread."""
        coord.wait_for_stop()
        try:
            sess.run(self._cancel_op)
        except Exception as error:  # the session may be closed
            _log.log(1, "Ignored exception: %s", error)

    def to_proto(self, export_scope: str | None = None) -> queue_runner_pb2.QueueRunnerDef | None:
        """Return the runner as a message; None if it does not belong to ``export_scope``."""
        from tfnb.proto import queue_runner_pb2

        if export_scope is not None and not self.name.startswith(export_scope):
            return None

        def stripped(named: Any) -> str:
            return strip_name_scope(named.name, export_scope)

        codes: list[Any] = [
            errors.error_code_from_exception_type(kind) for kind in self._closed_types
        ]
        return queue_runner_pb2.QueueRunnerDef(
            queue_name=stripped(self._queue),
            enqueue_op_name=[stripped(op) for op in self._enqueue_ops],
            close_op_name=stripped(self._close_op),
            cancel_op_name=stripped(self._cancel_op),
            queue_closed_exception_types=codes,
        )

    @staticmethod
    def from_proto(
        queue_runner_def: queue_runner_pb2.QueueRunnerDef, import_scope: str | None = None
    ) -> QueueRunner:
        """Make a runner from a message that names ops of the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _error_types(given: Any) -> tuple[type[errors.OpError], ...]:
    if given is None:
        return (errors.OutOfRangeError,)
    if (
        not isinstance(given, tuple)
        or not given
        or not all(isinstance(kind, type) and issubclass(kind, errors.OpError) for kind in given)
    ):
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but "
            f"saw: {given}"
        )
    return given


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add a runner to those that :func:`start_queue_runners` starts."""
    add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the queue runners of the session's graph.

    Args:
      sess: the session; the default one if not given.
      coord: a coordinator that stops the threads together.
      daemon: whether the program may end while they run.
      start: whether to start the threads, or only to make them.
      collection: the collection of the runners.

    Returns:
      The threads.

    Raises:
      ValueError: there is no session.
      TypeError: ``sess`` is not a session.
    """
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)"
            )
    if not hasattr(sess, "make_callable") or not hasattr(sess, "graph"):
        # A monitored session starts the runners itself.
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = sess.graph.get_collection(collection)
    if not runners:
        _log.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You "
            "can safely remove the call to this deprecated function."
        )
    with sess.graph.as_default():
        return [
            thread
            for runner in runners
            for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
        ]

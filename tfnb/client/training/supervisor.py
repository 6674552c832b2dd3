"""``tf.train.Supervisor``: a session that is restored, saved and summarized by threads.

It is older than monitored sessions: three threads of its coordinator do the work of their hooks,
not between steps but at fixed intervals, given in seconds.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tfnb.client.files.summary_writer import FileWriter
from tfnb.client.training.session_manager import SessionManager
from tfnb.core import dtypes, errors
from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.library.control_flow.control_flow import group
from tfnb.library.tables.lookup import tables_initializer
from tfnb.library.training.coordinator import Coordinator, LooperThread
from tfnb.library.training.global_step import global_step as read_global_step
from tfnb.library.training.graph_io import write_graph
from tfnb.library.training.meta_graph import create_meta_graph_def
from tfnb.library.training.saver import Saver
from tfnb.library.variables.variables import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from tfnb.ops.io.summary_ops import merge_all
from tfnb.proto.event_pb2 import SessionLog
from tfnb.proto.summary_pb2 import Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.client.session.session import Session
    from tfnb.framework.graph import Graph

EXPORTS = {"train": ["Supervisor", "basic_train_loop"]}

_log = logging.getLogger("tensorflow")


class Supervisor:
    """A manager of sessions, which saves checkpoints and summaries while they run.

    An argument that is ``USE_DEFAULT`` is the first element of the graph's collection for it, or is
    made and added to the collection. None turns it off.

    Args:
        graph: The graph, which is finalized; the default graph if None.
        ready_op: Returns the names of variables that are not initialized.
        ready_for_local_init_op: The check before ``local_init_op``, like ``ready_op``.
        is_chief: Whether this process initializes, saves and summarizes; others wait for it.
        init_op: Initializes the variables.
        init_feed_dict: The feeds for the run of ``init_op``.
        local_init_op: Initializes local variables and tables.
        logdir: The folder for checkpoints, summaries and the graph.
        summary_op: Returns the summaries.
        saver: Saves and restores.
        global_step: Counts steps.
        save_summaries_secs: Seconds between two summaries; 0 for none.
        save_model_secs: Seconds between two checkpoints; 0 for none.
        recovery_wait_secs: Seconds between two checks whether a model is ready.
        stop_grace_secs: How long threads may continue after the end.
        checkpoint_basename: The prefix of the names of checkpoints.
        session_manager: Makes the sessions.
        summary_writer: Writes the summaries.
        init_fn: Is called with the session after ``init_op``.
        local_init_run_options: The options for the run of ``local_init_op``.

    Raises:
        ValueError: A variable of a worker that is not the chief has no device.
    """

    USE_DEFAULT: Any = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        self._graph = graph or get_default_graph()
        with self._graph.as_default():
            keys = GraphKeys
            self._ready_op = self._default(ready_op, keys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op = self._default(
                ready_for_local_init_op, keys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self._init_op = self._default(init_op, keys.INIT_OP, global_variables_initializer)
            self._init_feed_dict = init_feed_dict
            self._local_init_op = self._default(
                local_init_op,
                keys.LOCAL_INIT_OP,
                lambda: group(local_variables_initializer(), tables_initializer()),
            )
            self._saver = self._default(
                saver, keys.SAVERS, lambda: Saver() if global_variables() else None
            )
            self._summary_op = self._default(summary_op, keys.SUMMARY_OP, merge_all)
            self._global_step = self._default(global_step, keys.GLOBAL_STEP, self._find_step)
        saver_def = self._saver.saver_def if self._saver else None
        graph_def = self._graph.as_graph_def(add_shapes=True)
        self._meta_graph_def = create_meta_graph_def(graph_def=graph_def, saver_def=saver_def)
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._init_fn = init_fn
        self._logdir = logdir if is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(logdir, checkpoint_basename) if is_chief and logdir else None
        self._summary_writer: FileWriter | None = None
        if is_chief and summary_writer is not Supervisor.USE_DEFAULT:
            self._summary_writer = summary_writer
        elif self._logdir:
            self._summary_writer = FileWriter(self._logdir)
        self._is_graph_written = False
        if session_manager is None:
            session_manager = SessionManager(
                local_init_op=self._local_init_op,
                ready_op=self._ready_op,
                ready_for_local_init_op=self._ready_for_local_init_op,
                graph=self._graph,
                recovery_wait_secs=recovery_wait_secs,
                local_init_run_options=local_init_run_options,
            )
        self._session_manager = session_manager
        self._check_devices()
        self._graph.finalize()

    def _default(self, given: Any, key: str, make: Callable[[], Any]) -> Any:
        """Return the argument if given; else the first of a collection, or a new one."""
        if given is not Supervisor.USE_DEFAULT:
            return given
        found = self._graph.get_collection(key)
        if found:
            return found[0]
        made = make()
        if made is not None:
            self._graph.add_to_collection(key, made)
        return made

    def _find_step(self) -> Any:
        """Return the tensor named ``global_step``, if it can count."""
        try:
            step = self._graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
        if step.dtype.base_dtype in (dtypes.int32, dtypes.int64):
            return step
        _log.warning("Found 'global_step' is not an int type: %s", step.dtype)
        return None

    def _check_devices(self) -> None:
        if self._is_chief:
            return
        for op in self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise ValueError(
                    f"When using replicas, all Variables must have their device set: {op}"
                )

    # -- properties --------------------------------------------------------------------------------

    @property
    def is_chief(self) -> bool:
        """Whether this process initializes, saves and summarizes."""
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        """The object that makes the sessions."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """The coordinator, which stops the threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        """The op that initializes the variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """The feeds for the run of ``init_op``."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """The op that returns the names of variables that are not initialized."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The same op, to run before the local initialization."""
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> FileWriter | None:
        """The writer of the summaries."""
        return self._summary_writer

    @property
    def summary_op(self) -> Any:
        """The op that returns the summaries."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float | None:
        """Seconds between two summaries."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The tensor that counts steps."""
        return self._global_step

    @property
    def saver(self) -> Any:
        """The saver."""
        return self._saver

    @property
    def save_model_secs(self) -> float | None:
        """Seconds between two checkpoints."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """The prefix of the paths of checkpoints."""
        return self._save_path

    # -- sessions ----------------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """Return a session that is ready; the chief prepares it, others wait for the chief.

        Args:
            master: The engine to connect to.
            config: A ``ConfigProto``.
            wait_for_checkpoint: Whether the chief waits for one.
            max_wait_secs: How long to wait.
            start_standard_services: Whether to start the threads of the chief and queue runners.
        """
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
        if not self._is_chief:
            sess = self._session_manager.wait_for_session(master, config, max_wait_secs)
        else:
            sess = self._session_manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(sess)
        if start_standard_services:
            self.start_queue_runners(sess)
        return sess

    def _write_graph(self) -> None:
        if self._logdir:
            graph_def = self._graph.as_graph_def(add_shapes=True)
            write_graph(graph_def, self._logdir, "graph.pbtxt")
        if self._summary_writer is not None and not self._is_graph_written:
            self._summary_writer.add_graph(self._graph)
            self._summary_writer.add_meta_graph(self._meta_graph_def)
            self._is_graph_written = True

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """Return a context with a session, which is closed at its end, with all threads stopped.

        An exception of the block or a thread is raised again, except for the end of the input.
        """
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield sess
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if sess is not None:
                    sess.close()

    # -- threads -----------------------------------------------------------------------------------

    def start_standard_services(self, sess: Session) -> list[LooperThread]:
        """Start the threads that save and summarize.

        Raises:
            RuntimeError: This is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief "
                "supervisors can write events."
            )
        if not self._logdir:
            _log.warning("Standard services need a 'logdir' passed to the Supervisor")
            return []
        if self._global_step is not None and self._summary_writer is not None:
            step = read_global_step(sess, self._global_step)
            self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), step)
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._summary_writer is not None:
            if self._summary_op is not None:
                threads.append(_SummaryThread(self, sess, self._save_summaries_secs))
            if self._global_step is not None:
                threads.append(_StepCounterThread(self, sess, self._save_summaries_secs))
        if self._saver and self._save_model_secs:
            threads.append(_CheckpointThread(self, sess, self._save_model_secs))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess: Session, queue_runners: Any = None) -> list[Any]:
        """Start queue runners, those of the graph if None, and return their threads."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        ]

    def loop(
        self, timer_interval_secs: float | None, target: Any, args: Any = None, kwargs: Any = None
    ) -> LooperThread:
        """Call a function repeatedly in a thread, until ``stop``."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(
        self,
        threads: Any = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stop the threads and wait for them.

        Raises:
            Exception: The exception that ended a thread.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._summary_writer is not None:
                self._summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._summary_writer.close()
                self._is_graph_written = False

    def request_stop(self, ex: Any = None) -> None:
        """Ask the threads to stop."""
        self._coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Return whether a stop was requested."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> Any:
        """Return a context in which an exception is a request to stop."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until a stop is requested."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Session, summary: Any, global_step: int | None = None) -> None:
        """Write a summary.

        Raises:
            RuntimeError: There is no writer.
        """
        if self._summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = read_global_step(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    # Names of these methods in older programs.
    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


class _ServiceThread(LooperThread):
    """A thread of a supervisor."""

    def __init__(self, sv: Supervisor, sess: Session, secs: float) -> None:
        super().__init__(sv.coord, secs)
        self._sv = sv
        self._sess = sess

    def _step(self) -> int | None:
        step = self._sv.global_step
        return None if step is None else read_global_step(self._sess, step)


class _SummaryThread(_ServiceThread):
    """The thread that writes the summaries."""

    def run_loop(self) -> None:
        """Run the summary op and write its summaries."""
        if self._sv.global_step is None:
            self._sv.summary_computed(self._sess, self._sess.run(self._sv.summary_op))
        else:
            fetches = [self._sv.summary_op, self._sv.global_step]
            summary, step = self._sess.run(fetches)
            self._sv.summary_computed(self._sess, summary, int(step))


class _StepCounterThread(_ServiceThread):
    """The thread that writes the number of steps per second."""

    def start_loop(self) -> None:
        """Record the start time and step."""
        self._last_time = time.time()
        self._last_step = self._step() or 0

    def run_loop(self) -> None:
        """Write the number of steps per second since the last call."""
        now, step = time.time(), self._step() or 0
        elapsed, steps = now - self._last_time, step - self._last_step
        self._last_time, self._last_step = now, step
        rate = steps / elapsed if elapsed else float("inf")
        tag = f"{self._sv.global_step.op.name}/sec"
        summary = Summary(value=[Summary.Value(tag=tag, simple_value=rate)])
        self._sv.summary_computed(self._sess, summary, step)
        _log.info("%s: %g", tag, rate)


class _CheckpointThread(_ServiceThread):
    """The thread that saves checkpoints."""

    def run_loop(self) -> None:
        """Save a checkpoint."""
        path = self._sv.save_path or ""
        self._sv.saver.save(self._sess, path, global_step=self._sv.global_step)
        step, writer = self._step(), self._sv.summary_writer
        if writer is not None and step is not None:
            log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=path)
            writer.add_session_log(log, step)


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Any = None,
    kwargs: Any = None,
    master: str = "",
) -> None:
    """Call a function with a session repeatedly until the supervisor stops.

    After an AbortedError it starts again, with another session.

    Args:
        supervisor: Prepares the session.
        train_step_fn: ``train_step_fn(session, *args, **kwargs)``.
        args: Positional arguments of the function.
        kwargs: Keyword arguments of the function.
        master: The engine to connect to.
    """
    should_retry = True
    while should_retry:
        should_retry = False
        try:
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *(args or ()), **(kwargs or {}))
        except errors.AbortedError:
            should_retry = True

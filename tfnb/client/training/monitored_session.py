"""``tf.train.MonitoredSession``: a session with hooks, threads that stop with it, and recovery.

Sessions wrap each other, the innermost first:

  Session               runs
  _HookedSession        calls the hooks around each run
  _CoordinatedSession   stops the threads of queue runners at the end, raises their errors
  _RecoverableSession   makes a new session when one was lost (AbortedError, UnavailableError)

``should_stop`` is true when it is true for any of them. ``run_step_fn`` passes a function both the
innermost session and the outermost ``run``.
"""

from __future__ import annotations

import abc
import inspect
import logging
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from tfnb.client.training.saving_hooks import (
    CheckpointSaverHook,
    StepCounterHook,
    SummarySaverHook,
)
from tfnb.client.training.scaffold import Scaffold
from tfnb.client.training.session_manager import SessionManager
from tfnb.client.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tfnb.core import errors
from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import get_collection
from tfnb.library.training.coordinator import Coordinator
from tfnb.library.training.queue_runner import start_queue_runners
from tfnb.proto.config_pb2 import RunMetadata, RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.client.session.session import Session
    from tfnb.framework.graph import Graph

EXPORTS = {
    "train": [
        "ChiefSessionCreator", "MonitoredSession", "MonitoredTrainingSession", "SessionCreator",
        "SingularMonitoredSession", "WorkerSessionCreator",
    ]
}  # fmt: skip

_log = logging.getLogger("tensorflow")

# Errors after which the session is lost, but a new one may work.
_PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)
USE_DEFAULT: Any = object()


class SessionCreator(abc.ABC):
    """The base class of objects that make sessions."""

    @abc.abstractmethod
    def create_session(self) -> Any:
        """Return a new session, ready to be run."""


class _ScaffoldSessionCreator(SessionCreator):
    """A base class of session creators that use a scaffold."""

    def __init__(self, scaffold: Scaffold | None, master: str, config: Any) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._manager: SessionManager | None = None

    def _session_manager(self) -> SessionManager:
        """Return the session manager; finalizes the scaffold first."""
        self._scaffold.finalize()
        if self._manager is None:
            self._manager = SessionManager(
                local_init_op=self._scaffold.local_init_op,
                local_init_feed_dict=self._scaffold.local_init_feed_dict,
                ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
                graph=get_default_graph(),
            )
        return self._manager


class ChiefSessionCreator(_ScaffoldSessionCreator):
    """A creator of sessions that restore or initialize the variables.

    Args:
        scaffold: The scaffold that holds the ops to use.
        master: The engine to connect to.
        config: A ``ConfigProto``.
        checkpoint_dir: The folder with the checkpoints, whose newest is used.
        checkpoint_filename_with_path: The checkpoint itself.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_path = checkpoint_filename_with_path

    def create_session(self) -> Session:
        """Return a session with the variables of the checkpoint, or new ones."""
        manager = self._session_manager()
        return manager.prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_path,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


class WorkerSessionCreator(_ScaffoldSessionCreator):
    """A creator of sessions that wait until the chief has initialized the variables.

    Args:
        scaffold: The scaffold that holds the ops to use.
        master: The engine to connect to.
        config: A ``ConfigProto``.
        max_wait_secs: How long to wait.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Session:
        """Return a session of an initialized model."""
        manager = self._session_manager()
        return manager.wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: str | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """Return a session for training: restores, initializes, saves, writes summaries, recovers.

    Args:
        master: The engine to connect to; empty for this process.
        is_chief: Whether this process initializes and saves; other workers wait for it.
        checkpoint_dir: The folder of checkpoints; none are saved if None.
        scaffold: The scaffold that holds the ops to use.
        hooks: More hooks.
        chief_only_hooks: More hooks for the chief.
        save_checkpoint_secs: Seconds between two checkpoints; 600 if no interval is given.
        save_summaries_steps: Steps between two summaries; 100 if no interval is given.
        save_summaries_secs: Seconds between two summaries.
        config: A ``ConfigProto``.
        stop_grace_period_secs: How long threads may continue after the end.
        log_step_count_steps: Steps between two counts of steps per second; None for none.
        max_wait_secs: How long a worker waits for the chief.
        save_checkpoint_steps: Steps between two checkpoints.
        summary_dir: The folder of summaries; ``checkpoint_dir`` if None.
        save_graph_def: Whether to write the graph beside the checkpoints.
    """
    summaries = _chosen(save_summaries_steps, save_summaries_secs, (100, None))
    checkpoints = _chosen(save_checkpoint_steps, save_checkpoint_secs, (None, 600))
    scaffold = scaffold or Scaffold()
    if not is_chief:
        return MonitoredSession(
            WorkerSessionCreator(scaffold, master, config, max_wait_secs),
            list(hooks or ()),
            stop_grace_period_secs,
        )
    every_hook: list[SessionRunHook] = list(chief_only_hooks or ())
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and log_step_count_steps and log_step_count_steps > 0:
        every_hook.append(StepCounterHook(log_step_count_steps, output_dir=summary_dir))
    if summary_dir and _is_asked(summaries):
        every_hook.append(SummarySaverHook(*summaries, output_dir=summary_dir, scaffold=scaffold))
    if checkpoint_dir and _is_asked(checkpoints):
        every_hook.append(
            CheckpointSaverHook(
                checkpoint_dir,
                save_steps=checkpoints[0],
                save_secs=checkpoints[1],
                scaffold=scaffold,
                save_graph_def=save_graph_def,
            )
        )
    every_hook.extend(hooks or ())
    return MonitoredSession(creator, every_hook, stop_grace_period_secs)


def _chosen(steps: Any, secs: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return (steps, seconds), None for one not given; ``default`` if neither is given."""
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return (None if steps is USE_DEFAULT else steps, None if secs is USE_DEFAULT else secs)


def _is_asked(intervals: tuple[Any, Any]) -> bool:
    return any(interval and interval > 0 for interval in intervals)


class _StepContext:
    """The argument of a step function: the session, and runs with hooks."""

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The ``tf.Session``; its ``run`` does not call hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Run as the monitored session does."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> NoReturn:
        """End the step function and the training.

        Raises:
            StopIteration: Always.
        """
        raise StopIteration("step_fn has requested the iterations to stop.")


class _MonitoredSession:
    """Base class of both kinds of monitored sessions.

    Args:
        session_creator: Makes the sessions.
        hooks: The hooks to call.
        should_recover: Whether a lost session is replaced.
        stop_grace_period_secs: How long threads may continue after the end.
    """

    StepContext: ClassVar = _StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Sequence[SessionRunHook] | None,
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._graph_was_finalized = get_default_graph().finalized
        self._hooks = list(hooks or ())
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = _CoordinatedSessionCreator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        self._sess: _WrappedSession | None = (
            _RecoverableSession(self._coordinated_creator)
            if should_recover
            else self._coordinated_creator.create_session()
        )

    @property
    def graph(self) -> Graph | None:
        """The graph; None after ``close``."""
        found: Graph | None = None if self._tf_sess() is None else self._tf_sess().graph
        return found

    def _open_session(self) -> _WrappedSession:
        if self._sess is None:
            raise RuntimeError("Session is already closed.")
        return self._sess

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Run one step with the hooks, like ``Session.run``.

        Raises:
            RuntimeError: The session is closed or must stop, or a tensor is fed twice.
        """
        return self._open_session().run(
            fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
        )

    def run_step_fn(self, step_fn: Callable[[_StepContext], Any]) -> Any:
        """Call a function that may run the session any number of times.

        Args:
            step_fn: ``step_fn(step_context)``; returns the result.

        Raises:
            StopIteration: The function requested a stop.
            ValueError: The function takes other arguments.
        """
        names = tuple(inspect.signature(step_fn).parameters)
        if names not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                "`step_context` arguments if it's an instance method. Got "
                f"{names} instead."
            )
        return self._open_session().run_step_fn(step_fn, self._tf_sess(), None)

    def should_stop(self) -> bool:
        """Return whether the training must stop."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Call the hooks' ``end``, stop the threads, close the session.

        Raises:
            RuntimeError: The session is closed already.
        """
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> bool:
        # The end of the input is the end of the training.
        if kind in (errors.OutOfRangeError, StopIteration):
            kind = None
        self._close(kind)
        return kind is None

    def _close(self, kind: Any = None) -> None:
        try:
            if kind is None:
                for hook in self._hooks:
                    hook.end(self._tf_sess())
        finally:
            try:
                self._open_session().close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    get_default_graph()._unsafe_unfinalize()

    def _is_closed(self) -> bool:
        return self._tf_sess() is None

    def _tf_sess(self) -> Any:
        return self._coordinated_creator.tf_sess


class MonitoredSession(_MonitoredSession):
    """A session with hooks that recovers from lost runs.

    Args:
        session_creator: Makes the sessions; a ``ChiefSessionCreator`` if None.
        hooks: The hooks to call.
        stop_grace_period_secs: How long threads may continue after the end.
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks that does not recover, so that programs may use its ``tf.Session``.

    Args:
        hooks: The hooks to call.
        scaffold: The scaffold that holds the ops to use.
        master: The engine to connect to.
        config: A ``ConfigProto``.
        checkpoint_dir: The folder with the checkpoints, whose newest is used.
        stop_grace_period_secs: How long threads may continue after the end.
        checkpoint_filename_with_path: The checkpoint itself.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Return the ``tf.Session``; None after ``close``."""
        return self._tf_sess()


class _CoordinatedSessionCreator(SessionCreator):
    """A creator of coordinated sessions with hooks.

    ``tf_sess`` and ``coord`` belong to the session made last.
    """

    def __init__(
        self,
        session_creator: SessionCreator,
        hooks: list[SessionRunHook],
        stop_grace_period_secs: float,
    ) -> None:
        self._session_creator = session_creator
        self._hooks = hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self.tf_sess: Any = None
        self.coord: Coordinator | None = None

    def create_session(self) -> _CoordinatedSession:
        """Return a session, with its queue runners started."""
        self.tf_sess = self._session_creator.create_session()
        self.coord = Coordinator(clean_stop_exception_types=())
        made = _CoordinatedSession(
            _HookedSession(self.tf_sess, self._hooks), self.coord, self._stop_grace_period_secs
        )
        try:
            if get_collection(GraphKeys.QUEUE_RUNNERS):
                start_queue_runners(sess=self.tf_sess, coord=self.coord)
            for hook in self._hooks:
                hook.after_create_session(self.tf_sess, self.coord)
        except BaseException:
            _close_quietly(made)
            raise
        return made


class _WrappedSession:
    """A session that wraps another."""

    def __init__(self, sess: Any) -> None:
        self._sess = sess
        self._wrapped_is_stoppable = isinstance(sess, _WrappedSession)

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._sess.graph

    @property
    def sess_str(self) -> Any:
        """The engine that the session is connected to."""
        return self._sess.sess_str

    def should_stop(self) -> bool:
        """Return whether this session or one that it wraps must stop."""
        if self._check_stop():
            return True
        if self._sess is None:
            return True
        return bool(self._wrapped_is_stoppable and self._sess.should_stop())

    def _check_stop(self) -> bool:
        """Return whether this session itself must stop."""
        return False

    def close(self) -> None:
        """Close the wrapped session."""
        if self._sess is None:
            return
        sess, self._sess = self._sess, None
        try:
            sess.close()
        except _PREEMPTION_ERRORS as error:
            _log.error("A lost session could not be closed: %s", error)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the wrapped session."""
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn: Any, raw_session: Any, run_with_hooks: Any) -> Any:
        """Call a step function."""
        return step_fn(_StepContext(raw_session, run_with_hooks or self.run))


def _close_quietly(sess: Any) -> None:
    """Close a session; log errors instead of raising them."""
    try:
        sess.close()
    except Exception as error:
        _log.info("While a session was closed: %s", error)


class _RecoverableSession(_WrappedSession):
    """A session that is replaced by a new one when it is lost."""

    def __init__(self, creator: _CoordinatedSessionCreator) -> None:
        self._creator = creator
        super().__init__(self._create_session())

    def _create_session(self) -> _CoordinatedSession:
        while True:
            try:
                return self._creator.create_session()
            except _PREEMPTION_ERRORS as error:
                _log.info("A session was lost while it was made; another is made: %s", error)

    def _current(self) -> Any:
        if self._sess is None:
            self._sess = self._create_session()
        return self._sess

    def _lost(self, error: errors.OpError) -> None:
        _log.info("A session was lost; another is made: %s", error)
        # Errors of its threads are only logged: they are the loss itself or follow from it.
        sess, self._sess = self._sess, None
        if sess is not None:
            _close_quietly(sess)

    def _check_stop(self) -> bool:
        if self._sess is None:
            return True
        try:
            return bool(self._sess._check_stop())
        except _PREEMPTION_ERRORS as error:
            self._lost(error)
            self._sess = self._create_session()
            return False
        except Exception:  # a thread failed: `run` or `close` raises it
            return True

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run; again in a new session if this one is lost."""
        while True:
            try:
                return self._current().run(*args, **kwargs)
            except _PREEMPTION_ERRORS as error:
                self._lost(error)

    def run_step_fn(self, step_fn: Any, raw_session: Any, run_with_hooks: Any) -> Any:
        """Call a step function; again with a new session if this one is lost."""
        while True:
            try:
                sess = self._current()
                return sess.run_step_fn(step_fn, self._creator.tf_sess, sess.run)
            except _PREEMPTION_ERRORS as error:
                self._lost(error)


class _CoordinatedSession(_WrappedSession):
    """A session that stops its threads when it ends and raises their errors."""

    def __init__(self, sess: Any, coord: Coordinator, stop_grace_period_secs: float = 120) -> None:
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self) -> None:
        """Stop the threads, close the session.

        Raises:
            Exception: The error of a thread.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True
            )
        finally:
            try:
                super().close()
            except Exception as error:
                _log.warning("The session could not be closed: %s", error)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run; if the run fails, a preemption error of a thread replaces its error."""
        try:
            return self._sess.run(*args, **kwargs)
        except _PREEMPTION_ERRORS:
            raise
        except Exception as error:
            try:
                self._coord.raise_requested_exception()
            except _PREEMPTION_ERRORS:
                raise
            except Exception:
                raise error from None
            raise


class _HookedSession(_WrappedSession):
    """A session that calls hooks around each run."""

    def __init__(self, sess: Any, hooks: list[SessionRunHook]) -> None:
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Run the caller's and the hooks' fetches; return the caller's results.

        Raises:
            RuntimeError: A hook requested a stop, or a tensor is fed twice.
        """
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        # Without a trace, the run needs no options, which costs less.
        is_plain = options is None and run_metadata is None
        options = RunOptions() if options is None else options
        run_metadata = RunMetadata() if run_metadata is None else run_metadata
        every_fetch = {"caller": fetches}
        feed_dict = self._before_run(context, every_fetch, feed_dict, options)
        if is_plain and not options.ByteSize():
            results = self._sess.run(every_fetch, feed_dict=feed_dict)
        else:
            results = self._sess.run(
                every_fetch, feed_dict=feed_dict, options=options, run_metadata=run_metadata
            )
        for hook in self._hooks:
            values = SessionRunValues(results.get(hook), options, run_metadata)
            hook.after_run(context, values)
        self._should_stop = self._should_stop or context.stop_requested
        return results["caller"]

    def _before_run(
        self, context: SessionRunContext, fetches: Any, user_feeds: Any, options: RunOptions
    ) -> Any:
        """Call the hooks' ``before_run``; return the merged feeds."""
        feeds: dict[Any, Any] = {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                fetches[hook] = request.fetches
            if request.feed_dict:
                _refuse_common(feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                feeds.update(request.feed_dict)
            if request.options:
                _merge_run_options(options, request.options)
        if not feeds:
            return user_feeds
        if user_feeds:
            _refuse_common(user_feeds, feeds, "Same tensor is fed by a SessionRunHook and user.")
            feeds.update(user_feeds)
        return feeds


def _refuse_common(feeds: Any, others: Any, message: str) -> None:
    common = set(feeds) & set(others)
    if common:
        raise RuntimeError(f"{message} Conflict(s): {list(common)}")


def _merge_run_options(options: RunOptions, incoming: RunOptions) -> None:
    """Merge the options that a hook requests; of each option, the larger value is used."""
    options.trace_level = max(options.trace_level, incoming.trace_level)
    for name in ("timeout_in_ms", "inter_op_thread_pool", "output_partition_graphs"):
        setattr(options, name, max(getattr(options, name), getattr(incoming, name)))
    watched = incoming.debug_options.debug_tensor_watch_opts
    options.debug_options.debug_tensor_watch_opts.extend(watched)
    if incoming.debug_options.reset_disk_byte_usage:
        options.debug_options.reset_disk_byte_usage = True
    if incoming.report_tensor_allocations_upon_oom:
        options.report_tensor_allocations_upon_oom = True

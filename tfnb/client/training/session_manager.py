"""``tf.train.SessionManager``: sessions that are ready, from a checkpoint or from initializers."""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.session.session import Session
from tfnb.core import errors
from tfnb.framework.default_graph import get_default_graph
from tfnb.library.training.checkpoint_state import get_checkpoint_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.graph import Graph
    from tfnb.proto.config_pb2 import RunOptions

EXPORTS = {"train": ["SessionManager"]}

_log = logging.getLogger("tensorflow")


class SessionManager:
    """A maker of sessions whose variables have values.

    Args:
        local_init_op: Runs in every new session.
        ready_op: Returns the names of variables that are not initialized, or fails; no check if
            None.
        ready_for_local_init_op: The check before ``local_init_op``, like ``ready_op``.
        graph: The graph; the default graph if None.
        recovery_wait_secs: How long to wait between two attempts.
        local_init_run_options: The options for the run of ``local_init_op``.
        local_init_feed_dict: The feeds for the run of ``local_init_op``.

    Raises:
        ValueError: There is a ``ready_for_local_init_op`` and no ``local_init_op``.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: RunOptions | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graph or get_default_graph()
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """Return a session that is ready: restored if there is a checkpoint, else initialized.

        Args:
            master: The engine to connect to; empty for this process.
            init_op: Initializes the variables.
            saver: Restores them.
            checkpoint_dir: The folder in which the newest checkpoint is searched.
            checkpoint_filename_with_path: The checkpoint itself.
            wait_for_checkpoint: Whether to wait until there is one.
            max_wait_secs: The maximum time to wait, in seconds.
            config: A ``ConfigProto``.
            init_feed_dict: The feeds for the run of ``init_op``.
            init_fn: Is called with the session after ``init_op``.

        Raises:
            RuntimeError: There is no initializer, or the model is not ready afterwards.
            ValueError: Both arguments for a checkpoint are given.
        """
        sess, is_restored = self._restored(
            *(master, saver, checkpoint_dir, checkpoint_filename_with_path),
            *(wait_for_checkpoint, max_wait_secs, config),
        )
        with _closing_on_error(sess):
            if not is_restored:
                if init_op is None and not init_fn and self._local_init_op is None:
                    raise RuntimeError(
                        "Model is not initialized and no init_op or init_fn or local_init_op was "
                        "given"
                    )
                if init_op is not None:
                    sess.run(init_op, feed_dict=init_feed_dict)
                if init_fn:
                    init_fn(sess)
            used = f"Init op: {_name_of(init_op)}, init fn: {init_fn}"
            problem = self._run_local_init(sess)
            if problem is not None:
                raise RuntimeError(
                    "Init operations did not make model ready for local_init.  "
                    f"{used}, error: {problem}"
                )
            problem = _problem(self._ready_op, sess, "Model not ready")
            if problem is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready.  {used}, "
                    f"local_init_op: {self._local_init_op}, error: {problem}"
                )
        return sess

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """Return a session, and whether it was restored from a checkpoint and is ready.

        The arguments are those of ``prepare_session``.
        """
        sess, is_restored = self._restored(
            *(master, saver, checkpoint_dir, checkpoint_filename_with_path),
            *(wait_for_checkpoint, max_wait_secs, config),
        )
        with _closing_on_error(sess):
            problem = self._run_local_init(sess)
            if not is_restored:
                return sess, False
            source = checkpoint_dir or checkpoint_filename_with_path
            if problem is not None:
                _log.info(
                    "Restoring model from %s did not make model ready for local init: %s",
                    *(source, problem),
                )
                return sess, False
            problem = _problem(self._ready_op, sess, "Model not ready")
            if problem is not None:
                _log.info("Restoring model from %s did not make model ready: %s", source, problem)
                return sess, False
            _log.info("Restored model from %s", source)
            return sess, True

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = math.inf
    ) -> Session:
        """Wait for a session of a model that another process initializes.

        Args:
            master: The engine to connect to.
            config: A ``ConfigProto``.
            max_wait_secs: How long to wait; None for no limit.

        Raises:
            DeadlineExceededError: The model is not ready in time.
        """
        limit = math.inf if max_wait_secs is None else max_wait_secs
        deadline = time.monotonic() + limit
        while True:
            sess = Session(master, graph=self._graph, config=config)
            with _closing_on_error(sess):
                not_ready = None
                not_ready_for_local = self._run_local_init(sess)
                if not_ready_for_local is None:
                    not_ready = _problem(self._ready_op, sess, "Model not ready")
                    if not_ready is None:
                        return sess
            sess.close()
            if deadline - time.monotonic() < self._recovery_wait_secs:
                raise errors.DeadlineExceededError(
                    None,
                    None,
                    f"Session was not ready after waiting {max_wait_secs} secs: "
                    f"{not_ready_for_local or not_ready}",
                )
            _log.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                *(not_ready_for_local, not_ready),
            )
            time.sleep(self._recovery_wait_secs)

    def _restored(
        self,
        master: str,
        saver: Any,
        checkpoint_dir: str | None,
        path: str | None,
        wait_for_checkpoint: bool,
        max_wait_secs: float,
        config: Any,
    ) -> tuple[Session, bool]:
        """Return a new session, and whether a checkpoint was restored."""
        if checkpoint_dir and path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        sess = Session(master, graph=self._graph, config=config)
        with _closing_on_error(sess):
            if not saver or not (checkpoint_dir or path):
                return sess, False
            if path:
                saver.restore(sess, path)
                return sess, True
            deadline = time.monotonic() + max_wait_secs
            state = get_checkpoint_state(checkpoint_dir)
            while not state or not state.model_checkpoint_path:
                if not wait_for_checkpoint or time.monotonic() >= deadline:
                    return sess, False
                _log.info("Waiting for checkpoint to be available.")
                time.sleep(min(self._recovery_wait_secs, max(0, deadline - time.monotonic())))
                state = get_checkpoint_state(checkpoint_dir)
            saver.restore(sess, state.model_checkpoint_path)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return sess, True

    def _run_local_init(self, sess: Session) -> str | None:
        """Run the local initializer if the model is ready; else return why it is not."""
        if self._local_init_op is None:
            return None
        problem = _problem(self._ready_for_local_init_op, sess, "Model not ready for local init")
        if problem is not None:
            return problem
        _log.info("Running local_init_op.")
        sess.run(
            self._local_init_op,
            feed_dict=self._local_init_feed_dict,
            options=self._local_init_run_options,
        )
        _log.info("Done running local_init_op.")
        return None


class _closing_on_error:
    """A context that closes a session if its block fails, because no caller has it yet."""

    def __init__(self, sess: Session) -> None:
        self._sess = sess

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        if kind is not None:
            self._sess.close()


def _name_of(op: Any) -> str:
    if op is None:
        return "None"
    if isinstance(op, list | tuple):
        return ", ".join(_name_of(one) for one in op)
    return str(getattr(op, "name", op))


def _problem(op: Any, sess: Session, context: str) -> str | None:
    """Return why a model is not ready, from its ready op; None if it is ready."""
    if op is None:
        return None
    try:
        value = sess.run(op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            _log.warning("%s : error [%s]", context, error)
            raise
        return str(error)
    if value is None or value.dtype == np.int32 or value.size == 0:
        return None
    names = ", ".join(name.decode() for name in np.ravel(value))
    return f"Variables not initialized: {names}"

"""``tf.train.CheckpointManager``: keeps the latest checkpoints of a ``tf.train.Checkpoint``."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from tfnb.core.files import file_system
from tfnb.framework.default_session import get_default_session
from tfnb.library.training import checkpoint_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.library.training.checkpoint import Checkpoint

EXPORTS = {"train": ["CheckpointManager"]}


class CheckpointManager:
    """Saves checkpoints into a folder, and deletes old ones there.

    It saves the values of the default session.

    Args:
      checkpoint: the checkpoint to save.
      directory: the folder; created if missing.
      max_to_keep: the number of checkpoints to keep; None for all.
      keep_checkpoint_every_n_hours: also keep one checkpoint per this number of hours for ever.
      checkpoint_name: the prefix of the checkpoints' names.
      step_counter: a variable that counts steps, for ``checkpoint_interval``.
      checkpoint_interval: the minimum number of steps between two checkpoints.
      init_fn: called by :meth:`restore_or_initialize` if there is no checkpoint.
      last_checkpoint_step: the step of the last checkpoint.

    Raises:
      ValueError: an argument is invalid.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}"
            )
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError(
                "`step_counter` should be passed if `checkpoint_interval` is not None."
            )
        self._checkpoint = checkpoint
        self._directory: str = os.fspath(directory)
        self._max_to_keep = max_to_keep
        self._kept_seconds = (keep_checkpoint_every_n_hours or 0) * 3600
        self._keeps_some = keep_checkpoint_every_n_hours is not None
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._step_counter = step_counter
        self._interval = checkpoint_interval
        self._last_step = last_checkpoint_step
        self._init_fn = init_fn
        # path -> time when it was written, oldest first
        self._kept: dict[str, float] = {}
        now = time.time()
        self._last_preserved = now
        state = checkpoint_state.get_checkpoint_state(self._directory)
        self._latest: str | None = None
        if state is not None:
            self._latest = state.model_checkpoint_path
            times = list(state.all_model_checkpoint_timestamps)
            times += [now] * (len(state.all_model_checkpoint_paths) - len(times))
            self._kept = dict(zip(state.all_model_checkpoint_paths, times))
            if state.last_preserved_timestamp:
                self._last_preserved = min(state.last_preserved_timestamp, now)

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint to save."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The minimum number of steps between two checkpoints."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The latest checkpoint, or None."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The kept checkpoints that may be deleted later, oldest first."""
        return list(self._kept)

    def _step(self) -> int:
        session = get_default_session()
        if session is None:
            raise RuntimeError("A checkpoint manager needs a default session to read its step.")
        return int(session.run(self._step_counter))

    def save(
        self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None
    ) -> str | None:
        """Save the default session's values.

        Args:
          checkpoint_number: the number at the end of the name, or a variable; by default the
            checkpoint's own counter.
          check_interval: whether to save only after ``checkpoint_interval`` steps.
          options: not used.

        Returns:
          The path of the checkpoint; None if ``checkpoint_interval`` has not passed.
        """
        step = None if self._interval is None else self._step()
        waits = check_interval and self._interval is not None and self._last_step is not None
        if waits and step - self._last_step < self._interval:  # type: ignore[operator]
            return None
        file_system.create_directories(self._directory)
        session = get_default_session()
        if checkpoint_number is None:
            path = self._checkpoint.save(self._prefix, session)
        else:
            if hasattr(checkpoint_number, "op") and session is not None:
                checkpoint_number = session.run(checkpoint_number)
            path = self._checkpoint.write(f"{self._prefix}-{int(checkpoint_number):d}", session)
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._latest = path
        doomed = self._sweep()
        # Write the list before deleting files, so that it never names a deleted one.
        self._write_state()
        for old in doomed:
            checkpoint_state.remove_checkpoint(old)
        if step is not None:
            self._last_step = step
        return path

    def _sweep(self) -> list[str]:
        """Remove surplus checkpoints from the list; return those to delete."""
        doomed = []
        while self._max_to_keep and len(self._kept) > self._max_to_keep:
            path = next(iter(self._kept))
            written = self._kept.pop(path)
            if self._keeps_some and written - self._kept_seconds >= self._last_preserved:
                self._last_preserved = written
            else:
                doomed.append(path)
        return doomed

    def _write_state(self) -> None:
        checkpoint_state.write_checkpoint_state(
            self._directory,
            self._latest or "",
            all_model_checkpoint_paths=list(self._kept),
            all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._last_preserved,
            save_relative_paths=True,
        )

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint of the folder; without one, call ``init_fn``.

        Returns:
          The path of the checkpoint, or None.
        """
        if self._latest is not None:
            self._checkpoint.restore(self._latest).initialize_or_restore(get_default_session())
            if self._interval is not None:
                self._last_step = self._step()
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
        return None

    def sync(self) -> None:
        """Wait until all checkpoints are written; does nothing, because saving is synchronous."""

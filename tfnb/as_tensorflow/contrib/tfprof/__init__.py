"""``tf.contrib.tfprof``: the profiler by the names that it had before ``tf.profiler``."""

from __future__ import annotations

from typing import Any, Self

from tfnb.as_tensorflow.contrib.tfprof import model_analyzer as model_analyzer


class ProfileContext:
    """A block whose steps TensorFlow profiles into a folder; here the block runs as it is.

    Args:
      profile_dir: the folder.
      trace_steps: which steps to trace.
      dump_steps: after which steps to write.
      enabled: whether to profile.
      debug: whether to print what is done.

    Raises:
      NotImplementedError: it is enabled.
    """

    def __init__(
        self,
        profile_dir: str,
        trace_steps: Any = None,
        dump_steps: Any = None,
        enabled: bool = True,
        debug: bool = False,
    ) -> None:
        if enabled:
            raise NotImplementedError(
                "ProfileContext does not profile here. Give a session's run RunOptions with "
                "trace_level=FULL_TRACE and tf.profiler.Profiler.add_step its RunMetadata, or use "
                "tf.train.ProfilerHook."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Do nothing."""

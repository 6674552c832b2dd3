"""The existing checkpoints: the file ``checkpoint`` of a folder, and the files of a checkpoint.

The file is a ``CheckpointState`` message as text. It names the last checkpoint and those that a
saver keeps; paths in it may be relative to its folder.
"""

from __future__ import annotations

import logging
import os
import re
import time
from typing import TYPE_CHECKING

from google.protobuf import text_format

from tfnb.core import errors
from tfnb.core.files import file_system
from tfnb.core.files.tensor_bundle import index_path, remove_bundle
from tfnb.proto import saver_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.framework.tensor_types import PathLike

EXPORTS = {
    "train": [
        "checkpoint_exists", "checkpoints_iterator", "generate_checkpoint_state_proto",
        "get_checkpoint_mtimes", "get_checkpoint_state", "latest_checkpoint", "remove_checkpoint",
        "update_checkpoint_state",
    ]
}  # fmt: skip

_log = logging.getLogger("tensorflow")

_DEFAULT_NAME = "checkpoint"


def _state_path(folder: str, latest_filename: str | None) -> str:
    return os.path.join(folder, latest_filename or _DEFAULT_NAME)


# --------------------------------------------------------------------------------------- the state


def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> saver_pb2.CheckpointState:
    """Return the message for the file ``checkpoint``.

    Args:
      save_dir: the folder of the file; relative paths are made relative to it.
      model_checkpoint_path: the last checkpoint.
      all_model_checkpoint_paths: all kept checkpoints, oldest first.
      all_model_checkpoint_timestamps: when they were written, in seconds since 1970.
      last_preserved_timestamp: the time of the last checkpoint that is kept for ever.

    Raises:
      ValueError: the numbers of times and paths differ.
    """
    paths = list(all_model_checkpoint_paths or [])
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    if all_model_checkpoint_timestamps and len(all_model_checkpoint_timestamps) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {all_model_checkpoint_timestamps})"
        )

    def placed(path: str) -> str:
        if os.path.isabs(save_dir) or os.path.isabs(path):
            return path
        return os.path.relpath(path, save_dir)

    return saver_pb2.CheckpointState(
        model_checkpoint_path=placed(model_checkpoint_path),
        all_model_checkpoint_paths=[placed(path) for path in paths],
        all_model_checkpoint_timestamps=all_model_checkpoint_timestamps,
        last_preserved_timestamp=last_preserved_timestamp or 0.0,
    )


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the file ``checkpoint``; arguments as in :func:`generate_checkpoint_state_proto`.

    Raises:
      RuntimeError: the checkpoint itself has that name.
    """
    write_checkpoint_state(
        os.fspath(save_dir),
        model_checkpoint_path,
        all_model_checkpoint_paths=all_model_checkpoint_paths,
        latest_filename=latest_filename,
        all_model_checkpoint_timestamps=all_model_checkpoint_timestamps,
        last_preserved_timestamp=last_preserved_timestamp,
    )


def write_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    save_relative_paths: bool = False,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Call :func:`update_checkpoint_state`, optionally with paths relative to the folder."""
    paths = list(all_model_checkpoint_paths or [])
    if save_relative_paths:
        model_checkpoint_path = _relative(model_checkpoint_path, save_dir)
        paths = [_relative(path, save_dir) for path in paths]
    state = generate_checkpoint_state_proto(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=all_model_checkpoint_timestamps,
        last_preserved_timestamp=last_preserved_timestamp,
    )
    target = _state_path(save_dir, latest_filename)
    if target == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state.  "
            "Please use a different save path."
        )
    file_system.write_file(target, text_format.MessageToString(state).encode())


def _relative(path: str, folder: str) -> str:
    return os.path.relpath(path, folder) if os.path.isabs(path) else path


def get_checkpoint_state(
    checkpoint_dir: PathLike, latest_filename: str | None = None
) -> saver_pb2.CheckpointState | None:
    """Return the message in a folder's file ``checkpoint``; None if missing or unreadable.

    Args:
      checkpoint_dir: the folder; relative paths in the file are resolved against it.
      latest_filename: another name of the file.

    Raises:
      ValueError: the file names no checkpoint.
    """
    folder = os.fspath(checkpoint_dir)
    path = _state_path(folder, latest_filename)
    state = saver_pb2.CheckpointState()
    try:
        if not os.path.exists(file_system.local_path(path)):
            return None
        text_format.Merge(file_system.read_file(path).decode(), state)
    except (errors.OpError, text_format.ParseError, UnicodeDecodeError) as error:
        _log.warning("%s: %s", type(error).__name__, error)
        _log.warning("%s: Checkpoint ignored", path)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {folder}")
    # join() does not change absolute paths.
    state.model_checkpoint_path = os.path.join(folder, state.model_checkpoint_path)
    state.all_model_checkpoint_paths[:] = [
        os.path.join(folder, one) for one in state.all_model_checkpoint_paths
    ]
    return state


def latest_checkpoint(checkpoint_dir: PathLike, latest_filename: str | None = None) -> str | None:
    """Return the path of the last checkpoint of a folder, or None.

    Args:
      checkpoint_dir: the folder.
      latest_filename: another name of the file ``checkpoint``.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    path: str = state.model_checkpoint_path
    if checkpoint_exists(path):
        return path
    _log.error("Couldn't match files for checkpoint %s", path)
    return None


# --------------------------------------------------------------------------------------- the files


def _files_of(checkpoint_prefix: str) -> list[str]:
    """Return the index file of a checkpoint of the second format, else the files of the first."""
    return file_system.matching_files(index_path(checkpoint_prefix)) or file_system.matching_files(
        checkpoint_prefix
    )


def checkpoint_exists(checkpoint_prefix: PathLike) -> bool:
    """Return whether there is a checkpoint, of either format, under a prefix or pattern."""
    return bool(_files_of(os.fspath(checkpoint_prefix)))


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """Return when checkpoints were written, in seconds since 1970; missing ones are left out."""
    found = [_files_of(prefix) for prefix in checkpoint_prefixes]
    return [os.stat(files[0]).st_mtime for files in found if files]


def remove_checkpoint(
    checkpoint_prefix: str,
    checkpoint_format_version: int = saver_pb2.SaverDef.V2,
    meta_graph_suffix: str = "meta",
) -> None:
    """Remove the files of a checkpoint and its MetaGraphDef, as far as they exist.

    Args:
      checkpoint_prefix: its prefix.
      checkpoint_format_version: its format.
      meta_graph_suffix: what follows the dot in the name of the MetaGraphDef.
    """
    _remove_matching(meta_graph_filename(checkpoint_prefix, meta_graph_suffix))
    if checkpoint_format_version == saver_pb2.SaverDef.V2:
        remove_bundle(checkpoint_prefix)
    else:
        _remove_matching(checkpoint_prefix)


def _remove_matching(pattern: str) -> None:
    for path in file_system.matching_files(pattern):
        file_system.remove_if_exists(path)


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Return the name of the MetaGraphDef beside a checkpoint, ``model-5.meta``.

    >>> meta_graph_filename("a/model-5-?????-of-00002")
    'a/model-5.meta'
    """
    base = re.sub(r"-[\d?]+-of-\d+$", "", checkpoint_filename)
    return f"{base}.{meta_graph_suffix}"


# ------------------------------------------------------------------------------- waiting for a
# change


def wait_for_new_checkpoint(
    checkpoint_dir: PathLike,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """Wait until a folder has another last checkpoint; return None after a time-out.

    Args:
      checkpoint_dir: the folder.
      last_checkpoint: the last checkpoint that the caller has seen.
      seconds_to_sleep: the time between two reads of the folder.
      timeout: the maximum time to wait in seconds; None for no limit.
    """
    stop_time = None if timeout is None else time.monotonic() + timeout
    while True:
        path = latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            return path
        if stop_time is not None and time.monotonic() + seconds_to_sleep > stop_time:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: PathLike,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yield the last checkpoint of a folder whenever there is a new one.

    Args:
      checkpoint_dir: the folder.
      min_interval_secs: the minimum time between two of them in seconds.
      timeout: the maximum time to wait for a new one in seconds; None for no limit.
      timeout_fn: called after a time-out; the iteration ends if it returns True, or if it is not
        given.
    """
    path: str | None = None
    while True:
        new = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if new is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        start = time.monotonic()
        path = new
        yield path
        remaining = start + min_interval_secs - time.monotonic()
        if remaining > 0:
            time.sleep(remaining)

"""Exporting a trained model: the graphs of its modes with the variables of a checkpoint."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.export.export_outputs import (
    EVAL_KEY,
    TRAIN_KEY,
    SupervisedOutput,
    signature_defs,
)
from tfnb.client.public.api import tf
from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_log = logging.getLogger("tensorflow")

# Mode -> tag of its graph, in the order in which they are written; the first has the variables.
_TAGS = {"train": "train", "eval": "eval", "infer": "serve"}
_KEYS = {"train": TRAIN_KEY, "eval": EVAL_KEY}
_MOST_FOLDERS = 10


def export_saved_models(
    estimator: Any,
    export_dir_base: Any,
    receiver_fns: Mapping[str, Callable[[], Any]],
    assets_extra: Mapping[str, Any] | None,
    as_text: bool,
    checkpoint_path: str | None,
    strip_default_attrs: bool,
) -> str:
    """Export the graphs of an Estimator's modes; return the folder.

    The folder gets its name when all files are written: a server that watches finds whole models.

    Args:
        estimator: The Estimator.
        export_dir_base: The folder in which the model's folder is made.
        receiver_fns: Mode -> a function that returns the inputs.
        assets_extra: Name in the folder ``assets.extra`` -> file to copy.
        as_text: Whether the graphs are written as text.
        checkpoint_path: The checkpoint; the latest one if None.
        strip_default_attrs: Whether attributes with default values are left out.

    Raises:
        ValueError: There is no checkpoint or no known mode, or a variable is missing.
        TypeError: A function returns no inputs.
    """
    modes = [mode for mode in _TAGS if receiver_fns.get(mode)]
    if not modes:
        raise ValueError(f"No valid modes for exporting found. Got {list(receiver_fns)}.")
    checkpoint_path = checkpoint_path or _checkpoint_of(estimator)
    target = new_export_dir(export_dir_base)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f"temp-{name}")
    try:
        builder = tf.saved_model.Builder(temporary)
        for index, mode in enumerate(modes):
            _add_graph(
                estimator,
                builder,
                mode,
                receiver_fns[mode],
                checkpoint_path,
                has_variables=index == 0,
                strip_default_attrs=strip_default_attrs,
            )
        builder.save(as_text)
        for relative, source in (assets_extra or {}).items():
            copied = os.path.join(temporary, "assets.extra", os.fsdecode(relative))
            tf.gfile.MakeDirs(os.path.dirname(copied))
            tf.gfile.Copy(source, copied)
        tf.gfile.Rename(temporary, target)
    except BaseException:
        if tf.gfile.Exists(temporary):
            tf.gfile.DeleteRecursively(temporary)
        raise
    return target


def new_export_dir(export_dir_base: Any) -> str:
    """Return the path of a folder that does not exist, whose name is the time in seconds.

    Raises:
        RuntimeError: Other exports take all names that are tried.
    """
    base = os.fsdecode(export_dir_base)
    now = int(time.time())
    for second in range(now, now + _MOST_FOLDERS):
        path = os.path.join(base, str(second))
        if not tf.gfile.Exists(path) and not tf.gfile.Exists(os.path.join(base, f"temp-{second}")):
            return path
    raise RuntimeError(f"Failed to obtain a unique export directory name in {base}.")


def _checkpoint_of(estimator: Any) -> str:
    found = estimator.latest_checkpoint()
    settings = estimator.warm_start_settings
    if not found and settings:
        found = settings.ckpt_to_initialize_from
        if tf.gfile.IsDirectory(found):
            found = tf.train.latest_checkpoint(found)
    if not found:
        raise ValueError(
            f"Couldn't find trained model at {estimator.model_dir}. Call train first, or pass "
            "checkpoint_path."
        )
    return str(found)


def _add_graph(
    estimator: Any,
    builder: Any,
    mode: str,
    receiver_fn: Callable[[], Any],
    checkpoint_path: str,
    has_variables: bool,
    strip_default_attrs: bool,
) -> None:
    config = estimator.config
    with tf.Graph().as_default():
        tf.train.create_global_step()
        tf.set_random_seed(config.tf_random_seed)
        receiver = receiver_fn()
        if not hasattr(receiver, "features") or not hasattr(receiver, "receiver_tensors"):
            raise TypeError(
                "serving_input_receiver_fn should return a tf.estimator.export."
                f"ServingInputReceiver. It returned {type(receiver).__name__}: {receiver!r:.200}"
            )
        spec = estimator.build_export(receiver, mode)
        signatures = signature_defs(
            receiver.receiver_tensors,
            _outputs_of(spec, mode),
            getattr(receiver, "receiver_tensors_alternatives", None),
            serving_only=mode == "infer",
        )
        local_init_op = spec.scaffold.local_init_op
        if local_init_op is None:
            local_init_op = tf.train.Scaffold.default_local_init_op()
        saver = spec.scaffold.saver or tf.train.Saver(sharded=True)
        with tf.Session(config=config.session_config) as session:
            _restore(saver, session, checkpoint_path, mode)
            if spec.train_op is not None:
                tf.add_to_collection("saved_model_train_op", spec.train_op)
            arguments: dict[str, Any] = {
                "tags": [_TAGS[mode]],
                "signature_def_map": signatures,
                "assets_collection": tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
                "main_op": local_init_op,
                "saver": saver,
                "strip_default_attrs": strip_default_attrs,
            }
            if has_variables:
                builder.add_meta_graph_and_variables(session, **arguments)
            else:
                builder.add_meta_graph(**arguments)


def _restore(saver: Any, session: Any, checkpoint_path: str, mode: str) -> None:
    try:
        saver.restore(session, checkpoint_path)
    except errors.NotFoundError as error:
        raise ValueError(
            "Could not load all requested variables from checkpoint. Please make sure your "
            "model_fn does not expect variables that were not saved in the checkpoint.\n\n"
            f"Encountered error with mode `{mode}` while restoring checkpoint from: "
            f"`{checkpoint_path}`.\n\n{error}"
        ) from error


def _outputs_of(spec: Any, mode: str) -> Mapping[str, Any]:
    if mode == "infer":
        outputs: Mapping[str, Any] = spec.export_outputs
        return outputs
    metrics = spec.eval_metric_ops
    return {_KEYS[mode]: SupervisedOutput(mode, spec.loss, spec.predictions, metrics)}


def remove_old_exports(export_dir_base: str, keep: int | None) -> None:
    """Remove the oldest exported models; the newest ``keep`` remain.

    Args:
        export_dir_base: The folder of the models' folders.
        keep: How many remain; all if None.
    """
    if keep is None or not tf.gfile.IsDirectory(export_dir_base):
        return
    for name in _exports(tf.gfile.ListDirectory(export_dir_base))[:-keep]:
        path = os.path.join(export_dir_base, name)
        try:
            tf.gfile.DeleteRecursively(path)
        except errors.NotFoundError as error:
            _log.warning("Can not delete %s recursively: %s", path, error)


def _exports(names: Iterable[str]) -> list[str]:
    """Return the names that are times in seconds, the oldest first."""
    stripped = (name.rstrip("/") for name in names)
    return sorted(name for name in stripped if len(name) == 10 and name.isdigit())

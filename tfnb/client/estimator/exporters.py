"""``tf.estimator.Exporter`` and its kinds: which evaluated models are exported."""

from __future__ import annotations

import abc
import logging
import os
from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.arguments import argument_names, check_known
from tfnb.client.estimator.export.saved_model import remove_old_exports
from tfnb.client.estimator.model_fn import LOSS_METRIC_KEY
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfnb.client.estimator.estimator import Estimator

EXPORTS = {"estimator": ["BestExporter", "Exporter", "FinalExporter", "LatestExporter"]}

_log = logging.getLogger("tensorflow")


class Exporter(abc.ABC):
    """An object that decides after each evaluation whether to export the model."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the exporter's folder."""

    @abc.abstractmethod
    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> str | None:
        """Export the model; return the folder, or None.

        Args:
            estimator: The Estimator.
            export_path: The folder of the exporter.
            checkpoint_path: The checkpoint that was evaluated.
            eval_result: The metrics.
            is_the_final_export: Whether the training has ended.
        """


class _ModelExporter(Exporter):
    """An exporter that writes models for serving.

    Args:
        name: The name of its folder.
        serving_input_receiver_fn: Returns a ``ServingInputReceiver``.
        assets_extra: Name in the folder ``assets.extra`` -> file to copy.
        as_text: Whether graphs are written as text.
        exports_to_keep: How many models remain; all if None.

    Raises:
        ValueError: No model would remain.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any] | None,
        assets_extra: Mapping[str, Any] | None,
        as_text: bool,
        exports_to_keep: int | None = None,
    ) -> None:
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError(
                f"`exports_to_keep`, if provided, must be a positive number. Got {exports_to_keep}"
            )
        self._name = name
        self._receiver_fn = serving_input_receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text
        self._exports_to_keep = exports_to_keep

    @property
    def name(self) -> str:
        """The name of the exporter's folder."""
        return self._name

    def _export_model(self, estimator: Estimator, export_path: str, checkpoint_path: str) -> str:
        """Export the model and remove the oldest ones."""
        if self._receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        found = estimator.export_saved_model(
            export_path,
            self._receiver_fn,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )
        remove_old_exports(export_path, self._exports_to_keep)
        return found


class FinalExporter(_ModelExporter):
    """An exporter of the model at the end of the training.

    Args:
        name: The name of its folder.
        serving_input_receiver_fn: Returns a ``ServingInputReceiver``.
        assets_extra: Name in the folder ``assets.extra`` -> file to copy.
        as_text: Whether graphs are written as text.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> str | None:
        """Export the model if the training has ended."""
        if not is_the_final_export:
            return None
        _log.info("Performing the final export in the end of training.")
        return self._export_model(estimator, export_path, checkpoint_path)


class LatestExporter(_ModelExporter):
    """An exporter of every evaluated model.

    Args:
        name: The name of its folder.
        serving_input_receiver_fn: Returns a ``ServingInputReceiver``.
        assets_extra: Name in the folder ``assets.extra`` -> file to copy.
        as_text: Whether graphs are written as text.
        exports_to_keep: How many models remain; all if None.

    Raises:
        ValueError: No model would remain.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> str | None:
        """Export the model."""
        return self._export_model(estimator, export_path, checkpoint_path)


def _loss_smaller(best_eval_result: Any, current_eval_result: Any) -> bool:
    for name, result in (("best", best_eval_result), ("current", current_eval_result)):
        if not result or LOSS_METRIC_KEY not in result:
            raise ValueError(f"{name}_eval_result cannot be empty or no loss is found in it.")
    return bool(best_eval_result[LOSS_METRIC_KEY] > current_eval_result[LOSS_METRIC_KEY])


class BestExporter(_ModelExporter):
    """An exporter of each model that is better than all before.

    Args:
        name: The name of its folder.
        serving_input_receiver_fn: Returns a ``ServingInputReceiver``.
        event_file_pattern: The event files of earlier evaluations, in the folder of the model.
        compare_fn: ``compare_fn(best_eval_result, current_eval_result)`` returns whether the
            current model is better; that with the smaller loss if not given.
        assets_extra: Name in the folder ``assets.extra`` -> file to copy.
        as_text: Whether graphs are written as text.
        exports_to_keep: How many models remain; all if None.

    Raises:
        ValueError: No model would remain, or ``compare_fn`` has other arguments.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Callable[[], Any] | None = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable[..., bool] | None = _loss_smaller,
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        needed = ("best_eval_result", "current_eval_result")
        names = argument_names(compare_fn)
        for one in needed:
            if one not in names:
                raise ValueError(f"compare_fn ({compare_fn}) must include {one} argument.")
        check_known(compare_fn, "compare_fn", names, needed)
        self._compare_fn = compare_fn
        self._event_file_pattern = event_file_pattern
        self._model_dir: str | None = None
        self._best: Mapping[str, Any] | None = None

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> str | None:
        """Export the model if it is better than all before, also those of earlier programs."""
        if self._model_dir != estimator.model_dir and self._event_file_pattern:
            _log.info("Loading best metric from event files.")
            self._model_dir = estimator.model_dir
            pattern = os.path.join(self._model_dir, self._event_file_pattern)
            self._best = self._best_in_files(pattern, eval_result)
        if self._best is not None and not self._is_better(self._best, eval_result):
            return None
        _log.info("Performing best model export.")
        self._best = eval_result
        return self._export_model(estimator, export_path, checkpoint_path)

    def _is_better(self, best: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
        return self._compare_fn(best_eval_result=best, current_eval_result=current)

    def _best_in_files(self, pattern: str, current: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the best metrics that earlier evaluations wrote, without the current one."""
        step = current.get(tf.GraphKeys.GLOBAL_STEP)
        best: Mapping[str, Any] | None = None
        for path in tf.gfile.Glob(pattern):
            for event in tf.train.summary_iterator(path):
                metrics = scalars_of(event)
                if not metrics or (step is not None and event.step >= step):
                    continue
                if best is None or self._is_better(best, metrics):
                    best = metrics
        return best


def scalars_of(event: Any) -> dict[str, float]:
    """Return the numbers of a summary event, by tag."""
    if not event.HasField("summary"):
        return {}
    return {
        one.tag: one.simple_value for one in event.summary.value if one.HasField("simple_value")
    }

"""``tf.contrib.learn.ExportStrategy``: how a model is exported after an evaluation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.client.estimator.arguments import accepted

if TYPE_CHECKING:
    from collections.abc import Callable


class ExportStrategy(NamedTuple):
    """A name, and a function that exports.

    Args:
      name: the folder below ``export``.
      export_fn: a function of (estimator, export_dir_base), and of checkpoint_path, eval_result
        and strip_default_attrs if it has arguments of that name.
      strip_default_attrs: whether attributes with default values are left out.
    """

    name: str
    export_fn: Callable[..., Any]
    strip_default_attrs: bool | None = None

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str | None = None,
        eval_result: Any = None,
    ) -> Any:
        """Export a model; return its folder.

        Args:
          estimator: the model.
          export_path: the folder of all exports.
          checkpoint_path: the checkpoint.
          eval_result: the metrics.
        """
        given = {
            "checkpoint_path": checkpoint_path,
            "eval_result": eval_result,
            "strip_default_attrs": bool(self.strip_default_attrs),
        }
        return self.export_fn(estimator, export_path, **accepted(self.export_fn, given))


def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Any = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Return the strategy "Servo", which writes SavedModels.

    Args:
      serving_input_fn: returns ``InputFnOps`` or a receiver.
      default_output_alternative_key: without effect: the first output is the default.
      assets_extra: path in the export -> file that is copied there.
      as_text: whether the graph is written as text.
      exports_to_keep: how many exports are kept; all if None.
      strip_default_attrs: whether attributes with default values are left out.
    """
    from tfnb.client.estimator.export.saved_model import remove_old_exports

    def export_fn(
        estimator: Any,
        export_dir_base: str,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> Any:
        found = estimator.export_savedmodel(
            export_dir_base,
            serving_input_fn,
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
            strip_default_attrs=strip_default_attrs,
        )
        remove_old_exports(os.fspath(export_dir_base), exports_to_keep)
        return found

    return ExportStrategy("Servo", export_fn, strip_default_attrs)

"""Evaluations of checkpoints, on which tf-slim's evaluations are built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.evaluation import StopAfterNEvalsHook
from tfnb.client.estimator.evaluation import get_or_create_eval_step as _get_or_create_eval_step
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["_StopAfterNEvalsHook", "_evaluate_once", "_get_or_create_eval_step"]


class _StopAfterNEvalsHook(StopAfterNEvalsHook):
    """The hook, with the method by which tf-slim hands it the number of batches."""

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        self.evals_completed = updated_eval_step


def _evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Sequence[Any] | None = None,
    config: Any = None,
) -> Any:
    """Run ops until a hook ends it or the input does; return the values of the final ops.

    Args:
      checkpoint_path: the checkpoint; None for variables that are initialized.
      master: the engine to connect to.
      scaffold: what the session needs.
      eval_ops: run again and again; if there are none, only the final ops run.
      feed_dict: for these.
      final_ops: run once at the end.
      final_ops_feed_dict: for these.
      hooks: of the session.
      config: of the session.
    """
    every_hook = list(hooks or ())
    step = _get_or_create_eval_step()
    if eval_ops is not None:
        given = [one for one in tf.nest.flatten(eval_ops) if one is not None]
        with tf.control_dependencies(given):
            done = tf.assign_add(step, 1, use_locking=True)
        eval_ops = [*given, done]
        for hook in every_hook:
            if isinstance(hook, _StopAfterNEvalsHook):
                hook.evals_completed = done
    last = tf.train.FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = tf.train.ChiefSessionCreator(
        scaffold=scaffold,
        checkpoint_filename_with_path=checkpoint_path,
        master=master,
        config=config,
    )
    with tf.train.MonitoredSession(creator, [*every_hook, last]) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    return last.final_ops_values

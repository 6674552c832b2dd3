"""``tf.contrib.learn.learn_runner``: runs what an experiment does in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.learn.experiment import Experiment
from tfnb.as_tensorflow.missing_name import missing_name

if TYPE_CHECKING:
    from collections.abc import Callable

# The method of an experiment that a task of a cluster calls.
_OF_TASK = {
    "master": "train_and_evaluate",
    "chief": "train",
    "worker": "train",
    "ps": "run_std_server",
    "evaluator": "continuous_eval",
}


def run(
    experiment_fn: Callable[..., Any],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """Make an experiment and call one of its methods.

    Args:
      experiment_fn: a function of ``output_dir``, or of run_config and hparams.
      output_dir: the folder of the model.
      schedule: the method; by default what the task of a cluster does, or train_and_evaluate.
      run_config: a ``RunConfig`` with a folder.
      hparams: hyperparameters, with ``run_config``.

    Returns:
      What the method returns.

    Raises:
      ValueError: the folder is missing or given twice, or the method is unknown.
      TypeError: ``experiment_fn`` is no function, or makes no experiment.
    """
    if not callable(experiment_fn):
        raise TypeError(f"Experiment builder `experiment_fn` is not callable: {experiment_fn!r}")
    if (output_dir is None) == (run_config is None):
        raise ValueError("Give either output_dir or run_config.")
    if run_config is None:
        if hparams is not None:
            raise ValueError("hparams need a run_config.")
        made = experiment_fn(output_dir)
    else:
        if not run_config.model_dir:
            raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
        made = experiment_fn(run_config=run_config, hparams=hparams)
    if not isinstance(made, Experiment):
        raise TypeError(f"experiment_fn should return an Experiment. It returned {made!r:.200}")
    config = made.estimator.config
    name = schedule or (
        _OF_TASK.get(config.task_type, "train") if config.cluster_spec else "train_and_evaluate"
    )
    method = getattr(made, name, None)
    if not callable(method) or name.startswith("_"):
        known = [
            one for one in dir(made) if not one.startswith("_") and callable(getattr(made, one))
        ]
        raise ValueError(f"Schedule references non-existent task {name!r}; there are {known}.")
    return method()


def __getattr__(name: str) -> Any:
    if name == "tune":
        return missing_name(
            "tensorflow.contrib.learn.learn_runner",
            name,
            "write the loop over parameters in Python",
        )
    raise AttributeError(
        f"module 'tensorflow.contrib.learn.learn_runner' has no attribute {name!r}"
    )

"""``TPUEstimator`` on CPUs and GPUs: an Estimator with batch sizes in ``params``."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tfnb.client.estimator.arguments import accepted, argument_names, check_model_fn
from tfnb.client.estimator.estimator import Estimator
from tfnb.client.estimator.export.export_outputs import get_export_outputs
from tfnb.client.estimator.model_fn import (
    EstimatorSpec,
    ModeKeys,
    checked_hooks,
    checked_loss,
    checked_predictions,
    checked_train_op,
)
from tfnb.client.estimator.tpu.tpu_config import InputPipelineConfig, RunConfig, check_positive
from tfnb.client.public.api import tf
from tfnb.client.training.saving_hooks import StepCounterHook
from tfnb.client.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXPORTS = {"estimator.tpu": ["TPUEstimator", "TPUEstimatorSpec"]}

_log = logging.getLogger("tensorflow")

_RESERVED = ("batch_size", "use_tpu", "context")


class _SpecFields(NamedTuple):
    mode: Any
    predictions: Any
    loss: Any
    train_op: Any
    eval_metrics: Any
    export_outputs: Any
    scaffold_fn: Any
    host_call: Any
    training_hooks: Any
    evaluation_hooks: Any
    prediction_hooks: Any


class TPUEstimatorSpec(_SpecFields):
    """The ops that a ``TPUEstimator`` runs, which a ``model_fn`` returns.

    Args:
        mode: A key of ``ModeKeys``.
        predictions: A tensor, or a dictionary of them.
        loss: The training loss.
        train_op: Performs a training step.
        eval_metrics: (function that returns metrics, its tensors).
        export_outputs: Name -> ``ExportOutput`` of a signature to serve.
        scaffold_fn: Returns a ``tf.train.Scaffold``.
        host_call: (function whose ops run with every step, its tensors).
        training_hooks: Hooks of the training.
        evaluation_hooks: Hooks of the evaluation.
        prediction_hooks: Hooks of the prediction.

    Raises:
        ValueError: What the mode needs is missing, or a pair has another form.
        TypeError: An argument has another type.
        RuntimeError: A function has another number of arguments than tensors are given.
    """

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metrics: Any = None,
        export_outputs: Any = None,
        scaffold_fn: Callable[[], Any] | None = None,
        host_call: Any = None,
        training_hooks: Sequence[Any] | None = None,
        evaluation_hooks: Sequence[Any] | None = None,
        prediction_hooks: Sequence[Any] | None = None,
    ) -> Self:
        """See the class."""
        _check_host_call("eval_metrics", eval_metrics)
        _check_host_call("host_call", host_call)
        predictions = checked_predictions(predictions, mode)
        if mode == ModeKeys.PREDICT:
            export_outputs = get_export_outputs(export_outputs, predictions)
        return super().__new__(
            cls,
            mode,
            predictions,
            checked_loss(loss, mode),
            checked_train_op(train_op, mode),
            eval_metrics,
            export_outputs,
            scaffold_fn,
            host_call,
            checked_hooks(training_hooks),
            checked_hooks(evaluation_hooks),
            checked_hooks(prediction_hooks),
        )

    def as_estimator_spec(self) -> EstimatorSpec:
        """Return the ops for one device, where functions of the host are called at once."""
        hooks: tuple[SessionRunHook, ...] = ()
        if self.host_call is not None:
            hooks = (_HostCallHook(_called(self.host_call)),)
        metrics = None if self.eval_metrics is None else _called(self.eval_metrics)
        return EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            training_hooks=self.training_hooks + hooks,
            evaluation_hooks=self.evaluation_hooks + hooks,
            prediction_hooks=self.prediction_hooks + hooks,
        )


def _check_host_call(name: str, call: Any) -> None:
    if call is None:
        return
    if not isinstance(call, tuple | list):
        raise ValueError(f"{name} should be tuple or list")
    if len(call) != 2:
        raise ValueError(f"{name} should have two elements.")
    function, tensors = call
    if not callable(function):
        raise TypeError(f"{name}[0] should be callable.")
    if not isinstance(tensors, tuple | list | dict):
        raise ValueError(f"{name}[1] should be tuple or list, or dict.")
    if isinstance(tensors, dict):
        return
    parameters = inspect.signature(function).parameters.values()
    is_variadic = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters)
    count = len(argument_names(function))
    if not is_variadic and count != len(tensors):
        raise RuntimeError(
            f"In TPUEstimatorSpec.{name}, length of tensors {len(tensors)} does not match method "
            f"args of the function, which takes {count}."
        )


def _called(call: Any) -> Any:
    function, tensors = call
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


class _HostCallHook(SessionRunHook):
    """A hook that runs the ops of a host call with every step."""

    def __init__(self, ops: Any) -> None:
        self._ops = ops

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the ops."""
        return SessionRunArgs(self._ops)


class ExamplesPerSecondHook(StepCounterHook):
    """A hook that also writes and logs the number of examples per second.

    Args:
        batch_size: The number of examples of a step.
        every_n_steps: Steps between two counts.
        every_n_secs: Seconds between two counts.
        output_dir: The folder of the event file.
        summary_writer: Writes the summaries, instead of one for ``output_dir``.
    """

    def __init__(
        self,
        batch_size: int,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:
        super().__init__(every_n_steps, every_n_secs, output_dir, summary_writer)
        self._batch_size = batch_size

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        super()._log_and_record(elapsed_steps, elapsed_time, global_step)
        rate = self._batch_size * elapsed_steps / elapsed_time
        _log.info("examples/sec: %g", rate)
        if self._writer is not None:
            summary = tf.Summary()
            summary.value.add(tag="examples/sec", simple_value=rate)
            self._writer.add_summary(summary, global_step)


class TPUEstimator(Estimator):
    """An Estimator of programs for TPUs, on CPUs and GPUs.

    ``params["batch_size"]`` of ``input_fn`` and ``model_fn`` is the batch size of the mode.

    Args:
        model_fn: Returns a ``TPUEstimatorSpec`` or an ``EstimatorSpec``.
        model_dir: The folder of checkpoints and summaries.
        config: A ``tf.estimator.tpu.RunConfig``.
        params: The hyperparameters.
        use_tpu: Must be False: tfnb has no TPUs.
        train_batch_size: The batch size of a training.
        eval_batch_size: The batch size of an evaluation.
        predict_batch_size: The batch size of a prediction.
        batch_axis: How TPUs divide a batch; without effect.
        eval_on_tpu: Without effect.
        export_to_tpu: Without effect: the model is exported for CPUs and GPUs.
        export_to_cpu: Without effect.
        warm_start_from: A checkpoint or ``WarmStartSettings`` with the first values of variables.
        embedding_config_spec: Must be None.
        export_saved_model_api_version: Without effect.

    Raises:
        NotImplementedError: TPUs are requested.
        ValueError: ``config`` is of another class, or ``params`` has a key that is set here.
    """

    _overrides_methods = True

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = None,
    ) -> None:
        if not isinstance(config, RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        if use_tpu or embedding_config_spec is not None:
            raise NotImplementedError(
                "TPUEstimator(use_tpu=True): tfnb runs on CPUs and GPUs. Pass use_tpu=False; many "
                "programs have a flag for it (--use_tpu=False)."
            )
        taken = sorted(key for key in _RESERVED if params is not None and key in params)
        if taken:
            raise ValueError(f"{taken} are reserved keys but existed in params {params}.")
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        for mode, size in self._batch_sizes.items():
            if size is not None:
                check_positive(size, f"batch size of mode {mode!r}")
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        check_model_fn(model_fn, params)
        if "params" not in argument_names(model_fn):
            raise ValueError(
                f"model_fn ({model_fn}) does not include params argument, required by TPUEstimator "
                "to pass batch size as params['batch_size']"
            )
        self._program_model_fn = model_fn
        self._log_every = config.log_step_count_steps
        self._is_input_called = False
        super().__init__(
            self._model_on_device,
            model_dir=model_dir,
            # The hook of examples per second logs instead.
            config=config.replace(log_step_count_steps=None),
            params=params or {},
            warm_start_from=warm_start_from,
        )

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str) -> Any:
        if not callable(input_fn):
            raise TypeError(f"`input_fn` must be callable, given: {input_fn!r:.200}")
        if "params" not in argument_names(input_fn):
            raise ValueError(
                f"input_fn ({input_fn}) does not include params argument, required by TPUEstimator "
                'to pass batch size as params["batch_size"]'
            )
        config = self.config
        if config.tpu_config.eval_training_input_configuration == InputPipelineConfig.SLICED:
            raise ValueError(
                "Invalid TPUConfig `eval_training_input_configuration` value. SLICED mode only "
                "works on use_tpu = True."
            )
        params = self.params
        self._is_input_called = True
        if self._batch_sizes[mode] is not None:
            _set_param(params, "batch_size", self._batch_sizes[mode])
        available = {"mode": mode, "params": params, "config": config}
        with tf.device("/cpu:0"):
            return input_fn(**accepted(input_fn, available))

    def _model_on_device(
        self, features: Any, labels: Any, mode: str, config: Any, params: Any
    ) -> EstimatorSpec:
        # The graph of an exported model has no input of the program, thus no batch size.
        is_export, self._is_input_called = not self._is_input_called, False
        size = self._batch_sizes[mode]
        if not is_export and size is not None:
            _set_param(params, "batch_size", size)
        _set_param(params, "use_tpu", False)
        _log.info("Running %s on CPU", mode)
        available: dict[str, Any] = {"mode": mode, "config": config, "params": params}
        if "labels" in argument_names(self._program_model_fn):
            available["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        spec = self._program_model_fn(
            features=features, **accepted(self._program_model_fn, available)
        )
        if isinstance(spec, TPUEstimatorSpec):
            spec = spec.as_estimator_spec()
        if not isinstance(spec, EstimatorSpec):
            raise ValueError(
                "model_fn should return a TPUEstimatorSpec or an EstimatorSpec. It returned "
                f"{type(spec).__name__}: {spec!r:.200}"
            )
        if mode != ModeKeys.TRAIN or self._log_every is None or size is None:
            return spec
        hook = ExamplesPerSecondHook(
            size,
            every_n_steps=self._log_every,
            output_dir=self.model_dir if config.save_summary_steps else None,
        )
        return spec._replace(training_hooks=(*spec.training_hooks, hook))

    def _warn_of_endless_input(self, features: Any) -> None:
        """Say nothing, as TensorFlow: programs for TPUs also read without end."""


def _set_param(params: Any, key: str, value: Any) -> None:
    """Set a hyperparameter, of a dictionary or of ``HParams``."""
    if not hasattr(params, "set_hparam"):
        params[key] = value
    elif key in params:
        params.set_hparam(key, value)
    else:
        params.add_hparam(key, value)

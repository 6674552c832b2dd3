"""``tf.estimator.Estimator``: trains, evaluates, applies and exports the model of a ``model_fn``.

Each method builds a graph of its own: global step, input, model. ``train`` runs it in a
``MonitoredTrainingSession``, which saves checkpoints into ``model_dir``; the other methods read
them.
"""

from __future__ import annotations

import copy
import logging
import os
import tempfile
from typing import TYPE_CHECKING, Any, Self

from tfnb.client.estimator.arguments import accepted, argument_names, check_model_fn
from tfnb.client.estimator.evaluation import (
    StopAfterNEvalsHook,
    evaluate_once,
    get_or_create_eval_step,
    write_checkpoint_path,
    write_results,
)
from tfnb.client.estimator.export.saved_model import export_saved_models
from tfnb.client.estimator.input_fn import has_dataset_or_queue_runner, parse_input_fn_result
from tfnb.client.estimator.model_fn import LOSS_METRIC_KEY, EstimatorSpec, ModeKeys
from tfnb.client.estimator.prediction import chosen_predictions, closed_in_graph, examples_of
from tfnb.client.estimator.run_config import RunConfig, TaskType, default_session_config
from tfnb.client.estimator.training_session import (
    replica_device_setter,
    run_training,
    saved_global_step,
)
from tfnb.client.estimator.warm_start_settings import warm_start_settings
from tfnb.client.public.api import tf
from tfnb.client.training.saving_hooks import CheckpointSaverListener
from tfnb.client.training.session_run_hook import SessionRunHook
from tfnb.library.training.global_step import get_or_create_global_step_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tfnb.client.estimator.warm_start_settings import WarmStartSettings

EXPORTS = {"estimator": ["Estimator"]}

_log = logging.getLogger("tensorflow")


class Estimator:
    """A model that is trained, evaluated, applied and exported; ``model_fn`` builds its graph.

    Args:
        model_fn: ``model_fn(features, labels, mode, params, config)`` returns an
            ``EstimatorSpec``; all arguments but ``features`` are optional.
        model_dir: The folder of checkpoints and summaries; a new temporary one if it is given
            neither here nor in ``config``.
        config: A ``RunConfig``.
        params: The hyperparameters that ``model_fn`` gets.
        warm_start_from: A checkpoint, an exported model or ``WarmStartSettings`` with the first
            values of variables.

    Raises:
        ValueError: The arguments of ``model_fn`` do not fit, a subclass overrides a method, or the
            folders differ.
    """

    # Whether a subclass replaces methods; only one of tfnb's own does.
    _overrides_methods = False

    def __init__(
        self,
        model_fn: Callable[..., Any] | None,
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        warm_start_from: Any = None,
    ) -> None:
        self._check_subclass()
        self._config = _complete_config(config, model_dir)
        assert self._config.model_dir is not None
        self._model_dir = self._config.model_dir
        _log.info("Using config: %s", self._config.describe())
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        check_model_fn(model_fn, params)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        self._warm_start_settings = warm_start_settings(warm_start_from)
        self._device_fn = self._config.device_fn or replica_device_setter(self._config)

    def _check_subclass(self) -> None:
        """Refuse subclasses that replace a method, which other methods rely on."""
        kind = type(self)
        if self._overrides_methods:
            return
        own = {name for name in vars(Estimator) if not name.startswith("__")} - {"model_fn"}
        overridden = sorted(
            name
            for name in own & set(vars(kind))
            if getattr(Estimator, name) is not getattr(kind, name)
        )
        if overridden:
            raise ValueError(
                "Subclasses of Estimator cannot override members of Estimator. "
                f"{kind} does override {overridden}"
            )

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and summaries."""
        return self._model_dir

    @property
    def _session_config(self) -> Any:
        """The configuration of its sessions, TensorFlow's name."""
        return self._config.session_config

    @property
    def config(self) -> Any:
        """A copy of the configuration."""
        return copy.deepcopy(self._config)

    @property
    def params(self) -> Any:
        """A copy of the hyperparameters."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The ``model_fn`` of (features, labels, mode, config), with the hyperparameters."""

        def public_model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)

        return public_model_fn

    @property
    def warm_start_settings(self) -> WarmStartSettings | None:
        """Which variables begin with values of a checkpoint."""
        return self._warm_start_settings

    # -- the trained model ---------------------------------------------------------------------

    def get_variable_value(self, name: str) -> Any:
        """Return the value of a variable in the latest checkpoint.

        Raises:
            ValueError: There is no checkpoint.
        """
        self._check_checkpoint()
        return tf.train.load_variable(self._model_dir, name)

    def get_variable_names(self) -> list[str]:
        """Return the names of the variables in the latest checkpoint.

        Raises:
            ValueError: There is no checkpoint.
        """
        self._check_checkpoint()
        return [name for name, _ in tf.train.list_variables(self._model_dir)]

    def latest_checkpoint(self) -> str | None:
        """Return the path of the latest checkpoint; None if there is none."""
        found: str | None = tf.train.latest_checkpoint(self._model_dir)
        return found

    def _check_checkpoint(self) -> None:
        if not self.latest_checkpoint():
            raise ValueError(
                f"Could not find trained model in model_dir: {self._model_dir}. Call train first."
            )

    def eval_dir(self, name: str | None = None) -> str:
        """Return the folder of the summaries of an evaluation."""
        return os.path.join(self._model_dir, f"eval_{name}" if name else "eval")

    # -- training ------------------------------------------------------------------------------

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[SessionRunHook] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> Self:
        """Train, from the latest checkpoint if there is one.

        Args:
            input_fn: Returns a dataset of (features, labels), or these tensors.
            hooks: Hooks of the training.
            steps: How many steps to train; until the input ends if None.
            max_steps: The global step at which the training ends.
            saving_listeners: Listeners that are called before and after each checkpoint.

        Returns:
            The Estimator itself.

        Raises:
            ValueError: Both numbers of steps are given or one is not positive, or this task of
                a cluster does not train.
        """
        if self._config.task_type in (TaskType.EVALUATOR, TaskType.PS):
            raise ValueError(
                "Train has been called wrong configuration. Please use "
                "tf.estimator.train_and_evaluate which calls proper API according to given "
                f"configuration. Current configuration: {self._config.describe()}."
            )
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        every_hook = checked_hooks(hooks)
        listeners = _checked_listeners(saving_listeners)
        if max_steps is not None and max_steps <= saved_global_step(self._model_dir):
            _log.info("Skipping training since max_steps has already saved.")
            return self
        if steps is not None or max_steps is not None:
            every_hook.append(tf.train.StopAtStepHook(steps, max_steps))
        loss = self._train_model(input_fn, every_hook, listeners)
        _log.info("Loss for final step: %s.", loss)
        return self

    def _train_model(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[SessionRunHook],
        listeners: Sequence[CheckpointSaverListener],
    ) -> Any:
        """Build the graph of the training and run it; return the loss of the last step."""
        with tf.Graph().as_default() as graph, graph.device(self._device_fn):
            tf.set_random_seed(self._config.tf_random_seed)
            self._create_global_step(graph)
            get_or_create_global_step_read(graph)
            features, labels, input_hooks = parse_input_fn_result(
                self._call_input_fn(input_fn, ModeKeys.TRAIN)
            )
            spec = self._call_model_fn(features, labels, ModeKeys.TRAIN, self.config)
            if self._warm_start_settings:
                self._warm_start()
            return run_training(
                spec, [*input_hooks, *hooks], listeners, self._config, self._model_dir
            )

    def _warm_start(self) -> None:
        _log.info("Warm-starting with WarmStartSettings: %s", self._warm_start_settings)
        tf.train.warm_start(*(self._warm_start_settings or ()))

    # -- evaluation ----------------------------------------------------------------------------

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Return the metrics of the model over an input.

        Args:
            input_fn: Returns a dataset of (features, labels), or these tensors.
            steps: How many batches; all if None.
            hooks: Hooks of the evaluation.
            checkpoint_path: The checkpoint; the latest one if None. If there is none, variables
                are initialized.
            name: The name of the evaluation, which becomes a part of its folder's name.

        Returns:
            Name -> value, with ``loss`` and ``global_step``.

        Raises:
            ValueError: ``steps`` is not positive, or a metric has a name of the Estimator's own.
        """
        every_hook = checked_hooks(hooks)
        every_hook.extend(eval_steps_hooks(steps))
        if not checkpoint_path:
            checkpoint_path = self.latest_checkpoint()
            if not checkpoint_path:
                _log.info(
                    "Could not find trained model in model_dir: %s, running initialization to "
                    "evaluate.",
                    self._model_dir,
                )
        with tf.Graph().as_default():
            built = self.build_evaluation(input_fn, every_hook, checkpoint_path)
            return self.run_evaluation(checkpoint_path, *built, output_dir=self.eval_dir(name))

    def build_evaluation(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[SessionRunHook],
        checkpoint_path: str | None,
    ) -> tuple[Any, Any, dict[str, Any], list[SessionRunHook]]:
        """Build the graph of an evaluation in the default graph.

        Returns:
            Scaffold, op that adds a batch to the metrics, name -> metric, hooks.

        Raises:
            ValueError: A metric has a name of the Estimator's own.
        """
        tf.set_random_seed(self._config.tf_random_seed)
        self._create_global_step(tf.get_default_graph())
        features, labels, input_hooks = parse_input_fn_result(
            self._call_input_fn(input_fn, ModeKeys.EVAL)
        )
        spec = self._call_model_fn(features, labels, ModeKeys.EVAL, self.config)
        metrics = dict(spec.eval_metric_ops)
        for taken in (LOSS_METRIC_KEY, tf.GraphKeys.GLOBAL_STEP):
            if taken in metrics:
                raise ValueError(
                    f'Metric with name "{taken}" is not allowed, because Estimator already defines '
                    "a default metric with the same name."
                )
        metrics[LOSS_METRIC_KEY] = tf.metrics.mean(spec.loss)
        update_op = tf.group(*(update for _, (_, update) in sorted(metrics.items())))
        values = {name: value for name, (value, _) in sorted(metrics.items())}
        if not checkpoint_path and self._warm_start_settings:
            self._warm_start()
        values[tf.GraphKeys.GLOBAL_STEP] = tf.train.get_global_step()
        scaffold = spec.scaffold
        if scaffold.local_init_op is not None:
            # Its op knows nothing of the evaluation's own variables.
            get_or_create_eval_step()
            default = tf.train.Scaffold.default_local_init_op()
            scaffold = tf.train.Scaffold(
                local_init_op=tf.group(scaffold.local_init_op, default),
                copy_from_scaffold=scaffold,
            )
        return scaffold, update_op, values, [*input_hooks, *hooks, *spec.evaluation_hooks]

    def run_evaluation(
        self,
        checkpoint_path: str | None,
        scaffold: Any,
        update_op: Any,
        metrics: Mapping[str, Any],
        hooks: Sequence[SessionRunHook],
        output_dir: str,
    ) -> dict[str, Any]:
        """Run an evaluation that was built in the default graph; write and return its metrics."""
        results = evaluate_once(
            checkpoint_path=checkpoint_path,
            master=self._config.evaluation_master,
            scaffold=scaffold,
            eval_op=update_op,
            final_ops=metrics,
            hooks=hooks,
            config=self._config.session_config,
        )
        global_step = results[tf.GraphKeys.GLOBAL_STEP]
        write_results(output_dir, results, global_step)
        if checkpoint_path:
            write_checkpoint_path(output_dir, checkpoint_path, global_step)
        return results

    # -- prediction ----------------------------------------------------------------------------

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Yield the predictions of the model.

        Args:
            input_fn: Returns a dataset of features, or tensors; labels are ignored.
            predict_keys: Which predictions to yield; all if None.
            hooks: Hooks of the prediction.
            checkpoint_path: The checkpoint; the latest one if None. If there is none, variables
                are initialized.
            yield_single_examples: Whether to yield each example, and not batches.

        Yields:
            The predictions of an example, or of a batch.

        Raises:
            ValueError: No prediction has one of the keys, or predictions of a batch differ in
                length.
        """
        every_hook = checked_hooks(hooks)
        if not checkpoint_path:
            checkpoint_path = self.latest_checkpoint()
            if not checkpoint_path:
                _log.info(
                    "Could not find trained model in model_dir: %s, running initialization to "
                    "predict.",
                    self._model_dir,
                )
        graph = tf.Graph()
        with graph.as_default():
            tf.set_random_seed(self._config.tf_random_seed)
            self._create_global_step(graph)
            features, _, input_hooks = parse_input_fn_result(
                self._call_input_fn(input_fn, ModeKeys.PREDICT)
            )
            self._warn_of_endless_input(features)
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT, self.config)
            if not checkpoint_path and self._warm_start_settings:
                self._warm_start()
            predictions = chosen_predictions(spec.predictions, predict_keys)
            session = tf.train.MonitoredSession(
                session_creator=tf.train.ChiefSessionCreator(
                    checkpoint_filename_with_path=checkpoint_path,
                    master=self._config.master,
                    scaffold=spec.scaffold,
                    config=self._config.session_config,
                ),
                hooks=[*input_hooks, *every_hook, *spec.prediction_hooks],
            )
        with closed_in_graph(session, graph):
            while not session.should_stop():
                # The caller's graph is the default one between two batches.
                with graph.as_default():
                    values = session.run(predictions)
                yield from examples_of(values) if yield_single_examples else (values,)

    def _warn_of_endless_input(self, features: Any) -> None:
        if not has_dataset_or_queue_runner(features):
            _log.warning(
                "Input graph does not use tf.data.Dataset or contain a QueueRunner. That means "
                "predict yields forever. This is probably a mistake."
            )

    # -- export --------------------------------------------------------------------------------

    def export_saved_model(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable[[], Any] | None,
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> str:
        """Export the model for serving; return the folder, whose name is the time in seconds.

        Args:
            export_dir_base: The folder in which the model's folder is made.
            serving_input_receiver_fn: Returns a ``ServingInputReceiver``.
            assets_extra: Name in the folder ``assets.extra`` -> file to copy.
            as_text: Whether the model's graph is written as text.
            checkpoint_path: The checkpoint; the latest one if None.
            experimental_mode: The mode whose graph is exported.

        Raises:
            ValueError: There is no checkpoint, no input function, or a variable is not in the
                checkpoint.
        """
        if not serving_input_receiver_fn:
            raise ValueError("An input_receiver_fn must be defined.")
        return self.experimental_export_all_saved_models(
            export_dir_base,
            {experimental_mode: serving_input_receiver_fn},
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
        )

    def export_savedmodel(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable[[], Any] | None,
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> str:
        """Export the model for serving; the older name of :meth:`export_saved_model`.

        Args:
            export_dir_base: The folder in which the model's folder is made.
            serving_input_receiver_fn: Returns a ``ServingInputReceiver``.
            assets_extra: Name in the folder ``assets.extra`` -> file to copy.
            as_text: Whether the model's graph is written as text.
            checkpoint_path: The checkpoint; the latest one if None.
            strip_default_attrs: Whether attributes with default values are left out.

        Raises:
            ValueError: As for :meth:`export_saved_model`.
        """
        if not serving_input_receiver_fn:
            raise ValueError("An input_receiver_fn must be defined.")
        return export_saved_models(
            self,
            export_dir_base,
            {ModeKeys.PREDICT: serving_input_receiver_fn},
            assets_extra,
            as_text,
            checkpoint_path,
            strip_default_attrs,
        )

    def experimental_export_all_saved_models(
        self,
        export_dir_base: Any,
        input_receiver_fn_map: Mapping[str, Callable[[], Any]],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
    ) -> str:
        """Export the graphs of several modes into one model, with one set of variables.

        Args:
            export_dir_base: The folder in which the model's folder is made.
            input_receiver_fn_map: Mode -> a function that returns the inputs.
            assets_extra: Name in the folder ``assets.extra`` -> file to copy.
            as_text: Whether the model's graph is written as text.
            checkpoint_path: The checkpoint; the latest one if None.

        Raises:
            ValueError: There is no checkpoint or no known mode, or a variable is missing.
        """
        return export_saved_models(
            self,
            export_dir_base,
            input_receiver_fn_map,
            assets_extra,
            as_text,
            checkpoint_path,
            True,
        )

    def build_export(self, input_receiver: Any, mode: str) -> EstimatorSpec:
        """Build the graph of an exported model in the default graph."""
        return self._call_model_fn(
            input_receiver.features, getattr(input_receiver, "labels", None), mode, self.config
        )

    # -- calls of the program's functions -------------------------------------------------------

    def _create_global_step(self, graph: Any) -> Any:
        return tf.train.create_global_step(graph)

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str) -> Any:
        if not callable(input_fn):
            raise TypeError(f"`input_fn` must be callable, given: {input_fn!r:.200}")
        available = {"mode": mode, "params": self.params, "config": self.config}
        with tf.device("/cpu:0"):
            return input_fn(**accepted(input_fn, available))

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        available = {"mode": mode, "params": self.params, "config": config}
        if "labels" in argument_names(self._model_fn):
            available["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        _log.info("Calling model_fn.")
        spec = self._model_fn(features=features, **accepted(self._model_fn, available))
        _log.info("Done calling model_fn.")
        if not isinstance(spec, EstimatorSpec):
            raise ValueError(
                "model_fn should return an EstimatorSpec. It returned "
                f"{type(spec).__name__}: {spec!r:.200}"
            )
        return spec


def checked_hooks(hooks: Sequence[Any] | None) -> list[SessionRunHook]:
    """Return hooks as a list.

    Raises:
        TypeError: An element is no hook.
    """
    for hook in hooks or ():
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return list(hooks or ())


def eval_steps_hooks(steps: int | None) -> list[SessionRunHook]:
    """Return the hook that ends an evaluation after a number of batches, if there is one.

    Raises:
        ValueError: The number is not positive.
    """
    if steps is None:
        return []
    if steps <= 0:
        raise ValueError(f"Must specify steps > 0, given: {steps}")
    return [StopAfterNEvalsHook(steps)]


def _checked_listeners(listeners: Sequence[Any] | None) -> list[CheckpointSaverListener]:
    for listener in listeners or ():
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(
                f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}"
            )
    return list(listeners or ())


def _complete_config(config: Any, model_dir: Any) -> RunConfig:
    """Return the configuration with a folder and a configuration of sessions."""
    if config is None:
        config = RunConfig()
        _log.info("Using default config.")
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    if config.session_config is None:
        config = config.replace(session_config=default_session_config())
    folder = os.fspath(model_dir) if model_dir is not None else None
    if folder is not None and config.model_dir is not None and config.model_dir != folder:
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. "
            f"In constructor: '{folder}', in `RunConfig`: '{config.model_dir}' "
        )
    if not folder and config.model_dir is None:
        folder = tempfile.mkdtemp()
        _log.warning("Using temporary folder as model directory: %s", folder)
    complete: RunConfig = config.replace(model_dir=folder) if folder else config
    return complete

"""``tf.contrib.learn.Estimator``: a model that is fitted to arrays or to an input function."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tfnb.as_tensorflow.contrib.learn.metric_spec import metric_ops
from tfnb.as_tensorflow.contrib.learn.model_fn import ModeKeys, spec_of
from tfnb.as_tensorflow.contrib.learn.monitors import as_hooks
from tfnb.client.estimator.arguments import accepted, argument_names
from tfnb.client.estimator.estimator import Estimator as _Estimator
from tfnb.client.estimator.input_fn import has_dataset_or_queue_runner, parse_input_fn_result
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.client.estimator.model_fn import EstimatorSpec


def input_fn_of(
    x: Any,
    y: Any,
    input_fn: Callable[..., Any] | None,
    batch_size: int | None,
    epochs: int | None = 1,
    shuffle: bool = False,
) -> Callable[..., Any]:
    """Return an input function over arrays; the given one if there is one.

    Args:
      x: an array, or key -> array.
      y: the labels.
      input_fn: instead of arrays.
      batch_size: the size of a batch; all examples by default.
      epochs: how often the arrays are read; without end if None.
      shuffle: whether examples are shuffled.

    Raises:
      ValueError: arrays and a function are given, or neither.
    """
    if input_fn is not None:
        if x is not None or y is not None or batch_size is not None:
            raise ValueError("Can not provide both input_fn and x, y or batch_size.")
        return input_fn
    if x is None:
        raise ValueError("Either x or input_fn must be provided.")
    arrays = {k: np.asarray(v) for k, v in x.items()} if isinstance(x, dict) else np.asarray(x)
    some = next(iter(arrays.values())) if isinstance(arrays, dict) else arrays
    labels = None if y is None else np.asarray(y)
    size = len(some) if batch_size is None else min(batch_size, len(some))
    read: Callable[..., Any] = tf.estimator.inputs.numpy_input_fn(
        arrays, labels, size, epochs, shuffle, queue_capacity=max(1000, 4 * size)
    )
    return read


class Estimator(_Estimator):
    """A model from a function, with ``fit``, ``evaluate`` and ``predict``.

    Args:
      model_fn: a function of (features, labels, mode, params, config), the last three if it has
        arguments of that name. It returns ``ModelFnOps`` or (predictions, loss, train_op).
      model_dir: the folder of checkpoints and summaries.
      config: a ``RunConfig``.
      params: hyperparameters.
      feature_engineering_fn: a function of (features, labels), before the model.

    Raises:
      ValueError: ``model_fn`` is missing.
    """

    _overrides_methods = True

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        self._metrics: Any = None
        self._input_ends = True

        def whole_model_fn(
            features: Any, labels: Any, mode: str, params: Any, config: Any
        ) -> EstimatorSpec:
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            given = {"mode": mode, "params": params, "config": config, "model_dir": self.model_dir}
            chosen = accepted(model_fn, given)
            inputs = [features, labels][: _number_of_inputs(model_fn)]
            return spec_of(model_fn(*inputs, **chosen), mode)

        super().__init__(whole_model_fn, model_dir, config, {} if params is None else params)

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = super()._call_model_fn(features, labels, mode, config)
        if mode == ModeKeys.EVAL and self._metrics:
            found = metric_ops(self._metrics, features, labels, spec.predictions)
            return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **found})
        return spec

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str) -> Any:
        result = super()._call_input_fn(input_fn, mode)
        if mode == ModeKeys.INFER:
            features, _, hooks = parse_input_fn_result(result)
            self._input_ends = bool(hooks) or has_dataset_or_queue_runner(features)
        return result

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Any = None,
        max_steps: int | None = None,
    ) -> Self:
        """Train, from the latest checkpoint if there is one.

        Args:
          x: the features as an array, or key -> array.
          y: the labels.
          input_fn: returns features and labels, instead of arrays.
          steps: how many steps to train.
          batch_size: of arrays; all examples by default.
          monitors: monitors or hooks.
          max_steps: the global step at which the training ends.

        Returns:
          The Estimator itself.

        Raises:
          ValueError: both numbers of steps are given, or arrays and a function.
        """
        read = input_fn_of(x, y, input_fn, batch_size, None, shuffle=True)
        return self.train(read, as_hooks(monitors, self), steps, max_steps)

    def partial_fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        steps: int | None = 1,
        batch_size: int | None = None,
        monitors: Any = None,
    ) -> Self:
        """Train on one part of the data; arguments as of ``fit``."""
        return self.fit(x, y, input_fn, steps, batch_size, monitors)

    def evaluate(  # type: ignore[override]
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        feed_fn: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Sequence[Any] | None = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """Return name -> value of the metrics.

        Args:
          x: the features as an array, or key -> array; or an input function.
          y: the labels.
          input_fn: returns features and labels, instead of arrays.
          feed_fn: must be None.
          batch_size: of arrays; all examples by default.
          steps: how many batches; all if None.
          metrics: name -> ``MetricSpec`` or function, besides those of the model.
          name: of the evaluation.
          checkpoint_path: the checkpoint; the latest one by default.
          hooks: of the evaluation.
          log_progress: without effect.

        Raises:
          NotImplementedError: ``feed_fn`` is given.
          ValueError: arrays and a function are given, or neither.
        """
        if feed_fn is not None:
            raise NotImplementedError("feed_fn: return tensors from input_fn instead.")
        if callable(x) and input_fn is None:  # as tf.estimator calls it
            x, input_fn = None, x
        with self.with_metrics(self._metrics if metrics is None else metrics):
            read = input_fn_of(x, y, input_fn, batch_size)
            return super().evaluate(read, steps, hooks, checkpoint_path, name)

    @contextmanager
    def with_metrics(self, metrics: Any) -> Iterator[None]:
        """Add metrics to the evaluations inside the block.

        Args:
          metrics: name -> ``MetricSpec`` or function.
        """
        before, self._metrics = self._metrics, metrics
        try:
            yield
        finally:
            self._metrics = before

    def score(self, x: Any, y: Any, batch_size: int | None = None, **rest: Any) -> dict[str, Any]:
        """Return the metrics over arrays; further arguments as of ``evaluate``."""
        return self.evaluate(x, y, batch_size=batch_size, **rest)

    def predict(  # type: ignore[override]
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        outputs: Sequence[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
        checkpoint_path: str | None = None,
        **rest: Any,
    ) -> Any:
        """Return the predictions.

        An input function without a queue or a dataset is read once.

        Args:
          x: the features as an array, or key -> array; or an input function.
          input_fn: returns features, instead of arrays.
          batch_size: of arrays; all examples by default.
          outputs: the keys of predictions; all by default.
          as_iterable: whether to return an iterator, and not arrays.
          iterate_batches: whether the iterator gives batches.
          checkpoint_path: the checkpoint; the latest one by default.
          **rest: as of ``tf.estimator.Estimator.predict``.

        Raises:
          ValueError: arrays and a function are given, or neither.
        """
        if callable(x) and input_fn is None:  # as tf.estimator calls it
            x, input_fn = None, x
        read = input_fn_of(x, None, input_fn, batch_size)
        keys = rest.pop("predict_keys", outputs)
        iterate_batches = not rest.pop("yield_single_examples", not iterate_batches)
        batches = self._batches(read, keys, checkpoint_path, rest.pop("hooks", None))
        if not as_iterable:
            return _joined(list(batches))
        return batches if iterate_batches else _examples(batches)

    def _batches(self, read: Any, keys: Any, checkpoint_path: Any, hooks: Any) -> Iterator[Any]:
        for batch in super().predict(
            read, keys, hooks, checkpoint_path, yield_single_examples=False
        ):
            yield batch
            if not self._input_ends:
                return

    def export_savedmodel(
        self,
        export_dir_base: str,
        serving_input_receiver_fn: Callable[[], Any] | None = None,
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
        serving_input_fn: Callable[[], Any] | None = None,
        default_output_alternative_key: str | None = None,
        exports_to_keep: int | None = None,
    ) -> Any:
        """Export the model; return its folder.

        Args:
          export_dir_base: the folder of all exports.
          serving_input_receiver_fn: returns the inputs.
          assets_extra: path in the export -> file that is copied there.
          as_text: whether the graph is written as text.
          checkpoint_path: the checkpoint; the latest one by default.
          strip_default_attrs: whether attributes with default values are left out.
          serving_input_fn: returns ``InputFnOps``, instead of the receiver.
          default_output_alternative_key: without effect: the first output is the default.
          exports_to_keep: how many exports are kept; all by default.
        """
        from tfnb.client.estimator.export.saved_model import remove_old_exports

        found = super().export_savedmodel(
            export_dir_base,
            serving_input_receiver_fn or serving_input_fn,
            assets_extra,
            as_text,
            checkpoint_path,
            strip_default_attrs,
        )
        remove_old_exports(export_dir_base, exports_to_keep)
        return found


def _number_of_inputs(model_fn: Callable[..., Any]) -> int:
    """Return 1 for a function of features alone, 2 for one of features and labels."""
    rest = {"mode", "params", "config", "model_dir"}
    return min(2, len([name for name in argument_names(model_fn) if name not in rest]))


def _examples(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        if isinstance(batch, dict):
            for index in range(len(next(iter(batch.values())))):
                yield {key: value[index] for key, value in batch.items()}
        else:
            yield from batch


def _joined(batches: list[Any]) -> Any:
    if not batches or not isinstance(batches[0], dict):
        return np.concatenate(batches) if batches else np.array([])
    return {key: np.concatenate([one[key] for one in batches]) for key in batches[0]}


class SKCompat:
    """An Estimator with the methods of scikit-learn: arrays go in and come out.

    Args:
      estimator: the Estimator.
    """

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Any = None,
    ) -> Self:
        """Train; arguments as of ``Estimator.fit``."""
        self._estimator.fit(x, y, None, steps, batch_size, monitors, max_steps)
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Return the metrics; arguments as of ``Estimator.evaluate``."""
        return self._estimator.evaluate(
            x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name
        )

    def predict(self, x: Any, batch_size: int = 128, outputs: Any = None) -> Any:
        """Return the predictions as arrays; arguments as of ``Estimator.predict``."""
        return self._estimator.predict(x, batch_size=batch_size, outputs=outputs, as_iterable=False)

"""`TPUEstimator` on a CPU: batch sizes in `params`, functions of the host, no TPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.client.estimator.models import points, serving

if TYPE_CHECKING:
    from pathlib import Path

tpu = tf.estimator.tpu
ModeKeys = tf.estimator.ModeKeys


def read(params: Any) -> Any:
    """Return batches of the size in `params`."""
    return points(None, batch=params["batch_size"])()


class Model:
    """A mean, with the batch sizes that it saw."""

    def __init__(self) -> None:
        self.sizes: list[tuple[str, Any, bool]] = []
        self.host_calls = 0

    def model_fn(self, features: Any, labels: Any, mode: str, params: Any) -> Any:
        """Build the graph of a mode."""
        self.sizes.append((mode, params.get("batch_size"), params["use_tpu"]))
        mean = tf.get_variable("mean", [], initializer=tf.zeros_initializer())
        y = mean + 0 * features["x"]
        if mode == ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, {"y": y})
        loss = tf.reduce_mean(tf.square(mean - labels))
        step = tf.train.get_global_step()

        def counted(value: Any) -> Any:
            self.host_calls += 1
            return tf.identity(value)

        return tpu.TPUEstimatorSpec(
            mode,
            loss=loss,
            train_op=tf.train.GradientDescentOptimizer(0.3).minimize(loss, step),
            eval_metrics=(lambda y, labels: {"y": tf.metrics.mean(y + 0 * labels)}, [y, labels]),
            host_call=(counted, {"value": loss}),
            scaffold_fn=tf.train.Scaffold,
        )


def estimator(model: Any, folder: Any, **arguments: Any) -> Any:
    """Return an Estimator of the model."""
    config = tpu.RunConfig(
        model_dir=str(folder), tpu_config=tpu.TPUConfig(iterations_per_loop=5, num_shards=8)
    )
    sizes = {"train_batch_size": 4, "eval_batch_size": 2, "predict_batch_size": 3}
    options = {"use_tpu": False, **sizes, **arguments}
    return tpu.TPUEstimator(model, config=config, **options)


@pytest.mark.slow
def test_a_program_for_tpus_runs_on_a_cpu(tmp_path: Path) -> None:
    """Each mode with its batch size; metrics and calls of the host are a part of the graph."""
    model = Model()
    runner = estimator(model.model_fn, tmp_path).train(read, max_steps=6)
    metrics = runner.evaluate(read, steps=2)
    batch = next(runner.predict(read, yield_single_examples=False))
    folder = runner.export_savedmodel(str(tmp_path / "export"), serving)

    assert metrics["global_step"] == 6
    assert metrics["y"] == pytest.approx(runner.get_variable_value("mean"))
    assert batch["y"].shape == (3,)
    assert model.sizes == [
        (ModeKeys.TRAIN, 4, False),
        (ModeKeys.EVAL, 2, False),
        (ModeKeys.PREDICT, 3, False),
        (ModeKeys.PREDICT, None, False),
    ]
    assert model.host_calls == 2
    with tf.Graph().as_default(), tf.Session() as session:
        served = tf.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
        y = session.run(served.outputs["y"].name, {served.inputs["x"].name: np.zeros(2)})
    assert y.shape == (2,)


def test_tpus_are_refused(tmp_path: Path) -> None:
    """With the argument to change."""
    with pytest.raises(NotImplementedError, match="Pass use_tpu=False"):
        estimator(Model().model_fn, tmp_path, use_tpu=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"params": {"batch_size": 3}}, "'batch_size'.* are reserved keys"),
        ({"train_batch_size": 0}, "must be positive"),
        ({"model_fn": lambda features, labels, mode: None}, "required by TPUEstimator"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """When it is made."""
    model_fn = arguments.pop("model_fn", Model().model_fn)
    with pytest.raises(ValueError, match=message):
        estimator(model_fn, tmp_path, **arguments)


def test_other_configurations_and_inputs_are_refused(tmp_path: Path) -> None:
    """A plain `RunConfig`, and an input without `params`."""
    with pytest.raises(ValueError, match=r"type `tpu_config.RunConfig`"):
        tpu.TPUEstimator(Model().model_fn, config=tf.estimator.RunConfig(), use_tpu=False)
    with pytest.raises(ValueError, match=r"input_fn .* does not include params argument"):
        estimator(Model().model_fn, tmp_path).train(points(), steps=1)
    with pytest.raises(ValueError, match="iterations_per_loop must be a positive number"):
        tpu.TPUConfig(iterations_per_loop="fast")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (3, ValueError, "should be tuple or list"),
        ((1,), ValueError, "should have two elements"),
        ((1, []), TypeError, "should be callable"),
        ((len, 3), ValueError, "should be tuple or list, or dict"),
        ((lambda a: a, []), RuntimeError, "length of tensors 0 does not match"),
    ],
)
def test_calls_of_the_host_are_checked(call: Any, kind: type[Exception], message: str) -> None:
    """A function and its tensors."""
    with tf.Graph().as_default(), pytest.raises(kind, match=message):
        tpu.TPUEstimatorSpec(ModeKeys.EVAL, loss=tf.constant(1.0), eval_metrics=call)

"""`tf.estimator.Estimator` with a model of the program's own."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.client.estimator.models import line, line_fn, points, serving
from tests.interrupts import interrupted

if TYPE_CHECKING:
    from pathlib import Path

ModeKeys, Spec = tf.estimator.ModeKeys, tf.estimator.EstimatorSpec


class Steps(tf.estimator.SessionRunHook):
    """Counts the steps, and sessions that end."""

    def __init__(self) -> None:
        self.count = self.ends = 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Count a step."""
        self.count += 1

    def end(self, session: Any) -> None:
        """Count an end."""
        self.ends += 1


@pytest.mark.slow
def test_a_model_trains_on_where_its_checkpoint_ends(tmp_path: Path) -> None:
    """`steps` count from there, `max_steps` from the beginning."""
    model, steps = line(tmp_path), Steps()

    assert model.train(points(), steps=5) is model
    assert model.get_variable_value("global_step") == 5
    line(tmp_path).train(points(), hooks=[steps], max_steps=8)
    line(tmp_path).train(points(), hooks=[steps], max_steps=8)

    assert (steps.count, steps.ends) == (3, 1)
    assert model.latest_checkpoint() == str(tmp_path / "model.ckpt-8")
    assert sorted(model.get_variable_names()) == ["bias", "global_step", "weight"]


@pytest.mark.slow
def test_a_training_ends_with_its_input(tmp_path: Path) -> None:
    """Two epochs of two batches are four steps."""
    model = line(tmp_path).train(points(epochs=2))
    assert model.get_variable_value("global_step") == 4


@pytest.mark.slow
def test_evaluations_return_and_write_metrics(tmp_path: Path) -> None:
    """With loss and step, of the latest checkpoint or of a given one."""
    model = line(tmp_path, save_checkpoints_steps=20).train(points(), steps=40)
    latest = model.evaluate(points(1), name="again")
    before = model.evaluate(points(1), steps=1, checkpoint_path=str(tmp_path / "model.ckpt-0"))

    assert sorted(latest) == ["error", "global_step", "loss"]
    assert latest["global_step"] == 40
    assert latest["loss"] < 0.1
    assert before["loss"] == pytest.approx(np.mean((2 * np.linspace(-1, 1, 8)[:4] + 1) ** 2))
    (path,) = (tmp_path / "eval_again").iterdir()
    values = {
        one.tag: one.simple_value
        for event in tf.train.summary_iterator(str(path))
        for one in event.summary.value
    }
    assert values["loss"] == pytest.approx(latest["loss"])
    assert "checkpoint_path" in values


@pytest.mark.slow
def test_predictions_are_yielded_by_example_or_by_batch(tmp_path: Path) -> None:
    """With the keys that are requested, while the caller's graph stays the default one."""
    model = line(tmp_path).train(points(), steps=60)
    with tf.Graph().as_default() as own:
        examples = model.predict(points(1))
        first = next(examples)
        assert tf.get_default_graph() is own
        rest = list(examples)
    batches = list(model.predict(points(1), predict_keys=["y"], yield_single_examples=False))

    assert first["y"] == pytest.approx(-1, abs=0.3)
    assert len(rest) == 7
    assert [batch["y"].shape for batch in batches] == [(4,), (4,)]
    assert set(batches[0]) == {"y"}


@pytest.mark.slow
def test_a_prediction_that_is_dropped_closes_its_session(tmp_path: Path) -> None:
    """A generator that is closed in the middle calls the end of no hook twice."""
    model, steps = line(tmp_path), Steps()
    examples = model.predict(points(), hooks=[steps])
    next(examples)
    examples.close()
    assert steps.ends <= 1
    assert list(examples) == []


@pytest.mark.slow
def test_an_exported_model_is_served(tmp_path: Path) -> None:
    """By the loader of saved models, with files beside it."""
    model = line(tmp_path / "model").train(points(), steps=60)
    (tmp_path / "words.txt").write_text("a b")
    folder = model.export_savedmodel(
        str(tmp_path / "export"), serving, assets_extra={"more/w.txt": str(tmp_path / "words.txt")}
    )

    assert os.path.basename(folder).isdigit()
    assert (tmp_path / "export" / folder / "assets.extra" / "more" / "w.txt").read_text() == "a b"
    with tf.Graph().as_default(), tf.Session() as session:
        signatures = tf.saved_model.load(session, ["serve"], folder).signature_def
        assert sorted(signatures) == ["line", "serving_default"]
        served = signatures["line"]
        y = session.run(served.outputs["y"].name, {served.inputs["x"].name: [0.0, 1.0]})
    np.testing.assert_allclose(y, [1, 3], atol=0.3)


@pytest.mark.slow
def test_graphs_of_all_modes_are_exported_with_one_set_of_variables(tmp_path: Path) -> None:
    """Each with its tag; the training op is kept where the model returns it."""
    model = line(tmp_path / "model").train(points(), steps=1)
    x = {"x": tf.placeholder(tf.float32, [None], name="x")}
    labels = tf.placeholder(tf.float32, [None], name="labels")
    supervised = tf.estimator.experimental.build_raw_supervised_input_receiver_fn(x, labels)
    folder = model.experimental_export_all_saved_models(
        str(tmp_path / "export"),
        {ModeKeys.TRAIN: supervised, ModeKeys.EVAL: supervised, ModeKeys.PREDICT: serving},
    )
    for tag, key in (("train", "train"), ("eval", "eval"), ("serve", "serving_default")):
        with tf.Graph().as_default(), tf.Session() as session:
            signature = tf.saved_model.load(session, [tag], folder).signature_def[key]
            name = "y" if tag == "serve" else "loss"
            feeds = {one.name: np.ones(2) for one in signature.inputs.values()}
            assert np.isfinite(session.run(signature.outputs[name].name, feeds)).all()
            assert len(tf.get_collection("saved_model_train_op")) == (tag != "serve")


@pytest.mark.slow
def test_metrics_are_added_to_a_model(tmp_path: Path) -> None:
    """`add_metrics` keeps those that it has."""
    model = line(tmp_path).train(points(), steps=2)

    def largest(predictions: Any) -> Any:
        return {"mean_y": tf.metrics.mean(predictions["y"])}

    metrics = tf.estimator.add_metrics(model, largest).evaluate(points(1))
    assert sorted(metrics) == ["error", "global_step", "loss", "mean_y"]
    with pytest.raises(ValueError, match="following not expected args: \\['other'\\]"):
        tf.estimator.add_metrics(model, lambda other: {})


class Held(tf.estimator.SessionRunHook):
    """Stands still after the third step, until it is interrupted."""

    def __init__(self) -> None:
        self.steps = 0
        self.reached = threading.Event()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Count a step; wait after the third one."""
        self.steps += 1
        if self.steps == 3:
            self.reached.set()
            # A lock does not hear an interrupt that comes just before it begins to wait.
            while True:
                os.sched_yield()


@pytest.mark.slow
def test_an_interrupted_training_can_go_on(tmp_path: Path) -> None:
    """The session is closed, and the next training begins at the last checkpoint."""
    model, held = line(tmp_path, save_checkpoints_steps=2), Held()
    interrupted(lambda: model.train(points(), hooks=[held]), held.reached.wait)

    assert model.get_variable_value("global_step") == 2
    model.train(points(), steps=1)
    assert model.get_variable_value("global_step") == 3


def without_features(labels: Any, mode: str) -> Any:
    """Be no `model_fn`."""


@pytest.mark.parametrize(
    ("model_fn", "params", "message"),
    [
        (None, None, "model_fn must be provided"),
        (without_features, None, "must include features argument"),
        (lambda features, extra: None, None, "following not expected args: \\['extra'\\]"),
        (lambda features: None, {"a": 1}, "does not include params argument"),
    ],
)
def test_functions_that_are_no_model_are_refused(
    model_fn: Any, params: Any, message: str, tmp_path: Path
) -> None:
    """When the Estimator is made."""
    with pytest.raises(ValueError, match=message):
        tf.estimator.Estimator(model_fn, str(tmp_path), params=params)


def _one() -> Any:
    return tf.Variable(1.0).read_value()


def _train() -> Any:
    return tf.assign_add(tf.train.get_global_step(), 1).op


OTHER = tf.Graph()
with OTHER.as_default():
    ELSEWHERE = tf.constant(1.0)


@pytest.mark.parametrize(
    ("spec", "kind", "message"),
    [
        (
            lambda mode: None,
            ValueError,
            "model_fn should return an EstimatorSpec. It returned None",
        ),
        (lambda mode: Spec(mode, train_op=_train()), ValueError, "Missing loss"),
        (lambda mode: Spec(mode, loss=_one()), ValueError, "Missing train_op"),
        (lambda mode: Spec(mode, loss=1.0, train_op=_train()), TypeError, "loss must be Tensor"),
        (
            lambda mode: Spec(mode, loss=tf.ones([2]), train_op=_train()),
            ValueError,
            "Loss must be scalar",
        ),
        (
            lambda mode: Spec(mode, loss=ELSEWHERE, train_op=_train()),
            ValueError,
            "must be from the default graph",
        ),
        (
            lambda mode: Spec(mode, loss=_one(), train_op=_train(), training_hooks=[1]),
            TypeError,
            "All hooks must be SessionRunHook instances",
        ),
    ],
)
def test_what_a_model_fn_must_not_return(
    spec: Any, kind: type[Exception], message: str, tmp_path: Path
) -> None:
    """The error says what is missing, and nothing is written."""
    model = tf.estimator.Estimator(lambda features, labels, mode: spec(mode), str(tmp_path))
    with pytest.raises(kind, match=message):
        model.train(points(), steps=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("input_fn", "kind", "message"),
    [
        (5, TypeError, "`input_fn` must be callable, given: 5"),
        (lambda: None, TypeError, "input_fn should return a tf.data.Dataset.* NoneType"),
        (lambda: (1, 2, 3), ValueError, "as a len 2 tuple. It returned 3 elements"),
        (lambda: (yield 1), TypeError, "returned features of type generator"),
        (lambda: points, TypeError, "returned features of type function"),
    ],
)
def test_inputs_that_are_none_are_refused(
    input_fn: Any, kind: type[Exception], message: str, tmp_path: Path
) -> None:
    """Before a model is built."""
    with pytest.raises(kind, match=message):
        line(tmp_path).train(input_fn, steps=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 1, "max_steps": 1}, "Can not provide both steps and max_steps"),
        ({"steps": 0}, "Must specify steps > 0, given: 0"),
        ({"max_steps": -1}, "Must specify max_steps > 0, given: -1"),
    ],
)
def test_numbers_of_steps_are_checked(arguments: Any, message: str, tmp_path: Path) -> None:
    """Before anything is built."""
    with pytest.raises(ValueError, match=message):
        line(tmp_path).train(points(), **arguments)


@pytest.mark.slow
def test_without_a_checkpoint_only_some_methods_work(tmp_path: Path) -> None:
    """Variables are initialized to evaluate and to predict; there is nothing to export."""
    model = line(tmp_path)

    assert model.latest_checkpoint() is None
    assert model.evaluate(points(1))["global_step"] == 0
    assert next(model.predict(points(1)))["y"] == 0
    for call in (lambda: model.get_variable_value("weight"), model.get_variable_names):
        with pytest.raises(ValueError, match="Could not find trained model in model_dir"):
            call()
    with pytest.raises(ValueError, match=r"Couldn't find trained model at .*Call train first"):
        model.export_saved_model(str(tmp_path / "export"), serving)


@pytest.mark.slow
def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    """An export names the variable, and leaves no folder behind."""
    line(tmp_path / "model").train(points(), steps=1)

    def other(features: Any, mode: str) -> Any:
        return Spec(mode, features["x"] * tf.get_variable("factor", []))

    model = tf.estimator.Estimator(other, str(tmp_path / "model"))
    with pytest.raises(ValueError, match=r"(?s)Could not load all requested variables.*factor"):
        model.export_saved_model(str(tmp_path / "export"), serving)
    assert not (tmp_path / "export").exists() or list((tmp_path / "export").iterdir()) == []


@pytest.mark.slow
def test_exports_that_fail_leave_nothing_behind(tmp_path: Path) -> None:
    """Inputs that are none, features that do not fit, files and checkpoints that are not there."""
    model = line(tmp_path / "model").train(points(), steps=1)

    def other() -> Any:
        x = tf.placeholder(tf.float32, [None])
        return tf.estimator.export.ServingInputReceiver({"z": x}, {"z": x})

    for receiver, options, kind, message in (
        (lambda: 3, {}, TypeError, "should return a tf.estimator.export.ServingInputReceiver"),
        (other, {}, KeyError, "x"),
        (serving, {"assets_extra": {"a": str(tmp_path / "b")}}, tf.errors.NotFoundError, "b"),
        (serving, {"checkpoint_path": "/not/there"}, ValueError, "not a valid checkpoint"),
        (None, {}, ValueError, "An input_receiver_fn must be defined"),
    ):
        with pytest.raises(kind, match=message):
            model.export_saved_model(str(tmp_path / "export"), receiver, **options)
    assert not (tmp_path / "export").exists() or list((tmp_path / "export").iterdir()) == []


@pytest.mark.slow
def test_a_model_without_labels_refuses_an_input_with_them(tmp_path: Path) -> None:
    """The error names both functions."""
    model = tf.estimator.Estimator(lambda features, mode: None, str(tmp_path))
    with pytest.raises(ValueError, match="model_fn does not take labels, but input_fn returns"):
        model.train(points(), steps=1)


def test_subclasses_override_no_method(tmp_path: Path) -> None:
    """Other methods rely on them."""

    class Mine(tf.estimator.Estimator):  # type: ignore[misc]
        def train(self) -> None:
            """Do nothing."""

    with pytest.raises(ValueError, match=r"cannot override members .* \['train'\]"):
        Mine(line_fn, str(tmp_path), params={})


@pytest.mark.slow
def test_a_metric_has_no_name_of_the_estimators_own(tmp_path: Path) -> None:
    """The loss is a metric already."""

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        return Spec(mode, loss=_one(), eval_metric_ops={"loss": tf.metrics.mean(labels)})

    model = tf.estimator.Estimator(model_fn, str(tmp_path))
    with pytest.raises(ValueError, match='Metric with name "loss" is not allowed'):
        model.evaluate(points(1))


@pytest.mark.slow
def test_predictions_of_different_lengths_are_refused(tmp_path: Path) -> None:
    """Unless whole batches are requested."""

    def model_fn(features: Any, mode: str) -> Any:
        return Spec(mode, {"x": features["x"], "sum": tf.reduce_sum(features["x"], keepdims=True)})

    model = tf.estimator.Estimator(model_fn, str(tmp_path))
    with pytest.raises(ValueError, match="sum has different batch length"):
        next(model.predict(points(1)))
    assert next(model.predict(points(1), yield_single_examples=False))["sum"].shape == (1,)
    with pytest.raises(ValueError, match="Expected to run at least one output from"):
        next(model.predict(points(1), predict_keys=["z"]))


@pytest.mark.slow
def test_listeners_need_checkpoints(tmp_path: Path) -> None:
    """Without an interval there are none."""
    listener = tf.estimator.CheckpointSaverListener()
    model = line(tmp_path, save_checkpoints_secs=None)
    with pytest.raises(ValueError, match="There should be a CheckpointSaverHook"):
        model.train(points(), steps=1, saving_listeners=[listener])
    with pytest.raises(TypeError, match="must be a list of CheckpointSaverListener"):
        model.train(points(), steps=1, saving_listeners=[3])

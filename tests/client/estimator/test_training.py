"""`tf.estimator.train_and_evaluate`, exporters, and hooks that look at evaluations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.client.estimator.models import line, points, serving

if TYPE_CHECKING:
    from pathlib import Path

TrainSpec, EvalSpec = tf.estimator.TrainSpec, tf.estimator.EvalSpec


class Kept(tf.estimator.Exporter):  # type: ignore[misc]
    """Keeps what an exporter is called with."""

    name = "kept"

    def __init__(self) -> None:
        self.calls: list[tuple[int, bool]] = []

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> str:
        """Return the path."""
        self.calls.append((int(eval_result["global_step"]), is_the_final_export))
        return export_path


@pytest.mark.slow
def test_checkpoints_are_evaluated_and_exported_while_a_model_trains(tmp_path: Path) -> None:
    """Each but the first; the last one is the final one."""
    model, kept = line(tmp_path, save_checkpoints_steps=2), Kept()
    final = tf.estimator.FinalExporter("final", serving)
    metrics, exports = tf.estimator.train_and_evaluate(
        model,
        TrainSpec(points(), max_steps=5),
        EvalSpec(points(1), steps=None, exporters=[kept, final], throttle_secs=0),
    )

    assert kept.calls == [(2, False), (4, False), (5, True)]
    assert metrics["global_step"] == 5
    assert exports[0] == str(tmp_path / "export" / "kept")
    assert exports[1].startswith(str(tmp_path / "export" / "final"))


@pytest.mark.slow
def test_evaluations_are_not_more_frequent_than_requested(tmp_path: Path) -> None:
    """With a long throttle there is one at the first chance and one at the end."""
    model, kept = line(tmp_path, save_checkpoints_steps=1), Kept()
    spec = EvalSpec(points(1), exporters=kept, throttle_secs=10_000)
    tf.estimator.train_and_evaluate(model, TrainSpec(points(), max_steps=4), spec)
    assert kept.calls == [(1, False), (4, True)]


@pytest.mark.slow
def test_the_latest_and_the_best_models_are_exported(tmp_path: Path) -> None:
    """The oldest are removed; a model that is not better than all before is not exported."""
    model = line(tmp_path).train(points(), steps=2)
    latest = tf.estimator.LatestExporter("latest", serving, exports_to_keep=2)
    best = tf.estimator.BestExporter("best", serving, exports_to_keep=1)
    paths = {one: str(tmp_path / one.name) for one in (latest, best)}
    exported = []
    for step, loss in enumerate((3.0, 4.0, 2.0)):
        result = {"loss": loss, "global_step": step}
        for exporter, path in paths.items():
            found = exporter.export(model, path, model.latest_checkpoint(), result, False)
            exported.append(found is not None)

    assert exported == [True, True, True, False, True, True]
    assert len(list((tmp_path / "latest").iterdir())) == 2
    assert len(list((tmp_path / "best").iterdir())) == 1


@pytest.mark.slow
def test_the_best_model_of_an_earlier_program_is_remembered(tmp_path: Path) -> None:
    """Its evaluation is in the event files."""
    model = line(tmp_path).train(points(), steps=30)
    good = model.evaluate(points(1))
    exporter = tf.estimator.BestExporter("best", serving)
    worse = {"loss": good["loss"] + 1, "global_step": 31}
    better = {"loss": good["loss"] / 2, "global_step": 32}
    path, checkpoint = str(tmp_path / "best"), model.latest_checkpoint()

    assert exporter.export(model, path, checkpoint, worse, False) is None
    assert exporter.export(model, path, checkpoint, better, False) is not None


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: TrainSpec(3), TypeError, "`input_fn` must be callable, given: 3"),
        (lambda: TrainSpec(points(), max_steps=0), ValueError, "Must specify max_steps > 0"),
        (lambda: TrainSpec(points(), hooks=[1]), TypeError, "must be `SessionRunHook` instances"),
        (lambda: EvalSpec(points(), steps=0), ValueError, "Must specify steps > 0"),
        (lambda: EvalSpec(points(), name=3), TypeError, "`name` must be string, given: 3"),
        (lambda: EvalSpec(points(), throttle_secs=-1), ValueError, "throttle_secs >= 0, given: -1"),
        (lambda: EvalSpec(points(), exporters=5), TypeError, "an iterable of Exporter"),
        (
            lambda: EvalSpec(points(), exporters=[Kept(), Kept()]),
            ValueError,
            "must have unique names",
        ),
        (
            lambda: tf.estimator.LatestExporter("a", serving, exports_to_keep=0),
            ValueError,
            "must be a positive number. Got 0",
        ),
        (
            lambda: tf.estimator.BestExporter(compare_fn=lambda best: True),
            ValueError,
            "must include best_eval_result argument",
        ),
        (
            lambda: tf.estimator.train_and_evaluate(1, TrainSpec(points()), EvalSpec(points())),
            TypeError,
            "`estimator` must have type `tf.estimator.Estimator`",
        ),
    ],
)
def test_specs_that_do_not_fit_are_refused(make: Any, kind: type[Exception], message: str) -> None:
    """When they are made."""
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.slow
def test_hooks_end_a_training_by_its_evaluations(tmp_path: Path) -> None:
    """A metric that crosses a threshold, or that has not improved for some steps."""
    model = line(tmp_path, save_checkpoints_steps=1)
    folder = str(tmp_path / "eval")
    with tf.summary.FileWriter(folder) as writer:
        for step, value in ((1, 0.5), (2, 0.7), (6, 0.6)):
            summary = tf.Summary()
            summary.value.add(tag="accuracy", simple_value=value)
            writer.add_summary(summary, step)
    made = tf.estimator.experimental
    every = {"run_every_secs": None, "run_every_steps": 1}
    stops = [
        made.stop_if_higher_hook(model, "accuracy", 0.65, **every),
        made.stop_if_lower_hook(model, "accuracy", 0.55, **every),
        made.stop_if_no_increase_hook(model, "accuracy", 4, **every),
    ]
    goes_on = [
        made.stop_if_higher_hook(model, "accuracy", 0.8, **every),
        made.stop_if_lower_hook(model, "accuracy", 0.55, min_steps=2, **every),
        made.stop_if_no_decrease_hook(model, "accuracy", 6, **every),
    ]
    steps = []
    for hook in (*stops, *goes_on):
        before = model.get_variable_value("global_step") if steps else 0
        model.train(points(), hooks=[hook], steps=2)
        steps.append(model.get_variable_value("global_step") - before)

    assert steps == [1, 1, 1, 2, 2, 2]
    hook = made.stop_if_higher_hook(model, "auc", 0.8, **every)
    with pytest.raises(KeyError, match=r"has no metric 'auc'; it has \['accuracy'\]"):
        model.train(points(), hooks=[hook], steps=2)


@pytest.mark.slow
def test_a_hook_evaluates_without_checkpoints(tmp_path: Path) -> None:
    """With the variables of the training, before, within and after it."""
    model = line(tmp_path)
    hook = tf.estimator.experimental.InMemoryEvaluatorHook(
        model, points(1), name="memory", every_n_iter=4
    )
    model.train(points(), hooks=[hook], steps=4)
    (path,) = (tmp_path / "eval_memory").iterdir()
    losses = {
        event.step: one.simple_value
        for event in tf.train.summary_iterator(str(path))
        for one in event.summary.value
        if one.tag == "loss"
    }
    assert sorted(losses) == [0, 4]
    assert losses[4] < losses[0]


@pytest.mark.slow
def test_a_cluster_of_one_task_trains_without_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its evaluator finds the last checkpoint and ends."""
    cluster = {"chief": ["localhost:1"]}
    results = []
    for task in ("chief", "evaluator"):
        described = {"cluster": cluster, "task": {"type": task, "index": 0}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(described))
        kept = Kept()
        spec = EvalSpec(points(1), exporters=kept, start_delay_secs=0, throttle_secs=0)
        tf.estimator.train_and_evaluate(line(tmp_path), TrainSpec(points(), max_steps=2), spec)
        results.append(kept.calls)
    assert results == [[], [(2, True)]]

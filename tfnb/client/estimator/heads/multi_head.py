"""``tf.estimator.MultiHead``: several heads over the parts of one tensor of logits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.export.export_outputs import DEFAULT_KEY, PredictOutput
from tfnb.client.estimator.heads.head import PREDICT_KEY, Head, LossSpec, training_op
from tfnb.client.estimator.heads.keys import MetricKeys
from tfnb.client.estimator.model_fn import EstimatorSpec, ModeKeys
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXPORTS = {"estimator": ["MultiHead"]}


class MultiHead(Head):
    """Several heads, whose losses are added.

    Args:
        heads: The heads; each has a name.
        head_weights: The weights of their losses.

    Raises:
        ValueError: There are no heads, one has no name, or the weights are not as many.
    """

    def __init__(self, heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> None:
        if not heads:
            raise ValueError(f"Must specify heads. Given: {heads}")
        if head_weights and len(head_weights) != len(heads):
            raise ValueError(
                "heads and head_weights must have the same size. Given len(heads): "
                f"{len(heads)}. Given len(head_weights): {len(head_weights)}."
            )
        for head in heads:
            if not head.name:
                raise ValueError(f"All given heads must have name specified. Given: {head}")
        self._heads = {str(head.name): head for head in heads}
        self._head_weights = tuple(head_weights or ())

    @property
    def name(self) -> str:
        """The names of the heads."""
        return "_".join(self._heads)

    @property
    def logits_dimension(self) -> int:
        """The sum of the heads' dimensions."""
        return sum(head.logits_dimension for head in self._heads.values())

    @property
    def loss_reduction(self) -> str:
        """How the losses of examples become one.

        Raises:
            ValueError: The heads differ.
        """
        found = {head.loss_reduction for head in self._heads.values()}
        if len(found) > 1:
            raise ValueError(
                f"The loss_reduction must be the same for different heads. Given: {sorted(found)}"
            )
        return found.pop()

    def _logits_by_head(self, logits: Any) -> dict[str, Any]:
        if isinstance(logits, dict):
            missing = sorted(set(self._heads) - set(logits))
            if missing:
                raise ValueError(f"logits has missing values for head(s): {missing}")
            return logits
        sizes = [head.logits_dimension for head in self._heads.values()]
        with tf.name_scope(None, "split_logits", [logits]):
            logits = tf.convert_to_tensor(logits)
            last = logits.shape.as_list()[-1]
            if last is not None and last != sum(sizes):
                raise ValueError(
                    f"Could not split logits of shape {logits.shape.as_list()} among the heads "
                    f"with individual logits dimensions: {sizes}. The last dimension of the "
                    f"logits tensor should equal {sum(sizes)} but is {last}."
                )
            return dict(zip(self._heads, tf.split(logits, sizes, axis=-1), strict=True))

    def _labels_by_head(self, labels: Any) -> dict[str, Any]:
        if labels is None:
            return dict.fromkeys(self._heads)
        if not isinstance(labels, dict):
            raise ValueError(f"labels must be a dict. Given: {labels}")
        missing = sorted(set(self._heads) - set(labels))
        if missing:
            raise ValueError(f"labels has missing values for head(s): {missing}")
        return labels

    def _merged(self, losses: Sequence[Any]) -> Any:
        with tf.name_scope("merge_losses", values=list(losses)):
            if self._head_weights:
                pairs = zip(losses, self._head_weights, strict=True)
                losses = [tf.multiply(loss, weight) for loss, weight in pairs]
            return tf.add_n(list(losses))

    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any) -> LossSpec:
        """Return the weighted sum of the heads' losses; the other fields by head."""
        logits, labels = self._logits_by_head(logits), self._labels_by_head(labels)
        specs = {
            name: head.create_loss(features, mode, logits[name], labels[name])
            for name, head in self._heads.items()
        }
        factors = dict(zip(self._heads, self._head_weights or (1.0,) * len(specs), strict=True))
        return LossSpec(
            self._merged([spec.training_loss for spec in specs.values()]),
            {name: spec.unreduced_loss * factors[name] for name, spec in specs.items()},
            {name: spec.weights * factors[name] for name, spec in specs.items()},
            {name: spec.processed_labels for name, spec in specs.items()},
        )

    def predictions(self, logits: Any, keys: Any = None) -> dict[Any, Any]:
        """Return (head, name) -> prediction."""
        logits = self._logits_by_head(logits)
        found = {
            (name, key): value
            for name, head in self._heads.items()
            for key, value in head.predictions(logits[name]).items()
        }
        return found if keys is None else {key: found[key] for key in keys}

    def export_outputs(self, predictions: dict[Any, Any]) -> dict[str, Any]:
        """Return name -> output of the signatures to serve; the first head's is the default."""
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for name, head in self._heads.items():
            own = {key[1]: value for key, value in predictions.items() if key[0] == name}
            for key, output in head.export_outputs(own).items():
                found[name if key == DEFAULT_KEY else f"{name}/{key}"] = output
                if isinstance(output, PredictOutput):
                    merged.update({f"{name}/{k}": value for k, value in output.outputs.items()})
        found[DEFAULT_KEY] = found[next(iter(self._heads))]
        found[PREDICT_KEY] = PredictOutput(merged)
        return found

    def eval_metric_ops(
        self, predictions: dict[Any, Any], loss: LossSpec, regularization_loss: Any
    ) -> dict[str, Any]:
        """Return name -> (value, update op); each name ends with that of its head."""
        found: dict[str, Any] = {}
        for name, head in self._heads.items():
            own = {key[1]: value for key, value in predictions.items() if key[0] == name}
            spec = LossSpec(
                loss.training_loss,
                loss.unreduced_loss[name],
                loss.weights[name],
                loss.processed_labels[name],
            )
            found.update(head.eval_metric_ops(own, spec, None))
        if regularization_loss is not None:
            key = MetricKeys.LOSS_REGULARIZATION
            found[key] = tf.metrics.mean(regularization_loss, name=key)
        return found

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> EstimatorSpec:
        """Return the ops of a mode; arguments as of :meth:`Head.create_estimator_spec`.

        Raises:
            ValueError: Logits or labels do not fit the heads.
        """
        logits, labels = self._logits_by_head(logits), self._labels_by_head(labels)
        specs = {
            name: head.create_estimator_spec(
                features, mode, logits[name], labels[name], train_op_fn=lambda _: tf.no_op()
            )
            for name, head in self._heads.items()
        }
        predictions = {
            (name, key): value
            for name, spec in specs.items()
            for key, value in spec.predictions.items()
        }
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions, export_outputs=self.export_outputs(predictions))
        loss = self._merged([spec.loss for spec in specs.values()])
        if regularization_losses:
            loss = tf.add_n([loss, *regularization_losses])
        if mode == ModeKeys.EVAL:
            return EstimatorSpec(mode, predictions, loss, eval_metric_ops=self._metrics(specs))
        train_op = training_op(loss, optimizer, train_op_fn, trainable_variables)
        if update_ops is None:
            update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        if update_ops:
            train_op = tf.group(train_op, *update_ops)
        with tf.name_scope(""):
            tf.summary.scalar(MetricKeys.LOSS, loss)
        return EstimatorSpec(mode, predictions, loss, train_op)

    def _metrics(self, specs: dict[str, EstimatorSpec]) -> dict[str, Any]:
        """Return the metrics of the heads, and the loss of each."""
        found: dict[str, Any] = {}
        with tf.name_scope("merge_eval"):
            for name, spec in specs.items():
                key = f"{MetricKeys.LOSS}/{name}"
                found[key] = tf.metrics.mean(spec.loss, name=key)
                found.update(spec.eval_metric_ops)
        return found

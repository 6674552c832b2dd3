"""``tf.contrib.estimator``'s recurrent models over columns of sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.gradient_clipping import clip_gradients_by_norm
from tfnb.client.estimator.canned.model_parts import (
    check_features,
    hidden_partitioner,
    input_partitioner,
)
from tfnb.client.estimator.canned.optimizers import optimizer_instance
from tfnb.client.estimator.estimator import Estimator
from tfnb.client.estimator.heads.multi_class_head import binary_or_multi_class_head
from tfnb.client.public.api import tf
from tfnb.library.feature_columns.sequence_layers import (
    concatenate_context_input,
    sequence_input_layer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.client.estimator.heads.head import Head
    from tfnb.client.estimator.model_fn import EstimatorSpec

USE_DEFAULT = "USE_DEFAULT"
_LEARNING_RATE = 0.05
_CLIP_NORM = 5.0
_CELLS = {
    "basic_rnn": tf.nn.rnn_cell.BasicRNNCell,
    "lstm": tf.nn.rnn_cell.BasicLSTMCell,
    "gru": tf.nn.rnn_cell.GRUCell,
}


def _cell_function(num_units: Sequence[int] | None, cell_type: Any) -> Callable[[str], Any]:
    kind = _CELLS.get(cell_type, cell_type)
    if not isinstance(kind, type) or not issubclass(kind, tf.nn.rnn_cell.RNNCell):
        raise ValueError(f"Supported cell types are {list(_CELLS)}; got {cell_type}")
    if not num_units:
        raise ValueError("num_units must be given, or rnn_cell_fn")

    def cell(mode: str) -> Any:
        cells = [kind(num_units=units) for units in num_units]
        return cells[0] if len(cells) == 1 else tf.nn.rnn_cell.MultiRNNCell(cells)

    return cell


def _last(outputs: Any, lengths: Any) -> Any:
    """Return the output of the last step of each example."""
    with tf.name_scope("select_last_activations", values=[outputs, lengths]):
        examples = tf.range(tf.size(lengths, out_type=tf.int64))
        return tf.gather_nd(outputs, tf.stack([examples, lengths - 1], 1))


class RNNEstimator(Estimator):
    """A recurrent model with a head of its own.

    Args:
      head: The head.
      sequence_feature_columns: Columns of sequences.
      context_feature_columns: Columns of the whole example, which each step gets, too.
      num_units: The sizes of the layers.
      cell_type: "basic_rnn", "lstm", "gru", or a class of cells.
      rnn_cell_fn: Makes the cell for a mode, instead of the two above.
      return_sequences: Whether the head gets the output of each step; refused if True.
      model_dir: The folder of checkpoints and summaries.
      optimizer: An optimizer, a function that returns one, or a name; gradients of a named one are
        clipped by their common norm 5.
      input_layer_partitioner: Divides the variables of columns among parameter servers.
      config: A ``RunConfig``.

    Raises:
      ValueError: The cell is described twice, or not at all.
      NotImplementedError: ``return_sequences`` is True.
    """

    def __init__(
        self,
        head: Head,
        sequence_feature_columns: Sequence[Any],
        context_feature_columns: Sequence[Any] | None = None,
        num_units: Sequence[int] | None = None,
        cell_type: Any = USE_DEFAULT,
        rnn_cell_fn: Callable[[str], Any] | None = None,
        return_sequences: bool = False,
        model_dir: Any = None,
        optimizer: Any = "Adagrad",
        input_layer_partitioner: Any = None,
        config: Any = None,
    ) -> None:
        if rnn_cell_fn is not None and (num_units or cell_type != USE_DEFAULT):
            raise ValueError("num_units and cell_type must not be specified when using rnn_cell_fn")
        if return_sequences:
            raise NotImplementedError(
                "Heads of sequences are not there: write a model_fn for tf.estimator.Estimator "
                "that uses tf.nn.dynamic_rnn and tf.contrib.seq2seq.sequence_loss."
            )
        make_cell = rnn_cell_fn or _cell_function(
            num_units, "basic_rnn" if cell_type == USE_DEFAULT else cell_type
        )
        of_sequence = tuple(sequence_feature_columns or ())
        of_example = tuple(context_feature_columns or ())

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            check_features(features)
            trained_by = optimizer
            if not isinstance(optimizer, tf.train.Optimizer):
                trained_by = clip_gradients_by_norm(
                    optimizer_instance(optimizer, _LEARNING_RATE), _CLIP_NORM
                )
            scope = tf.variable_scope(
                "rnn", values=tuple(features.values()), partitioner=hidden_partitioner(config)
            )
            with scope:
                inputs, lengths = _inputs(
                    features,
                    of_sequence,
                    of_example,
                    input_layer_partitioner or input_partitioner(config),
                )
                outputs, _ = tf.nn.dynamic_rnn(
                    make_cell(mode), inputs, sequence_length=lengths, dtype=tf.float32
                )
                last = _last(outputs, lengths)
                with tf.variable_scope("logits", values=(last,)):
                    logits = tf.layers.dense(
                        last,
                        units=head.logits_dimension,
                        kernel_initializer=tf.glorot_uniform_initializer(),
                    )
                return head.create_estimator_spec(
                    features=features, mode=mode, labels=labels, optimizer=trained_by,
                    logits=logits,
                )  # fmt: skip

        super().__init__(model_fn, model_dir, config)


def _inputs(
    features: Any, of_sequence: Sequence[Any], of_example: Sequence[Any], partitioner: Any
) -> tuple[Any, Any]:
    with tf.variable_scope(
        "sequence_input_layer", values=tuple(features.values()), partitioner=partitioner
    ):
        inputs, lengths = sequence_input_layer(features, of_sequence)
        tf.summary.histogram("sequence_length", lengths)
        if of_example:
            context = tf.feature_column.input_layer(features, of_example)
            inputs = concatenate_context_input(context, inputs)
        return inputs, lengths


class RNNClassifier(RNNEstimator):
    """A recurrent model that predicts classes.

    Args:
      sequence_feature_columns: Columns of sequences.
      context_feature_columns: Columns of the whole example, which each step gets, too.
      num_units: The sizes of the layers.
      cell_type: "basic_rnn", "lstm", "gru", or a class of cells.
      rnn_cell_fn: Makes the cell for a mode, instead of the two above.
      model_dir: The folder of checkpoints and summaries.
      n_classes: The number of classes.
      weight_column: The feature that weights the examples.
      label_vocabulary: The names of the classes, if labels are strings.
      optimizer: An optimizer, a function that returns one, or a name.
      loss_reduction: How the losses of examples become one.
      input_layer_partitioner: Divides the variables of columns among parameter servers.
      config: A ``RunConfig``.
    """

    def __init__(
        self,
        sequence_feature_columns: Sequence[Any],
        context_feature_columns: Sequence[Any] | None = None,
        num_units: Sequence[int] | None = None,
        cell_type: Any = USE_DEFAULT,
        rnn_cell_fn: Callable[[str], Any] | None = None,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Adagrad",
        loss_reduction: str = tf.losses.Reduction.SUM_OVER_BATCH_SIZE,
        input_layer_partitioner: Any = None,
        config: Any = None,
    ) -> None:
        super().__init__(
            binary_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            sequence_feature_columns,
            context_feature_columns,
            num_units,
            cell_type,
            rnn_cell_fn,
            False,
            model_dir,
            optimizer,
            input_layer_partitioner,
            config,
        )

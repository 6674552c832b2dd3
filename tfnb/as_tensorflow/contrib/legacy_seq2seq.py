"""``tf.contrib.legacy_seq2seq``: sequences to sequences, as lists of steps.

Source: Sutskever, Vinyals and Le; Vinyals et al., grammar as a foreign language.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.rnn.linear import depth_of, linear
from tfnb.as_tensorflow.contrib.rnn.wrappers import EmbeddingWrapper, OutputProjectionWrapper
from tfnb.client.public.api import tf
from tfnb.framework.structures import nest
from tfnb.library.rnn.cells import RNNCell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def _extract_argmax_and_embed(
    embedding: Any, output_projection: Any = None, update_embedding: bool = True
) -> Callable[[Any, int], Any]:
    """Return a function from an output to the embedding of its largest class."""

    def next_input(output: Any, _step: int) -> Any:
        if output_projection is not None:
            output = tf.nn.xw_plus_b(output, output_projection[0], output_projection[1])
        found = tf.nn.embedding_lookup(embedding, tf.argmax(output, 1))
        return found if update_embedding else tf.stop_gradient(found)

    return next_input


def _inputs_of_steps(
    given: Iterable[Any], loop_function: Callable[[Any, int], Any] | None
) -> Iterable[tuple[int, Callable[[Any], Any]]]:
    """Yield numbers of steps, and functions from the last output to the input.

    Variables are reused after the first step.
    """
    for step, value in enumerate(given):
        if step > 0:
            tf.get_variable_scope().reuse_variables()

        def chosen(last: Any, step: int = step, value: Any = value) -> Any:
            if loop_function is None or last is None:
                return value
            with tf.variable_scope("loop_function", reuse=True):
                return loop_function(last, step)

        yield step, chosen


def rnn_decoder(
    decoder_inputs: Iterable[Any],
    initial_state: Any,
    cell: Any,
    loop_function: Callable[[Any, int], Any] | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return outputs and the last state of a cell.

    Args:
      decoder_inputs: [batch, depth] for each step.
      initial_state: the first state.
      cell: the cell.
      loop_function: ``(last output, step) -> input`` instead of the inputs after the first.
      scope: the variable scope.
    """
    with tf.variable_scope(scope or "rnn_decoder"):
        state: Any = initial_state
        outputs: list[Any] = []
        for _, chosen in _inputs_of_steps(decoder_inputs, loop_function):
            output, state = cell(chosen(outputs[-1] if outputs else None), state)
            outputs.append(output)
    return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return outputs and the last state of a decoder that begins with an encoder's state.

    Args:
      encoder_inputs: [batch, depth] for each step.
      decoder_inputs: [batch, depth] for each step.
      cell: the decoder's cell; the encoder has a copy.
      dtype: of the encoder's first state.
      scope: the variable scope.
    """
    with tf.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = tf.nn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    loop_function: Callable[[Any, int], Any] | None = None,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return outputs and the last state where encoder and decoder have the same weights.

    Args:
      encoder_inputs: [batch, depth] for each step.
      decoder_inputs: [batch, depth] for each step.
      cell: the cell.
      loop_function: as in ``rnn_decoder``.
      dtype: of the encoder's first state.
      scope: the variable scope of both.
    """
    with tf.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = tf.nn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        tf.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope)


def _check_projection(projection: Any, symbols: int) -> None:
    if projection is not None:
        tf.convert_to_tensor(projection[0]).shape.assert_is_compatible_with([None, symbols])
        tf.convert_to_tensor(projection[1]).shape.assert_is_compatible_with([symbols])


def _embedded(
    ids: Iterable[Any],
    embedding: Any,
    feed_previous: bool,
    output_projection: Any,
    update_embedding: bool,
) -> tuple[list[Any], Callable[[Any, int], Any] | None]:
    """Return inputs of ids, and the function for later inputs, or None."""
    inputs = [tf.nn.embedding_lookup(embedding, one) for one in ids]
    if not feed_previous:
        return inputs, None
    return inputs, _extract_argmax_and_embed(embedding, output_projection, update_embedding)


def embedding_rnn_decoder(
    decoder_inputs: list[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return outputs and the last state of a cell that gets embeddings of ids.

    Args:
      decoder_inputs: [batch] of ids for each step.
      initial_state: the first state.
      cell: the cell.
      num_symbols: the number of ids.
      embedding_size: size of an embedding.
      output_projection: (weights, biases) from outputs to classes, for ``feed_previous``.
      feed_previous: whether the class of each output is the next id.
      update_embedding_for_previous: whether gradients reach the embedding then.
      scope: the variable scope.
    """
    with tf.variable_scope(scope or "embedding_rnn_decoder"):
        _check_projection(output_projection, num_symbols)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        inputs, loop_function = _embedded(
            decoder_inputs, embedding, feed_previous, output_projection,
            update_embedding_for_previous,
        )  # fmt: skip
        return rnn_decoder(inputs, initial_state, cell, loop_function)


def _fed_or_not(
    feed_previous: Any, decode: Callable[[bool, bool], tuple[list[Any], Any]]
) -> tuple[list[Any], Any]:
    """Return what a decoder returns, whose choice may be a tensor.

    Args:
      feed_previous: bool, or a scalar.
      decode: ``(feed_previous, update_embedding)``; gradients reach the embedding of fed ids only
        where the choice is known.
    """
    if isinstance(feed_previous, bool):
        return decode(feed_previous, True)
    structure: list[Any] = []

    def flat(fed: bool) -> list[Any]:
        with tf.variable_scope(tf.get_variable_scope(), reuse=None if fed else True):
            outputs, state = decode(fed, False)
        structure[:] = [(outputs, state)]
        return nest.flatten((outputs, state))

    found = tf.cond(feed_previous, lambda: flat(True), lambda: flat(False))
    return nest.pack_sequence_as(structure[0], found)  # type: ignore[no-any-return]


def embedding_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return outputs and the last state of an encoder and a decoder of ids.

    Args:
      encoder_inputs: [batch] of ids for each step.
      decoder_inputs: [batch] of ids for each step.
      cell: the decoder's cell; the encoder has a copy.
      num_encoder_symbols: the number of the encoder's ids.
      num_decoder_symbols: the number of the decoder's ids.
      embedding_size: size of an embedding.
      output_projection: (weights, biases) from outputs to classes; without it the cell gets one.
      feed_previous: whether the class of each output is the next id; bool or scalar.
      dtype: of the states.
      scope: the variable scope.
    """
    with tf.variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        return _fed_or_not(
            feed_previous,
            lambda fed, update: embedding_rnn_decoder(
                decoder_inputs, state, cell, num_decoder_symbols, embedding_size,
                output_projection, fed, update,
            ),
        )  # fmt: skip


def embedding_tied_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return outputs and the last state where encoder and decoder share cell and embedding.

    Args:
      encoder_inputs: [batch] of ids for each step.
      decoder_inputs: [batch] of ids for each step.
      cell: the cell.
      num_symbols: the number of ids.
      embedding_size: size of an embedding.
      num_decoder_symbols: the number of classes; ``num_symbols`` by default.
      output_projection: (weights, biases) from outputs to classes; without it the cell gets one.
      feed_previous: whether the class of each output is the next id; bool or scalar.
      dtype: of the states.
      scope: the variable scope.
    """
    with tf.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as opened:
        _check_projection(output_projection, num_symbols)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        encoded, _ = _embedded(encoder_inputs, embedding, False, None, True)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)

        def decode(fed: bool, update: bool) -> tuple[list[Any], Any]:
            inputs, loop_function = _embedded(
                decoder_inputs, embedding, fed, output_projection, update
            )
            return tied_rnn_seq2seq(encoded, inputs, cell, loop_function, opened.dtype)

        return _fed_or_not(feed_previous, decode)


class _Heads:
    """Attention of several heads to a memory.

    Args:
      memory: [batch, time, depth].
      num_heads: the number of heads.
    """

    def __init__(self, memory: Any, num_heads: int) -> None:
        self._memory = memory
        self._size = size = memory.shape[2].value
        self._keys, self._weights = [], []
        for head in range(num_heads):
            kernel = tf.get_variable(f"AttnW_{head}", [1, 1, size, size], memory.dtype)
            keys = tf.nn.conv2d(tf.expand_dims(memory, 2), kernel, [1, 1, 1, 1], "SAME")
            self._keys.append(tf.squeeze(keys, [2]))
            self._weights.append(tf.get_variable(f"AttnV_{head}", [size], memory.dtype))

    def zeros(self, batch_size: Any) -> list[Any]:
        """Return what is read before the first step."""
        return [tf.zeros([batch_size, self._size], self._memory.dtype) for _ in self._keys]

    def read(self, query: Any) -> list[Any]:
        """Return the mean of the memory, weighted by each head."""
        joined = tf.concat(nest.flatten(query), 1)
        found = []
        for head, (keys, weights) in enumerate(zip(self._keys, self._weights, strict=True)):
            with tf.variable_scope(f"Attention_{head}"):
                asked = tf.expand_dims(linear(joined, self._size), 1)
            share = tf.nn.softmax(tf.reduce_sum(weights * tf.tanh(keys + asked), [2]))
            found.append(tf.reduce_sum(tf.expand_dims(share, 2) * self._memory, [1]))
        return found


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Callable[[Any, int], Any] | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Return outputs and the last state of a cell that attends to a memory.

    Args:
      decoder_inputs: [batch, depth] for each step.
      initial_state: the first state.
      attention_states: [batch, time, depth], the memory.
      cell: the cell.
      output_size: size of the outputs; the cell's by default.
      num_heads: the number of heads.
      loop_function: as in ``rnn_decoder``.
      dtype: of the variables.
      scope: the variable scope.
      initial_state_attention: whether the first step attends, or else reads zeros.

    Raises:
      ValueError: there are no inputs or heads, or a depth is not known.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    if attention_states.shape[2].value is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")
    size = cell.output_size if output_size is None else output_size
    with tf.variable_scope(scope or "attention_decoder", dtype=dtype):
        heads = _Heads(attention_states, num_heads)
        state: Any = initial_state
        outputs: list[Any] = []
        read = heads.zeros(tf.shape(decoder_inputs[0])[0])
        if initial_state_attention:
            read = heads.read(initial_state)
        for step, chosen in _inputs_of_steps(decoder_inputs, loop_function):
            value = chosen(outputs[-1] if outputs else None)
            found, state = cell(linear([value, *read], depth_of(value)), state)
            is_known = step == 0 and initial_state_attention
            with tf.variable_scope(tf.get_variable_scope(), reuse=True if is_known else None):
                read = heads.read(state)
            with tf.variable_scope("AttnOutputProjection"):
                outputs.append(linear([found, *read], size))
    return outputs, state


def embedding_attention_decoder(
    decoder_inputs: list[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Return outputs and the last state of a cell that attends, and gets embeddings of ids.

    Args:
      decoder_inputs: [batch] of ids for each step.
      initial_state: the first state.
      attention_states: [batch, time, depth], the memory.
      cell: the cell.
      num_symbols: the number of ids.
      embedding_size: size of an embedding.
      num_heads: the number of heads.
      output_size: size of the outputs; the cell's by default.
      output_projection: (weights, biases) from outputs to classes, for ``feed_previous``.
      feed_previous: whether the class of each output is the next id.
      update_embedding_for_previous: whether gradients reach the embedding then.
      dtype: of the variables.
      scope: the variable scope.
      initial_state_attention: whether the first step attends.
    """
    size = cell.output_size if output_size is None else output_size
    with tf.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        _check_projection(output_projection, num_symbols)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        inputs, loop_function = _embedded(
            decoder_inputs, embedding, feed_previous, output_projection,
            update_embedding_for_previous,
        )  # fmt: skip
        return attention_decoder(
            inputs, initial_state, attention_states, cell, size, num_heads, loop_function,
            initial_state_attention=initial_state_attention,
        )  # fmt: skip


def embedding_attention_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Return outputs and the last state of a decoder that attends to an encoder's outputs.

    Args:
      encoder_inputs: [batch] of ids for each step.
      decoder_inputs: [batch] of ids for each step.
      cell: the decoder's cell; the encoder has a copy.
      num_encoder_symbols: the number of the encoder's ids.
      num_decoder_symbols: the number of the decoder's ids.
      embedding_size: size of an embedding.
      num_heads: the number of heads.
      output_projection: (weights, biases) from outputs to classes; without it the cell gets one.
      feed_previous: whether the class of each output is the next id; bool or scalar.
      dtype: of the states.
      scope: the variable scope.
      initial_state_attention: whether the first step attends.
    """
    with tf.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        outputs, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        memory = tf.stack(outputs, 1)
        size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            size = num_decoder_symbols
        return _fed_or_not(
            feed_previous,
            lambda fed, update: embedding_attention_decoder(
                decoder_inputs, state, memory, cell, num_decoder_symbols, embedding_size,
                num_heads, size, output_projection, fed, update,
                initial_state_attention=initial_state_attention,
            ),
        )  # fmt: skip


def one2many_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs_dict: dict[str, list[Any]],
    enc_cell: Any,
    dec_cells_dict: dict[str, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: dict[str, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return outputs and last states of several decoders with one encoder, by name.

    Args:
      encoder_inputs: [batch] of ids for each step.
      decoder_inputs_dict: [batch] of ids for each step, of each decoder.
      enc_cell: the encoder's cell.
      dec_cells_dict: the decoders' cells.
      num_encoder_symbols: the number of the encoder's ids.
      num_decoder_symbols_dict: the numbers of the decoders' ids.
      embedding_size: size of an embedding.
      feed_previous: whether the class of each output is the next id; bool or scalar.
      dtype: of the states.
      scope: the variable scope.

    Raises:
      TypeError: a cell is none.
      ValueError: the dicts have different names.
    """
    for role, cell in [("enc_cell", enc_cell), *(("dec_cell", c) for c in dec_cells_dict.values())]:
        if not isinstance(cell, RNNCell):
            raise TypeError(f"{role} is not an RNNCell: {type(cell)}")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError("keys of dec_cells_dict != keys of decodre_inputs_dict")
    outputs, states = {}, {}
    with tf.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with tf.variable_scope(f"one2many_decoder_{name}"):
                cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)

                def decode(
                    fed: bool,
                    _update: bool,
                    inputs: list[Any] = inputs,
                    cell: Any = cell,
                    symbols: int = symbols,
                ) -> tuple[list[Any], Any]:
                    return embedding_rnn_decoder(
                        inputs, state, cell, symbols, embedding_size, feed_previous=fed
                    )

                outputs[name], states[name] = _fed_or_not(feed_previous, decode)
    return outputs, states


def sequence_loss_by_example(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the weighted cross entropy of each sequence, [batch].

    Args:
      logits: [batch, classes] for each step.
      targets: [batch] for each step.
      weights: [batch] for each step.
      average_across_timesteps: whether it is divided by the sum of the weights.
      softmax_loss_function: ``(labels, logits) -> loss`` instead of the sparse cross entropy.
      name: the name of the scope.

    Raises:
      ValueError: the lists have different lengths.
    """
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    with tf.name_scope(name, "sequence_loss_by_example"):
        function = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
        losses = tf.add_n(
            [
                function(
                    labels=target if softmax_loss_function else tf.reshape(target, [-1]),
                    logits=logit,
                )
                * weight
                for logit, target, weight in zip(logits, targets, weights, strict=True)
            ]
        )
        if average_across_timesteps:
            losses /= tf.add_n(weights) + 1e-12  # a sequence may have no weight at all
    return losses


def sequence_loss(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the weighted cross entropy of all sequences, a scalar.

    Args:
      logits: [batch, classes] for each step.
      targets: [batch] for each step.
      weights: [batch] for each step.
      average_across_timesteps: whether each is divided by the sum of its weights.
      average_across_batch: whether the sum is divided by the size of the batch.
      softmax_loss_function: as in ``sequence_loss_by_example``.
      name: the name of the scope.
    """
    with tf.name_scope(name, "sequence_loss"):
        losses = sequence_loss_by_example(
            logits, targets, weights, average_across_timesteps, softmax_loss_function
        )
        cost = tf.reduce_sum(losses)
        if not average_across_batch:
            return cost
        return cost / tf.cast(tf.shape(targets[0])[0], cost.dtype)


def model_with_buckets(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    targets: list[Any],
    weights: list[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[list[Any], list[Any]], tuple[list[Any], Any]],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[list[Any]], list[Any]]:
    """Return outputs and losses of a model for several lengths, which share variables.

    Args:
      encoder_inputs: one for each step.
      decoder_inputs: one for each step.
      targets: [batch] for each step.
      weights: [batch] for each step.
      buckets: pairs of the encoder's and the decoder's length, the longest last.
      seq2seq: ``(encoder inputs, decoder inputs) -> (outputs, state)``.
      softmax_loss_function: as in ``sequence_loss_by_example``.
      per_example_loss: whether losses are [batch], and not scalars.
      name: the name of the scope.

    Raises:
      ValueError: there are fewer steps than the last bucket has.
    """
    longest_in, longest_out = buckets[-1]
    for what, given, least in (
        ("encoder_inputs", encoder_inputs, longest_in),
        ("targets", targets, longest_out),
        ("weights", weights, longest_out),
    ):
        if len(given) < least:
            raise ValueError(
                f"Length of {what} ({len(given)}) must be at least that of last bucket ({least})."
            )
    outputs, losses = [], []
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    with tf.name_scope(name, "model_with_buckets"):
        for number, (length_in, length_out) in enumerate(buckets):
            with tf.variable_scope(tf.get_variable_scope(), reuse=True if number else None):
                found, _ = seq2seq(encoder_inputs[:length_in], decoder_inputs[:length_out])
            outputs.append(found)
            losses.append(
                loss(
                    found,
                    targets[:length_out],
                    weights[:length_out],
                    softmax_loss_function=softmax_loss_function,
                )
            )
    return outputs, losses

"""Recurrent networks: further programs for layer_scenarios.py."""

from __future__ import annotations

from typing import Any

from tests.library.layers.layer_scenarios import numbers, program, values_only


def _sequence(tf: Any) -> Any:
    return tf.constant(numbers(3, 4, 2))


def _steps(tf: Any) -> list[Any]:
    return [tf.constant(numbers(3, 2) + i) for i in range(3)]


# -------------------------------------------------------------------------------------------- cells


@program
def _basic_rnn(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    return tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32)


@program
def _gru(tf: Any) -> Any:
    return tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), _sequence(tf), dtype=tf.float32)


@program
def _gru_with_initializers(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.GRUCell(
        3,
        activation=tf.nn.relu,
        kernel_initializer=tf.ones_initializer(),
        bias_initializer=tf.zeros_initializer(),
        name="mine",
    )
    return cell(tf.constant(numbers(2, 2)), tf.constant(numbers(2, 3)))


@program
def _basic_lstm(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    outputs, state = tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32)
    return outputs, state.c, state.h


@program
def _basic_lstm_of_joined_state(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.BasicLSTMCell(3, forget_bias=0.5, state_is_tuple=False)
    return tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32)


@program
def _lstm(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.LSTMCell(3, initializer=tf.random_uniform_initializer(-0.1, 0.1))
    return tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32, scope="net")


@program
def _lstm_with_everything(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.LSTMCell(
        4, use_peepholes=True, cell_clip=0.2, num_proj=3, proj_clip=0.1, num_unit_shards=2
    )
    return tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32)


@program
def _lstm_of_joined_state(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.LSTMCell(3, num_proj=2, state_is_tuple=False)
    return cell(tf.constant(numbers(2, 2)), cell.zero_state(2, tf.float32))


@program
def _multi_cell(tf: Any) -> Any:
    cells = [tf.nn.rnn_cell.BasicLSTMCell(size) for size in (3, 2)]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells)
    return tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32)


@program
def _multi_cell_of_joined_state(tf: Any) -> Any:
    cells = [tf.nn.rnn_cell.GRUCell(size) for size in (3, 2)]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells, state_is_tuple=False)
    return cell(tf.constant(numbers(2, 2)), cell.zero_state(2, tf.float32))


@program
def _dropout_wrapper(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicLSTMCell(3), 0.9, output_keep_prob=0.5, state_keep_prob=0.7, seed=3
    )
    # Parallel iterations would draw their random numbers in any order.
    return tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32, parallel_iterations=1)


@program
def _dropout_wrapper_by_a_tensor(tf: Any) -> Any:
    keep = tf.placeholder_with_default(0.5, [])
    cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(3), output_keep_prob=keep)
    return cell(tf.constant(numbers(2, 2)), cell.zero_state(2, tf.float32))


@program
def _dropout_wrapper_of_the_same_elements(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.GRUCell(3),
        0.8,
        0.7,
        0.6,
        variational_recurrent=True,
        input_size=2,
        dtype=tf.float32,
        seed=5,
    )
    return tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32)


@program
def _residual_wrapper(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(2))
    return tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32)


@program
def _device_wrapper(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.DeviceWrapper(tf.nn.rnn_cell.GRUCell(3), "/cpu:0")
    return cell(tf.constant(numbers(2, 2)), cell.zero_state(2, tf.float32))


@program
def _own_cell(tf: Any) -> Any:
    class Adding(tf.nn.rnn_cell.RNNCell):  # type: ignore[misc, name-defined]
        @property
        def state_size(self) -> int:
            return 2

        @property
        def output_size(self) -> int:
            return 2

        def call(self, inputs: Any, state: Any) -> Any:
            factor = tf.get_variable("factor", [2], initializer=tf.ones_initializer())
            return inputs * factor + state, state + inputs

    cell = Adding()
    outputs = tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32)
    tf.no_op(name="weights_" + "_".join(v.op.name.replace("/", "-") for v in cell.weights))
    return outputs


@program
def _own_multi_cell_in_a_scope(tf: Any) -> Any:
    with tf.variable_scope("decoder"):
        cell = tf.nn.rnn_cell.MultiRNNCell(
            [
                tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(2), output_keep_prob=0.5)
                for _ in range(2)
            ]
        )
        state = cell.zero_state(3, tf.float32)
        outputs = []
        for step in _steps(tf):
            with tf.variable_scope("step", reuse=tf.AUTO_REUSE):
                output, state = cell(step, state)
            outputs.append(output)
    return outputs, state


@program
def _cell_of_a_matrix_of_rank_three_is_an_error(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.GRUCell(3)
    return cell(_sequence(tf), tf.zeros([3, 3]))


@program
def _no_cell_is_an_error(tf: Any) -> Any:
    return tf.nn.dynamic_rnn(object, _sequence(tf), dtype=tf.float32)


@program
def _no_cells_is_an_error(tf: Any) -> Any:
    return tf.nn.rnn_cell.MultiRNNCell([])


@program
def _wrong_probability_is_an_error(tf: Any) -> Any:
    return tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(3), 1.5)


# ------------------------------------------------------------------------------------- dynamic_rnn


@program
def _dynamic_rnn_with_lengths(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    lengths = tf.constant([2, 4, 0])
    return tf.nn.dynamic_rnn(cell, _sequence(tf), sequence_length=lengths, dtype=tf.float32)


@program
def _dynamic_rnn_of_unknown_sizes(tf: Any) -> Any:
    x = tf.placeholder_with_default(_sequence(tf), [None, None, 2])
    lengths = tf.placeholder_with_default([1, 2, 3], [None])
    cell = tf.nn.rnn_cell.GRUCell(3)
    return tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32, swap_memory=True)


@program
def _dynamic_rnn_with_time_first(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.GRUCell(3)
    return tf.nn.dynamic_rnn(
        cell, _sequence(tf), initial_state=tf.ones([4, 3]), time_major=True, parallel_iterations=1
    )


@program
def _dynamic_rnn_twice_with_one_cell(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.GRUCell(3)
    first, _ = tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32)
    second, _ = tf.nn.dynamic_rnn(cell, _sequence(tf) * 2.0, dtype=tf.float32)
    return first, second


@program
def _dynamic_rnn_of_lengths_that_do_not_fit(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.GRUCell(3)
    return tf.nn.dynamic_rnn(cell, _sequence(tf), sequence_length=[1, 2, 3], dtype=tf.float32)


@program
def _dynamic_rnn_of_resource_variables(tf: Any) -> Any:
    with tf.variable_scope("net", use_resource=True):
        cell = tf.nn.rnn_cell.GRUCell(3)
        return tf.nn.dynamic_rnn(cell, _sequence(tf), dtype=tf.float32)


@program
def _dynamic_rnn_without_type_is_an_error(tf: Any) -> Any:
    return tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), _sequence(tf))


@program
def _dynamic_rnn_of_unknown_depth_is_an_error(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, None, None])
    return tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), x, dtype=tf.float32)


@program
def _bidirectional_dynamic_rnn(tf: Any) -> Any:
    cells = tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.BasicLSTMCell(2)
    return tf.nn.bidirectional_dynamic_rnn(*cells, _sequence(tf), dtype=tf.float32)


@program
def _bidirectional_dynamic_rnn_with_lengths(tf: Any) -> Any:
    cells = tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.GRUCell(3)
    return tf.nn.bidirectional_dynamic_rnn(
        *cells, _sequence(tf), sequence_length=[1, 4, 2], dtype=tf.float32, scope="both"
    )


@program
def _raw_rnn(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.LSTMCell(3)
    steps = tf.TensorArray(tf.float32, size=4).unstack(tf.transpose(_sequence(tf), [1, 0, 2]))

    def loop(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
        finished = time >= tf.constant([2, 4, 3])
        next_state = cell.zero_state(3, tf.float32) if output is None else state
        next_input = tf.cond(
            tf.reduce_all(finished), lambda: tf.zeros([3, 2]), lambda: steps.read(time)
        )
        return finished, next_input, next_state, output, None

    arrays, state, _ = tf.nn.raw_rnn(cell, loop)
    return arrays.stack(), state


@program
def _raw_rnn_with_loop_state(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.BasicRNNCell(2)

    def loop(time: Any, output: Any, state: Any, count: Any) -> Any:
        if output is None:
            none = tf.zeros([2], tf.bool)
            return none, tf.ones([3, 2])[:2], tf.zeros([2, 2]), tf.zeros([]), tf.constant(1)
        return tf.fill([2], time >= 3), output, state, tf.reduce_sum(output, 1), count * 2

    arrays, state, count = tf.nn.raw_rnn(cell, loop)
    return arrays.stack(), state, count


@values_only
def _gradients_of_dynamic_rnn(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.LSTMCell(3, use_peepholes=True), tf.nn.rnn_cell.GRUCell(2)]
    )
    outputs, _ = tf.nn.dynamic_rnn(
        cell, _sequence(tf), sequence_length=[4, 1, 3], dtype=tf.float32, swap_memory=True
    )
    return tf.gradients(tf.reduce_sum(tf.square(outputs)), tf.trainable_variables())


# -------------------------------------------------------------------------------------- static_rnn


@program
def _static_rnn(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    return tf.nn.static_rnn(cell, _steps(tf), dtype=tf.float32)


@program
def _static_rnn_with_lengths(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.GRUCell(3)
    return tf.nn.static_rnn(cell, _steps(tf), dtype=tf.float32, sequence_length=[1, 3, 2])


@program
def _static_bidirectional_rnn(tf: Any) -> Any:
    cells = tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.GRUCell(2)
    return tf.nn.static_bidirectional_rnn(
        *cells, _steps(tf), dtype=tf.float32, sequence_length=tf.constant([1, 3, 2])
    )


@program
def _static_state_saving_rnn(tf: Any) -> Any:
    class Saver:
        def state(self, name: str) -> Any:
            return tf.ones([3, 2], name=f"state_{name}")

        def save_state(self, name: str, value: Any) -> Any:
            return tf.identity(value, name=f"saved_{name}")

    cell = tf.nn.rnn_cell.BasicLSTMCell(2)
    return tf.nn.static_state_saving_rnn(cell, _steps(tf), Saver(), ("c", "h"))


@program
def _static_rnn_of_nothing_is_an_error(tf: Any) -> Any:
    return tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(2), [], dtype=tf.float32)


@values_only
def _gradients_of_static_rnn(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    outputs, _ = tf.nn.static_rnn(
        cell, _steps(tf), dtype=tf.float32, sequence_length=tf.constant([1, 3, 2])
    )
    return tf.gradients(tf.reduce_sum(outputs[-1] + outputs[0]), tf.trainable_variables())

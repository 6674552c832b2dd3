"""Cells of `tf.contrib.rnn`: against each other, against formulas in NumPy, and their names."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("as_tensorflow")


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        tf.set_random_seed(2)
        yield tf


def _wave(*shape: int) -> Any:
    return np.sin(np.arange(np.prod(shape), dtype=np.float32) * 1.3).reshape(shape)


_CELLS: dict[str, tuple[Callable[[Any], Any], int, set[str]]] = {
    "attention": (
        lambda rnn: rnn.AttentionCellWrapper(rnn.LSTMCell(3), 2, attn_size=5), 5,
        {"kernel", "lstm_cell/kernel", "attention/attn_w", "attention/attn_v", "attention/kernel",
         "attn_output_projection/kernel"},
    ),
    "joined attention": (
        lambda rnn: rnn.AttentionCellWrapper(rnn.GRUCell(3), 2, state_is_tuple=False), 3, set()
    ),
    "turing machine": (
        lambda rnn: rnn.NTMCell(rnn.LSTMCell(3), 6, 4, 2, 1, output_dim=5), 5,
        {"parameters_kernel", "parameters_bias", "output_kernel", "output_bias", "memory",
         "initial_read_vector_1", "initial_address_weights_2", "lstm_cell/kernel"},
    ),
    "highway": (
        lambda rnn: rnn.HighwayWrapper(rnn.GRUCell(4), couple_carry_transform_gates=False), 4,
        {"carry_w", "carry_b", "transform_w", "transform_b", "gru_cell/gates/kernel"},
    ),
    "coupled": (
        lambda rnn: rnn.CoupledInputForgetGateLSTMCell(
            3, use_peepholes=True, num_proj=2, num_unit_shards=2, layer_norm=True), 2,
        {"W_0", "W_1", "B", "W_F_diag", "W_O_diag", "W_P_0", "transform/gamma", "state/beta"},
    ),
    "joined coupled": (
        lambda rnn: rnn.CoupledInputForgetGateLSTMCell(3, state_is_tuple=False), 3, {"W_0", "B"}
    ),
    "layer norm": (
        lambda rnn: rnn.LayerNormLSTMCell(3, True, 1.0, num_proj=2, layer_norm=True), 2,
        {"kernel", "bias", "w_f_diag", "input/gamma", "projection/kernel"},
    ),
    "weight norm": (
        lambda rnn: rnn.WeightNormLSTMCell(3, use_peepholes=True, num_proj=2), 2,
        {"wn_lstm_cell/kernel", "wn_lstm_cell/norm_0", "wn_lstm_cell/norm_1", "wn_lstm_cell/bias",
         "wn_lstm_cell/w_i_diag", "wn_lstm_cell/projection/norm_0"},
    ),
    "groups": (
        lambda rnn: rnn.GLSTMCell(4, num_proj=2, number_of_groups=2), 2,
        {"group0/kernel", "group1/kernel", "bias_i", "bias_j", "projection/kernel"},
    ),
    "nas": (
        lambda rnn: rnn.NASCell(3, num_proj=2, use_bias=True), 2,
        {"kernel", "recurrent_kernel", "bias", "projection_weights"},
    ),
    "intersection": (
        lambda rnn: rnn.IntersectionRNNCell(3, num_in_proj=3), 3,
        {"in_projection/kernel", "kernel", "bias"},
    ),
    "sru": (lambda rnn: rnn.SRUCell(3), 3, {"kernel", "bias"}),
    "independent": (lambda rnn: rnn.IndRNNCell(3), 3, {"kernel_w", "kernel_u", "bias"}),
    "independent gru": (
        lambda rnn: rnn.IndyGRUCell(3), 3,
        {"gates/kernel_w", "gates/kernel_u", "gates/bias", "candidate/kernel",
         "candidate/kernel_u", "candidate/bias"},
    ),
    "independent lstm": (lambda rnn: rnn.IndyLSTMCell(3), 3, {"kernel_w", "kernel_u", "bias"}),
    "minimal": (lambda rnn: rnn.MinimalRNNCell(3), 3, {"kernel", "bias"}),
    "cfn": (lambda rnn: rnn.CFNCell(3), 3, {"kernel", "recurrent_kernel", "bias"}),
    "block": (
        lambda rnn: rnn.LSTMBlockCell(3, cell_clip=1.0, use_peephole=True), 3,
        {"kernel", "bias", "w_i_diag", "w_f_diag", "w_o_diag"},
    ),
    "gru block": (lambda rnn: rnn.GRUBlockCell(3), 3, {"w_ru", "b_ru", "w_c", "b_c"}),
    "compiled": (lambda rnn: rnn.CompiledWrapper(rnn.GRUCell(3)), 3, set()),
    "grid": (
        lambda rnn: rnn.GridLSTMCell(
            2, use_peepholes=True, feature_size=2, frequency_skip=1, num_frequency_blocks=[3]), 12,
        {"W_f_0_0", "B_f_0", "W_t_0_0", "B_t_0", "W_F_diag_freqf_0", "W_O_diag_timet_0"},
    ),
    "shared grid": (
        lambda rnn: rnn.GridLSTMCell(
            2, share_time_frequency_weights=True, couple_input_forget_gates=True, feature_size=2,
            frequency_skip=1, num_frequency_blocks=[1, 2], start_freqindex_list=[0, 1],
            end_freqindex_list=[2, 4], state_is_tuple=False, cell_clip=1.0), 12,
        {"W_f_0_0", "W_f_1_0"},
    ),
    "grid in both directions": (
        lambda rnn: rnn.BidirectionalGridLSTMCell(
            2, feature_size=2, frequency_skip=2, num_frequency_blocks=[2],
            backward_slice_offset=1), 16,
        {"fwd/W_f_0_0", "bwd/W_t_0_0"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _CELLS)
def test_cells_run_over_time_with_tensorflows_names(tf: Any, name: str) -> None:
    """Outputs have their size, gradients reach all variables that count."""
    make, size, names = _CELLS[name]
    cell = make(tf.contrib.rnn)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(_wave(2, 3, 4)), dtype=tf.float32)
    assert outputs.shape.as_list() == [2, 3, size]
    found = {one.op.name.removeprefix("rnn/") for one in tf.trainable_variables()}
    inside = {one.partition("/")[2] for one in found} | found
    assert names <= inside, inside
    loss = tf.reduce_sum(outputs**2)
    pairs = zip(tf.trainable_variables(), tf.gradients(loss, tf.trainable_variables()), strict=True)
    lost = {variable.op.name for variable, gradient in pairs if gradient is None}
    normalized = {"layer norm": "/bias", "coupled": "/B"}  # beta takes the bias's place
    assert all(one.endswith(normalized.get(name, "?")) for one in lost), lost
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert np.isfinite(session.run(outputs)).all()
        session.run(state)


def _set(tf: Any, session: Any) -> None:
    """Give all variables values that depend on their shapes only."""
    for variable in tf.global_variables():
        session.run(variable.assign(_wave(*variable.shape.as_list()) * 0.7))


def _turned(places: Any, moves: Any) -> Any:
    """Return weights of places after moves by 0, 1 and -1."""
    rolled = [np.roll(places, distance, 1) for distance in (0, 1, -1)]
    return sum(moves[:, [index]] * one for index, one in enumerate(rolled))


def test_a_turing_machine_reads_and_writes_its_memory(tf: Any) -> None:
    """Two steps by the formulas of the paper, with one head of each kind."""
    cell = tf.contrib.rnn.NTMCell(tf.nn.rnn_cell.BasicRNNCell(3), 5, 4, 1, 1, output_dim=3)
    inputs = _wave(2, 2, 3)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(inputs), dtype=tf.float32)
    with tf.Session() as session:
        _set(tf, session)
        found, (last, (read,), places, memory, time) = session.run([outputs, state])
        values = {one.op.name.rpartition("ntm_cell/")[2]: session.run(one)
                  for one in tf.global_variables()}  # fmt: skip

    def softmax(x: Any) -> Any:
        return np.exp(x) / np.exp(x).sum(1, keepdims=True)

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    hidden = np.zeros([2, 3])
    reading = np.tanh(values["initial_read_vector_0"]).repeat(2, 0)
    pointing = [softmax(values[f"initial_address_weights_{i}"]).repeat(2, 0) for i in range(2)]
    stored = values["memory"][None].repeat(2, 0)
    for step in range(2):
        joined = np.concatenate([inputs[:, step], reading, hidden], 1)
        hidden = np.tanh(joined @ values["basic_rnn_cell/kernel"] + values["basic_rnn_cell/bias"])
        given = (hidden @ values["parameters_kernel"] + values["parameters_bias"]).clip(-20, 20)
        for index in range(2):
            head = given[:, 10 * index : 10 * index + 10]
            key, gate = np.tanh(head[:, :4]), sigmoid(head[:, [5]])
            lengths = np.linalg.norm(stored, axis=2) * np.linalg.norm(key, axis=1)[:, None]
            alike = (stored * key[:, None]).sum(2) / (lengths + 1e-8)
            by_content = softmax(np.log1p(np.exp(head[:, [4]])) * alike)
            moved = _turned(gate * by_content + (1 - gate) * pointing[index], softmax(head[:, 6:9]))
            sharp = moved ** (np.log1p(np.exp(head[:, [9]])) + 1)
            pointing[index] = sharp / sharp.sum(1, keepdims=True)
        reading = (pointing[0][:, :, None] * stored).sum(1)
        at = pointing[1][:, :, None]
        stored = stored * (1 - at * sigmoid(given[:, None, 20:24]))
        stored = stored + at * np.tanh(given[:, None, 24:28])
        expected = np.concatenate([hidden, reading], 1) @ values["output_kernel"]
        expected = (expected + values["output_bias"]).clip(-20, 20)
        np.testing.assert_allclose(found[:, step], expected, atol=1e-5)

    assert time == 2
    np.testing.assert_allclose(last, hidden, atol=1e-5)
    np.testing.assert_allclose(read, reading, atol=1e-5)
    np.testing.assert_allclose(memory, stored, atol=1e-5)
    np.testing.assert_allclose(places, pointing, atol=1e-5)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda rnn: rnn.LSTMBlockCell(3), lambda rnn: rnn.BasicLSTMCell(3)),
        (lambda rnn: rnn.GRUBlockCellV2(3), lambda rnn: rnn.GRUCell(3)),
        (
            lambda rnn: rnn.LayerNormLSTMCell(3, cell_clip=0.5, num_proj=2, proj_clip=0.2),
            lambda rnn: rnn.LSTMCell(3, cell_clip=0.5, num_proj=2, proj_clip=0.2),
        ),
        (
            lambda rnn: rnn.WeightNormLSTMCell(3, norm=False),
            lambda rnn: rnn.LSTMCell(3),
        ),
        (
            lambda rnn: rnn.GLSTMCell(3, forget_bias=0.0),
            lambda rnn: rnn.LSTMCell(3, forget_bias=0.0),
        ),
    ],
)
def test_cells_agree_where_they_are_the_same_function(
    tf: Any, one: Callable[[Any], Any], other: Callable[[Any], Any]
) -> None:
    """With equal weights, and biases of zeros where their names differ."""
    rnn, x = tf.contrib.rnn, tf.constant(_wave(2, 4, 3))
    found = []
    for scope, make in (("a", one), ("b", other)):
        with tf.variable_scope(scope):
            found.append(tf.nn.dynamic_rnn(make(rnn), x, dtype=tf.float32)[0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        _set(tf, session)
        for variable in tf.global_variables():
            if "bias" in variable.op.name:
                session.run(variable.assign(tf.zeros_like(variable)))
        got, want = session.run(found)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert got.std() > 0.01


def test_a_fused_lstm_computes_what_its_steps_compute(tf: Any) -> None:
    """With lengths; lists of steps come back as lists."""
    rnn, lengths = tf.contrib.rnn, tf.constant([4, 2])
    x = tf.constant(_wave(4, 2, 3))
    with tf.variable_scope("a"):
        fused = rnn.LSTMBlockFusedCell(3, use_peephole=True)
        got = fused(x, dtype=tf.float32, sequence_length=lengths)
        as_list, _ = fused(tf.unstack(x), dtype=tf.float32)
    with tf.variable_scope("b"):
        want = tf.nn.dynamic_rnn(
            rnn.LSTMBlockCell(3, use_peephole=True), x, lengths, dtype=tf.float32, time_major=True
        )
    with pytest.raises(ValueError, match="initial_state or dtype"):
        fused(x)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        _set(tf, session)
        (outputs, state), (steps, last) = session.run([got, want])
    np.testing.assert_allclose(outputs, steps, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(state, last, rtol=1e-5, atol=1e-6)
    assert len(as_list) == 4


@pytest.mark.parametrize("dynamic", [False, True])
def test_reversed_and_adapted_cells_are_a_backward_rnn(tf: Any, dynamic: bool) -> None:
    """The backward half of a bidirectional network with the same weights."""
    rnn, lengths = tf.contrib.rnn, tf.constant([4, 2])
    x = tf.constant(_wave(4, 2, 3))
    with tf.variable_scope("a"):
        cell = rnn.FusedRNNCellAdaptor(rnn.GRUCell(3), use_dynamic_rnn=dynamic)
        got, state = rnn.TimeReversedFusedRNN(cell)(x, dtype=tf.float32, sequence_length=lengths)
    with tf.variable_scope("b"):
        (_, want), (_, last) = tf.nn.bidirectional_dynamic_rnn(
            rnn.GRUCell(3), rnn.GRUCell(3), x, lengths, dtype=tf.float32, time_major=True
        )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        _set(tf, session)
        got, state, want, last = session.run([got, state, want, last])
    np.testing.assert_allclose(got, want, rtol=1e-5)
    np.testing.assert_allclose(state, last, rtol=1e-5)


def test_static_layers_in_both_directions_are_the_dynamic_ones(tf: Any) -> None:
    """Step by step."""
    rnn, x = tf.contrib.rnn, tf.constant(_wave(2, 3, 4))
    with tf.variable_scope("a"):
        cells = [[rnn.GRUCell(size) for size in (3, 2)] for _ in range(2)]
        steps, _, _ = rnn.stack_bidirectional_rnn(*cells, tf.unstack(x, axis=1), dtype=tf.float32)
    with tf.variable_scope("b"):
        cells = [[rnn.GRUCell(size) for size in (3, 2)] for _ in range(2)]
        whole, _, _ = rnn.stack_bidirectional_dynamic_rnn(*cells, x, dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        _set(tf, session)
        got, want = session.run([tf.stack(steps, 1), whole])
    np.testing.assert_allclose(got, want, rtol=1e-5)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_convolutional_lstm_of_single_places_is_an_lstm(tf: Any, dims: int) -> None:
    """With kernels of one place; inputs are joined to the output."""
    shape = [2] * dims
    cell = getattr(tf.contrib.rnn, f"Conv{dims}DLSTMCell")(
        input_shape=[*shape, 3], output_channels=4, kernel_shape=[1] * dims, skip_connection=True
    )
    x = _wave(2, 3, *shape, 3)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.constant(x), dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        _set(tf, session)
        got, weights = session.run([outputs, tf.trainable_variables()])

    kernel, bias = (one.reshape(-1, 16) for one in weights)
    c = h = np.zeros((2, *shape, 4))
    for step in range(3):
        gates = np.concatenate([x[:, step], h], -1) @ kernel + bias[0]
        i, j, f, o = np.split(gates, 4, -1)
        c = _sigmoid(f + 1) * c + _sigmoid(i) * np.tanh(j)
        h = np.tanh(c) * _sigmoid(o)
        np.testing.assert_allclose(got[:, step, ..., :4], h, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(got[..., 4:], x)


def test_the_nas_cell_follows_its_tree(tf: Any) -> None:
    """As the paper draws it."""
    cell, x = tf.contrib.rnn.NASCell(2), _wave(3, 4)
    c, m = _wave(3, 2), _wave(3, 2) * 0.5
    state = tf.contrib.rnn.LSTMStateTuple(tf.constant(c), tf.constant(m))
    _, new = cell(tf.constant(x), state)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        recurrent, kernel = session.run(cell.trainable_weights)
        got = session.run(new)
    a, b = np.split(x @ kernel, 8, 1), np.split(m @ recurrent, 8, 1)
    relu = np.maximum(a[1] + b[1], 0)
    first = np.tanh(_sigmoid(a[0] + b[0]) * relu)
    second = np.tanh(_sigmoid(a[2] + b[2]) + np.maximum(a[3] * b[3], 0))
    third = np.tanh(np.tanh(a[4] + b[4]) * _sigmoid(a[5] + b[5]))
    fourth = _sigmoid(np.tanh(a[6] + b[6]) + _sigmoid(a[7] + b[7]))
    cell_want = np.tanh(first + c) * second
    np.testing.assert_allclose(got.c, cell_want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        got.h, np.tanh(cell_want * np.tanh(third + fourth)), rtol=1e-5, atol=1e-6
    )


def test_a_grid_of_one_window_is_an_lstm_with_peepholes_in_time(tf: Any) -> None:
    """Frequency has no state before the first window, without peepholes."""
    cell = tf.contrib.rnn.GridLSTMCell(
        2, feature_size=4, frequency_skip=1, num_frequency_blocks=[1], forget_bias=0.5
    )
    x = _wave(3, 2, 4)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.constant(x), dtype=tf.float32)
    names = [one.op.name.rpartition("/")[2] for one in tf.trainable_variables()]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        _set(tf, session)
        got, weights = session.run([outputs, tf.trainable_variables()])
    kernel = weights[names.index("W_t_0_0")]
    bias = weights[names.index("B_t_0")]
    c = h = np.zeros((3, 2))
    for step in range(2):
        gates = np.concatenate([x[:, step], h, np.zeros((3, 2))], 1) @ kernel + bias
        i, j, f, o = np.split(gates, 4, 1)
        c = _sigmoid(f + 0.5) * c + _sigmoid(i) * np.tanh(j)
        h = _sigmoid(o) * np.tanh(c)
        np.testing.assert_allclose(got[:, step, :2], h, rtol=1e-4, atol=1e-6)


def test_windows_of_a_grid_that_do_not_fit_are_refused(tf: Any) -> None:
    """The message names both numbers."""
    cell = tf.contrib.rnn.GridLSTMCell(
        2, feature_size=2, frequency_skip=1, num_frequency_blocks=[5]
    )
    with pytest.raises(ValueError, match="requires 5 but gets 3"):
        cell(tf.zeros([1, 4]), cell.zero_state(1, tf.float32))


def test_a_cell_of_time_and_frequency_passes_outputs_up(tf: Any) -> None:
    """One step over two windows, whose states are joined."""
    cell, x = tf.contrib.rnn.TimeFreqLSTMCell(2, feature_size=2, frequency_skip=2), _wave(3, 4)
    output, state = cell(tf.constant(x), tf.zeros([3, 8]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        _set(tf, session)
        got, cells, (kernel, bias) = session.run([output, state, tf.trainable_variables()])
    below = np.zeros((3, 2))
    for window in range(2):
        given = np.concatenate([x[:, 2 * window : 2 * window + 2], np.zeros((3, 2)), below], 1)
        i, j, _, o = np.split(given @ kernel + bias, 4, 1)
        c = _sigmoid(i) * np.tanh(j)
        below = _sigmoid(o) * np.tanh(c)
        np.testing.assert_allclose(got[:, 2 * window : 2 * window + 2], below, rtol=1e-5)
        np.testing.assert_allclose(cells[:, 4 * window : 4 * window + 2], c, rtol=1e-5)


def test_a_phased_lstm_is_open_in_a_part_of_its_period(tf: Any) -> None:
    """Half open halfway up, and nearly closed behind its part."""
    cell = tf.contrib.rnn.PhasedLSTMCell(1, ratio_on=0.5, leak=0.0)
    time = tf.placeholder(tf.float32, [1, 1])
    state = cell.zero_state(1, tf.float32)
    output, _ = cell((time, tf.ones([1, 3])), state)
    variables = {one.op.name.rpartition("/")[2]: one for one in tf.global_variables()}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([variables["period"].assign([4.0]), variables["phase"].assign([0.0])])
        at = [float(session.run(output, {time: [[t]]})[0, 0]) for t in (0.5, 1.0, 1.5, 3.0)]
    assert at[0] == pytest.approx(at[1] / 2, rel=1e-5)
    assert at[2] == pytest.approx(at[1] / 2, rel=1e-5)
    assert at[1] != 0
    assert at[3] == 0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda rnn: rnn.AttentionCellWrapper(rnn.GRUCell(3), 0), "greater than zero"),
        (lambda rnn: rnn.AttentionCellWrapper(rnn.LSTMCell(3), 1, state_is_tuple=False), "tuple"),
        (lambda rnn: rnn.GLSTMCell(3, number_of_groups=2), "divisible"),
        (lambda rnn: rnn.GRUBlockCell(), "Exactly one"),
        (lambda rnn: rnn.GridLSTMCell(3), "num_frequency_blocks"),
        (lambda rnn: rnn.Conv2DLSTMCell(
            input_shape=[3], output_channels=1, kernel_shape=[1]), "Invalid input_shape"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(
    tf: Any, make: Callable[[Any], Any], says: str
) -> None:
    """When the cell is made."""
    with pytest.raises(ValueError, match=says):
        make(tf.contrib.rnn)

"""Recurrent cells as single ops: LSTM steps, LSTM over time, GRU steps, and their gradients.

An LSTM's gates are the columns of [x, h] w + b: input, cell, forget, output in the first ops;
version 2 exchanges cell and forget. Corresponds to TensorFlow's ``lstm_ops.cc`` and
``gru_ops.cc``; the gradients of the single steps are those of its ``contrib.rnn``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.products import matmul_of
from tfnb.ops.math.cwise_unary_ops import logistic
from tfnb.ops.math.matmul_ops import matmul
from tfnb.ops.nn.bias_ops import bias_add_grad

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike

# The positions of the gates input, cell, forget, output.
_ICFO, _IFCO = (0, 1, 2, 3), (0, 2, 1, 3)

_WEIGHTS = "w: T, wci: T, wcf: T, wco: T, b: T"
_GATES = "i: T, cs: T, f: T, o: T, ci: T, co: T"
_T = "T: {half, float}"


# ------------------------------------------------------------------------------------------- shapes


def _require(name: str, value: Array, shape: tuple[int, ...]) -> None:
    """Refuse a value that has another shape.

    Raises:
      InvalidArgumentError: the value has another shape.
    """
    if value.shape == shape:
        return
    if value.ndim != len(shape):
        raise errors.invalid_argument(
            f"{name} must be rank {len(shape)} but is rank {value.ndim}: its shape should be "
            f"{shape_text(shape)}"
        )
    axis = next(i for i, size in enumerate(shape) if value.shape[i] != size)
    raise errors.invalid_argument(
        f"{name}.dim_size({axis}) is {value.shape[axis]}: its shape should be {shape_text(shape)}, "
        f"but is {shape_text(value.shape)}"
    )


def _cell_sizes(x: Array, cs_prev: Array) -> tuple[int, int, int]:
    """Return batch, input and cell size of one step."""
    for name, value in (("x", x), ("cs_prev", cs_prev)):
        if value.ndim != 2:
            raise errors.invalid_argument(f"{name} must be rank 2 but is rank {value.ndim}.")
    return x.shape[0], x.shape[1], cs_prev.shape[1]


def _check_step(
    x: Array, cs_prev: Array, h_prev: Array, weights: tuple[Array, ...], use_peephole: bool
) -> None:
    batch, inputs, cells = _cell_sizes(x, cs_prev)
    w, wci, wcf, wco, b = weights
    _require("cs_prev", cs_prev, (batch, cells))
    _require("h_prev", h_prev, (batch, cells))
    _require("w", w, (inputs + cells, 4 * cells))
    _require("b", b, (4 * cells,))
    for name, peephole in (("wci", wci), ("wcf", wcf), ("wco", wco)):
        if peephole.ndim != 1:
            raise errors.invalid_argument(f"{name} must be rank 1 but is rank {peephole.ndim}.")
        if use_peephole:
            _require(name, peephole, (cells,))


def _step_shape(c: InferenceContext) -> list[TensorShape]:
    x, cs_prev = c.with_rank(0, 2).dim_values, c.with_rank(1, 2).dim_values
    assert x is not None
    assert cs_prev is not None
    return [TensorShape([x[0], cs_prev[1]])] * c.num_outputs


def _step_grad_shape(c: InferenceContext) -> list[TensorShape]:
    batch, cells = _step_shape(c)[0].dim_values or (None, None)
    vector = TensorShape([cells])
    gates = TensorShape([batch, None if cells is None else 4 * cells])
    return [TensorShape([batch, cells]), gates, vector, vector, vector]


def _block_shape(c: InferenceContext) -> list[TensorShape]:
    x, b = c.with_rank(1, 3).dim_values, c.with_rank(8, 1).dim_values
    assert x is not None
    assert b is not None
    if b[0] is not None and b[0] % 4:
        raise ValueError(f"Dimension size must be evenly divisible by 4 but is {b[0]}")
    cells = None if b[0] is None else b[0] // 4
    return [TensorShape([x[0], x[1], cells])] * 7


def _block_grad_shape(c: InferenceContext) -> list[TensorShape]:
    ranks = (3, 2, 2, 2, 1, 1, 1, 1)
    return [c.with_rank(index, rank) for index, rank in enumerate(ranks, start=1)]


# ---------------------------------------------------------------------------------------- the maths


def _lstm_step(
    xp: Xp,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    weights: tuple[Array, ...],
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
    layout: tuple[int, ...],
) -> tuple[Array, ...]:
    """Return the results of one step: i, cs, f, o, ci, co, h."""
    w, wci, wcf, wco, b = weights
    gates = matmul_of(xp)(xp.concatenate([x, h_prev], axis=1), w) + b
    cells = cs_prev.shape[1]
    i, ci, f, o = (gates[:, place * cells : (place + 1) * cells] for place in layout)
    f = f + x.dtype.type(forget_bias)
    if use_peephole:
        i, f = i + cs_prev * wci, f + cs_prev * wcf
    i, f, ci = logistic(xp, i), logistic(xp, f), xp.tanh(ci)
    cs = i * ci + f * cs_prev
    if cell_clip > 0:
        cs = xp.clip(cs, x.dtype.type(-cell_clip), x.dtype.type(cell_clip))
    if use_peephole:
        o = o + cs * wco
    o, co = logistic(xp, o), xp.tanh(cs)
    return i, cs, f, o, ci, co, o * co


def _lstm_step_grad(
    xp: Xp,
    cs_prev: Array,
    peepholes: tuple[Array, Array, Array],
    states: tuple[Array, ...],
    cs_grad: Array,
    h_grad: Array,
    use_peephole: bool,
    layout: tuple[int, ...],
) -> tuple[Array, ...]:
    """Return gradients by the previous state, by the gates, and by the three peepholes."""
    wci, wcf, wco = peepholes
    i, cs, f, o, ci, co = states
    do = o * (1 - o) * h_grad * co
    dcs = (1 - co * co) * h_grad * o + cs_grad
    if use_peephole:
        dcs = dcs + do * wco
    dci = (1 - ci * ci) * dcs * i
    df = f * (1 - f) * dcs * cs_prev
    di = i * (1 - i) * dcs * ci
    by_place = dict(zip(layout, (di, dci, df, do), strict=True))
    dgates = xp.concatenate([by_place[place] for place in range(4)], axis=1)
    cs_prev_grad = dcs * f
    if not use_peephole:
        return cs_prev_grad, dgates, xp.zeros_like(wci), xp.zeros_like(wcf), xp.zeros_like(wco)
    cs_prev_grad = cs_prev_grad + di * wci + df * wcf
    sums = ((di * cs_prev).sum(axis=0), (df * cs_prev).sum(axis=0), (do * cs).sum(axis=0))
    return cs_prev_grad, dgates, *(total.astype(wci.dtype, copy=False) for total in sums)


# -------------------------------------------------------------------------------- single LSTM steps


@register_op(
    "LSTMBlockCell",
    f"x: T, cs_prev: T, h_prev: T, {_WEIGHTS} -> {_GATES}, h: T",
    "forget_bias: float = 1",
    "cell_clip: float = 3",
    "use_peephole: bool = false",
    _T,
    shape=_step_shape,
)
def lstm_block_cell(
    xp: Xp,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> Outputs:
    """Return one step of an LSTM: the gates, the new state, and the output h."""
    weights = (w, wci, wcf, wco, b)
    _check_step(x, cs_prev, h_prev, weights, use_peephole)
    if cs_prev.size == 0:
        raise errors.invalid_argument(
            f"cs_prev_tensor is empty, has shape: ({cs_prev.shape[0]},{cs_prev.shape[1]})."
        )
    return _lstm_step(xp, x, cs_prev, h_prev, weights, forget_bias, cell_clip, use_peephole, _ICFO)


@lstm_block_cell.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    x, cs_prev, h_prev, w = op.inputs[:4]
    dims, cells = x.shape.with_rank(2).dim_values, cs_prev.shape.with_rank(2).dim_values
    assert dims is not None
    assert cells is not None
    if dims[1] is None:
        raise ValueError("input_size from `x` must not be None.")
    if cells[1] is None:
        raise ValueError("cell_size from `cs_prev` must not be None.")
    batch = -1 if dims[0] is None else dims[0]
    cs_prev_grad, dgates, wci_grad, wcf_grad, wco_grad = lstm_block_cell_grad(
        *op.inputs,
        *op.outputs[:6],
        cs_grad=grads[1],
        h_grad=grads[6],
        use_peephole=op.get_attr("use_peephole"),
    )
    both = matmul(dgates, w, transpose_b=True)
    x_grad = array_ops.slice(both, (0, 0), (batch, dims[1]))
    h_prev_grad = array_ops.slice(both, (0, dims[1]), (batch, cells[1]))
    w_grad = matmul(array_ops.concat([x, h_prev], 1), dgates, transpose_a=True)
    b_grad = bias_add_grad(dgates)
    return [
        x_grad, cs_prev_grad, h_prev_grad, w_grad, wci_grad, wcf_grad, wco_grad, b_grad,
    ]  # fmt: skip


@register_op(
    "LSTMBlockCellGrad",
    f"x: T, cs_prev: T, h_prev: T, {_WEIGHTS}, {_GATES}, cs_grad: T, h_grad: T "
    "-> cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T",
    "use_peephole: bool",
    _T,
    shape=_step_grad_shape,
)
def lstm_block_cell_grad(
    xp: Xp,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    i: Array,
    cs: Array,
    f: Array,
    o: Array,
    ci: Array,
    co: Array,
    cs_grad: Array,
    h_grad: Array,
    *,
    use_peephole: bool,
) -> Outputs:
    """Return gradients of LSTMBlockCell by the previous state, the gates and the peepholes."""
    _check_step(x, cs_prev, h_prev, (w, wci, wcf, wco, b), use_peephole)
    states = {"i": i, "cs": cs, "f": f, "o": o, "ci": ci, "co": co}
    for name, value in {**states, "cs_grad": cs_grad, "h_grad": h_grad}.items():
        _require(name, value, cs_prev.shape)
    return _lstm_step_grad(
        xp,
        cs_prev,
        (wci, wcf, wco),
        tuple(states.values()),
        cs_grad,
        h_grad,
        use_peephole,
        _ICFO,
    )


# ----------------------------------------------------------------------------------- LSTM over time


def _sequence_length(seq_len_max: Array, steps: int) -> int:
    if seq_len_max.ndim:
        raise errors.invalid_argument(
            f"`seq_len_max_tensor` must be rank 0 but is rank {seq_len_max.ndim}"
        )
    length = int(seq_len_max)
    if not 0 <= length <= steps:
        raise errors.invalid_argument(f"seq_len_max must be between 0 and {steps} but is {length}")
    return length


def _check_block(
    x: TensorLike, cs_prev: TensorLike, h_prev: Any, weights: tuple[TensorLike, ...]
) -> None:
    for name, value, rank in (("x", x, 3), ("cs_prev", cs_prev, 2)):
        if value.ndim != rank:
            raise errors.invalid_argument(f"{name} must be {rank}D")
    (_, batch, inputs), cells = x.shape, cs_prev.shape[1]
    w, wci, wcf, wco, b = weights
    _require("cs_prev", cs_prev, (batch, cells))
    _require("h_prev", h_prev, (batch, cells))
    _require("w", w, (inputs + cells, 4 * cells))
    for name, peephole in (("wci", wci), ("wcf", wcf), ("wco", wco)):
        _require(name, peephole, (cells,))
    _require("b", b, (4 * cells,))


def _block_lstm(
    xp: Xp,
    seq_len_max: Array,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    weights: tuple[Array, ...],
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
    layout: tuple[int, ...],
) -> Array:
    _check_block(x, cs_prev, h_prev, weights)
    steps = x.shape[0]
    # Steps after the longest sequence return zeros.
    outputs = [xp.zeros((steps, *cs_prev.shape), x.dtype) for _ in range(7)]
    for t in range(_sequence_length(seq_len_max, steps)):
        found = _lstm_step(
            xp, x[t], cs_prev, h_prev, weights, forget_bias, cell_clip, use_peephole, layout
        )
        for output, value in zip(outputs, found, strict=True):
            output[t] = value
        cs_prev, h_prev = found[1], found[6]
    return tuple(outputs)


_BLOCK = f"seq_len_max: int64, x: T, cs_prev: T, h_prev: T, {_WEIGHTS}"


@register_op(
    "BlockLSTM",
    f"{_BLOCK} -> {_GATES}, h: T",
    "forget_bias: float = 1",
    "cell_clip: float = 3",
    "use_peephole: bool = false",
    _T,
    shape=_block_shape,
    host_memory=("seq_len_max",),
)
def block_lstm(
    xp: Xp,
    seq_len_max: Array,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> Outputs:
    """Compute an LSTM over all time steps: the gates, states and outputs of each."""
    weights = (w, wci, wcf, wco, b)
    return _block_lstm(
        xp,
        seq_len_max,
        x,
        cs_prev,
        h_prev,
        weights,
        forget_bias=forget_bias,
        cell_clip=cell_clip,
        use_peephole=use_peephole,
        layout=_ICFO,
    )


@register_op(
    "BlockLSTMV2",
    f"{_BLOCK} -> {_GATES}, h: T",
    "cell_clip: float = 0",
    "use_peephole: bool = false",
    _T,
    shape=_block_shape,
    host_memory=("seq_len_max",),
)
def block_lstm_v2(
    xp: Xp,
    seq_len_max: Array,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    *,
    cell_clip: float,
    use_peephole: bool,
) -> Outputs:
    """Compute BlockLSTM with the forget gate before the cell's, and no forget bias."""
    weights = (w, wci, wcf, wco, b)
    return _block_lstm(
        xp,
        seq_len_max,
        x,
        cs_prev,
        h_prev,
        weights,
        forget_bias=0.0,
        cell_clip=cell_clip,
        use_peephole=use_peephole,
        layout=_IFCO,
    )


def _block_lstm_gradient(op: Operation, *grads: Tensor) -> Gradients:
    # TensorFlow uses the gradient of the first version for both.
    found = block_lstm_grad(
        *op.inputs,
        *op.outputs,
        cs_grad=grads[1],
        h_grad=grads[6],
        use_peephole=op.get_attr("use_peephole"),
    )
    return [None, *found]


block_lstm.gradient(_block_lstm_gradient)
block_lstm_v2.gradient(_block_lstm_gradient)


def _block_lstm_grad(
    xp: Xp,
    seq_len_max: Array,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    weights: tuple[Array, ...],
    states: tuple[Array, ...],
    cs_grad: Array,
    h_grad: Array,
    *,
    use_peephole: bool,
    layout: tuple[int, ...],
) -> Outputs:
    w, *peepholes, b = weights
    _check_block(x, cs_prev, h_prev, weights)
    steps, _, inputs = x.shape
    for name, value in zip(("i", "cs", "f", "o", "ci", "co", "h"), states, strict=True):
        _require(name, value, (steps, *cs_prev.shape))
    _require("cs_grad", cs_grad, (steps, *cs_prev.shape))
    _require("h_grad", h_grad, (steps, *cs_prev.shape))
    x_grad = xp.zeros_like(x)
    w_grad, b_grad = xp.zeros_like(w), xp.zeros_like(b)
    peephole_grads = [xp.zeros_like(value) for value in peepholes]
    into_state, into_output = xp.zeros_like(cs_prev), xp.zeros_like(h_prev)
    for t in range(_sequence_length(seq_len_max, steps) - 1, -1, -1):
        state = states[1][t - 1] if t else cs_prev
        output = states[6][t - 1] if t else h_prev
        into_state, dgates, *of_peepholes = _lstm_step_grad(
            xp,
            state,
            (peepholes[0], peepholes[1], peepholes[2]),
            tuple(value[t] for value in states[:6]),
            cs_grad[t] + into_state,
            h_grad[t] + into_output,
            use_peephole,
            layout,
        )
        both = matmul_of(xp)(dgates, w.T)
        x_grad[t], into_output = both[:, :inputs], both[:, inputs:]
        w_grad += matmul_of(xp)(xp.concatenate([x[t], output], axis=1).T, dgates)
        b_grad += dgates.sum(axis=0)
        for total, value in zip(peephole_grads, of_peepholes, strict=True):
            total += value
    return x_grad, into_state, into_output, w_grad, *peephole_grads, b_grad


def _block_lstm_grad_op(name: str, layout: tuple[int, ...]) -> OpDefinition:
    def kernel(
        xp: Xp,
        seq_len_max: Array,
        x: Array,
        cs_prev: Array,
        h_prev: Array,
        w: Array,
        wci: Array,
        wcf: Array,
        wco: Array,
        b: Array,
        i: Array,
        cs: Array,
        f: Array,
        o: Array,
        ci: Array,
        co: Array,
        h: Array,
        cs_grad: Array,
        h_grad: Array,
        *,
        use_peephole: bool,
    ) -> Outputs:
        return _block_lstm_grad(
            xp,
            seq_len_max,
            x,
            cs_prev,
            h_prev,
            (w, wci, wcf, wco, b),
            (i, cs, f, o, ci, co, h),
            cs_grad,
            h_grad,
            use_peephole=use_peephole,
            layout=layout,
        )

    kernel.__doc__ = "Gradients of an LSTM over all time steps by everything it reads."
    definition: OpDefinition = register_op(
        name,
        f"{_BLOCK}, {_GATES}, h: T, "
        "cs_grad: T, h_grad: T -> x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, "
        "wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T",
        "use_peephole: bool",
        _T,
        shape=_block_grad_shape,
        host_memory=("seq_len_max",),
    )(kernel)
    return definition


block_lstm_grad = _block_lstm_grad_op("BlockLSTMGrad", _ICFO)
block_lstm_grad_v2 = _block_lstm_grad_op("BlockLSTMGradV2", _IFCO)


# --------------------------------------------------------------------------------- single GRU steps


def _check_gru(x: Array, h_prev: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array) -> None:
    for name, value in (("x", x), ("h_prev", h_prev)):
        if value.ndim != 2:
            raise errors.invalid_argument(f"Rank of {name} must be 2, got {value.ndim}")
    (batch, inputs), cells = x.shape, h_prev.shape[1]
    _require("h_prev", h_prev, (batch, cells))
    _require("w_ru", w_ru, (inputs + cells, 2 * cells))
    _require("w_c", w_c, (inputs + cells, cells))
    _require("b_ru", b_ru, (2 * cells,))
    _require("b_c", b_c, (cells,))


_GRU_WEIGHTS = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"


@register_op(
    "GRUBlockCell", f"{_GRU_WEIGHTS} -> r: T, u: T, c: T, h: T", "T: {float}", shape=_step_shape
)
def gru_block_cell(
    xp: Xp, x: Array, h_prev: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array
) -> Outputs:
    """Return one step of a GRU: reset, update, candidate, and the output u h_prev + (1 - u) c."""
    _check_gru(x, h_prev, w_ru, w_c, b_ru, b_c)
    cells = h_prev.shape[1]
    gates = logistic(xp, matmul_of(xp)(xp.concatenate([x, h_prev], axis=1), w_ru) + b_ru)
    r, u = gates[:, :cells], gates[:, cells:]
    c = xp.tanh(matmul_of(xp)(xp.concatenate([x, h_prev * r], axis=1), w_c) + b_c)
    return r, u, c, u * (h_prev - c) + c


@gru_block_cell.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    x, h_prev = op.inputs[:2]
    r, u, c, _ = op.outputs
    d_x, d_h_prev, d_c_bar, d_r_bar_u_bar = gru_block_cell_grad(*op.inputs, r, u, c, grads[3])
    both = array_ops.concat([x, h_prev], 1)
    d_w_ru = matmul(both, d_r_bar_u_bar, transpose_a=True)
    d_b_ru = bias_add_grad(d_r_bar_u_bar)
    both = array_ops.concat([x, h_prev * r], 1)
    d_w_c = matmul(both, d_c_bar, transpose_a=True)
    d_b_c = bias_add_grad(d_c_bar)
    return d_x, d_h_prev, d_w_ru, d_w_c, d_b_ru, d_b_c


def _gru_grad_shape(c: InferenceContext) -> list[TensorShape]:
    x, h_prev, w_ru = (c.with_rank(index, 2).dim_values for index in range(3))
    assert x is not None
    assert h_prev is not None
    assert w_ru is not None
    state = TensorShape([x[0], h_prev[1]])
    return [c.inputs[0].merge_with(TensorShape(x)), state, state, TensorShape([x[0], w_ru[1]])]


@register_op(
    "GRUBlockCellGrad",
    f"{_GRU_WEIGHTS}, r: T, u: T, c: T, d_h: T "
    "-> d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T",
    "T: {float}",
    shape=_gru_grad_shape,
)
def gru_block_cell_grad(
    xp: Xp,
    x: Array,
    h_prev: Array,
    w_ru: Array,
    w_c: Array,
    b_ru: Array,
    b_c: Array,
    r: Array,
    u: Array,
    c: Array,
    d_h: Array,
) -> Outputs:
    """Return gradients of GRUBlockCell by input, previous state, candidate and gates."""
    _check_gru(x, h_prev, w_ru, w_c, b_ru, b_c)
    for name, value in (("r", r), ("u", u), ("c", c), ("d_h", d_h)):
        _require(name, value, h_prev.shape)
    inputs = x.shape[1]
    d_c_bar = d_h * (1 - u) * (1 - c * c)
    d_u_bar = d_h * (h_prev - c) * u * (1 - u)
    of_candidate = matmul_of(xp)(d_c_bar, w_c.T)
    d_hr = of_candidate[:, inputs:]
    d_r_bar = d_hr * h_prev * r * (1 - r)
    d_gates = xp.concatenate([d_r_bar, d_u_bar], axis=1)
    of_gates = matmul_of(xp)(d_gates, w_ru.T)
    d_x = of_candidate[:, :inputs] + of_gates[:, :inputs]
    d_h_prev = of_gates[:, inputs:] + d_hr * r + d_h * u
    return d_x, d_h_prev, d_c_bar, d_gates

"""Rows for recurrent cells that are one op."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.samples import Sample, checked, normal, op, sweep, uniform

SAMPLES: list[Sample | list[Sample]] = []

_BATCH, _INPUTS, _CELLS, _STEPS = 3, 4, 2, 5
_LOOSE = {"rtol": 2e-5, "atol": 2e-6}


def _weights(seed: int = 0) -> list[Any]:
    size = _CELLS
    return [
        normal(_INPUTS + size, 4 * size, seed=seed + 3),
        *(normal(size, seed=seed + offset) for offset in (4, 5, 6)),
        normal(4 * size, seed=seed + 7),
    ]


def _states(*shape: int) -> list[Any]:
    return [uniform(*shape, low=0.05, high=0.95, seed=20 + n) for n in range(6)]


def _lstm_steps() -> None:
    x, state = normal(_BATCH, _INPUTS), normal(_BATCH, _CELLS, seed=1)
    output, weights = normal(_BATCH, _CELLS, seed=2), _weights()
    step = [x, state, output, *weights]
    # The gradient of a single step was in TensorFlow's contrib, so TensorFlow has no answer.
    SAMPLES.extend(
        checked(op("LSTMBlockCell", *step, **attrs), gradient=False, **_LOOSE)
        for attrs in (
            {},
            {"use_peephole": True},
            {"forget_bias": 0.25, "cell_clip": 0.5},
            {"cell_clip": -1.0, "use_peephole": True},
        )
    )
    SAMPLES.append(checked(sweep("half", "LSTMBlockCell", *step), gradient=False, atol=4e-3))
    for position, wrong in (
        (0, normal(_BATCH + 1, _INPUTS)),
        (1, normal(_BATCH, _CELLS + 1)),
        (2, normal(_BATCH, _CELLS + 1)),
        (3, normal(_INPUTS, 4 * _CELLS)),
        (4, normal(_CELLS, 1)),
        (7, normal(_CELLS)),
    ):
        bad: list[Any] = list(step)
        bad[position] = wrong
        SAMPLES.append(op("LSTMBlockCell", *bad, error="dim_size|rank"))
    empty = [normal(0, _INPUTS), normal(0, _CELLS), normal(0, _CELLS)]
    SAMPLES.append(op("LSTMBlockCell", *empty, *weights, error="empty"))
    grads = [normal(_BATCH, _CELLS, seed=8), normal(_BATCH, _CELLS, seed=9)]
    whole = [*step, *_states(_BATCH, _CELLS), *grads]
    for use_peephole in (False, True):
        row = op("LSTMBlockCellGrad", *whole, use_peephole=use_peephole)
        SAMPLES.append(checked(row, gradient=False, **_LOOSE))
    for position in (8, 13, 14, 15):
        bad = list(whole)
        bad[position] = normal(_BATCH, _CELLS + 2)
        SAMPLES.append(op("LSTMBlockCellGrad", *bad, use_peephole=False, error="dim_size"))


def _lstm_over_time() -> None:
    x = normal(_STEPS, _BATCH, _INPUTS)
    state, output = normal(_BATCH, _CELLS, seed=1), normal(_BATCH, _CELLS, seed=2)
    rest = [x, state, output, *_weights()]
    for name in ("BlockLSTM", "BlockLSTMV2"):
        SAMPLES.append(checked(op(name, np.int64(_STEPS), *rest), **_LOOSE))
        row = op(name, np.int64(_STEPS), *rest, use_peephole=True, cell_clip=0.75)
        SAMPLES.append(checked(row, **_LOOSE))
        # The gates of later steps are undefined.
        SAMPLES.append(
            checked(
                op(name, np.int64(3), *rest), undefined=(0, 2, 3, 4, 5), gradient=False, **_LOOSE
            )
        )
        half = [value.astype(np.float16) for value in rest]
        row = op(name, np.int64(_STEPS), *half)
        SAMPLES.append(checked(row, gradient=False, atol=8e-3))
        SAMPLES.append(op(name, np.array([1], np.int64), *rest, error="rank 0"))
        SAMPLES.append(op(name, np.int64(2), x[0], *rest[1:], error="3D|rank 3"))
        for position, wrong in (
            (1, normal(_BATCH + 1, _CELLS)),
            (2, normal(_BATCH, _CELLS + 1)),
            (3, normal(_INPUTS, 4 * _CELLS)),
            (4, normal(_CELLS + 1)),
            (7, normal(4 * _CELLS + 4)),
            (7, normal(4 * _CELLS + 1)),
        ):
            bad: list[Any] = list(rest)
            bad[position] = wrong
            SAMPLES.append(op(name, np.int64(2), *bad, error="dim_size|divisible"))
    states = [*_states(_STEPS, _BATCH, _CELLS), normal(_STEPS, _BATCH, _CELLS, seed=30)]
    grads = [normal(_STEPS, _BATCH, _CELLS, seed=seed) for seed in (8, 9)]
    for name in ("BlockLSTMGrad", "BlockLSTMGradV2"):
        for length in (0, _STEPS):
            for use_peephole in (False, True):
                row = op(name, np.int64(length), *rest, *states, *grads, use_peephole=use_peephole)
                # Gradients of steps that were not computed are undefined.
                undefined = () if length else (0,)
                SAMPLES.append(checked(row, gradient=False, undefined=undefined, **_LOOSE))


def _gru_steps() -> None:
    size = _CELLS
    rest = [
        normal(_BATCH, _INPUTS),
        normal(_BATCH, size, seed=1),
        normal(_INPUTS + size, 2 * size, seed=2),
        normal(_INPUTS + size, size, seed=3),
        normal(2 * size, seed=4),
        normal(size, seed=5),
    ]
    SAMPLES.append(checked(op("GRUBlockCell", *rest), gradient=False, **_LOOSE))
    states = _states(_BATCH, size)[:3]
    whole = [*rest, *states, normal(_BATCH, size, seed=6)]
    SAMPLES.append(checked(op("GRUBlockCellGrad", *whole), gradient=False, **_LOOSE))
    for position, wrong in (
        (0, normal(_BATCH + 1, _INPUTS)),
        (1, normal(size)),
        (2, normal(_INPUTS, 2 * size)),
        (3, normal(_INPUTS, size)),
        (4, normal(size)),
        (5, normal(2 * size)),
    ):
        bad: list[Any] = list(rest)
        bad[position] = wrong
        SAMPLES.append(op("GRUBlockCell", *bad, error="dim_size|[Rr]ank"))
        SAMPLES.append(op("GRUBlockCellGrad", *bad, *whole[6:], error="dim_size|[Rr]ank"))
    bad = [*whole[:-1], normal(_BATCH, size + 1)]
    SAMPLES.append(op("GRUBlockCellGrad", *bad, error="dim_size"))


_lstm_steps()
_lstm_over_time()
_gru_steps()

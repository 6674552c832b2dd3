"""The loss of unaligned labels: rows that are computed together get what each gets alone."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.ops.nn import ctc_ops


def _loss(inputs, rows, lengths, merge_repeated):
    """Return the losses of rows of labels, and the gradients."""
    indices = [(row, at) for row, labels in enumerate(rows) for at in range(len(labels))]
    values = np.array([label for labels in rows for label in labels], np.int32)
    return ctc_ops.ctc_loss_op.function(
        np,
        inputs,
        np.array(indices, np.int64),
        values,
        np.array(lengths, np.int32),
        preprocess_collapse_repeated=False,
        ctc_merge_repeated=merge_repeated,
        ignore_longer_outputs_than_inputs=True,
    )


@pytest.mark.parametrize("most", [1, 1 << 18])
@pytest.mark.parametrize("merge_repeated", [False, True])
def test_rows_of_several_lengths_do_not_change_each_other(monkeypatch, merge_repeated, most):
    """One row has NaN, one is impossible, one too long, one a single blank and two frames."""
    monkeypatch.setattr(ctc_ops, "_MOST_STATES", most)
    inputs = np.random.default_rng(2).normal(0, 3, (7, 8, 4)).astype(np.float32)
    inputs[2, 1, 0] = np.nan
    inputs[:, 4, :3] = -1e30
    rows = [[0, 1, 1, 2], [2], [0, 0, 0], [1, 2], [1], [3], [2, 1, 0, 1, 2, 0, 1, 2], [3]]
    lengths = [7, 6, 4, 2, 5, 2, 7, 1]
    with np.errstate(all="ignore"):
        losses, gradients = _loss(inputs, rows, lengths, merge_repeated)
        for row, (labels, length) in enumerate(zip(rows, lengths, strict=True)):
            alone = inputs[:length, row : row + 1]
            loss, gradient = _loss(alone, [labels], [length], merge_repeated)
            np.testing.assert_array_equal(losses[row], loss[0])
            np.testing.assert_array_equal(gradients[:length, row], gradient[:, 0])
            assert not gradients[length:, row].any()
    assert np.isnan(losses[1])
    assert np.isinf(losses[4])
    assert losses[6] == 0

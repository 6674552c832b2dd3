"""Rows for connectionist temporal classification."""

# ruff: noqa: PERF401 - every row is one append, loops or not

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, normal, op, sweep

SAMPLES: list[Sample | list[Sample]] = []


def _rows() -> None:
    logits = normal(7, 3, 5)
    places = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [2, 0], [2, 1]], np.int64)
    labels = np.array([1, 1, 2, 0, 3, 2], np.int32)
    lengths = np.array([7, 4, 5], np.int32)
    loose = {"rtol": 1e-4, "atol": 1e-5}
    for flags in (
        {},
        {"preprocess_collapse_repeated": True},
        {"ctc_merge_repeated": False},
    ):
        row = op("CTCLoss", logits, places, labels, lengths, **flags)
        SAMPLES.append(checked(row, **loose))
    rows = sweep("double", "CTCLoss", logits, places, labels, lengths, fixed=(1, 2, 3))
    # TensorFlow adds logarithms with float32's log1p even then.
    SAMPLES.append(checked(rows, rtol=1e-6, atol=2e-7))
    short = np.array([2, 4, 5], np.int32)
    SAMPLES.append(op("CTCLoss", logits, places, labels, short, error="Not enough time"))
    row = op("CTCLoss", logits, places, labels, short, ignore_longer_outputs_than_inputs=True)
    SAMPLES.append(checked(row, **loose))
    SAMPLES.append(op("CTCLoss", logits[0], places, labels, lengths, error="rank|3-Tensor"))
    SAMPLES.append(op("CTCLoss", logits, places, labels, lengths[:2], error="must be equal|batch"))
    for flags in ({}, {"merge_repeated": True}, {"merge_repeated": True, "blank_index": 0}):
        SAMPLES.append(checked(op("CTCGreedyDecoder", logits, lengths, **flags), rtol=1e-5))
    SAMPLES.append(op("CTCGreedyDecoder", logits, lengths + 5, error="sequence_length"))


_rows()

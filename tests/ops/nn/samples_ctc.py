"""Rows for connectionist temporal classification."""

# ruff: noqa: PERF401 - every row is one append, loops or not

from __future__ import annotations

from typing import Any

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
    # TensorFlow adds logarithms with float32's log1p in this case, too.
    SAMPLES.append(checked(rows, rtol=1e-6, atol=2e-7))
    short = np.array([2, 4, 5], np.int32)
    SAMPLES.append(op("CTCLoss", logits, places, labels, short, error="Not enough time"))
    row = op("CTCLoss", logits, places, labels, short, ignore_longer_outputs_than_inputs=True)
    SAMPLES.append(checked(row, **loose))
    for ending in ([1, 4, 9, 0, 3, 2], [1, 2, 4, 0, 3, 9]):
        row = op("CTCLoss", logits, places, np.array(ending, np.int32), lengths)
        SAMPLES.append(checked(row, **loose))
    for wrong, error in (([1, 4, 2, 0, 3, 2], "non-null"), ([1, 1, 2, -1, 3, 2], "nonnegative")):
        row = op("CTCLoss", logits, places, np.array(wrong, np.int32), lengths, error=error)
        SAMPLES.append(row)
    error = "length is zero"
    SAMPLES.append(op("CTCLoss", logits, places[:3], labels[:3], lengths, error=error))
    SAMPLES.append(op("CTCLoss", logits[0], places, labels, lengths, error="rank|3-Tensor"))
    SAMPLES.append(op("CTCLoss", logits, places, labels, lengths[:2], error="must be equal|batch"))
    for flags in ({}, {"merge_repeated": True}, {"merge_repeated": True, "blank_index": 0}):
        SAMPLES.append(checked(op("CTCGreedyDecoder", logits, lengths, **flags), rtol=1e-5))
    SAMPLES.append(op("CTCGreedyDecoder", logits, lengths + 5, error="sequence_length"))
    SAMPLES.append(op("CTCGreedyDecoder", logits, lengths[:2], error="equal|batch"))
    SAMPLES.append(op("CTCGreedyDecoder", logits[:0], lengths * 0, error="must not be empty"))
    _beam_rows(logits, lengths)


def _beam_rows(logits: Any, lengths: Any) -> None:
    name = "CTCBeamSearchDecoder"
    for width, paths in ((1, 1), (3, 2), (100, 4)):
        for merge in (False, True):
            attrs = {"beam_width": width, "top_paths": paths, "merge_repeated": merge}
            SAMPLES.append(checked(op(name, logits, lengths, **attrs), rtol=1e-5))
    attrs = {"beam_width": 20, "top_paths": 3}
    long = normal(30, 2, 8, seed=3) * 2
    SAMPLES.append(checked(op(name, long, [30, 12], **attrs), rtol=1e-5))
    rows = sweep("double", name, long, [30, 30], fixed=(1,), **attrs)
    SAMPLES.append(checked(rows, rtol=1e-6))
    flat = np.full((6, 1, 3), [0.1, 0.2, -np.inf], np.float32)
    SAMPLES.append(checked(op(name, flat, [6], beam_width=5, top_paths=2), rtol=1e-5))
    SAMPLES.append(checked(op(name, logits, [0, 4, 0], beam_width=5, top_paths=1), rtol=1e-5))
    row = op(name, logits, [0, 4, 0], beam_width=5, top_paths=2, error="Less leaves")
    SAMPLES.append(row)
    row = op(name, logits, lengths, beam_width=2, top_paths=3, error="more paths")
    SAMPLES.append(row)
    SAMPLES.append(op(name, logits, lengths + 5, error="sequence_length", **attrs))
    SAMPLES.append(op(name, logits, lengths[:2], error="equal|batch", **attrs))
    SAMPLES.append(op(name, logits[0], lengths, error="rank|3-Tensor", **attrs))


_rows()

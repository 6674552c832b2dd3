"""Rows for cuDNN's recurrent networks: only static shapes, because the CPU has no kernels."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Many, Sample, normal, op

SAMPLES: list[Sample | list[Sample]] = []

_X, _H, _PARAMS = normal(7, 3, 4), normal(2, 3, 5, seed=1), normal(300, seed=2)
_KEPT, _ON_HOST = normal(6), np.zeros(2, np.int8)


def _runs() -> None:
    lengths = np.array([7, 6, 5], np.int32)
    for mode in ("lstm", "gru"):
        cell = _H if mode == "lstm" else np.float32(0)
        for direction in ("unidirectional", "bidirectional"):
            attrs = {"rnn_mode": mode, "direction": direction}
            SAMPLES.append(op("CudnnRNN", _X, _H, cell, _PARAMS, **attrs))
            SAMPLES.append(op("CudnnRNNV2", _X, _H, cell, _PARAMS, **attrs))
            SAMPLES.append(op("CudnnRNNV3", _X, _H, cell, _PARAMS, lengths, **attrs))
            outputs = [normal(7, 3, 5), _H, cell, normal(7, 3, 5), _H, cell]
            rest = [_X, _H, cell, _PARAMS]
            SAMPLES.append(op("CudnnRNNBackprop", *rest, *outputs, _KEPT, **attrs))
            SAMPLES.append(op("CudnnRNNBackpropV2", *rest, *outputs, _KEPT, _ON_HOST, **attrs))
            SAMPLES.append(
                op("CudnnRNNBackpropV3", *rest, lengths, *outputs, _KEPT, _ON_HOST, **attrs)
            )
    for name in ("CudnnRNN", "CudnnRNNV2"):
        SAMPLES.append(op(name, normal(7, 3), _H, _H, _PARAMS, error="rank|No OpKernel"))
        SAMPLES.append(op(name, _X, _H, normal(3), _PARAMS, error="rank|No OpKernel"))
        SAMPLES.append(op(name, _X, normal(2, 3), _H, _PARAMS, error="rank|No OpKernel"))
        SAMPLES.append(op(name, _X, _H, _H, normal(3, 4), error="rank|No OpKernel"))
    row = (_X, _H, normal(3), _PARAMS, lengths)
    SAMPLES.append(op("CudnnRNNV3", *row, error="rank|No OpKernel"))


def _parameters() -> None:
    sizes = [2, 5, 4]
    SAMPLES.append(op("CudnnRNNParamsSize", *sizes, T="float32", S="int32"))
    SAMPLES.append(op("CudnnRNNParamsSize", [2], 5, 4, T="float32", S="int64", error="rank"))
    weights, biases = Many([normal(5, 4), normal(5, 5)]), Many([normal(5), normal(5)])
    SAMPLES.append(op("CudnnRNNCanonicalToParams", *sizes, weights, biases))
    SAMPLES.append(op("CudnnRNNCanonicalToParamsV2", *sizes, weights, Many([normal(5)])))
    SAMPLES.append(op("CudnnRNNParamsToCanonical", *sizes, _PARAMS, num_params=3))
    SAMPLES.append(
        op(
            "CudnnRNNParamsToCanonicalV2",
            *sizes,
            _PARAMS,
            num_params_weights=2,
            num_params_biases=3,
        )
    )
    SAMPLES.append(
        op("CudnnRNNParamsToCanonical", *sizes, normal(3, 4), num_params=3, error="rank")
    )


_runs()
_parameters()

"""Rows for Fourier transforms and other ops of signals."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, normal, op, sweep

SAMPLES: list[Sample | list[Sample]] = []


def _complex(*shape: int) -> np.ndarray:
    return (normal(*shape) + 1j * normal(*shape, seed=1)).astype(np.complex64)


def _fourier() -> None:
    loose = {"rtol": 1e-5, "atol": 1e-5}
    for rank, suffix in ((1, ""), (2, "2D"), (3, "3D")):
        for name in (f"FFT{suffix}", f"IFFT{suffix}"):
            SAMPLES.append(checked(sweep("complex64 complex128", name, _complex(2, 3, 4)), **loose))
            SAMPLES.append(
                checked(
                    op(name, _complex(2, 4, 5, 7)[0] if rank < 3 else _complex(2, 4, 5, 7)), **loose
                )
            )
            SAMPLES.append(checked(op(name, _complex(2, 0, 4)), gradient=False))
            SAMPLES.append(
                op(
                    name,
                    np.complex64(1) if rank == 1 else _complex(3),
                    error="at least rank|rank of at least",
                )
            )
        x = normal(2, 4, 5, 6)
        half = _complex(2, 4, 5, 4)
        for lengths in ([4, 5, 6], [3, 4, 5], [4, 5, 4], [2, 1, 1]):
            wanted = lengths[3 - rank :]
            # TensorFlow's gradient mistakes a signal cut to a single value for a broadcast one.
            options = {**loose, "gradient": wanted[-1] > 1}
            SAMPLES.append(checked(op(f"RFFT{suffix}", x, wanted), **options))
            SAMPLES.append(checked(op(f"IRFFT{suffix}", half, wanted), **options))
        SAMPLES.append(
            checked(
                op(
                    f"RFFT{suffix}",
                    x.astype(np.float64),
                    [4, 5, 6][3 - rank :],
                    Tcomplex="complex128",
                ),
                **loose,
            )
        )
        SAMPLES.append(
            checked(
                op(
                    f"IRFFT{suffix}",
                    half.astype(np.complex128),
                    [4, 5, 6][3 - rank :],
                    Treal="float64",
                ),
                **loose,
            )
        )
        SAMPLES.append(op(f"RFFT{suffix}", x, [9] * rank, error="length of at least 9"))
        SAMPLES.append(
            op(f"IRFFT{suffix}", half, [4, 5, 9][3 - rank :], error="length of at least 5")
        )
        SAMPLES.append(op(f"RFFT{suffix}", x, [4] * (rank + 1), error="must be|fft_length"))
        SAMPLES.append(op(f"RFFT{suffix}", x, [-1] * rank, error="must be >= 0|must >= 0"))


_fourier()

"""The access to NumPy and CuPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tfnb.core import array_module


class NotAnArray:
    """A resource handle, for example."""


def test_host_values_pass_through() -> None:
    """Without a GPU array there is nothing to fetch, whatever the value is."""
    for value in (np.zeros(3), np.float32(1), np.array([b"a"], object), NotAnArray(), None):
        assert array_module.to_host(value) is value
        assert not array_module.is_device_array(value)
        assert array_module.module_of(value) is np


def test_a_host_array_of_rank_0_can_be_indexed() -> None:
    """as_host_array turns NumPy scalars into arrays."""
    assert array_module.as_host_array(np.float32(2))[()] == 2


def test_what_a_gpu_cannot_hold_stays() -> None:
    """Strings and objects without a GPU form are returned unchanged, with or without CuPy."""
    for value in (np.array([b"a"], object), NotAnArray()):
        assert array_module.to_device(value, 0) is value


@pytest.mark.gpu
def test_arrays_go_to_the_gpu_and_back() -> None:
    """Type, shape and bits are kept; an array on the GPU is not copied."""
    for host in (
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.float16(1.5),
        np.array([True, False]),
        np.array([1 + 2j], np.complex64),
        np.zeros((0, 3), np.int64),
    ):
        there = array_module.to_device(host, 0)

        assert array_module.is_device_array(there)
        assert array_module.module_of(there).__name__ == "cupy"
        assert array_module.to_device(there, 0) is there
        back = array_module.to_host(there)
        assert (back.dtype, back.shape) == (host.dtype, host.shape)
        assert back.tobytes() == host.tobytes()


@pytest.mark.gpu
def test_types_without_a_gpu_form_stay_on_the_host() -> None:
    """can_hold decides by type; values it refuses are returned unchanged."""
    value = np.zeros(3, ml_dtypes.int4)

    assert not array_module.can_hold(value.dtype)
    assert array_module.to_device(value, 0) is value
    assert array_module.gpu_count() >= 1

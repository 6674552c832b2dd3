"""Which GPU devices a session has, by its GPUOptions."""

from __future__ import annotations

import pytest

from tfnb.common_runtime.device.gpu_options import GpuSpec, gpu_specs, visible_gpus
from tfnb.core import errors
from tfnb.proto import config_pb2

GB = 1 << 30


def specs(num_gpus=2, at_most=None, **fields):
    """The devices for options with these fields; each GPU has 4 GB."""
    options = config_pb2.GPUOptions(**fields)
    return gpu_specs(options, num_gpus, lambda index: 4 * GB, at_most)


def virtual(*limits, **more):
    """Return options with GPUs divided into parts of n MB."""
    experimental = config_pb2.GPUOptions.Experimental(
        virtual_devices=[
            config_pb2.GPUOptions.Experimental.VirtualDevices(memory_limit_mb=one) for one in limits
        ]
    )
    return {"experimental": experimental, **more}


def test_all_gpus_are_used_without_a_limit():
    """Options about memory growth do not change the number of devices."""
    assert specs() == [GpuSpec(0), GpuSpec(1)]
    assert specs(allow_growth=True, allocator_type="BFC", force_gpu_compatible=True) == specs()


def test_there_are_as_many_as_asked_for_at_most():
    """device_count["GPU"] limits them; without a GPU there is none, whatever the options are."""
    assert specs(at_most=1) == [GpuSpec(0)]
    assert specs(at_most=0) == specs(num_gpus=0, visible_device_list="7") == []


def test_the_visible_devices_are_used_in_their_order():
    """The list has CUDA's numbers."""
    assert specs(num_gpus=3, visible_device_list="2,0") == [GpuSpec(2), GpuSpec(0)]
    assert specs(num_gpus=3, visible_device_list="2,0", at_most=1) == [GpuSpec(2)]


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("0,x", "Could not parse entry in 'visible_device_list': 'x'"),
        ("0,", "Could not parse entry"),
        ("5", "invalid Device id '5' but visible device count is 2"),
        ("-1", "invalid Device id '-1'"),
        ("1,1", "visible_device_list contained a duplicate entry: 1,1"),
    ],
)
def test_a_list_that_names_no_devices_is_refused(listed, message):
    """The message says what is wrong in the list."""
    with pytest.raises(errors.InvalidArgumentError, match=message):
        visible_gpus(listed, 2)


def test_a_fraction_limits_the_memory():
    """Each GPU is limited; a fraction above 1 means memory that moves between host and GPU."""
    assert specs(per_process_gpu_memory_fraction=0.25) == [GpuSpec(0, 0, GB), GpuSpec(1, 0, GB)]
    assert specs(num_gpus=1, per_process_gpu_memory_fraction=2.0) == [
        GpuSpec(0, 0, 8 * GB, uses_unified_memory=True)
    ]


def test_one_gpu_can_be_several_devices():
    """Each part has its share of memory; a GPU without an entry is one device."""
    assert specs(**virtual([1024, 2048])) == [
        GpuSpec(0, 0, GB),
        GpuSpec(0, 1, 2 * GB),
        GpuSpec(1),
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"per_process_gpu_memory_fraction": -0.5}, "must not be negative"),
        ({"allocator_type": "slab"}, "Invalid allocator type 'slab'"),
        (virtual([1], [1], [1]), "3 entries, one for each visible GPU, but there are 2"),
        (virtual([3000, 3000]), "together at most 4096 MB"),
        (virtual([0]), "must be positive"),
        (
            virtual([1], per_process_gpu_memory_fraction=0.5),
            "invalid to set per_process_gpu_memory_fraction when virtual_devices is set",
        ),
    ],
)
def test_options_that_cannot_be_met_are_refused(fields, message):
    """The error is raised before any device is made."""
    with pytest.raises(errors.InvalidArgumentError, match=message):
        specs(**fields)

"""Device names."""

from __future__ import annotations

import pytest

from tests.core import golden_values
from tfnb.core import device_spec, errors

HERE = "/job:localhost/replica:0/task:0/device:CPU:0"


def test_device_specs_are_tensorflows() -> None:
    """Reading, writing, merging and every error are the recorded ones."""
    assert golden_values.disagreements("device_spec", golden_values.tfnb_names()) == []


@pytest.mark.parametrize(
    "name",
    [
        *(
            "cpu:0",
            "/cpu",
            "/Cpu:0",
            "/tpu:0",
            "//cpu:0",
            "/cpu:0/",
            "/bogus:0",
            "/job:",
            "/job:a-b",
        ),
        *("/job:1a", "/replica:x", "/task:-1", "/task:1a", "/device:CPU:", "/device:1CPU:0"),
        *("/device:C-PU:0", "/task:99999999999999999999", "/device:CPU:x", "/job:w:1"),
    ],
)
def test_the_runtime_refuses_malformed_names(name: str) -> None:
    """Names that TensorFlow's runtime refuses are refused, although scopes accept them."""
    assert device_spec.parse_full_name(name) is None


@pytest.mark.parametrize(
    ("name", "text", "is_here"),
    [
        ("", "", True),
        ("/", "", True),
        ("/device:CPU", "/device:CPU:*", True),
        ("/device:*:0", "", True),
        ("/device:*:1", "", False),
        ("/job:*/replica:*/task:*/device:*:*", "", True),
        ("/task:0/job:localhost/cpu:0", "/job:localhost/task:0/device:CPU:0", True),
        ("/device:CPU:00", "/device:CPU:0", True),
        ("/gpu:0/cpu:0", "/device:CPU:0", True),
        ("/cpu:0/gpu:0", "/device:GPU:0", False),
        ("/device:cpu:0", "/device:cpu:0", False),
        ("/job:a_b/CPU:0", "/job:a_b/device:CPU:0", False),
    ],
)
def test_the_runtime_reads_names_as_tensorflows_does(name: str, text: str, is_here: bool) -> None:
    """Parts may have any order, the last one applies, and types are case-sensitive."""
    spec = device_spec.parse_full_name(name)

    assert spec is not None
    assert device_spec.canonical_name(spec) == text
    assert device_spec.is_same_or_compatible(name, HERE) == is_here


def test_a_device_function_lets_the_inner_scope_win() -> None:
    """Fields of the op are kept; the spec fills the others."""

    class Op:
        device = "/device:GPU:3"

    function = device_spec.merge_device("/job:a/cpu:0")

    assert function(Op()).to_string() == "/job:a/device:GPU:3"
    assert device_spec.merge_device("/job:a/device:CPU:0") is function
    assert device_spec.merge_device("").is_null_merge
    with pytest.raises(ValueError, match="Unknown attribute 'bogus'"):
        device_spec.merge_device("/bogus:1")


def test_complete_names() -> None:
    """A complete name has all five parts; two in one process share the first three."""
    assert device_spec.full_name("localhost", 0, 0, "CPU", 0) == HERE
    assert device_spec.is_complete(HERE)
    assert not device_spec.is_complete("/cpu:0")
    assert device_spec.is_same_address_space(HERE, HERE.replace("CPU:0", "GPU:1"))
    assert not device_spec.is_same_address_space(HERE, HERE.replace("task:0", "task:1"))


def test_names_of_a_colocation_group_merge() -> None:
    """Each part may come from either name; with soft placement type and number may clash."""
    assert device_spec.merge_names("/job:a", "/gpu:*") == "/job:a/device:GPU:*"
    assert device_spec.merge_names("/device:*:1", "/job:a") == "/job:a/device:*:1"
    soft = device_spec.merge_names("/job:a/gpu:0", "/cpu:1", allow_soft_placement=True)
    assert soft == "/job:a"
    soft = device_spec.merge_names("/gpu:0", "/gpu:1", allow_soft_placement=True)
    assert soft == "/device:GPU:*"


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ("/job:a", "/job:b", "Cannot merge devices with incompatible jobs: '/job:a' and '/job:b'"),
        ("/replica:0", "/replica:1", "incompatible replicas"),
        ("/task:0", "/task:1", "incompatible tasks"),
        ("/cpu:0", "/gpu:0", "Cannot merge devices with incompatible types"),
        ("/cpu:0", "/cpu:1", "incompatible ids"),
        ("/cpu:0", "cpu:0", "Malformed device specification 'cpu:0'"),
    ],
)
def test_names_that_contradict_each_other_do_not_merge(left: str, right: str, message: str) -> None:
    """The error says which part and names both devices."""
    with pytest.raises(errors.InvalidArgumentError, match=message):
        device_spec.merge_names(left, right)

"""Native callables: handles, spliced tensors, tensors that stay on a device."""

from __future__ import annotations

import numpy as np
import pytest

from tests.common_runtime.graph_defs import binary, const, node, placeholder, session
from tfnb.core import dtypes, errors
from tfnb.proto import config_pb2

F = np.float32
CPU = "/job:localhost/replica:0/task:0/device:CPU"


def sums(**fields):
    """S = p + 1, t = s + s, switched = Switch(p, True)."""
    return session(
        placeholder("p"),
        const("one", 1.0),
        const("five", 5.0),
        const("yes", True, dtypes.bool),
        binary("s", "Add", "p", "one"),
        binary("t", "Add", "s", "s"),
        node("switched", "Switch", "p", "yes", T=dtypes.float32),
        **fields,
    )


def options(*fetch, feed=(), feed_devices=None, fetch_devices=None, skip=False, splice=()):
    """A CallableOptions."""
    made = config_pb2.CallableOptions(feed=feed, fetch=fetch, fetch_skip_sync=skip)
    made.feed_devices.update(feed_devices or {})
    made.fetch_devices.update(fetch_devices or {})
    for source, to in splice:
        made.tensor_connection.add(from_tensor=source, to_tensor=to)
    return made


# -- handles ---------------------------------------------------------------------------------------


def test_handles_of_one_session_are_its_own():
    """Released, unknown and wrongly fed handles have different errors."""
    native = sums()
    first = native.make_callable(options("s:0", feed=["p:0"]))
    second = native.make_callable(options("t:0", feed=["p:0"]))
    assert native.run_callable(second, [F(1)]) == [4.0]
    native.release_callable(first)
    with pytest.raises(
        errors.InvalidArgumentError, match="Attempted to run callable after handle was released"
    ):
        native.run_callable(first, [F(1)])
    with pytest.raises(errors.InvalidArgumentError, match="No such callable handle: 99"):
        native.run_callable(99, [F(1)])
    with pytest.raises(errors.InvalidArgumentError, match="No such callable handle"):
        native.release_callable(first)
    for feeds in ([], [F(1), F(2)]):
        with pytest.raises(
            errors.InvalidArgumentError, match=f"Expected 1 feed tensors, but got {len(feeds)}"
        ):
            native.run_callable(second, feeds)
    assert native.run_callable(second, [F(2)]) == [6.0]


# -- spliced tensors -------------------------------------------------------------------------------


def test_one_source_may_stand_for_several_tensors():
    """s is 5 + 5, and the Switch passes 5, too."""
    native = sums()
    handle = native.make_callable(
        options("t:0", "switched:1", splice=[("five:0", "p:0"), ("five:0", "one:0")])
    )
    assert native.run_callable(handle, []) == [20.0, 5.0]


def test_a_spliced_callable_leaves_the_graph_alone():
    """Other signatures do not change."""
    native = sums()
    native.make_callable(options("t:0", splice=[("five:0", "p:0")]))
    assert native.run({"p:0": F(0)}, ["t:0"], []) == [2.0]


@pytest.mark.parametrize(
    ("splice", "feed", "error", "message"),
    [
        (("t:0", "p:0"), (), errors.InvalidArgumentError, "would create a cycle"),
        (("zz:0", "p:0"), (), errors.InvalidArgumentError, "unknown node"),
        (("five:7", "p:0"), (), errors.InvalidArgumentError, "unknown edge"),
        (("five:0", "zz:0"), (), errors.NotFoundError, "unable to find feed output zz:0"),
        (("five:0", "p:5"), (), errors.InvalidArgumentError, "should have output index < 1"),
        (("five:0", "p:0"), ("p:0",), errors.InvalidArgumentError, "fed more than once"),
    ],
)
def test_a_connection_that_does_not_fit_is_refused(splice, feed, error, message):
    """The error is raised when the callable is made; the session stays usable."""
    native = sums()
    with pytest.raises(error, match=message):
        native.make_callable(options("t:0", feed=feed, splice=[splice]))
    assert native.run({"p:0": F(0)}, ["t:0"], []) == [2.0]


# -- tensors that stay on a device -----------------------------------------------------------------


@pytest.mark.parametrize("device", [f"{CPU}:0", f"{CPU}:1"])
def test_tensors_may_come_from_and_stay_on_a_device(device):
    """CPU devices share memory, so values do not change."""
    native = sums(device_count={"CPU": 2})
    handle = native.make_callable(
        options(
            "t:0",
            feed=["p:0"],
            feed_devices={"p:0": device, "unused:0": device},
            fetch_devices={"t:0": device},
            skip=True,
        )
    )
    assert native.run_callable(handle, [F(3)]) == [8.0]


def test_a_text_may_lie_on_a_processor():
    """A CPU device holds values of every type."""
    native = session(placeholder("p", dtypes.string), node("i", "Identity", "p", T=dtypes.string))
    handle = native.make_callable(
        options(
            "i:0",
            feed=["p:0"],
            feed_devices={"p:0": f"{CPU}:0"},
            fetch_devices={"i:0": f"{CPU}:0"},
            skip=True,
        )
    )
    (found,) = native.run_callable(handle, [np.array(b"x", dtype=object)])
    assert found == b"x"


def test_a_fetch_left_on_a_device_needs_fetch_skip_sync():
    """The message is TensorFlow's."""
    with pytest.raises(errors.UnimplementedError, match="fetch_skip_sync = false is not yet"):
        sums().make_callable(options("s:0", feed=["p:0"], fetch_devices={"s:0": f"{CPU}:0"}))


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("odd", r"Invalid device name \('odd'\) provided for the tensor 'p:0' in CallableOptions"),
        (f"{CPU}:9", "CPU:9' specified for tensor 'p:0' in CallableOptions does not exist"),
        ("/cpu:0", "'/cpu:0' specified for tensor 'p:0' in CallableOptions does not exist"),
    ],
)
def test_a_device_that_is_not_there_is_refused(device, message):
    """Only full device names are accepted."""
    with pytest.raises(errors.InvalidArgumentError, match=message):
        sums().make_callable(options("s:0", feed=["p:0"], feed_devices={"p:0": device}))
    with pytest.raises(errors.InvalidArgumentError, match="in CallableOptions"):
        sums().make_callable(options("s:0", feed=["p:0"], fetch_devices={"s:0": device}, skip=True))


def test_a_device_may_refuse_types():
    """A device may refuse types, as GPUs do for those in host memory."""

    class Picky:
        """A device that refuses strings."""

        def check_can_hold(self, tensor, dtype):
            """Refuses texts."""
            if dtype is dtypes.string:
                raise errors.unimplemented(f"not yet supported: {tensor}")

    native = session(
        placeholder("p", dtypes.string), node("i", "Identity", "p", T=dtypes.string),
        device_count={"CPU": 2},
    )  # fmt: skip
    device = native.local_device_manager().devices[1]
    device.check_can_hold = Picky().check_can_hold
    with pytest.raises(errors.UnimplementedError, match="not yet supported: p:0"):
        native.make_callable(options("i:0", feed=["p:0"], feed_devices={"p:0": device.name}))

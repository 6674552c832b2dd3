"""The panel's comm in a separate kernel, used like a page does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tfnb.notebook.lab.lab_link import COMM_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow
LIMIT_S = 90

ENDLESS = """
with tf.Graph().as_default(), tf.Session() as sess:
    loop = tf.while_loop(lambda k: k >= 0, lambda k: (k + 1) % 9, [0])
    try:
        sess.run(loop)
    except tf.errors.CancelledError as error:
        print("ended:", error.message)
"""


class Kernel:
    """A kernel and its messages."""

    def __init__(self) -> None:
        from jupyter_client.manager import start_new_kernel

        self.manager, self.client = start_new_kernel(startup_timeout=LIMIT_S, kernel_name="python3")

    def close(self) -> None:
        """Ends it."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def wait(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the first matching message of the public channel."""
        while True:
            message: dict[str, Any] = self.client.get_iopub_msg(timeout=LIMIT_S)
            if fits(message):
                return message

    def wait_for(self, kind: str, **wanted: Any) -> dict[str, Any]:
        """Return the next message of a kind to the panel."""

        def fits(message: dict[str, Any]) -> bool:
            content = message["content"]
            return (
                message["msg_type"] == "comm_msg"
                and content["comm_id"] == COMM_ID
                and content["data"]["kind"] == kind
            )

        found: dict[str, Any] = self.wait(fits)["content"]["data"]
        return found

    def say(self, request: str, **words: Any) -> None:
        """Send a message of the panel."""
        content = {"comm_id": COMM_ID, "data": {"request": request, **words}}
        self.client.shell_channel.send(self.client.session.msg("comm_msg", content))


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    """One kernel for all tests."""
    pytest.importorskip("ipykernel")
    found = Kernel()
    try:
        found.client.execute("%load_ext tfnb\nimport tfnb as tf")
        assert found.wait_for("hello")["version"]
        yield found
    finally:
        found.close()


def _running(told: dict[str, Any]) -> list[tuple[str, int]]:
    return [(one["key"], step["step"]) for one in told["sessions"] for step in one["running"]]


def test_a_page_finds_the_kernel_after_a_reload(kernel: Kernel) -> None:
    """The page lists the comms, because none was announced."""
    reply = kernel.client.comm_info(target_name=COMM_ID, reply=True, timeout=LIMIT_S)
    assert list(reply["content"]["comms"]) == [COMM_ID]
    kernel.say("hello")
    assert kernel.wait_for("hello")["renderer"]


def test_a_running_cell_is_looked_into_and_its_step_is_cancelled(kernel: Kernel) -> None:
    """Requests are answered while the cell runs."""
    cell = kernel.client.execute(ENDLESS)
    kernel.say("watch")
    while not (running := _running(kernel.wait_for("snapshot"))):
        pass
    session, step = running[0]
    kernel.say("open", view="graph", session=session, id="a1")
    opened = kernel.wait_for("opened")
    assert (opened["id"], opened["view"]) == ("a1", f"graph/{session}")
    kernel.say("cancel", session=session, step=step)
    printed = ""
    while "\n" not in printed:  # a line may come in pieces
        printed += kernel.wait(
            lambda one: one["msg_type"] == "stream" and one["parent_header"].get("msg_id") == cell
        )["content"]["text"]
    assert "cancelled in JupyterLab" in printed


def test_unloading_announces_the_end(kernel: Kernel) -> None:
    """Unloading announces the end, and loading again announces a new link."""
    kernel.say("hello")
    before = kernel.wait_for("hello")["kernel"]
    kernel.client.execute("%reload_ext tfnb")
    kernel.wait_for("gone")
    assert kernel.wait_for("hello")["kernel"] != before

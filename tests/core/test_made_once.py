"""A property that several threads read is computed once."""

from __future__ import annotations

import threading

from tfnb.core.process.made_once import made_once

LIMIT_S = 60.0


def test_two_threads_get_the_same_object() -> None:
    """The second thread waits while the first one computes."""
    begun, may_go, made = threading.Event(), threading.Event(), []

    class Owner:
        @made_once
        def part(self) -> object:
            """Compute slowly."""
            begun.set()
            assert may_go.wait(LIMIT_S)
            made.append(object())
            return made[-1]

    owner, found = Owner(), []
    threads = [threading.Thread(target=lambda: found.append(owner.part)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert begun.wait(LIMIT_S)
    may_go.set()
    for thread in threads:
        thread.join(LIMIT_S)
    assert len(made) == 1
    assert found == [made[0], made[0]]
    assert Owner.part is Owner.__dict__["part"]

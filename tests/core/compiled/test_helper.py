"""Kernels are compiled once, and what cannot be compiled is refused with one line in the log."""

from __future__ import annotations

import logging
import os
import threading

import pytest

from tests.forked import in_child
from tfnb.core.compiled import helper
from tfnb.core.compiled.helper import Helper
from tfnb.core.process import forking

pytest.importorskip("llvmlite")

SOURCE = "define i64 @KERNEL(i64 %x) {\n  %y = add i64 %x, 1\n  ret i64 %y\n}"


@pytest.fixture(name="own")
def _own():
    made = Helper()
    yield made
    made.end()


def test_kernel_is_compiled_once(own):
    """A second request for the same source gets the same kernel."""
    kernel = own.request(SOURCE, ("",))
    assert own.request(SOURCE, ("",)) is kernel
    own.wait()
    assert len(kernel.addresses) == 1
    assert kernel.addresses[0] != 0


def test_kernel_that_does_not_pay_is_only_looked_for(own, monkeypatch, tmp_path):
    """It is compiled once it pays; the next process finds it on disk."""
    monkeypatch.setenv("TFNB_CACHE", str(tmp_path))
    kernel = own.request(SOURCE, ("",), pays=False)
    own.wait()
    assert not kernel.addresses
    assert not kernel.is_pending
    assert own.request(SOURCE, ("",), pays=False) is kernel
    assert own.request(SOURCE, ("",)) is kernel
    own.wait()
    assert kernel.addresses
    other = Helper()
    found = other.request(SOURCE, ("",), pays=False)
    other.wait()
    other.end()
    assert found.addresses


def test_source_that_llvm_refuses_fails_alone(own, caplog):
    """One line in the log; other kernels are compiled."""
    with caplog.at_level(logging.WARNING, "tfnb"):
        bad, good = own.request("define", ("",)), own.request(SOURCE, ("",))
        own.wait()
    assert bad.failure
    assert not bad.addresses
    assert good.addresses
    assert len(caplog.records) == 1


def test_code_without_the_function_is_not_called(own, caplog):
    """A kernel whose function is missing fails, with one line in the log."""
    with caplog.at_level(logging.WARNING, "tfnb"):
        kernel = own.request(SOURCE, ("", "_other"))
        own.wait()
    assert "lacks a function" in kernel.failure
    assert not kernel.addresses
    assert len(caplog.records) == 1


def test_broken_package_refuses_everything(own, caplog, monkeypatch):
    """An import that fails is tried once."""

    def fail():
        raise ImportError("broken")

    monkeypatch.setattr(helper, "_make_engine", fail)
    with caplog.at_level(logging.WARNING, "tfnb"):
        kernels = [own.request(f"{SOURCE};{i}", ("",)) for i in range(3)]
        own.wait()
    assert {one.failure for one in kernels} == {"ImportError: broken"}
    assert len(caplog.records) == 1
    assert own.request(f"{SOURCE};9", ("",)).failure


def test_child_of_a_compiling_process_compiles_nothing(own):
    """The thread that held LLVM's locks does not exist there."""
    own._is_busy = True
    own.renew_after_fork()
    assert "forked" in own.request(SOURCE, ("",)).failure


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_waits_for_the_import_of_llvm(own, monkeypatch):
    """A child could not import the modules that the helper thread was importing."""
    begun, goes_on, ended = threading.Event(), threading.Event(), threading.Event()

    def import_slowly():
        begun.set()
        goes_on.wait()
        ended.set()
        raise ImportError("no module")

    monkeypatch.setattr(helper, "_make_engine", import_slowly)
    monkeypatch.setattr(forking, "_PATIENCE_S", 200.0)
    own.request(SOURCE, ("",))
    assert begun.wait(200.0)
    # This runs before those that wait for locks: the import ends while the fork is under way.
    os.register_at_fork(before=goes_on.set)

    def child():
        assert ended.is_set()

    in_child(child)
    own.wait()


def test_failures_of_one_kind_are_told_once(own, caplog, monkeypatch):
    """A defect of the installation would fill the log with a line for each kernel."""

    class Failing:
        def addresses(self, source, parts, compiles):
            raise MemoryError

        def keep(self):
            pass

    monkeypatch.setattr(helper, "_make_engine", Failing)
    with caplog.at_level(logging.WARNING, "tfnb"):
        kernels = [own.request(f"{SOURCE};{i}", ("",)) for i in range(3)]
        own.wait()
    assert {one.failure for one in kernels} == {"MemoryError: "}
    assert [one.message.endswith(": MemoryError: ") for one in caplog.records] == [True]


def test_child_of_an_idle_process_compiles(own):
    """It starts a thread of its own."""
    own.renew_after_fork()
    kernel = own.request(SOURCE, ("",))
    own.wait()
    assert kernel.addresses


@pytest.mark.parametrize(
    ("installed", "variable", "expected"),
    [
        (True, "1", True),
        (True, "0", False),
        (True, "False", False),
        (True, "other", True),
        (False, "1", False),
    ],
)
def test_availability(monkeypatch, installed, variable, expected):
    """Without the package, and with TFNB_COMPILED=0, no kernel is compiled."""
    monkeypatch.setattr(helper, "_is_installed", None)
    monkeypatch.setattr(helper, "PACKAGE", "llvmlite" if installed else "no_such_package")
    monkeypatch.setenv("TFNB_COMPILED", variable)
    assert helper.is_available() is expected

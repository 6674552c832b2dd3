"""The project's own workloads answer the commands of the runner."""

from __future__ import annotations

import argparse

import numpy as np
import pytest

import tfnb as tf
from benchmarks import server


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> server.Runner:
    """A server of this process."""
    monkeypatch.setattr(server, "np", np)
    return server.Runner(tf, argparse.Namespace(threads=0, only="feeds,start"))


def test_workloads_are_chosen_by_parts_of_names_and_by_groups(runner: server.Runner) -> None:
    """``--only`` takes parts of names, and groups."""
    assert runner.list() == {"names": ["feeds", "installed_size"]}


def test_a_curve_has_a_variant_per_size(runner: server.Runner) -> None:
    """Each variant is checked when it is opened, and timed block by block."""
    opened = runner.open("feeds")
    assert opened["variants"] == ["1", "10", "100"]
    assert opened["spec"]["what"] == "Feed N arrays of 4 elements, run an op on each, fetch all."
    block = runner.block("10")
    assert block["value"] > 0
    assert runner.close() == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["partitions", "tensor_size", "threads", "installed_size"])
def test_a_workload_gives_what_it_checks(
    runner: server.Runner, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each workload's result equals the one computed by hand; a figure is a positive number."""
    monkeypatch.setattr(server, "BLOCK_S", 1e-9)
    opened = runner.open(name)
    assert runner.block(opened["variants"][0])["value"] > 0
    runner.close()

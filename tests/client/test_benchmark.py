"""``tf.test.Benchmark`` and ``tf.test.StubOutForTesting``; ``tf.Module``; switches."""

from __future__ import annotations

import datetime
import types

import pytest

import tfnb as tf
from tfnb.client.testing.benchmark import run_benchmarks


def test_a_benchmark_reports_what_it_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """A benchmark reports steps, seconds and extra values, and runs by its name."""

    class Squares(tf.test.Benchmark):
        def benchmarkSquare(self) -> None:
            with tf.Graph().as_default(), tf.Session(config=tf.test.benchmark_config()) as sess:
                x = tf.placeholder(tf.float32)
                result = self.run_op_benchmark(
                    *(sess, tf.square(x), {x: 2.0}),
                    min_iters=3,
                    store_trace=True,
                    extras={"size": 1},
                )
                assert self.evaluate(tf.constant(3)) == 3
            assert result["iters"] == 3
            assert result["name"] == "Squares.benchmarkSquare"
            assert result["wall_time"] > 0
            assert "traceEvents" in result["extras"]["full_trace_chrome_format"]

    assert not Squares.is_abstract()
    assert run_benchmarks("Squares.benchmarkSquare") == 1
    out = capsys.readouterr().out
    assert out.startswith("benchmark Squares.benchmarkSquare: iters: 3, wall_time: ")
    assert "size: 1" in out


def test_replaced_attributes_come_back() -> None:
    """Attributes of modules, classes and objects are restored in any order of replacement."""
    module = types.ModuleType("m")
    module.f = lambda: 1  # type: ignore[attr-defined]

    class Base:
        @staticmethod
        def g() -> int:
            return 1

    class Derived(Base):
        pass

    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(module, "f", lambda: 2)
        stubs.Set(module, "f", lambda: 3)
        stubs.SmartSet(Derived, "g", staticmethod(lambda: 4))
        assert (module.f(), Derived.g(), Base.g()) == (3, 4, 4)
        with pytest.raises(AttributeError, match="nothing"):
            stubs.SmartSet(Derived, "nothing", 1)
    assert (module.f(), Derived.g(), Base.g()) == (1, 1, 1)
    assert isinstance(vars(Base)["g"], staticmethod)


def test_a_module_knows_its_variables() -> None:
    """Variables in attributes, lists, dicts and modules are found once each."""

    class Dense(tf.Module):
        def __init__(self, size: int, name: str | None = None) -> None:
            super().__init__(name)
            with self.name_scope:
                self.w = tf.Variable(tf.ones([size]), name="w")
                self.step = tf.Variable(0, trainable=False, name="step")

        @tf.Module.with_name_scope
        def __call__(self, x: object) -> object:
            return tf.multiply(x, self.w, name="out")

    class Net(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [Dense(2), Dense(2)]
            self.by_name = {"again": self.layers[0], "b": tf.Variable(0.5, name="b")}

    with tf.Graph().as_default():
        net = Net()
        assert net.name == "net"
        assert len(net.variables) == 5
        assert len(net.trainable_variables) == 3
        assert len(net.non_trainable_variables) == 2
        assert net.submodules == tuple(net.layers)
        assert net.layers[1].w.op.name == "dense_1/w"
        assert net.layers[1]([1.0, 2.0]).op.name == "dense_1/out"
        with pytest.raises(ValueError, match="not a valid module name"):
            tf.Module("a-b")


def test_a_module_is_saved(tmp_path: object) -> None:
    """``tf.train.Checkpoint`` saves a module."""
    with tf.Graph().as_default(), tf.Session() as sess:
        module = tf.Module("m")
        module.v = tf.Variable(3.0)  # type: ignore[attr-defined]
        sess.run(tf.global_variables_initializer())
        root = tf.train.Checkpoint(module=module)
        path = root.write(f"{tmp_path}/m", sess)
        assert "module/v/.ATTRIBUTES/VARIABLE_VALUE" in dict(tf.train.list_variables(path))


def test_switches_and_small_names() -> None:
    """Switches return their state and refuse wrong values."""
    tf.debugging.disable_traceback_filtering()
    assert not tf.debugging.is_traceback_filtering_enabled()
    tf.debugging.enable_traceback_filtering()
    with tf.errors.raise_exception_on_not_ok_status() as status:
        assert status.code == 0
    with pytest.raises(tf.errors.NotFoundError, match="gone"):
        with tf.errors.raise_exception_on_not_ok_status() as status:
            status.code, status.message = tf.errors.NOT_FOUND, "gone"
    today = datetime.date.today()
    assert not tf.compat.forward_compatible(today.year + 1, 1, 1)
    with tf.compat.forward_compatibility_horizon(today.year + 2, 1, 1):
        assert tf.compat.forward_compatible(today.year + 1, 1, 1)
    with tf.Graph().as_default():
        assert tf.is_symbolic_tensor(tf.constant(1))
        assert not tf.is_symbolic_tensor(1)

"""``tf.config``: settings for sessions that are opened without a configuration."""

from __future__ import annotations

from typing import Any

import pytest

import tfnb as tf
from tfnb.client.session import process_config
from tfnb.core import array_module


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear the settings before and after each test."""
    monkeypatch.setattr(process_config, "_config", tf.ConfigProto())
    monkeypatch.setattr(process_config, "_devices", process_config._Devices())


def config_of_a_session(**options: Any) -> tf.ConfigProto:
    """Return the configuration of a new session."""
    with tf.Session(graph=tf.Graph(), **options) as sess:
        return sess._config


def test_a_session_has_the_settings_as_it_is_opened() -> None:
    """Later settings apply to later sessions.

    A session's own configuration replaces all of them.
    """
    assert config_of_a_session() == tf.ConfigProto()
    tf.config.threading.set_inter_op_parallelism_threads(3)
    tf.config.threading.set_intra_op_parallelism_threads(2)
    tf.config.set_soft_device_placement(True)
    found = config_of_a_session()
    tf.config.set_soft_device_placement(False)
    assert found.inter_op_parallelism_threads == 3
    assert found.intra_op_parallelism_threads == 2
    assert found.allow_soft_placement
    assert not config_of_a_session().allow_soft_placement
    assert config_of_a_session(config=tf.ConfigProto()) == tf.ConfigProto()
    assert tf.config.threading.get_inter_op_parallelism_threads() == 3
    assert tf.config.threading.get_intra_op_parallelism_threads() == 2
    assert tf.config.get_soft_device_placement() is False
    sess = tf.InteractiveSession(graph=tf.Graph())
    sess.close()
    assert sess._config.inter_op_parallelism_threads == 3


def test_one_cpu_is_used_as_several_devices() -> None:
    """Logical CPU devices are listed and configured as in TensorFlow."""
    (cpu,) = tf.config.list_physical_devices("CPU")
    assert cpu == tf.config.PhysicalDevice("/physical_device:CPU:0", "CPU")
    one = tf.config.LogicalDeviceConfiguration()
    assert tf.config.get_logical_device_configuration(cpu) is None
    tf.config.set_logical_device_configuration(cpu, [one, one])
    assert tf.config.experimental.get_virtual_device_configuration(cpu) == [one, one]
    names = [device.name for device in tf.config.list_logical_devices("CPU")]
    assert names == ["/device:CPU:0", "/device:CPU:1"]
    with tf.Graph().as_default(), tf.Session() as sess:
        assert len([d for d in sess.list_devices() if d.device_type == "CPU"]) == 2
        with tf.device("/cpu:1"):
            assert sess.run(tf.constant(2.0) + 1.0) == 3.0


def test_placements_are_told_where_they_are_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    """The placement is logged to stderr, one line per node."""
    tf.debugging.set_log_device_placement(True)
    assert tf.debugging.get_log_device_placement()
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.constant(1.0, name="told"))
    assert "told" in capfd.readouterr().err


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> list[tf.config.PhysicalDevice]:
    """A machine that lists two CUDA devices; no session is opened on it."""
    monkeypatch.setattr(array_module, "gpu_count", lambda: 2)
    return tf.config.list_physical_devices("GPU")


def test_gpus_grow_are_chosen_and_divided(two_gpus: list[Any]) -> None:
    """Settings become ``ConfigProto.gpu_options``; memory growth may be set device by device."""
    first, second = two_gpus
    assert second.name == "/physical_device:GPU:1"
    assert tf.config.experimental.get_memory_growth(first) is None
    tf.config.experimental.set_memory_growth(first, True)
    with pytest.raises(ValueError, match="cannot differ between GPU devices"):
        process_config.process_config()
    tf.config.experimental.set_memory_growth(second, True)
    found = process_config.process_config()
    assert found.gpu_options.allow_growth
    assert found.gpu_options.visible_device_list == "0,1"
    tf.config.set_visible_devices([second], "GPU")
    assert process_config.process_config().gpu_options.visible_device_list == "1"
    assert [d.device_type for d in tf.config.get_visible_devices()] == ["CPU", "GPU"]
    half = tf.config.LogicalDeviceConfiguration(memory_limit=512)
    tf.config.set_logical_device_configuration(second, [half, half])
    (virtual,) = process_config.process_config().gpu_options.experimental.virtual_devices
    assert list(virtual.memory_limit_mb) == [512, 512]
    assert len(tf.config.list_logical_devices("GPU")) == 2
    tf.config.set_visible_devices([], "GPU")
    assert process_config.process_config().device_count["GPU"] == 0


def test_devices_that_are_not_there_are_refused(two_gpus: list[Any]) -> None:
    """The message is TensorFlow's, and no setting changes."""
    (cpu,), gpu = tf.config.list_physical_devices("CPU"), two_gpus[0]
    limited = tf.config.LogicalDeviceConfiguration(memory_limit=1)
    other = tf.config.PhysicalDevice("/physical_device:GPU:7", "GPU")
    refused: list[tuple[str, Any]] = [
        ("Unrecognized device", lambda: tf.config.set_visible_devices(other)),
        ("Unrecognized device", lambda: tf.config.set_visible_devices([cpu], "GPU")),
        ("Unrecognized device", lambda: tf.config.experimental.get_memory_growth(other)),
        ("non-GPU", lambda: tf.config.experimental.set_memory_growth(cpu, True)),
        (
            "memory limit on CPU",
            lambda: tf.config.set_logical_device_configuration(cpu, [limited]),
        ),
        (
            "memory limit is required",
            lambda: tf.config.set_logical_device_configuration(
                gpu, [limited._replace(memory_limit=None)]
            ),
        ),
    ]
    for words, call in refused:
        with pytest.raises(ValueError, match=words):
            call()
    tf.config.set_logical_device_configuration(gpu, [limited])
    with pytest.raises(ValueError, match="virtual devices configured"):
        tf.config.experimental.set_memory_growth(gpu, True)
    assert not process_config._devices.visible


def test_optimizers_of_graphs_are_switched_by_name() -> None:
    """Booleans become ON and OFF; other names are ignored, wrong types change nothing."""
    options = tf.config.optimizer
    assert options.get_experimental_options() == {
        "disable_model_pruning": False,
        "disable_meta_optimizer": False,
    }
    said = {"constant_folding": False, "remapping": True, "disable_meta_optimizer": True}
    options.set_experimental_options({**said, "min_graph_nodes": -1, "no such": True})
    assert options.get_experimental_options() == {
        **said,
        "min_graph_nodes": -1,
        "disable_model_pruning": False,
    }
    rewrite = config_of_a_session().graph_options.rewrite_options
    assert (rewrite.constant_folding, rewrite.remapping) == (rewrite.OFF, rewrite.ON)
    with pytest.raises(TypeError):
        options.set_experimental_options({"remapping": False, "min_graph_nodes": "many"})
    assert options.get_experimental_options()["remapping"] is True
    options.set_experimental_options({"disable_meta_optimizer": False})
    assert options.get_experimental_options()["disable_meta_optimizer"] is False


def test_asking_for_xla_is_remembered() -> None:
    """The setting is stored and has no effect."""
    assert tf.config.optimizer.get_jit() == ""
    tf.config.optimizer.set_jit(True)
    assert tf.config.optimizer.get_jit() == "autoclustering"
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.constant(1) + 1) == 2
    tf.config.optimizer.set_jit(False)
    assert tf.config.optimizer.get_jit() == ""

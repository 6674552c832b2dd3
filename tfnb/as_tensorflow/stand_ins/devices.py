"""``tensorflow.python.client.device_lib``: the devices of this process."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.public_api import tf
from tfnb.proto.device_attributes_pb2 import DeviceAttributes


def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """Return the devices that a session of this process would have, CPUs first.

    Args:
      session_config: a ConfigProto with the number of devices.
    """
    with tf.Graph().as_default(), tf.Session(config=session_config) as session:
        return [
            DeviceAttributes(
                name=device.name.replace("/job:localhost/replica:0/task:0", ""),
                device_type=device.device_type,
                memory_limit=device.memory_limit_bytes,
                incarnation=device.incarnation,
            )
            for device in session.list_devices()
        ]

# The names of tf.config; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.session.process_config import (
    LogicalDeviceConfiguration as LogicalDeviceConfiguration,
)
from tfnb.client.session.process_config import (
    get_logical_device_configuration as get_logical_device_configuration,
)
from tfnb.client.session.process_config import (
    get_soft_device_placement as get_soft_device_placement,
)
from tfnb.client.session.process_config import (
    set_logical_device_configuration as set_logical_device_configuration,
)
from tfnb.client.session.process_config import (
    set_soft_device_placement as set_soft_device_placement,
)
from tfnb.client.session.process_config import LogicalDevice as LogicalDevice
from tfnb.client.session.process_config import PhysicalDevice as PhysicalDevice
from tfnb.client.session.process_config import get_visible_devices as get_visible_devices
from tfnb.client.session.process_config import list_logical_devices as list_logical_devices
from tfnb.client.session.process_config import list_physical_devices as list_physical_devices
from tfnb.client.session.process_config import set_visible_devices as set_visible_devices

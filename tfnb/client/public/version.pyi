# The names of tf.version; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.version import COMPILER_VERSION as COMPILER_VERSION
from tfnb.client.version import GIT_VERSION as GIT_VERSION
from tfnb.client.version import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from tfnb.client.version import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from tfnb.client.version import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from tfnb.client.version import VERSION as VERSION

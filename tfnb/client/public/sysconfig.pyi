# The names of tf.sysconfig; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.sysconfig import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from tfnb.client.sysconfig import CXX_VERSION as CXX_VERSION
from tfnb.client.sysconfig import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from tfnb.client.sysconfig import get_build_info as get_build_info

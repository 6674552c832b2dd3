# The names of tf.dask; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.dask_runtime.clients import get_client as get_client
from tfnb.dask_runtime.map_model import map_model as map_model
from tfnb.dask_runtime.sent_models import remove_model as remove_model
from tfnb.dask_runtime.server_cluster import DaskCluster as DaskCluster
from tfnb.dask_runtime.server_cluster import start_cluster as start_cluster
from tfnb.dask_runtime.sweep import Sweep as Sweep
from tfnb.dask_runtime.sweep_run import SweepRun as SweepRun

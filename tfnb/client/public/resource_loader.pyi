# The names of tf.resource_loader; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.resource_loader import (
    get_root_dir_with_all_resources as get_root_dir_with_all_resources,
)
from tfnb.client.resource_loader import get_data_files_path as get_data_files_path
from tfnb.client.resource_loader import get_path_to_datafile as get_path_to_datafile
from tfnb.client.resource_loader import load_resource as load_resource
from tfnb.client.resource_loader import readahead_file_path as readahead_file_path

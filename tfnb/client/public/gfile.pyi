# The names of tf.gfile; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.files.gfile import FastGFile as FastGFile
from tfnb.client.files.gfile import GFile as GFile
from tfnb.client.files.gfile import GFile as Open
from tfnb.client.files.gfile_v1 import Copy as Copy
from tfnb.client.files.gfile_v1 import DeleteRecursively as DeleteRecursively
from tfnb.client.files.gfile_v1 import Exists as Exists
from tfnb.client.files.gfile_v1 import Glob as Glob
from tfnb.client.files.gfile_v1 import IsDirectory as IsDirectory
from tfnb.client.files.gfile_v1 import ListDirectory as ListDirectory
from tfnb.client.files.gfile_v1 import MakeDirs as MakeDirs
from tfnb.client.files.gfile_v1 import MkDir as MkDir
from tfnb.client.files.gfile_v1 import Remove as Remove
from tfnb.client.files.gfile_v1 import Rename as Rename
from tfnb.client.files.gfile_v1 import Stat as Stat
from tfnb.client.files.gfile_v1 import Walk as Walk

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]

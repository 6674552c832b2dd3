# The names of tf.gfile; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.gfile import FastGFile as FastGFile
from tfnb.client.gfile import GFile as GFile
from tfnb.client.gfile import GFile as Open
from tfnb.client.gfile import copy as Copy
from tfnb.client.gfile import exists as Exists
from tfnb.client.gfile import glob as Glob
from tfnb.client.gfile import isdir as IsDirectory
from tfnb.client.gfile import listdir as ListDirectory
from tfnb.client.gfile import makedirs as MakeDirs
from tfnb.client.gfile import mkdir as MkDir
from tfnb.client.gfile import remove as Remove
from tfnb.client.gfile import rename as Rename
from tfnb.client.gfile import rmtree as DeleteRecursively
from tfnb.client.gfile import stat as Stat
from tfnb.client.gfile import walk_v1 as Walk

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

# The names of tf.onnx; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.onnx_export.check import check as check
from tfnb.onnx_export.export import export as export

# The names of tf.compat; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.compat import as_bytes as as_bytes
from tfnb.client.compat import as_str as as_str
from tfnb.client.compat import as_str_any as as_str_any
from tfnb.client.compat import as_text as as_text
from tfnb.client.compat import bytes_or_text_types as bytes_or_text_types
from tfnb.client.compat import complex_types as complex_types
from tfnb.client.compat import forward_compatible as forward_compatible
from tfnb.client.compat import integral_types as integral_types
from tfnb.client.compat import path_to_str as path_to_str
from tfnb.client.compat import real_types as real_types
from tfnb.client.diagnostics import forward_compatibility_horizon as forward_compatibility_horizon
from tfnb.core.tensor_shape import dimension_at_index as dimension_at_index
from tfnb.core.tensor_shape import dimension_value as dimension_value

# The names of tf.experimental; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.core.dtypes import float4_e2m1fn as float4_e2m1fn
from tfnb.core.dtypes import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from tfnb.core.dtypes import float8_e4m3fn as float8_e4m3fn
from tfnb.core.dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from tfnb.core.dtypes import float8_e5m2 as float8_e5m2
from tfnb.core.dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from tfnb.core.dtypes import int2 as int2
from tfnb.core.dtypes import int4 as int4
from tfnb.core.dtypes import uint2 as uint2
from tfnb.core.dtypes import uint4 as uint4

# The names of tf.flags; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.flags import (
    mark_bool_flags_as_mutual_exclusive as mark_bool_flags_as_mutual_exclusive,
)
from tfnb.client.flags import DEFINE_alias as DEFINE_alias
from tfnb.client.flags import DEFINE_bool as DEFINE_bool
from tfnb.client.flags import DEFINE_boolean as DEFINE_boolean
from tfnb.client.flags import DEFINE_enum as DEFINE_enum
from tfnb.client.flags import DEFINE_enum_class as DEFINE_enum_class
from tfnb.client.flags import DEFINE_float as DEFINE_float
from tfnb.client.flags import DEFINE_integer as DEFINE_integer
from tfnb.client.flags import DEFINE_list as DEFINE_list
from tfnb.client.flags import DEFINE_multi_enum as DEFINE_multi_enum
from tfnb.client.flags import DEFINE_multi_float as DEFINE_multi_float
from tfnb.client.flags import DEFINE_multi_integer as DEFINE_multi_integer
from tfnb.client.flags import DEFINE_multi_string as DEFINE_multi_string
from tfnb.client.flags import DEFINE_spaceseplist as DEFINE_spaceseplist
from tfnb.client.flags import DEFINE_string as DEFINE_string
from tfnb.client.flags import Error as Error
from tfnb.client.flags import FLAGS as FLAGS
from tfnb.client.flags import FlagValues as FlagValues
from tfnb.client.flags import IllegalFlagValueError as IllegalFlagValueError
from tfnb.client.flags import UnrecognizedFlagError as UnrecognizedFlagError
from tfnb.client.flags import ValidationError as ValidationError
from tfnb.client.flags import flag_dict_to_args as flag_dict_to_args
from tfnb.client.flags import mark_flag_as_required as mark_flag_as_required
from tfnb.client.flags import mark_flags_as_mutual_exclusive as mark_flags_as_mutual_exclusive
from tfnb.client.flags import mark_flags_as_required as mark_flags_as_required
from tfnb.client.flags import multi_flags_validator as multi_flags_validator
from tfnb.client.flags import register_multi_flags_validator as register_multi_flags_validator
from tfnb.client.flags import register_validator as register_validator
from tfnb.client.flags import validator as validator

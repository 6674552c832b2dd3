# The names of tf.flags; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.flags.flag import (
    FlagNameConflictsWithMethodError as FlagNameConflictsWithMethodError,
)
from tfnb.client.flags.flag import BooleanFlag as BooleanFlag
from tfnb.client.flags.flag import CantOpenFlagFileError as CantOpenFlagFileError
from tfnb.client.flags.flag import DuplicateFlagError as DuplicateFlagError
from tfnb.client.flags.flag import EnumClassFlag as EnumClassFlag
from tfnb.client.flags.flag import EnumFlag as EnumFlag
from tfnb.client.flags.flag import Error as Error
from tfnb.client.flags.flag import Flag as Flag
from tfnb.client.flags.flag import IllegalFlagValueError as IllegalFlagValueError
from tfnb.client.flags.flag import MultiEnumClassFlag as MultiEnumClassFlag
from tfnb.client.flags.flag import MultiFlag as MultiFlag
from tfnb.client.flags.flag import UnparsedFlagAccessError as UnparsedFlagAccessError
from tfnb.client.flags.flag import UnrecognizedFlagError as UnrecognizedFlagError
from tfnb.client.flags.flag import ValidationError as ValidationError
from tfnb.client.flags.flag_parsers import (
    WhitespaceSeparatedListParser as WhitespaceSeparatedListParser,
)
from tfnb.client.flags.flag_parsers import ArgumentParser as ArgumentParser
from tfnb.client.flags.flag_parsers import ArgumentSerializer as ArgumentSerializer
from tfnb.client.flags.flag_parsers import BaseListParser as BaseListParser
from tfnb.client.flags.flag_parsers import BooleanParser as BooleanParser
from tfnb.client.flags.flag_parsers import CsvListSerializer as CsvListSerializer
from tfnb.client.flags.flag_parsers import EnumClassListSerializer as EnumClassListSerializer
from tfnb.client.flags.flag_parsers import EnumClassParser as EnumClassParser
from tfnb.client.flags.flag_parsers import EnumClassSerializer as EnumClassSerializer
from tfnb.client.flags.flag_parsers import EnumParser as EnumParser
from tfnb.client.flags.flag_parsers import FloatParser as FloatParser
from tfnb.client.flags.flag_parsers import IntegerParser as IntegerParser
from tfnb.client.flags.flag_parsers import ListParser as ListParser
from tfnb.client.flags.flag_parsers import ListSerializer as ListSerializer
from tfnb.client.flags.flag_values import FLAGS as FLAGS
from tfnb.client.flags.flag_values import FlagHolder as FlagHolder
from tfnb.client.flags.flag_values import FlagValues as FlagValues
from tfnb.client.flags.flag_values import disclaim_key_flags as disclaim_key_flags
from tfnb.client.flags.flags import (
    mark_bool_flags_as_mutual_exclusive as mark_bool_flags_as_mutual_exclusive,
)
from tfnb.client.flags.flags import DEFINE as DEFINE
from tfnb.client.flags.flags import DEFINE_alias as DEFINE_alias
from tfnb.client.flags.flags import DEFINE_bool as DEFINE_bool
from tfnb.client.flags.flags import DEFINE_boolean as DEFINE_boolean
from tfnb.client.flags.flags import DEFINE_enum as DEFINE_enum
from tfnb.client.flags.flags import DEFINE_enum_class as DEFINE_enum_class
from tfnb.client.flags.flags import DEFINE_flag as DEFINE_flag
from tfnb.client.flags.flags import DEFINE_float as DEFINE_float
from tfnb.client.flags.flags import DEFINE_integer as DEFINE_integer
from tfnb.client.flags.flags import DEFINE_list as DEFINE_list
from tfnb.client.flags.flags import DEFINE_multi as DEFINE_multi
from tfnb.client.flags.flags import DEFINE_multi_enum as DEFINE_multi_enum
from tfnb.client.flags.flags import DEFINE_multi_enum_class as DEFINE_multi_enum_class
from tfnb.client.flags.flags import DEFINE_multi_float as DEFINE_multi_float
from tfnb.client.flags.flags import DEFINE_multi_integer as DEFINE_multi_integer
from tfnb.client.flags.flags import DEFINE_multi_string as DEFINE_multi_string
from tfnb.client.flags.flags import DEFINE_spaceseplist as DEFINE_spaceseplist
from tfnb.client.flags.flags import DEFINE_string as DEFINE_string
from tfnb.client.flags.flags import adopt_module_key_flags as adopt_module_key_flags
from tfnb.client.flags.flags import declare_key_flag as declare_key_flag
from tfnb.client.flags.flags import doc_to_help as doc_to_help
from tfnb.client.flags.flags import flag_dict_to_args as flag_dict_to_args
from tfnb.client.flags.flags import get_help_width as get_help_width
from tfnb.client.flags.flags import mark_flag_as_required as mark_flag_as_required
from tfnb.client.flags.flags import mark_flags_as_mutual_exclusive as mark_flags_as_mutual_exclusive
from tfnb.client.flags.flags import mark_flags_as_required as mark_flags_as_required
from tfnb.client.flags.flags import multi_flags_validator as multi_flags_validator
from tfnb.client.flags.flags import override_value as override_value
from tfnb.client.flags.flags import register_multi_flags_validator as register_multi_flags_validator
from tfnb.client.flags.flags import register_validator as register_validator
from tfnb.client.flags.flags import set_default as set_default
from tfnb.client.flags.flags import text_wrap as text_wrap
from tfnb.client.flags.flags import validator as validator

# The names of tf.saved_model; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.saved_model.builder import SavedModelBuilder as Builder
from tfnb.library.saved_model.builder import simple_save as simple_save
from tfnb.library.saved_model.constants import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY,
)
from tfnb.library.saved_model.constants import (
    SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT,
)
from tfnb.library.saved_model.constants import (
    SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION,
)
from tfnb.library.saved_model.constants import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from tfnb.library.saved_model.constants import ASSETS_KEY as ASSETS_KEY
from tfnb.library.saved_model.constants import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from tfnb.library.saved_model.constants import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from tfnb.library.saved_model.constants import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from tfnb.library.saved_model.constants import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from tfnb.library.saved_model.constants import DEBUG_DIRECTORY as DEBUG_DIRECTORY
from tfnb.library.saved_model.constants import DEBUG_INFO_FILENAME_PB as DEBUG_INFO_FILENAME_PB
from tfnb.library.saved_model.constants import GPU as GPU
from tfnb.library.saved_model.constants import LEGACY_INIT_OP_KEY as LEGACY_INIT_OP_KEY
from tfnb.library.saved_model.constants import MAIN_OP_KEY as MAIN_OP_KEY
from tfnb.library.saved_model.constants import PREDICT_INPUTS as PREDICT_INPUTS
from tfnb.library.saved_model.constants import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from tfnb.library.saved_model.constants import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from tfnb.library.saved_model.constants import REGRESS_INPUTS as REGRESS_INPUTS
from tfnb.library.saved_model.constants import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from tfnb.library.saved_model.constants import REGRESS_OUTPUTS as REGRESS_OUTPUTS
from tfnb.library.saved_model.constants import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from tfnb.library.saved_model.constants import SERVING as SERVING
from tfnb.library.saved_model.constants import TPU as TPU
from tfnb.library.saved_model.constants import TRAINING as TRAINING
from tfnb.library.saved_model.constants import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from tfnb.library.saved_model.constants import VARIABLES_FILENAME as VARIABLES_FILENAME
from tfnb.library.saved_model.loader import (
    maybe_saved_model_directory as maybe_saved_model_directory,
)
from tfnb.library.saved_model.loader import contains_saved_model as contains_saved_model
from tfnb.library.saved_model.loader import load as load
from tfnb.library.saved_model.main_op import main_op_with_restore as main_op_with_restore
from tfnb.library.saved_model.signature_defs import (
    classification_signature_def as classification_signature_def,
)
from tfnb.library.saved_model.signature_defs import (
    get_tensor_from_tensor_info as get_tensor_from_tensor_info,
)
from tfnb.library.saved_model.signature_defs import (
    regression_signature_def as regression_signature_def,
)
from tfnb.library.saved_model.signature_defs import build_signature_def as build_signature_def
from tfnb.library.saved_model.signature_defs import build_tensor_info as build_tensor_info
from tfnb.library.saved_model.signature_defs import is_valid_signature as is_valid_signature
from tfnb.library.saved_model.signature_defs import predict_signature_def as predict_signature_def

__all__ = [
    "ASSETS_DIRECTORY",
    "ASSETS_KEY",
    "Builder",
    "CLASSIFY_INPUTS",
    "CLASSIFY_METHOD_NAME",
    "CLASSIFY_OUTPUT_CLASSES",
    "CLASSIFY_OUTPUT_SCORES",
    "DEBUG_DIRECTORY",
    "DEBUG_INFO_FILENAME_PB",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "GPU",
    "LEGACY_INIT_OP_KEY",
    "MAIN_OP_KEY",
    "PREDICT_INPUTS",
    "PREDICT_METHOD_NAME",
    "PREDICT_OUTPUTS",
    "REGRESS_INPUTS",
    "REGRESS_METHOD_NAME",
    "REGRESS_OUTPUTS",
    "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_FILENAME_PBTXT",
    "SAVED_MODEL_SCHEMA_VERSION",
    "SERVING",
    "TPU",
    "TRAINING",
    "VARIABLES_DIRECTORY",
    "VARIABLES_FILENAME",
    "build_signature_def",
    "build_tensor_info",
    "builder",
    "classification_signature_def",
    "constants",
    "contains_saved_model",
    "get_tensor_from_tensor_info",
    "is_valid_signature",
    "load",
    "loader",
    "main_op",
    "main_op_with_restore",
    "maybe_saved_model_directory",
    "predict_signature_def",
    "regression_signature_def",
    "signature_constants",
    "signature_def_utils",
    "simple_save",
    "tag_constants",
    "utils",
]

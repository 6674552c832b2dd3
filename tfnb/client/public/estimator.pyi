# The names of tf.estimator; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.estimator.canned.baseline import BaselineClassifier as BaselineClassifier
from tfnb.client.estimator.canned.baseline import BaselineEstimator as BaselineEstimator
from tfnb.client.estimator.canned.baseline import BaselineRegressor as BaselineRegressor
from tfnb.client.estimator.canned.boosted_trees import (
    BoostedTreesClassifier as BoostedTreesClassifier,
)
from tfnb.client.estimator.canned.boosted_trees import (
    BoostedTreesEstimator as BoostedTreesEstimator,
)
from tfnb.client.estimator.canned.boosted_trees import (
    BoostedTreesRegressor as BoostedTreesRegressor,
)
from tfnb.client.estimator.canned.dnn import DNNClassifier as DNNClassifier
from tfnb.client.estimator.canned.dnn import DNNEstimator as DNNEstimator
from tfnb.client.estimator.canned.dnn import DNNRegressor as DNNRegressor
from tfnb.client.estimator.canned.dnn_linear_combined import (
    DNNLinearCombinedClassifier as DNNLinearCombinedClassifier,
)
from tfnb.client.estimator.canned.dnn_linear_combined import (
    DNNLinearCombinedEstimator as DNNLinearCombinedEstimator,
)
from tfnb.client.estimator.canned.dnn_linear_combined import (
    DNNLinearCombinedRegressor as DNNLinearCombinedRegressor,
)
from tfnb.client.estimator.canned.linear import LinearClassifier as LinearClassifier
from tfnb.client.estimator.canned.linear import LinearEstimator as LinearEstimator
from tfnb.client.estimator.canned.linear import LinearRegressor as LinearRegressor
from tfnb.client.estimator.canned.parsing_specs import (
    classifier_parse_example_spec as classifier_parse_example_spec,
)
from tfnb.client.estimator.canned.parsing_specs import (
    regressor_parse_example_spec as regressor_parse_example_spec,
)
from tfnb.client.estimator.estimator import Estimator as Estimator
from tfnb.client.estimator.exporters import BestExporter as BestExporter
from tfnb.client.estimator.exporters import Exporter as Exporter
from tfnb.client.estimator.exporters import FinalExporter as FinalExporter
from tfnb.client.estimator.exporters import LatestExporter as LatestExporter
from tfnb.client.estimator.extenders import add_metrics as add_metrics
from tfnb.client.estimator.heads.binary_class_head import BinaryClassHead as BinaryClassHead
from tfnb.client.estimator.heads.head import Head as Head
from tfnb.client.estimator.heads.multi_class_head import MultiClassHead as MultiClassHead
from tfnb.client.estimator.heads.multi_head import MultiHead as MultiHead
from tfnb.client.estimator.heads.multi_label_head import MultiLabelHead as MultiLabelHead
from tfnb.client.estimator.heads.regression_head import (
    LogisticRegressionHead as LogisticRegressionHead,
)
from tfnb.client.estimator.heads.regression_head import (
    PoissonRegressionHead as PoissonRegressionHead,
)
from tfnb.client.estimator.heads.regression_head import RegressionHead as RegressionHead
from tfnb.client.estimator.hook_names import (
    NanLossDuringTrainingError as NanLossDuringTrainingError,
)
from tfnb.client.estimator.hook_names import CheckpointSaverHook as CheckpointSaverHook
from tfnb.client.estimator.hook_names import CheckpointSaverListener as CheckpointSaverListener
from tfnb.client.estimator.hook_names import FeedFnHook as FeedFnHook
from tfnb.client.estimator.hook_names import FinalOpsHook as FinalOpsHook
from tfnb.client.estimator.hook_names import GlobalStepWaiterHook as GlobalStepWaiterHook
from tfnb.client.estimator.hook_names import LoggingTensorHook as LoggingTensorHook
from tfnb.client.estimator.hook_names import NanTensorHook as NanTensorHook
from tfnb.client.estimator.hook_names import ProfilerHook as ProfilerHook
from tfnb.client.estimator.hook_names import SecondOrStepTimer as SecondOrStepTimer
from tfnb.client.estimator.hook_names import SessionRunArgs as SessionRunArgs
from tfnb.client.estimator.hook_names import SessionRunContext as SessionRunContext
from tfnb.client.estimator.hook_names import SessionRunHook as SessionRunHook
from tfnb.client.estimator.hook_names import SessionRunValues as SessionRunValues
from tfnb.client.estimator.hook_names import StepCounterHook as StepCounterHook
from tfnb.client.estimator.hook_names import StopAtStepHook as StopAtStepHook
from tfnb.client.estimator.hook_names import SummarySaverHook as SummarySaverHook
from tfnb.client.estimator.model_fn import EstimatorSpec as EstimatorSpec
from tfnb.client.estimator.model_fn import ModeKeys as ModeKeys
from tfnb.client.estimator.run_config import RunConfig as RunConfig
from tfnb.client.estimator.training import EvalSpec as EvalSpec
from tfnb.client.estimator.training import TrainSpec as TrainSpec
from tfnb.client.estimator.training import train_and_evaluate as train_and_evaluate
from tfnb.client.estimator.warm_start_settings import VocabInfo as VocabInfo
from tfnb.client.estimator.warm_start_settings import WarmStartSettings as WarmStartSettings

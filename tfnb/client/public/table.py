"""Where public names and ops come from; written by scripts/generate_public_names.py."""

from __future__ import annotations

TABLE: dict[str, dict[str, str]] = {
    "tfnb.as_tensorflow.doctor": {
        "tf": "doctor",
    },
    "tfnb.as_tensorflow.finder": {
        "tf": "install_as_tensorflow uninstall_as_tensorflow",
    },
    "tfnb.client.debugger.breakpoints": {
        "debugger": "Breakpoint",
    },
    "tfnb.client.debugger.debugger": {
        "debugger": "Debugger",
    },
    "tfnb.client.debugger.run_difference": {
        "debugger": "RunDifference RunValues assert_same_run compare_runs record_values",
    },
    "tfnb.client.debugger.stop": {
        "debugger": "Stop",
    },
    "tfnb.client.debugger.text_debugger": {
        "debugger": "TextDebugger",
    },
    "tfnb.client.debugger.watched_tensor": {
        "debugger": "WatchedTensor",
    },
    "tfnb.client.diagnostics": {
        "compat": "forward_compatibility_horizon",
        "debugging": (
            "disable_traceback_filtering enable_traceback_filtering is_traceback_filtering_enabled"
        ),
        "errors": "raise_exception_on_not_ok_status",
    },
    "tfnb.client.eager_function": {
        "tf": "py_function",
    },
    "tfnb.client.estimator.canned.baseline": {
        "estimator": "BaselineClassifier BaselineEstimator BaselineRegressor",
    },
    "tfnb.client.estimator.canned.boosted_trees": {
        "estimator": "BoostedTreesClassifier BoostedTreesEstimator BoostedTreesRegressor",
    },
    "tfnb.client.estimator.canned.dnn": {
        "estimator": "DNNClassifier DNNEstimator DNNRegressor",
        "estimator.experimental": "dnn_logit_fn_builder",
    },
    "tfnb.client.estimator.canned.dnn_linear_combined": {
        "estimator": (
            "DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor"
        ),
    },
    "tfnb.client.estimator.canned.kmeans": {
        "estimator.experimental": "KMeans",
    },
    "tfnb.client.estimator.canned.linear": {
        "estimator": "LinearClassifier LinearEstimator LinearRegressor",
        "estimator.experimental": "linear_logit_fn_builder",
    },
    "tfnb.client.estimator.canned.parsing_specs": {
        "estimator": "classifier_parse_example_spec regressor_parse_example_spec",
    },
    "tfnb.client.estimator.early_stopping": {
        "estimator.experimental": (
            "make_early_stopping_hook stop_if_higher_hook stop_if_lower_hook "
            "stop_if_no_decrease_hook stop_if_no_increase_hook"
        ),
    },
    "tfnb.client.estimator.estimator": {
        "estimator": "Estimator",
    },
    "tfnb.client.estimator.export.export_outputs": {
        "estimator.export": "ClassificationOutput ExportOutput PredictOutput RegressionOutput",
    },
    "tfnb.client.estimator.export.receivers": {
        "estimator.experimental": "build_raw_supervised_input_receiver_fn",
        "estimator.export": (
            "ServingInputReceiver TensorServingInputReceiver "
            "build_parsing_serving_input_receiver_fn build_raw_serving_input_receiver_fn"
        ),
    },
    "tfnb.client.estimator.exporters": {
        "estimator": "BestExporter Exporter FinalExporter LatestExporter",
    },
    "tfnb.client.estimator.extenders": {
        "estimator": "add_metrics",
    },
    "tfnb.client.estimator.heads.binary_class_head": {
        "estimator": "BinaryClassHead",
    },
    "tfnb.client.estimator.heads.head": {
        "estimator": "Head",
    },
    "tfnb.client.estimator.heads.multi_class_head": {
        "estimator": "MultiClassHead",
    },
    "tfnb.client.estimator.heads.multi_head": {
        "estimator": "MultiHead",
    },
    "tfnb.client.estimator.heads.multi_label_head": {
        "estimator": "MultiLabelHead",
    },
    "tfnb.client.estimator.heads.regression_head": {
        "estimator": "LogisticRegressionHead PoissonRegressionHead RegressionHead",
    },
    "tfnb.client.estimator.hook_names": {
        "estimator": (
            "CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook "
            "GlobalStepWaiterHook LoggingTensorHook NanLossDuringTrainingError NanTensorHook "
            "ProfilerHook SecondOrStepTimer SessionRunArgs SessionRunContext SessionRunHook "
            "SessionRunValues StepCounterHook StopAtStepHook SummarySaverHook"
        ),
    },
    "tfnb.client.estimator.hooks": {
        "estimator.experimental": "InMemoryEvaluatorHook make_stop_at_checkpoint_step_hook",
    },
    "tfnb.client.estimator.inputs.numpy_io": {
        "estimator.inputs": "numpy_input_fn",
    },
    "tfnb.client.estimator.inputs.pandas_io": {
        "estimator.inputs": "pandas_input_fn",
    },
    "tfnb.client.estimator.model_fn": {
        "estimator": "EstimatorSpec ModeKeys",
        "estimator.experimental": "call_logit_fn",
    },
    "tfnb.client.estimator.run_config": {
        "estimator": "RunConfig",
    },
    "tfnb.client.estimator.tpu.tpu_config": {
        "estimator.tpu": "InputPipelineConfig RunConfig TPUConfig",
    },
    "tfnb.client.estimator.tpu.tpu_estimator": {
        "estimator.tpu": "TPUEstimator TPUEstimatorSpec",
    },
    "tfnb.client.estimator.training": {
        "estimator": "EvalSpec TrainSpec train_and_evaluate",
    },
    "tfnb.client.estimator.warm_start_settings": {
        "estimator": "VocabInfo WarmStartSettings",
    },
    "tfnb.client.files.gfile": {
        "gfile": "FastGFile GFile Open:GFile",
        "io.gfile": (
            "GFile copy exists get_registered_schemes glob isdir join listdir makedirs mkdir "
            "remove rename rmtree stat walk"
        ),
    },
    "tfnb.client.files.gfile_v1": {
        "gfile": (
            "Copy DeleteRecursively Exists Glob IsDirectory ListDirectory MakeDirs MkDir Remove "
            "Rename Stat Walk"
        ),
    },
    "tfnb.client.files.record_io": {
        "io": "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator",
        "python_io": "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator",
        "train": "summary_iterator",
    },
    "tfnb.client.files.summary_writer": {
        "summary": "FileWriter FileWriterCache initialize all_v2_summary_ops",
    },
    "tfnb.client.flags.flag": {
        "flags": (
            "BooleanFlag CantOpenFlagFileError DuplicateFlagError EnumClassFlag EnumFlag Error "
            "Flag FlagNameConflictsWithMethodError IllegalFlagValueError MultiEnumClassFlag "
            "MultiFlag UnparsedFlagAccessError UnrecognizedFlagError ValidationError"
        ),
    },
    "tfnb.client.flags.flag_parsers": {
        "flags": (
            "ArgumentParser ArgumentSerializer BaseListParser BooleanParser CsvListSerializer "
            "EnumClassListSerializer EnumClassParser EnumClassSerializer EnumParser FloatParser "
            "IntegerParser ListParser ListSerializer WhitespaceSeparatedListParser"
        ),
    },
    "tfnb.client.flags.flag_values": {
        "flags": "FLAGS FlagHolder FlagValues disclaim_key_flags",
    },
    "tfnb.client.flags.flags": {
        "flags": (
            "DEFINE DEFINE_alias DEFINE_bool DEFINE_boolean DEFINE_enum DEFINE_enum_class "
            "DEFINE_flag DEFINE_float DEFINE_integer DEFINE_list DEFINE_multi DEFINE_multi_enum "
            "DEFINE_multi_enum_class DEFINE_multi_float DEFINE_multi_integer DEFINE_multi_string "
            "DEFINE_spaceseplist DEFINE_string adopt_module_key_flags declare_key_flag doc_to_help "
            "flag_dict_to_args get_help_width mark_bool_flags_as_mutual_exclusive "
            "mark_flag_as_required mark_flags_as_mutual_exclusive mark_flags_as_required "
            "multi_flags_validator override_value register_multi_flags_validator "
            "register_validator set_default text_wrap validator"
        ),
    },
    "tfnb.client.model": {
        "tf": "Model load",
    },
    "tfnb.client.module": {
        "tf": "Module",
    },
    "tfnb.client.profiler.model_analyzer": {
        "profiler": "Profiler advise profile",
    },
    "tfnb.client.profiler.op_log": {
        "profiler": "write_op_log",
    },
    "tfnb.client.profiler.option_builder": {
        "profiler": "ProfileOptionBuilder",
    },
    "tfnb.client.resource_loader": {
        "resource_loader": (
            "get_data_files_path get_path_to_datafile get_root_dir_with_all_resources "
            "load_resource readahead_file_path"
        ),
    },
    "tfnb.client.safety": {
        "safety": "allow effects limits Allowance NodeEffect",
    },
    "tfnb.client.session.process_config": {
        "config": (
            "LogicalDevice LogicalDeviceConfiguration PhysicalDevice get_visible_devices "
            "list_logical_devices list_physical_devices set_visible_devices "
            "get_logical_device_configuration get_soft_device_placement "
            "set_logical_device_configuration set_soft_device_placement"
        ),
        "config.experimental": (
            "VirtualDeviceConfiguration get_visible_devices list_logical_devices "
            "list_physical_devices set_visible_devices get_memory_growth "
            "get_virtual_device_configuration set_memory_growth set_virtual_device_configuration"
        ),
        "config.optimizer": "get_experimental_options get_jit set_experimental_options set_jit",
        "config.threading": (
            "get_inter_op_parallelism_threads get_intra_op_parallelism_threads "
            "set_inter_op_parallelism_threads set_intra_op_parallelism_threads"
        ),
        "debugging": "get_log_device_placement set_log_device_placement",
    },
    "tfnb.client.step_sampler": {
        "debugger": "StepSampler",
    },
    "tfnb.client.sysconfig": {
        "sysconfig": "get_build_info CXX11_ABI_FLAG CXX_VERSION MONOLITHIC_BUILD",
        "tf": "CXX11_ABI_FLAG CXX_VERSION MONOLITHIC_BUILD",
    },
    "tfnb.client.testing.benchmark": {
        "test": "Benchmark StubOutForTesting benchmark_config",
    },
    "tfnb.client.training.hooks": {
        "train": (
            "FeedFnHook FinalOpsHook GlobalStepWaiterHook LoggingTensorHook "
            "NanLossDuringTrainingError NanTensorHook SecondOrStepTimer StopAtStepHook"
        ),
    },
    "tfnb.client.training.monitored_session": {
        "train": (
            "ChiefSessionCreator MonitoredSession MonitoredTrainingSession SessionCreator "
            "SingularMonitoredSession WorkerSessionCreator"
        ),
    },
    "tfnb.client.training.saving_hooks": {
        "train": (
            "CheckpointSaverHook CheckpointSaverListener ProfilerHook StepCounterHook "
            "SummarySaverHook"
        ),
    },
    "tfnb.client.training.scaffold": {
        "train": "Scaffold",
    },
    "tfnb.client.training.server": {
        "distribute": "Server",
        "test": "create_local_cluster",
        "train": "Server",
    },
    "tfnb.client.training.session_manager": {
        "train": "SessionManager",
    },
    "tfnb.client.training.session_run_hook": {
        "train": "SessionRunHook SessionRunArgs SessionRunContext SessionRunValues",
    },
    "tfnb.client.training.supervisor": {
        "train": "Supervisor basic_train_loop",
    },
    "tfnb.dask_runtime.clients": {
        "dask": "get_client",
    },
    "tfnb.dask_runtime.map_model": {
        "dask": "map_model",
    },
    "tfnb.dask_runtime.sent_models": {
        "dask": "remove_model",
    },
    "tfnb.dask_runtime.server_cluster": {
        "dask": "start_cluster DaskCluster",
    },
    "tfnb.dask_runtime.sweep": {
        "dask": "Sweep",
        "tf": "sweep",
    },
    "tfnb.dask_runtime.sweep_run": {
        "dask": "SweepRun",
    },
    "tfnb.framework.collections": {
        "tf": "GraphKeys",
    },
    "tfnb.framework.constant_value": {
        "tf": "get_static_value:constant_value",
    },
    "tfnb.framework.convert": {
        "tf": "convert_to_tensor register_tensor_conversion_function is_tensor is_symbolic_tensor",
    },
    "tfnb.framework.default_graph": {
        "tf": "get_default_graph reset_default_graph",
    },
    "tfnb.framework.functions.function": {
        "python.framework.function": (
            "Defun from_library get_extra_args get_extra_inputs get_extra_vars"
        ),
    },
    "tfnb.framework.gradient_registry": {
        "tf": "RegisterGradient no_gradient NoGradient NotDifferentiable",
    },
    "tfnb.framework.graph": {
        "tf": "Graph",
    },
    "tfnb.framework.importing.graph_util": {
        "graph_util": (
            "extract_sub_graph tensor_shape_from_node_def_name must_run_on_cpu "
            "remove_training_nodes"
        ),
    },
    "tfnb.framework.importing.importer": {
        "graph_util": "import_graph_def",
        "tf": "import_graph_def",
    },
    "tfnb.framework.importing.old_producers": {
        "graph_util": "repair_graph_def",
    },
    "tfnb.framework.indexed_slices": {
        "tf": "IndexedSlices convert_to_tensor_or_indexed_slices",
    },
    "tfnb.framework.operation": {
        "tf": "Operation",
    },
    "tfnb.framework.random_seed": {
        "random": "get_seed set_random_seed",
        "tf": "get_seed set_random_seed",
    },
    "tfnb.framework.scopes": {
        "tf": (
            "name_scope op_scope device control_dependencies colocate_with container "
            "add_to_collection add_to_collections get_collection get_collection_ref init_scope"
        ),
    },
    "tfnb.framework.sparse_tensor": {
        "sparse": "SparseTensor",
        "tf": "SparseTensor SparseTensorValue convert_to_tensor_or_sparse_tensor",
    },
    "tfnb.framework.structures.nest": {
        "nest": "assert_same_structure flatten is_nested map_structure pack_sequence_as",
    },
    "tfnb.framework.tensor": {
        "tf": "Tensor",
    },
    "tfnb.framework.type_spec": {
        "data.experimental": "Structure:TypeSpec",
        "tf": "TypeSpec",
    },
    "tfnb.library.control_flow.case": {
        "tf": "case switch_case",
    },
    "tfnb.library.control_flow.check_ops": {
        "debugging": (
            "assert_equal assert_greater assert_greater_equal assert_integer assert_less "
            "assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive "
            "assert_none_equal assert_positive assert_proper_iterable assert_rank "
            "assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_type "
            "is_non_decreasing is_numeric_tensor is_strictly_increasing assert_shapes"
        ),
        "math": "is_non_decreasing is_strictly_increasing",
        "tf": (
            "assert_equal assert_greater assert_greater_equal assert_integer assert_less "
            "assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive "
            "assert_none_equal assert_positive assert_proper_iterable assert_rank "
            "assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_type "
            "is_non_decreasing is_numeric_tensor is_strictly_increasing"
        ),
    },
    "tfnb.library.control_flow.cond": {
        "tf": "cond",
    },
    "tfnb.library.control_flow.control_flow": {
        "tf": "group tuple:tuple_",
    },
    "tfnb.library.control_flow.control_flow_assert": {
        "debugging": "Assert:assert_",
        "tf": "Assert:assert_",
    },
    "tfnb.library.control_flow.control_flow_toggle": {
        "tf": "enable_control_flow_v2 disable_control_flow_v2 control_flow_v2_enabled",
    },
    "tfnb.library.control_flow.functional_control_flow": {
        "python.ops.functional_ops": "For Gradient If While partitioned_call symbolic_gradient",
    },
    "tfnb.library.control_flow.map_fn": {
        "tf": "foldl foldr map_fn scan",
    },
    "tfnb.library.control_flow.tensor_array": {
        "tf": "TensorArray",
    },
    "tfnb.library.control_flow.while_loop": {
        "tf": "while_loop",
    },
    "tfnb.library.data.bucketing": {
        "data.experimental": "bucket_by_sequence_length sample_from_datasets",
    },
    "tfnb.library.data.dataset": {
        "data": (
            "AUTOTUNE Dataset INFINITE_CARDINALITY UNKNOWN_CARDINALITY get_output_classes "
            "get_output_shapes get_output_types"
        ),
        "data.experimental": "AUTOTUNE INFINITE_CARDINALITY SHARD_HINT UNKNOWN_CARDINALITY",
    },
    "tfnb.library.data.experimental": {
        "data.experimental": (
            "Counter RandomDataset assert_cardinality cardinality choose_from_datasets "
            "enumerate_dataset from_variant get_single_element group_by_window ignore_errors "
            "map_and_batch map_and_batch_with_legacy_function:map_and_batch parallel_interleave "
            "scan shuffle_and_repeat take_while to_variant unbatch unique"
        ),
    },
    "tfnb.library.data.iterators": {
        "data": "Iterator make_initializable_iterator make_one_shot_iterator",
        "data.experimental": "get_next_as_optional",
    },
    "tfnb.library.data.optional": {
        "data.experimental": "Optional",
    },
    "tfnb.library.data.options": {
        "data": "Options ThreadingOptions",
        "data.experimental": (
            "AutoShardPolicy AutotuneAlgorithm AutotuneOptions DistributeOptions "
            "ExternalStatePolicy OptimizationOptions ThreadingOptions"
        ),
    },
    "tfnb.library.data.ragged_spec": {
        "tf": "RaggedTensorSpec",
    },
    "tfnb.library.data.readers": {
        "data": "FixedLengthRecordDataset TFRecordDataset TextLineDataset",
    },
    "tfnb.library.data.rebatching": {
        "data.experimental": (
            "Reducer copy_to_device dense_to_ragged_batch dense_to_sparse_batch from_list "
            "group_by_reducer pad_to_cardinality prefetch_to_device"
        ),
    },
    "tfnb.library.data.resampling": {
        "data.experimental": "rejection_resample:rejection_resample_transformation",
    },
    "tfnb.library.data.saving": {
        "data.experimental": "snapshot",
    },
    "tfnb.library.data.structure": {
        "data": "DatasetSpec",
        "data.experimental": "DatasetStructure:DatasetSpec get_structure",
        "tf": "SparseTensorSpec",
    },
    "tfnb.library.data.tables": {
        "data.experimental": (
            "CsvDataset DatasetInitializer SqlDataset TFRecordWriter index_table_from_dataset "
            "make_batched_features_dataset make_csv_dataset parse_example_dataset "
            "table_from_dataset"
        ),
    },
    "tfnb.library.data.tensor_spec": {
        "tf": "TensorSpec",
    },
    "tfnb.library.data.type_specs": {
        "data.experimental": (
            "OptionalStructure:OptionalSpec RaggedTensorStructure:ragged_tensor_structure "
            "SparseTensorStructure:sparse_tensor_structure "
            "TensorArrayStructure:tensor_array_structure TensorStructure:tensor_structure"
        ),
        "tf": "IndexedSlicesSpec NoneTensorSpec OptionalSpec TensorArraySpec type_spec_from_value",
    },
    "tfnb.library.distributions.discrete": {
        "distributions": "Bernoulli Categorical",
    },
    "tfnb.library.distributions.distribution": {
        "distributions": (
            "Distribution FULLY_REPARAMETERIZED NOT_REPARAMETERIZED ReparameterizationType"
        ),
    },
    "tfnb.library.distributions.gamma": {
        "distributions": "Beta Exponential Gamma",
    },
    "tfnb.library.distributions.kullback_leibler": {
        "distributions": "RegisterKL kl_divergence",
    },
    "tfnb.library.distributions.location_scale": {
        "distributions": "Laplace StudentT Uniform",
    },
    "tfnb.library.distributions.multivariate": {
        "distributions": "Dirichlet DirichletMultinomial Multinomial",
    },
    "tfnb.library.distributions.normal": {
        "distributions": "Normal",
    },
    "tfnb.library.feature_columns.categorical": {
        "feature_column": (
            "categorical_column_with_hash_bucket categorical_column_with_identity "
            "categorical_column_with_vocabulary_file categorical_column_with_vocabulary_list "
            "crossed_column weighted_categorical_column"
        ),
    },
    "tfnb.library.feature_columns.column": {
        "feature_column": "make_parse_example_spec",
    },
    "tfnb.library.feature_columns.dense": {
        "feature_column": (
            "bucketized_column embedding_column indicator_column numeric_column "
            "shared_embedding_columns"
        ),
    },
    "tfnb.library.feature_columns.layers": {
        "feature_column": "input_layer linear_model",
    },
    "tfnb.library.feature_columns.sequence_columns": {
        "feature_column": (
            "sequence_categorical_column_with_hash_bucket "
            "sequence_categorical_column_with_identity "
            "sequence_categorical_column_with_vocabulary_file "
            "sequence_categorical_column_with_vocabulary_list sequence_numeric_column"
        ),
    },
    "tfnb.library.gradients.custom_gradient": {
        "tf": "custom_gradient grad_pass_through recompute_grad",
    },
    "tfnb.library.gradients.gradients": {
        "tf": "AggregationMethod UnconnectedGradients gradients hessians",
    },
    "tfnb.library.image.image_adjustments": {
        "image": (
            "adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality "
            "adjust_saturation combined_non_max_suppression convert_image_dtype "
            "draw_bounding_boxes grayscale_to_rgb non_max_suppression non_max_suppression_overlaps "
            "non_max_suppression_padded non_max_suppression_with_scores per_image_standardization "
            "random_brightness random_contrast random_hue random_jpeg_quality random_saturation "
            "rgb_to_grayscale rgb_to_yiq rgb_to_yuv yiq_to_rgb yuv_to_rgb"
        ),
    },
    "tfnb.library.image.image_measures": {
        "image": "image_gradients psnr sobel_edges ssim ssim_multiscale total_variation",
    },
    "tfnb.library.image.image_ops": {
        "image": (
            "ResizeMethod central_crop crop_and_resize crop_to_bounding_box extract_image_patches "
            "extract_patches flip_left_right flip_up_down pad_to_bounding_box "
            "random_flip_left_right random_flip_up_down resize:resize_images "
            "resize_image_with_crop_or_pad resize_image_with_pad resize_images "
            "resize_with_crop_or_pad:resize_image_with_crop_or_pad rot90 transpose "
            "transpose_image:transpose"
        ),
        "tf": "extract_image_patches",
    },
    "tfnb.library.image.random_crop": {
        "image": "random_crop",
        "tf": "random_crop",
    },
    "tfnb.library.layers.base": {
        "layers": "Layer",
    },
    "tfnb.library.layers.convolutional": {
        "layers": (
            "Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose conv1d conv2d conv2d_transpose "
            "conv3d conv3d_transpose"
        ),
    },
    "tfnb.library.layers.core": {
        "layers": "Dense Dropout Flatten dense dropout flatten",
    },
    "tfnb.library.layers.input_spec": {
        "layers": "InputSpec",
    },
    "tfnb.library.layers.normalization": {
        "layers": "BatchNormalization batch_normalization",
    },
    "tfnb.library.layers.pooling": {
        "layers": (
            "AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D "
            "MaxPooling3D average_pooling1d average_pooling2d average_pooling3d max_pooling1d "
            "max_pooling2d max_pooling3d"
        ),
    },
    "tfnb.library.layers.separable": {
        "layers": "SeparableConv1D SeparableConv2D separable_conv1d separable_conv2d",
    },
    "tfnb.library.linear_operators.composed": {
        "linalg": (
            "LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorBlockLowerTriangular "
            "LinearOperatorComposition LinearOperatorInversion LinearOperatorKronecker "
            "LinearOperatorLowRankUpdate"
        ),
    },
    "tfnb.library.linear_operators.operator": {
        "linalg": "LinearOperator",
    },
    "tfnb.library.linear_operators.simple": {
        "linalg": (
            "LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorHouseholder "
            "LinearOperatorIdentity LinearOperatorLowerTriangular LinearOperatorPermutation "
            "LinearOperatorScaledIdentity LinearOperatorToeplitz LinearOperatorTridiag "
            "LinearOperatorZeros"
        ),
    },
    "tfnb.library.mapping.vectorized_map": {
        "tf": "vectorized_map",
    },
    "tfnb.library.math.clip_ops": {
        "dtypes": "saturate_cast",
        "linalg": "global_norm",
        "tf": "clip_by_norm clip_by_global_norm clip_by_average_norm global_norm saturate_cast",
    },
    "tfnb.library.math.histograms": {
        "tf": "histogram_fixed_width histogram_fixed_width_bins",
    },
    "tfnb.library.math.linalg_ops": {
        "linalg": (
            "eigh_tridiagonal eigh:self_adjoint_eig eigvalsh:self_adjoint_eigvals "
            "expm:matrix_exponential logdet lstsq:matrix_solve_ls lu_matrix_inverse lu_reconstruct "
            "lu_solve matrix_rank norm normalize pinv svd tridiagonal_matmul tridiagonal_solve"
        ),
        "linalg.experimental": "conjugate_gradient",
        "tf": "matrix_solve_ls norm self_adjoint_eig self_adjoint_eigvals svd",
    },
    "tfnb.library.math.numerics": {
        "debugging": "assert_all_finite:verify_tensor_all_finite",
        "tf": "verify_tensor_all_finite add_check_numerics_ops",
    },
    "tfnb.library.math.random_generator": {
        "random": "Generator create_rng_state get_global_generator set_global_generator",
        "random.experimental": (
            "Generator create_rng_state get_global_generator set_global_generator"
        ),
    },
    "tfnb.library.math.sort_ops": {
        "tf": "sort argsort",
    },
    "tfnb.library.metrics.at_k": {
        "metrics": (
            "average_precision_at_k precision_at_k precision_at_top_k recall_at_k recall_at_top_k "
            "sparse_average_precision_at_k sparse_precision_at_k"
        ),
    },
    "tfnb.library.metrics.counts": {
        "metrics": "false_negatives false_positives precision recall true_negatives true_positives",
    },
    "tfnb.library.metrics.means": {
        "metrics": (
            "accuracy mean mean_absolute_error mean_cosine_distance mean_iou "
            "mean_per_class_accuracy mean_relative_error mean_squared_error mean_tensor "
            "percentage_below root_mean_squared_error"
        ),
    },
    "tfnb.library.metrics.thresholds": {
        "metrics": (
            "auc false_negatives_at_thresholds false_positives_at_thresholds "
            "precision_at_thresholds recall_at_thresholds sensitivity_at_specificity "
            "specificity_at_sensitivity true_negatives_at_thresholds true_positives_at_thresholds"
        ),
    },
    "tfnb.library.nn.confusion_matrix": {
        "math": "confusion_matrix",
        "tf": "confusion_matrix",
    },
    "tfnb.library.nn.convolution": {
        "nn": (
            "atrous_conv2d atrous_conv2d_transpose conv1d conv1d_transpose conv2d "
            "conv2d_backprop_filter conv2d_backprop_input conv2d_transpose conv3d "
            "conv3d_backprop_filter:conv3d_backprop_filter_v2 "
            "conv3d_backprop_filter_v2:conv3d_backprop_filter_v2 conv3d_transpose conv_transpose "
            "convolution"
        ),
    },
    "tfnb.library.nn.cross_entropy": {
        "nn": "sparse_softmax_cross_entropy_with_logits",
    },
    "tfnb.library.nn.ctc_dense": {
        "nn": "collapse_repeated ctc_loss_v2 ctc_unique_labels",
    },
    "tfnb.library.nn.depthwise_convolution": {
        "nn": (
            "depthwise_conv2d "
            "depthwise_conv2d_backprop_filter:depthwise_conv2d_native_backprop_filter "
            "depthwise_conv2d_backprop_input:depthwise_conv2d_native_backprop_input "
            "depthwise_conv2d_native depthwise_conv2d_native_backprop_filter "
            "depthwise_conv2d_native_backprop_input separable_conv2d"
        ),
    },
    "tfnb.library.nn.dilated_windows": {
        "nn": "with_space_to_batch",
    },
    "tfnb.library.nn.embedding_ops": {
        "nn": "embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse",
    },
    "tfnb.library.nn.losses": {
        "losses": (
            "Reduction absolute_difference add_loss compute_weighted_loss cosine_distance "
            "get_losses get_regularization_loss get_regularization_losses get_total_loss "
            "hinge_loss huber_loss log_loss mean_pairwise_squared_error mean_squared_error "
            "sigmoid_cross_entropy softmax_cross_entropy sparse_softmax_cross_entropy"
        ),
        "nn": "scale_regularization_loss compute_average_loss",
    },
    "tfnb.library.nn.nn_ops": {
        "linalg": "l2_normalize",
        "math": "l2_normalize zero_fraction",
        "nn": (
            "batch_norm_with_global_normalization batch_normalization dropout fused_batch_norm "
            "l2_normalize moments normalize_moments relu_layer sufficient_statistics "
            "weighted_moments xw_plus_b zero_fraction"
        ),
        "nn.experimental": "general_dropout stateless_dropout",
    },
    "tfnb.library.nn.pooling": {
        "nn": (
            "avg_pool avg_pool1d avg_pool2d:avg_pool avg_pool3d avg_pool_v2 max_pool max_pool1d "
            "max_pool2d max_pool3d max_pool_v2 max_pool_with_argmax pool"
        ),
    },
    "tfnb.library.nn.sampled_losses": {
        "nn": "nce_loss sampled_softmax_loss",
    },
    "tfnb.library.nn.silu": {
        "nn": "silu swish:silu",
    },
    "tfnb.library.queues.accumulators": {
        "sparse": "SparseConditionalAccumulator",
        "tf": "ConditionalAccumulatorBase ConditionalAccumulator SparseConditionalAccumulator",
    },
    "tfnb.library.queues.batch_functions": {
        "tf": "nondifferentiable_batch_function",
    },
    "tfnb.library.queues.critical_section": {
        "tf": "CriticalSection",
    },
    "tfnb.library.queues.queues": {
        "io": "QueueBase RandomShuffleQueue PaddingFIFOQueue PriorityQueue",
        "queue": "QueueBase FIFOQueue RandomShuffleQueue PaddingFIFOQueue PriorityQueue",
        "tf": "QueueBase FIFOQueue RandomShuffleQueue PaddingFIFOQueue PriorityQueue",
    },
    "tfnb.library.queues.record_readers": {
        "tf": (
            "ReaderBase TextLineReader WholeFileReader TFRecordReader IdentityReader "
            "FixedLengthRecordReader"
        ),
    },
    "tfnb.library.ragged.factory": {
        "ragged": (
            "boolean_mask constant constant_value cross cross_hashed map_flat_values placeholder "
            "range:range_ segment_ids_to_row_splits stack stack_dynamic_partitions"
        ),
    },
    "tfnb.library.ragged.ragged_tensor": {
        "ragged": "RaggedTensorValue row_splits_to_segment_ids",
        "tf": "RaggedTensor",
    },
    "tfnb.library.ragged.string_split": {
        "strings": "split:string_split_v2",
        "tf": "string_split",
    },
    "tfnb.library.ragged.strings": {
        "strings": (
            "bytes_split ngrams unicode_decode unicode_decode_with_offsets unicode_encode "
            "unicode_split unicode_split_with_offsets"
        ),
    },
    "tfnb.library.rnn.cells": {
        "nn.rnn_cell": (
            "BasicLSTMCell BasicRNNCell GRUCell LSTMCell LSTMStateTuple MultiRNNCell RNNCell"
        ),
    },
    "tfnb.library.rnn.dynamic": {
        "nn": "bidirectional_dynamic_rnn dynamic_rnn raw_rnn",
    },
    "tfnb.library.rnn.static": {
        "nn": "static_bidirectional_rnn static_rnn static_state_saving_rnn",
    },
    "tfnb.library.rnn.wrappers": {
        "nn.rnn_cell": "DeviceWrapper DropoutWrapper ResidualWrapper",
    },
    "tfnb.library.saved_model.builder": {
        "saved_model": "Builder:SavedModelBuilder simple_save",
        "saved_model.builder": "SavedModelBuilder",
    },
    "tfnb.library.saved_model.constants": {
        "saved_model": (
            "ASSETS_DIRECTORY ASSETS_KEY DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB LEGACY_INIT_OP_KEY "
            "MAIN_OP_KEY SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT "
            "SAVED_MODEL_SCHEMA_VERSION VARIABLES_DIRECTORY VARIABLES_FILENAME CLASSIFY_INPUTS "
            "CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES "
            "DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS "
            "REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS GPU SERVING TPU TRAINING"
        ),
        "saved_model.constants": (
            "ASSETS_DIRECTORY ASSETS_KEY DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB LEGACY_INIT_OP_KEY "
            "MAIN_OP_KEY SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT "
            "SAVED_MODEL_SCHEMA_VERSION VARIABLES_DIRECTORY VARIABLES_FILENAME"
        ),
        "saved_model.signature_constants": (
            "CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES "
            "DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS "
            "REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS"
        ),
        "saved_model.tag_constants": "GPU SERVING TPU TRAINING",
    },
    "tfnb.library.saved_model.loader": {
        "saved_model": "contains_saved_model load maybe_saved_model_directory",
        "saved_model.loader": "load maybe_saved_model_directory",
        "saved_model.signature_def_utils": "MethodNameUpdater",
    },
    "tfnb.library.saved_model.main_op": {
        "saved_model": "main_op_with_restore",
        "saved_model.main_op": "main_op main_op_with_restore",
    },
    "tfnb.library.saved_model.signature_defs": {
        "saved_model": (
            "build_tensor_info get_tensor_from_tensor_info build_signature_def "
            "classification_signature_def is_valid_signature predict_signature_def "
            "regression_signature_def"
        ),
        "saved_model.signature_def_utils": (
            "build_signature_def classification_signature_def is_valid_signature "
            "predict_signature_def regression_signature_def"
        ),
        "saved_model.utils": "build_tensor_info get_tensor_from_tensor_info",
    },
    "tfnb.library.signal.cosine": {
        "signal": "dct idct",
        "spectral": "dct idct",
    },
    "tfnb.library.signal.frames": {
        "signal": "frame overlap_and_add",
    },
    "tfnb.library.signal.mel": {
        "signal": "linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms",
    },
    "tfnb.library.signal.spectra": {
        "signal": "inverse_mdct inverse_stft inverse_stft_window_fn mdct stft",
    },
    "tfnb.library.signal.windows": {
        "signal": (
            "hamming_window hann_window kaiser_bessel_derived_window kaiser_window vorbis_window"
        ),
    },
    "tfnb.library.sparse.sparse_bincount": {
        "sparse": "bincount",
    },
    "tfnb.library.sparse.sparse_functions": {
        "io": "serialize_sparse serialize_many_sparse deserialize_many_sparse",
        "sparse": (
            "add:sparse_add concat:sparse_concat reshape:sparse_reshape split:sparse_split "
            "to_indicator:sparse_to_indicator merge:sparse_merge retain:sparse_retain "
            "reset_shape:sparse_reset_shape reduce_sum:sparse_reduce_sum "
            "reduce_sum_sparse:sparse_reduce_sum_sparse reduce_max:sparse_reduce_max "
            "reduce_max_sparse:sparse_reduce_max_sparse softmax:sparse_softmax "
            "maximum:sparse_maximum minimum:sparse_minimum transpose:sparse_transpose "
            "mask:sparse_mask serialize_sparse serialize_many_sparse deserialize_many_sparse "
            "expand_dims:sparse_expand_dims eye:sparse_eye from_dense map_values"
        ),
        "tf": (
            "sparse_add sparse_concat sparse_reshape sparse_split sparse_to_indicator sparse_merge "
            "sparse_retain sparse_reset_shape sparse_reduce_sum sparse_reduce_sum_sparse "
            "sparse_reduce_max sparse_reduce_max_sparse sparse_softmax sparse_maximum "
            "sparse_minimum sparse_transpose sparse_mask serialize_sparse serialize_many_sparse "
            "deserialize_many_sparse"
        ),
    },
    "tfnb.library.tables.lookup": {
        "initializers": "tables_initializer",
        "lookup": (
            "KeyValueTensorInitializer StaticHashTable StaticVocabularyTable TextFileIndex "
            "TextFileInitializer"
        ),
        "lookup.experimental": "DenseHashTable MutableHashTable",
        "tf": "tables_initializer initialize_all_tables",
    },
    "tfnb.library.tables.parsing_features": {
        "io": (
            "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature parse_example "
            "parse_sequence_example parse_single_example parse_single_sequence_example"
        ),
        "tf": (
            "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature parse_example "
            "parse_single_example parse_single_sequence_example"
        ),
    },
    "tfnb.library.tables.ragged_features": {
        "io": "RaggedFeature",
    },
    "tfnb.library.training.adadelta": {
        "train": "AdadeltaOptimizer",
    },
    "tfnb.library.training.adagrad": {
        "train": "AdagradDAOptimizer AdagradOptimizer ProximalAdagradOptimizer",
    },
    "tfnb.library.training.adam": {
        "train": "AdamOptimizer",
    },
    "tfnb.library.training.batching": {
        "train": (
            "batch maybe_batch batch_join maybe_batch_join shuffle_batch maybe_shuffle_batch "
            "shuffle_batch_join maybe_shuffle_batch_join"
        ),
    },
    "tfnb.library.training.checkpoint": {
        "train": "Checkpoint",
    },
    "tfnb.library.training.checkpoint_manager": {
        "train": "CheckpointManager",
    },
    "tfnb.library.training.checkpoint_state": {
        "train": (
            "checkpoint_exists checkpoints_iterator generate_checkpoint_state_proto "
            "get_checkpoint_mtimes get_checkpoint_state latest_checkpoint remove_checkpoint "
            "update_checkpoint_state"
        ),
    },
    "tfnb.library.training.checkpoint_values": {
        "train": "NewCheckpointReader list_variables load_checkpoint load_variable",
    },
    "tfnb.library.training.coordinator": {
        "train": "Coordinator LooperThread",
    },
    "tfnb.library.training.device_setter": {
        "train": "replica_device_setter",
    },
    "tfnb.library.training.ftrl": {
        "train": "FtrlOptimizer",
    },
    "tfnb.library.training.global_step": {
        "train": (
            "assert_global_step create_global_step get_global_step get_or_create_global_step "
            "global_step"
        ),
    },
    "tfnb.library.training.gradient_descent": {
        "train": "GradientDescentOptimizer ProximalGradientDescentOptimizer",
    },
    "tfnb.library.training.graph_io": {
        "io": "write_graph",
        "train": "write_graph",
    },
    "tfnb.library.training.init_from_checkpoint": {
        "train": "VocabInfo init_from_checkpoint warm_start",
    },
    "tfnb.library.training.input": {
        "io": "match_filenames_once",
        "train": (
            "match_filenames_once limit_epochs input_producer string_input_producer "
            "range_input_producer slice_input_producer"
        ),
    },
    "tfnb.library.training.learning_rate_decay": {
        "train": (
            "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay "
            "linear_cosine_decay natural_exp_decay noisy_linear_cosine_decay piecewise_constant "
            "piecewise_constant_decay:piecewise_constant polynomial_decay"
        ),
    },
    "tfnb.library.training.loss_scale": {
        "mixed_precision": (
            "DynamicLossScale FixedLossScale LossScale MixedPrecisionLossScaleOptimizer "
            "disable_mixed_precision_graph_rewrite enable_mixed_precision_graph_rewrite"
        ),
        "mixed_precision.experimental": "DynamicLossScale FixedLossScale LossScale",
        "train.experimental": (
            "DynamicLossScale FixedLossScale LossScale MixedPrecisionLossScaleOptimizer "
            "disable_mixed_precision_graph_rewrite enable_mixed_precision_graph_rewrite"
        ),
    },
    "tfnb.library.training.meta_graph": {
        "train": "export_meta_graph import_meta_graph",
    },
    "tfnb.library.training.momentum": {
        "train": "MomentumOptimizer",
    },
    "tfnb.library.training.moving_averages": {
        "train": "ExponentialMovingAverage",
    },
    "tfnb.library.training.optimizer": {
        "train": "Optimizer",
    },
    "tfnb.library.training.queue_runner": {
        "train": "QueueRunner add_queue_runner start_queue_runners",
        "train.queue_runner": "QueueRunner add_queue_runner start_queue_runners",
    },
    "tfnb.library.training.rmsprop": {
        "train": "RMSPropOptimizer",
    },
    "tfnb.library.training.saver": {
        "train": "Saver",
    },
    "tfnb.library.training.sync_replicas_optimizer": {
        "train": "SyncReplicasOptimizer",
    },
    "tfnb.library.variables.freezing": {
        "graph_util": "convert_variables_to_constants",
    },
    "tfnb.library.variables.init_ops": {
        "initializers": (
            "constant:constant_initializer glorot_normal:glorot_normal_initializer "
            "glorot_uniform:glorot_uniform_initializer he_normal he_uniform "
            "identity:identity_initializer lecun_normal lecun_uniform ones:ones_initializer "
            "orthogonal:orthogonal_initializer random_normal:random_normal_initializer "
            "random_uniform:random_uniform_initializer "
            "truncated_normal:truncated_normal_initializer "
            "uniform_unit_scaling:uniform_unit_scaling_initializer "
            "variance_scaling:variance_scaling_initializer zeros:zeros_initializer"
        ),
        "tf": (
            "constant_initializer glorot_normal_initializer glorot_uniform_initializer "
            "ones_initializer orthogonal_initializer random_normal_initializer "
            "random_uniform_initializer truncated_normal_initializer "
            "uniform_unit_scaling_initializer variance_scaling_initializer zeros_initializer"
        ),
    },
    "tfnb.library.variables.partitioned_creation": {
        "tf": "create_partitioned_variables",
    },
    "tfnb.library.variables.partitioned_variable": {
        "tf": "fixed_size_partitioner variable_axis_size_partitioner min_max_variable_partitioner",
    },
    "tfnb.library.variables.resource_variables_toggle": {
        "tf": "enable_resource_variables disable_resource_variables resource_variables_enabled",
    },
    "tfnb.library.variables.template": {
        "tf": "make_template",
    },
    "tfnb.library.variables.variable_scope": {
        "tf": (
            "VariableScope get_variable get_local_variable get_variable_scope variable_scope "
            "variable_op_scope"
        ),
    },
    "tfnb.library.variables.variable_store": {
        "tf": "AUTO_REUSE no_regularizer",
    },
    "tfnb.library.variables.variables": {
        "initializers": (
            "variables:variables_initializer global_variables:global_variables_initializer "
            "local_variables:local_variables_initializer"
        ),
        "tf": (
            "Variable VariableV1:Variable VariableAggregation VariableSynchronization "
            "variable_creator_scope variable_creator_scope_v1:variable_creator_scope "
            "global_variables all_variables local_variables model_variables trainable_variables "
            "moving_average_variables variables_initializer initialize_variables "
            "global_variables_initializer initialize_all_variables local_variables_initializer "
            "initialize_local_variables assert_variables_initialized "
            "report_uninitialized_variables"
        ),
    },
    "tfnb.onnx_export.check": {
        "onnx": "check",
    },
    "tfnb.onnx_export.export": {
        "onnx": "export",
    },
    "tfnb.ops.array.array_extras": {
        "tf": "sequence_mask meshgrid unravel_index fingerprint",
    },
    "tfnb.ops.array.cast_ops": {
        "dtypes": "cast",
        "tf": "cast to_bfloat16 to_complex128 to_complex64 to_double to_float to_int32 to_int64",
    },
    "tfnb.ops.array.concat_ops": {
        "manip": "tile",
        "tf": "stack unstack parallel_stack concat split tile",
    },
    "tfnb.ops.array.constant_ops": {
        "tf": (
            "constant placeholder placeholder_with_default zeros ones zeros_like ones_like fill "
            "guarantee_const"
        ),
    },
    "tfnb.ops.array.data_flow_ops": {
        "tf": "dynamic_partition dynamic_stitch",
    },
    "tfnb.ops.array.gather_ops": {
        "manip": "gather_nd",
        "tf": "gather gather_nd batch_gather",
    },
    "tfnb.ops.array.identity_ops": {
        "raw_ops": "",
        "tf": "identity identity_n stop_gradient bitcast",
    },
    "tfnb.ops.array.matrix_diag_ops": {
        "linalg": (
            "diag:matrix_diag diag_part:matrix_diag_part set_diag:matrix_set_diag "
            "band_part:matrix_band_part tensor_diag:diag tensor_diag_part:diag_part"
        ),
        "tf": "diag diag_part matrix_diag matrix_diag_part matrix_set_diag matrix_band_part",
    },
    "tfnb.ops.array.one_hot_ops": {
        "tf": "one_hot",
    },
    "tfnb.ops.array.pad_ops": {
        "tf": "pad",
    },
    "tfnb.ops.array.repeat_ops": {
        "tf": "repeat",
    },
    "tfnb.ops.array.scatter_nd_ops": {
        "manip": "scatter_nd",
        "tf": (
            "scatter_nd tensor_scatter_update:tensor_scatter_nd_update tensor_scatter_nd_update "
            "tensor_scatter_add:tensor_scatter_nd_add tensor_scatter_nd_add "
            "tensor_scatter_sub:tensor_scatter_nd_sub tensor_scatter_nd_sub tensor_scatter_nd_min "
            "tensor_scatter_nd_max"
        ),
    },
    "tfnb.ops.array.shape_ops": {
        "manip": "reshape",
        "tf": (
            "shape shape_n size rank reshape expand_dims squeeze ensure_shape broadcast_to "
            "broadcast_static_shape broadcast_dynamic_shape"
        ),
    },
    "tfnb.ops.array.slice_ops": {
        "tf": "slice strided_slice",
    },
    "tfnb.ops.array.space_ops": {
        "manip": "batch_to_space_nd space_to_batch_nd",
        "nn": "depth_to_space space_to_depth space_to_batch batch_to_space",
        "tf": (
            "depth_to_space space_to_depth space_to_batch space_to_batch_nd batch_to_space "
            "batch_to_space_nd required_space_to_batch_paddings"
        ),
    },
    "tfnb.ops.array.transpose_ops": {
        "linalg": "matrix_transpose transpose:matrix_transpose",
        "manip": "reverse roll",
        "math": "invert_permutation",
        "tf": (
            "transpose matrix_transpose invert_permutation reverse reverse_v2:reverse "
            "reverse_sequence roll"
        ),
    },
    "tfnb.ops.array.unique_ops": {
        "tf": "unique:unique_v1 unique_with_counts:unique_with_counts_v1 setdiff1d",
    },
    "tfnb.ops.array.where_ops": {
        "tf": "where where_v2 boolean_mask",
    },
    "tfnb.ops.control.control_flow_ops": {
        "tf": "no_op",
    },
    "tfnb.ops.control.script_ops": {
        "tf": "py_func numpy_function",
    },
    "tfnb.ops.conv.fractional_pooling_ops": {
        "nn": "fractional_avg_pool fractional_max_pool",
    },
    "tfnb.ops.image.image_codec_ops": {
        "image": (
            "decode_and_crop_jpeg:decode_and_crop_jpeg_op decode_bmp:decode_bmp_op "
            "decode_gif:decode_gif_op decode_image decode_jpeg:decode_jpeg_op "
            "decode_png:decode_png_op encode_jpeg:encode_jpeg_op "
            "extract_jpeg_shape:extract_jpeg_shape_op encode_png:encode_png_op is_jpeg"
        ),
        "io": (
            "decode_and_crop_jpeg:decode_and_crop_jpeg_op decode_bmp:decode_bmp_op "
            "decode_gif:decode_gif_op decode_image decode_jpeg:decode_jpeg_op "
            "decode_png:decode_png_op encode_jpeg:encode_jpeg_op "
            "extract_jpeg_shape:extract_jpeg_shape_op encode_png:encode_png_op is_jpeg"
        ),
    },
    "tfnb.ops.image.image_color_ops": {
        "image": "hsv_to_rgb rgb_to_hsv",
    },
    "tfnb.ops.image.image_distortion_ops": {
        "image": "extract_glimpse sample_distorted_bounding_box",
    },
    "tfnb.ops.image.image_patch_ops": {
        "nn": "dilation2d erosion2d",
        "tf": "extract_volume_patches",
    },
    "tfnb.ops.image.image_resize_ops": {
        "image": (
            "resize_area:resize_area_op resize_bicubic resize_bilinear resize_nearest_neighbor"
        ),
    },
    "tfnb.ops.io.io_ops": {
        "io": "read_file write_file matching_files",
        "tf": "read_file write_file matching_files",
    },
    "tfnb.ops.io.logging_ops": {
        "tf": "Print print:print_ timestamp",
    },
    "tfnb.ops.io.parsing_ops": {
        "io": (
            "decode_compressed decode_csv decode_json_example decode_raw parse_tensor "
            "serialize_tensor"
        ),
        "tf": (
            "decode_compressed decode_csv decode_json_example decode_raw parse_tensor "
            "serialize_tensor"
        ),
    },
    "tfnb.ops.io.summary_ops": {
        "summary": (
            "audio get_summary_description histogram image merge merge_all scalar tensor_summary "
            "text"
        ),
    },
    "tfnb.ops.linalg.einsum_ops": {
        "linalg": "einsum",
        "tf": "einsum",
    },
    "tfnb.ops.linalg.matrix_decomposition_ops": {
        "linalg": "cholesky logm:matrix_logarithm lu qr sqrtm:matrix_square_root",
        "tf": "cholesky matrix_square_root qr",
    },
    "tfnb.ops.linalg.matrix_functions": {
        "linalg": "adjoint cholesky_solve eye triangular_solve:matrix_triangular_solve",
        "tf": "cholesky_solve eye matrix_triangular_solve",
    },
    "tfnb.ops.linalg.matrix_solve_ops": {
        "linalg": (
            "det:matrix_determinant inv:matrix_inverse slogdet:log_matrix_determinant "
            "solve:matrix_solve"
        ),
        "tf": "matrix_determinant matrix_inverse matrix_solve",
    },
    "tfnb.ops.math.bessel_ops": {
        "math": "bessel_i0 bessel_i0e bessel_i1 bessel_i1e",
        "math.special": (
            "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e "
            "bessel_k1 bessel_k1e bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence"
        ),
    },
    "tfnb.ops.math.clip_value_ops": {
        "tf": "clip_by_value",
    },
    "tfnb.ops.math.comparison_ops": {
        "bitwise": "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
        "math": "greater greater_equal less less_equal logical_and logical_or",
        "tf": "greater greater_equal less less_equal logical_and logical_or",
    },
    "tfnb.ops.math.complex_ops": {
        "dtypes": "complex:complex_",
        "math": "real imag angle",
        "tf": "complex:complex_ real imag angle",
    },
    "tfnb.ops.math.cwise_binary_ops": {
        "math": (
            "atan2 maximum minimum squared_difference floormod:floor_mod mod:floor_mod "
            "xdivy:xdivy_op nextafter:next_after"
        ),
        "tf": (
            "atan2 maximum minimum squared_difference truncatediv:truncate_div "
            "truncatemod:truncate_mod realdiv:real_div floor_div floormod:floor_mod mod:floor_mod"
        ),
    },
    "tfnb.ops.math.cwise_unary_ops": {
        "bitwise": "invert",
        "debugging": "is_finite is_inf is_nan",
        "math": (
            "acosh asin asinh atan atanh cos cosh expm1 is_finite is_inf is_nan log log1p rint sin "
            "sinh square tan tanh reciprocal negative:neg conj"
        ),
        "nn": "tanh",
        "tf": (
            "acosh asin asinh atan atanh cos cosh expm1 is_finite is_inf is_nan log log1p rint sin "
            "sinh square tan tanh reciprocal negative:neg conj"
        ),
    },
    "tfnb.ops.math.histogram_ops": {
        "math": "bincount",
        "tf": "bincount",
    },
    "tfnb.ops.math.math_ops": {
        "linalg": "tensordot trace",
        "math": (
            "abs accumulate_n acos add add_n ceil divide divide_no_nan:div_no_nan equal exp floor "
            "floordiv logical_not logical_xor multiply multiply_no_nan not_equal polyval pow "
            "reciprocal_no_nan round rsqrt scalar_mul sigmoid sign sqrt subtract truediv xdivy "
            "xlog1py xlogy"
        ),
        "nn": "sigmoid",
        "tf": (
            "abs accumulate_n acos add add_n ceil div div_no_nan divide equal exp floor floordiv "
            "logical_not logical_xor multiply not_equal pow round rsqrt scalar_mul sigmoid sign "
            "sqrt subtract tensordot trace truediv"
        ),
    },
    "tfnb.ops.math.matmul_ops": {
        "linalg": "matmul matvec",
        "tf": "matmul sparse_matmul:sparse_mat_mul",
    },
    "tfnb.ops.math.numerics_ops": {
        "debugging": "check_numerics",
        "tf": "check_numerics",
    },
    "tfnb.ops.math.reduction_ops": {
        "math": (
            "reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod "
            "reduce_sum reduce_euclidean_norm reduce_std reduce_variance count_nonzero argmax "
            "argmin"
        ),
        "tf": (
            "reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod "
            "reduce_sum count_nonzero argmax argmin arg_max arg_min"
        ),
    },
    "tfnb.ops.math.searchsorted_ops": {
        "tf": "searchsorted",
    },
    "tfnb.ops.math.segment_ops": {
        "math": (
            "segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max "
            "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod "
            "unsorted_segment_sqrt_n unsorted_segment_sum"
        ),
        "tf": (
            "segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max "
            "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod "
            "unsorted_segment_sqrt_n unsorted_segment_sum"
        ),
    },
    "tfnb.ops.math.sequence_ops": {
        "linalg": "cross",
        "math": "cumsum cumprod cumulative_logsumexp",
        "tf": "range:range_ lin_space:linspace linspace cumsum cumprod cross",
    },
    "tfnb.ops.math.sparse_segment_ops": {
        "sparse": (
            "segment_mean:sparse_segment_mean segment_sqrt_n:sparse_segment_sqrt_n "
            "segment_sum:sparse_segment_sum"
        ),
        "tf": "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum",
    },
    "tfnb.ops.math.special_math_ops": {
        "math": (
            "betainc digamma erf erfc erfcinv erfinv igamma igammac lbeta lgamma ndtri polygamma "
            "zeta"
        ),
        "tf": "betainc digamma erf erfc igamma igammac lbeta lgamma polygamma zeta",
    },
    "tfnb.ops.nn.activation_ops": {
        "math": "log_sigmoid softplus softsign",
        "nn": "crelu elu leaky_relu relu relu6 selu softplus softsign",
        "tf": "log_sigmoid",
    },
    "tfnb.ops.nn.bias_ops": {
        "nn": "bias_add",
    },
    "tfnb.ops.nn.candidate_sampling_ops": {
        "nn": (
            "all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler "
            "learned_unigram_candidate_sampler log_uniform_candidate_sampler "
            "uniform_candidate_sampler"
        ),
        "random": (
            "all_candidate_sampler fixed_unigram_candidate_sampler "
            "learned_unigram_candidate_sampler log_uniform_candidate_sampler "
            "uniform_candidate_sampler"
        ),
    },
    "tfnb.ops.nn.cross_entropy_ops": {
        "nn": (
            "log_poisson_loss sigmoid_cross_entropy_with_logits softmax_cross_entropy_with_logits "
            "softmax_cross_entropy_with_logits_v2 weighted_cross_entropy_with_logits"
        ),
    },
    "tfnb.ops.nn.ctc_ops": {
        "nn": "ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder ctc_loss",
    },
    "tfnb.ops.nn.local_response_ops": {
        "nn": "local_response_normalization:lrn lrn",
    },
    "tfnb.ops.nn.normalization_ops": {
        "nn": "l2_loss",
    },
    "tfnb.ops.nn.softmax_ops": {
        "math": "log_softmax softmax",
        "nn": "log_softmax softmax",
    },
    "tfnb.ops.nn.top_k_ops": {
        "math": "approx_max_k approx_min_k in_top_k top_k",
        "nn": "approx_max_k approx_min_k in_top_k top_k",
        "tf": "approx_top_k",
    },
    "tfnb.ops.quantized.fake_quant_ops": {
        "quantization": (
            "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient "
            "fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient "
            "fake_quant_with_min_max_vars_per_channel "
            "fake_quant_with_min_max_vars_per_channel_gradient"
        ),
        "tf": (
            "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient "
            "fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient "
            "fake_quant_with_min_max_vars_per_channel "
            "fake_quant_with_min_max_vars_per_channel_gradient"
        ),
    },
    "tfnb.ops.quantized.quantization_ops": {
        "quantization": "dequantize quantize",
        "tf": "dequantize quantize quantize_v2",
    },
    "tfnb.ops.quantized.quantize_and_dequantize_ops": {
        "quantization": "quantize_and_dequantize quantize_and_dequantize_v2",
    },
    "tfnb.ops.quantized.quantized_math_ops": {
        "quantization": "quantized_concat",
        "tf": "quantized_concat",
    },
    "tfnb.ops.quantized.quantized_nn_ops": {
        "nn": (
            "quantized_avg_pool quantized_conv2d:quantized_conv2_d quantized_max_pool "
            "quantized_relu_x"
        ),
    },
    "tfnb.ops.random.random_index_shuffle_ops": {
        "random.experimental": "index_shuffle",
        "tf": "random_index_shuffle",
    },
    "tfnb.ops.random.random_ops": {
        "random": (
            "categorical gamma:random_gamma multinomial normal:random_normal "
            "poisson:random_poisson shuffle:random_shuffle truncated_normal uniform:random_uniform"
        ),
        "tf": (
            "multinomial random_gamma random_normal random_poisson random_shuffle random_uniform "
            "truncated_normal"
        ),
    },
    "tfnb.ops.random.sobol_ops": {
        "math": "sobol_sample",
    },
    "tfnb.ops.random.stateless_random_ops": {
        "random": (
            "Algorithm fold_in split stateless_binomial stateless_categorical stateless_gamma "
            "stateless_multinomial stateless_normal stateless_parameterized_truncated_normal "
            "stateless_poisson stateless_truncated_normal stateless_uniform"
        ),
        "random.experimental": (
            "Algorithm stateless_fold_in:fold_in stateless_shuffle stateless_split:split"
        ),
    },
    "tfnb.ops.signal.audio_ops": {
        "audio": "decode_wav encode_wav",
    },
    "tfnb.ops.signal.fft_ops": {
        "signal": (
            "fft fft2d fft3d ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d fftshift "
            "ifftshift"
        ),
        "spectral": "fft fft2d fft3d ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d",
        "tf": "fft fft2d fft3d ifft ifft2d ifft3d",
    },
    "tfnb.ops.sparse.ragged_ops": {
        "tf": "ragged_fill_empty_rows ragged_fill_empty_rows_grad",
    },
    "tfnb.ops.sparse.set_ops": {
        "sets": (
            "set_size size:set_size set_intersection intersection:set_intersection set_difference "
            "difference:set_difference set_union union:set_union"
        ),
        "tf": "edit_distance",
    },
    "tfnb.ops.sparse.sparse_cross_ops": {
        "sparse": "cross cross_hashed",
    },
    "tfnb.ops.sparse.sparse_ops": {
        "sparse": (
            "placeholder:sparse_placeholder to_dense:sparse_tensor_to_dense reorder:sparse_reorder "
            "slice:sparse_slice fill_empty_rows:sparse_fill_empty_rows "
            "sparse_dense_matmul:sparse_tensor_dense_matmul matmul:sparse_tensor_dense_matmul"
        ),
        "tf": (
            "sparse_placeholder sparse_to_dense sparse_tensor_to_dense sparse_reorder sparse_slice "
            "sparse_fill_empty_rows sparse_tensor_dense_matmul"
        ),
    },
    "tfnb.ops.state.session_ops": {
        "tf": "get_session_handle get_session_tensor delete_session_tensor",
    },
    "tfnb.ops.state.state_ops": {
        "tf": (
            "assign assign_add assign_sub count_up_to scatter_update scatter_add scatter_sub "
            "scatter_mul scatter_div scatter_min scatter_max scatter_nd_update scatter_nd_add "
            "scatter_nd_sub batch_scatter_update is_variable_initialized"
        ),
    },
    "tfnb.ops.strings.regex_ops": {
        "strings": "regex_full_match regex_replace",
        "tf": "regex_replace",
    },
    "tfnb.ops.strings.string_hash_ops": {
        "strings": (
            "to_hash_bucket:string_to_hash_bucket to_hash_bucket_fast:string_to_hash_bucket_fast "
            "to_hash_bucket_strong:string_to_hash_bucket_strong"
        ),
        "tf": "string_to_hash_bucket string_to_hash_bucket_fast string_to_hash_bucket_strong",
    },
    "tfnb.ops.strings.string_join_ops": {
        "strings": "join:string_join reduce_join unsorted_segment_join",
        "tf": "reduce_join string_join",
    },
    "tfnb.ops.strings.string_number_ops": {
        "dtypes": "as_string",
        "strings": "as_string to_number:string_to_number",
        "tf": "as_string string_to_number",
    },
    "tfnb.ops.strings.string_ops": {
        "io": "decode_base64 encode_base64",
        "strings": (
            "format:string_format length:string_length_v1 lower:string_lower strip:string_strip "
            "substr:substr upper:string_upper"
        ),
        "tf": "decode_base64 encode_base64 string_strip substr",
    },
    "tfnb.ops.strings.unicode_ops": {
        "strings": "unicode_script unicode_transcode",
    },
    "tfnb.ops.testing.test_only_ops": {
        "testing": "register_test_ops",
    },
}

OPS: dict[str, str] = {
    "tfnb.ops.array.array_extras": "Fingerprint InplaceAdd InplaceSub InplaceUpdate UnravelIndex",
    "tfnb.ops.array.cast_ops": "Cast",
    "tfnb.ops.array.concat_ops": (
        "Concat ConcatOffset ConcatV2 Pack ParallelConcat Split SplitV Tile TileGrad Unpack"
    ),
    "tfnb.ops.array.constant_ops": (
        "Const Empty Fill GuaranteeConst HostConst ImmutableConst OnesLike Placeholder "
        "PlaceholderV2 PlaceholderWithDefault ZerosLike"
    ),
    "tfnb.ops.array.data_flow_ops": "DynamicPartition DynamicStitch ParallelDynamicStitch",
    "tfnb.ops.array.data_format_ops": "DataFormatDimMap DataFormatVecPermute",
    "tfnb.ops.array.gather_ops": "Gather GatherNd GatherV2",
    "tfnb.ops.array.identity_ops": (
        "Bitcast DeepCopy Identity IdentityN PreventGradient Snapshot StopGradient"
    ),
    "tfnb.ops.array.matrix_diag_ops": (
        "Diag DiagPart MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 "
        "MatrixDiagV2 MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3"
    ),
    "tfnb.ops.array.one_hot_ops": "OneHot",
    "tfnb.ops.array.pad_ops": "MirrorPad MirrorPadGrad Pad PadV2",
    "tfnb.ops.array.scatter_nd_ops": (
        "ScatterNd ScatterNdNonAliasingAdd TensorScatterAdd TensorScatterMax TensorScatterMin "
        "TensorScatterSub TensorScatterUpdate"
    ),
    "tfnb.ops.array.shape_ops": (
        "BroadcastArgs BroadcastGradientArgs BroadcastTo EnsureShape ExpandDims Rank Reshape Shape "
        "ShapeN Size Squeeze"
    ),
    "tfnb.ops.array.slice_ops": (
        "ResourceStridedSliceAssign Slice StridedSlice StridedSliceAssign StridedSliceGrad "
        "TensorStridedSliceUpdate"
    ),
    "tfnb.ops.array.space_ops": (
        "BatchToSpace BatchToSpaceND DepthToSpace SpaceToBatch SpaceToBatchND SpaceToDepth"
    ),
    "tfnb.ops.array.transpose_ops": (
        "ConjugateTranspose InvertPermutation Reverse ReverseSequence ReverseV2 Roll Transpose"
    ),
    "tfnb.ops.array.unique_ops": "ListDiff Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2",
    "tfnb.ops.array.where_ops": "Where",
    "tfnb.ops.containers.list_ops": (
        "EmptyTensorList TensorListElementShape TensorListFromTensor TensorListGetItem "
        "TensorListLength TensorListPopBack TensorListPushBack TensorListPushBackBatch "
        "TensorListReserve TensorListResize TensorListSetItem"
    ),
    "tfnb.ops.containers.map_ops": (
        "EmptyTensorMap TensorMapErase TensorMapHasKey TensorMapInsert TensorMapLookup "
        "TensorMapSize TensorMapStackKeys"
    ),
    "tfnb.ops.containers.optional_ops": (
        "OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone"
    ),
    "tfnb.ops.containers.stack_ops": (
        "Stack StackClose StackCloseV2 StackPop StackPopV2 StackPush StackPushV2 StackV2"
    ),
    "tfnb.ops.containers.tensor_array_ops": (
        "TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayGradV3 "
        "TensorArrayGradWithShape TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3 "
        "TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3"
    ),
    "tfnb.ops.containers.tensor_array_v1_ops": (
        "TensorArray TensorArrayClose TensorArrayCloseV2 TensorArrayConcat TensorArrayConcatV2 "
        "TensorArrayGather TensorArrayGatherV2 TensorArrayGrad TensorArrayGradV2 TensorArrayPack "
        "TensorArrayRead TensorArrayReadV2 TensorArrayScatter TensorArrayScatterV2 TensorArraySize "
        "TensorArraySizeV2 TensorArraySplit TensorArraySplitV2 TensorArrayUnpack TensorArrayV2 "
        "TensorArrayWrite TensorArrayWriteV2"
    ),
    "tfnb.ops.containers.whole_list_ops": (
        "TensorListConcat TensorListConcatLists TensorListConcatV2 TensorListGather "
        "TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2 TensorListSplit "
        "TensorListStack"
    ),
    "tfnb.ops.control.control_flow_ops": (
        "Abort ControlTrigger Enter Exit LoopCond Merge NextIteration NoOp RefEnter RefExit "
        "RefIdentity RefMerge RefNextIteration RefSelect RefSwitch Switch _SwitchN"
    ),
    "tfnb.ops.control.function_ops": "_Arg _DeviceArg _DeviceRetval _Retval",
    "tfnb.ops.control.functional_ops": (
        "Case DeviceIndex FakeParam For If MapDefun PartitionedCall StatefulPartitionedCall "
        "StatelessCase StatelessIf StatelessWhile SymbolicGradient ToBool While _If _While"
    ),
    "tfnb.ops.control.script_ops": "EagerPyFunc PyFunc PyFuncStateless",
    "tfnb.ops.control.sendrecv_ops": "_HostRecv _HostSend _Recv _Send",
    "tfnb.ops.conv.conv_ops": (
        "Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 "
        "Conv3DBackpropInputV2 DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter "
        "DepthwiseConv2dNativeBackpropInput"
    ),
    "tfnb.ops.conv.fractional_pooling_ops": (
        "FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool FractionalMaxPoolGrad"
    ),
    "tfnb.ops.conv.pooling_ops": (
        "AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad MaxPool MaxPool3D MaxPool3DGrad "
        "MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradGradWithArgmax "
        "MaxPoolGradV2 MaxPoolGradWithArgmax MaxPoolV2 MaxPoolWithArgmax"
    ),
    "tfnb.ops.dataset.dataset_batch_ops": (
        "BatchDataset BatchDatasetV2 ExperimentalMapAndBatchDataset ExperimentalUnbatchDataset "
        "MapAndBatchDataset PaddedBatchDataset PaddedBatchDatasetV2 ParallelBatchDataset "
        "UnbatchDataset WindowDataset WindowOp"
    ),
    "tfnb.ops.dataset.dataset_file_ops": (
        "FixedLengthRecordDataset FixedLengthRecordDatasetV2 TFRecordDataset TFRecordDatasetV2 "
        "TextLineDataset"
    ),
    "tfnb.ops.dataset.dataset_fingerprint": "DatasetFingerprint",
    "tfnb.ops.dataset.dataset_function_ops": (
        "DatasetCardinality DatasetToSingleElement ExperimentalDatasetCardinality "
        "ExperimentalGroupByWindowDataset ExperimentalParallelInterleaveDataset "
        "ExperimentalScanDataset ExperimentalTakeWhileDataset FilterDataset FlatMapDataset "
        "GroupByWindowDataset InterleaveDataset LegacyParallelInterleaveDatasetV2 MapDataset "
        "ParallelFilterDataset ParallelInterleaveDataset ParallelInterleaveDatasetV2 "
        "ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4 ParallelMapDataset "
        "ParallelMapDatasetV2 ReduceDataset ScanDataset TakeWhileDataset"
    ),
    "tfnb.ops.dataset.dataset_parse_ops": (
        "ExperimentalParseExampleDataset ParseExampleDataset ParseExampleDatasetV2"
    ),
    "tfnb.ops.dataset.dataset_rebatch_ops": (
        "DenseToSparseBatchDataset ExperimentalDenseToSparseBatchDataset "
        "ExperimentalGroupByReducerDataset ExperimentalRebatchDataset GetElementAtIndex "
        "GroupByReducerDataset ListDataset RebatchDataset RebatchDatasetV2 SamplingDataset "
        "SlidingWindowDataset"
    ),
    "tfnb.ops.dataset.dataset_sequence_ops": (
        "AnonymousMemoryCache AssertCardinalityDataset AssertNextDataset BytesProducedStatsDataset "
        "CacheDataset CacheDatasetV2 ConcatenateDataset DeleteMemoryCache "
        "DirectedInterleaveDataset DummyMemoryCache ExperimentalBytesProducedStatsDataset "
        "ExperimentalDirectedInterleaveDataset ExperimentalIgnoreErrorsDataset "
        "ExperimentalLatencyStatsDataset ExperimentalMaxIntraOpParallelismDataset "
        "ExperimentalNonSerializableDataset ExperimentalPrivateThreadPoolDataset "
        "ExperimentalUniqueDataset FinalizeDataset IgnoreErrorsDataset LatencyStatsDataset "
        "MaxIntraOpParallelismDataset ModelDataset NonSerializableDataset OptimizeDataset "
        "OptimizeDatasetV2 OptionsDataset PrefetchDataset PrivateThreadPoolDataset RepeatDataset "
        "RewriteDataset ShardDataset SkipDataset TakeDataset UniqueDataset ZipDataset"
    ),
    "tfnb.ops.dataset.dataset_shuffle_ops": (
        "AnonymousRandomSeedGenerator AnonymousSeedGenerator DeleteRandomSeedGenerator "
        "DeleteSeedGenerator DummySeedGenerator ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2 "
        "ShuffleDataset ShuffleDatasetV2 ShuffleDatasetV3"
    ),
    "tfnb.ops.dataset.dataset_snapshot_ops": (
        "LoadDataset SaveDataset SaveDatasetV2 SnapshotDatasetV2"
    ),
    "tfnb.ops.dataset.dataset_source_ops": (
        "ExperimentalRandomDataset GeneratorDataset RandomDataset RangeDataset "
        "SparseTensorSliceDataset TensorDataset TensorSliceDataset"
    ),
    "tfnb.ops.dataset.dataset_table_ops": (
        "CSVDataset CSVDatasetV2 DatasetToTFRecord ExperimentalCSVDataset "
        "ExperimentalDatasetToTFRecord ExperimentalMatchingFilesDataset ExperimentalSqlDataset "
        "InitializeTableFromDataset MatchingFilesDataset SqlDataset"
    ),
    "tfnb.ops.dataset.iterator_ops": (
        "AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 DeleteIterator Iterator "
        "IteratorFromStringHandle IteratorFromStringHandleV2 IteratorGetNext "
        "IteratorGetNextAsOptional IteratorGetNextSync IteratorToStringHandle IteratorV2 "
        "MakeIterator OneShotIterator"
    ),
    "tfnb.ops.image.image_box_ops": (
        "CombinedNonMaxSuppression DrawBoundingBoxes DrawBoundingBoxesV2 NonMaxSuppression "
        "NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 "
        "NonMaxSuppressionWithOverlaps"
    ),
    "tfnb.ops.image.image_codec_ops": (
        "DecodeAndCropJpeg DecodeBmp DecodeGif DecodeImage DecodeJpeg DecodePng EncodeJpeg "
        "EncodeJpegVariableQuality EncodePng ExtractJpegShape"
    ),
    "tfnb.ops.image.image_color_ops": (
        "AdjustContrastv2 AdjustHue AdjustSaturation HSVToRGB RGBToHSV"
    ),
    "tfnb.ops.image.image_crop_ops": "CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage",
    "tfnb.ops.image.image_distortion_ops": (
        "ExtractGlimpse ExtractGlimpseV2 SampleDistortedBoundingBox SampleDistortedBoundingBoxV2 "
        "StatelessSampleDistortedBoundingBox"
    ),
    "tfnb.ops.image.image_patch_ops": (
        "Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput ExtractImagePatches "
        "ExtractVolumePatches"
    ),
    "tfnb.ops.image.image_resize_ops": (
        "ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad "
        "ResizeNearestNeighbor ResizeNearestNeighborGrad"
    ),
    "tfnb.ops.image.image_transform_ops": "ImageProjectiveTransformV2 ImageProjectiveTransformV3",
    "tfnb.ops.image.old_image_ops": (
        "AdjustContrast Conv3DBackpropFilter Conv3DBackpropInput RandomCrop"
    ),
    "tfnb.ops.image.scale_and_translate_ops": "ScaleAndTranslate ScaleAndTranslateGrad",
    "tfnb.ops.io.checkpoint_remapping_ops": "GenerateVocabRemapping LoadAndRemapMatrix",
    "tfnb.ops.io.example_ops": "ParseExample ParseExampleV2 ParseSingleExample",
    "tfnb.ops.io.io_ops": (
        "MatchingFiles MergeV2Checkpoints ReadFile RestoreV2 SaveV2 ShardedFilename "
        "ShardedFilespec WriteFile"
    ),
    "tfnb.ops.io.io_v1_ops": "Restore RestoreSlice Save SaveSlices",
    "tfnb.ops.io.logging_ops": "Assert Print PrintV2 Timestamp",
    "tfnb.ops.io.parsing_ops": (
        "DecodeCSV DecodeCompressed DecodeJSONExample DecodePaddedRaw DecodeRaw ParseTensor "
        "SerializeTensor"
    ),
    "tfnb.ops.io.reader_ops": (
        "FixedLengthRecordReader FixedLengthRecordReaderV2 IdentityReader IdentityReaderV2 "
        "ReaderNumRecordsProduced ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompleted "
        "ReaderNumWorkUnitsCompletedV2 ReaderRead ReaderReadUpTo ReaderReadUpToV2 ReaderReadV2 "
        "ReaderReset ReaderResetV2 ReaderRestoreState ReaderRestoreStateV2 ReaderSerializeState "
        "ReaderSerializeStateV2 TFRecordReader TFRecordReaderV2 TextLineReader TextLineReaderV2 "
        "WholeFileReader WholeFileReaderV2"
    ),
    "tfnb.ops.io.record_input_ops": "RecordInput",
    "tfnb.ops.io.sequence_example_ops": (
        "ParseSequenceExample ParseSequenceExampleV2 ParseSingleSequenceExample"
    ),
    "tfnb.ops.io.summary_file_ops": (
        "CloseSummaryWriter CreateSummaryFileWriter FlushSummaryWriter ImportEvent SummaryWriter "
        "WriteAudioSummary WriteGraphSummary WriteHistogramSummary WriteImageSummary "
        "WriteRawProtoSummary WriteScalarSummary WriteSummary"
    ),
    "tfnb.ops.io.summary_ops": (
        "AudioSummary AudioSummaryV2 HistogramSummary ImageSummary MergeSummary ScalarSummary "
        "TensorSummary TensorSummaryV2"
    ),
    "tfnb.ops.linalg.einsum_ops": "Einsum",
    "tfnb.ops.linalg.matrix_decomposition_ops": (
        "Cholesky Eig Lu MatrixLogarithm MatrixSquareRoot Qr SelfAdjointEigV2 Svd"
    ),
    "tfnb.ops.linalg.matrix_solve_ops": (
        "BandedTriangularSolve LogMatrixDeterminant MatrixDeterminant MatrixInverse MatrixSolve "
        "MatrixSolveLs MatrixTriangularSolve"
    ),
    "tfnb.ops.linalg.old_matrix_ops": (
        "BatchCholesky BatchCholeskyGrad BatchFFT BatchFFT2D BatchFFT3D BatchIFFT BatchIFFT2D "
        "BatchIFFT3D BatchMatrixBandPart BatchMatrixDeterminant BatchMatrixDiag "
        "BatchMatrixDiagPart BatchMatrixInverse BatchMatrixSetDiag BatchMatrixSolve "
        "BatchMatrixSolveLs BatchMatrixTriangularSolve BatchSelfAdjointEig BatchSelfAdjointEigV2 "
        "BatchSvd CholeskyGrad MatrixExponential SelfAdjointEig"
    ),
    "tfnb.ops.linalg.tridiagonal_ops": "TridiagonalMatMul TridiagonalSolve",
    "tfnb.ops.lookup.lookup_ops": (
        "AnonymousHashTable AnonymousMutableDenseHashTable AnonymousMutableHashTable "
        "AnonymousMutableHashTableOfTensors HashTableV2 InitializeTableFromTextFileV2 "
        "InitializeTableV2 LookupTableExportV2 LookupTableFindV2 LookupTableImportV2 "
        "LookupTableInsertV2 LookupTableRemoveV2 LookupTableSizeV2 MutableDenseHashTableV2 "
        "MutableHashTableOfTensorsV2 MutableHashTableV2"
    ),
    "tfnb.ops.lookup.lookup_v1_ops": (
        "HashTable InitializeTable InitializeTableFromTextFile LookupTableExport LookupTableFind "
        "LookupTableImport LookupTableInsert LookupTableSize MutableDenseHashTable "
        "MutableHashTable MutableHashTableOfTensors"
    ),
    "tfnb.ops.math.add_n_ops": "AccumulateNV2 AddN",
    "tfnb.ops.math.bessel_ops": (
        "BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 "
        "BesselK1e BesselY0 BesselY1 Dawsn Expint FresnelCos FresnelSin Spence"
    ),
    "tfnb.ops.math.clip_value_ops": "ClipByValue",
    "tfnb.ops.math.comparison_ops": (
        "ApproximateEqual BitwiseAnd BitwiseOr BitwiseXor Equal Greater GreaterEqual LeftShift "
        "Less LessEqual LogicalAnd LogicalOr NotEqual RightShift"
    ),
    "tfnb.ops.math.complex_ops": "Angle Complex ComplexAbs Imag Real",
    "tfnb.ops.math.cwise_binary_ops": (
        "Add AddV2 Atan2 Div DivNoNan FloorDiv FloorMod Maximum Minimum Mod Mul MulNoNan NextAfter "
        "Pow RealDiv SquaredDifference Sub TruncateDiv TruncateMod Xdivy Xlog1py Xlogy"
    ),
    "tfnb.ops.math.cwise_unary_ops": (
        "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Conj Cos Cosh Exp Expm1 Floor Inv InvGrad "
        "Invert IsFinite IsInf IsNan Log Log1p LogicalNot Neg PopulationCount Reciprocal "
        "ReciprocalGrad Rint Round Rsqrt RsqrtGrad Sigmoid SigmoidGrad Sign Sin Sinh Sqrt SqrtGrad "
        "Square Tan Tanh TanhGrad"
    ),
    "tfnb.ops.math.histogram_ops": "Bincount Bucketize DenseBincount HistogramFixedWidth",
    "tfnb.ops.math.matmul_ops": "BatchMatMul BatchMatMulV2 BatchMatMulV3 MatMul SparseMatMul",
    "tfnb.ops.math.numerics_ops": "CheckNumerics CheckNumericsV2",
    "tfnb.ops.math.reduction_ops": "All Any ArgMax ArgMin EuclideanNorm Max Mean Min Prod Sum",
    "tfnb.ops.math.searchsorted_ops": "LowerBound UpperBound",
    "tfnb.ops.math.segment_ops": (
        "SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum UnsortedSegmentMax "
        "UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum"
    ),
    "tfnb.ops.math.select_ops": "Select SelectV2",
    "tfnb.ops.math.sequence_ops": "Cross Cumprod Cumsum CumulativeLogsumexp LinSpace Range",
    "tfnb.ops.math.sparse_segment_ops": (
        "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentMeanGradV2 "
        "SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNGrad "
        "SparseSegmentSqrtNGradV2 SparseSegmentSqrtNWithNumSegments SparseSegmentSum "
        "SparseSegmentSumGrad SparseSegmentSumGradV2 SparseSegmentSumWithNumSegments"
    ),
    "tfnb.ops.math.special_math_ops": (
        "Betainc Digamma Erf Erfc Erfinv Igamma IgammaGradA Igammac Lgamma Ndtri Polygamma "
        "RandomGammaGrad Zeta"
    ),
    "tfnb.ops.nn.activation_ops": (
        "Elu EluGrad LeakyRelu LeakyReluGrad Relu Relu6 Relu6Grad ReluGrad Selu SeluGrad Softplus "
        "SoftplusGrad Softsign SoftsignGrad"
    ),
    "tfnb.ops.nn.bias_ops": "BiasAdd BiasAddGrad BiasAddV1",
    "tfnb.ops.nn.block_rnn_ops": (
        "BlockLSTM BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2 GRUBlockCell GRUBlockCellGrad "
        "LSTMBlockCell LSTMBlockCellGrad"
    ),
    "tfnb.ops.nn.candidate_sampling_ops": (
        "AllCandidateSampler ComputeAccidentalHits FixedUnigramCandidateSampler "
        "LearnedUnigramCandidateSampler LogUniformCandidateSampler "
        "ThreadUnsafeUnigramCandidateSampler UniformCandidateSampler"
    ),
    "tfnb.ops.nn.clustering_ops": (
        "KMC2ChainInitialization KmeansPlusPlusInitialization NearestNeighbors"
    ),
    "tfnb.ops.nn.cross_entropy_ops": (
        "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits"
    ),
    "tfnb.ops.nn.ctc_ops": "CTCBeamSearchDecoder CTCGreedyDecoder CTCLoss CTCLossV2",
    "tfnb.ops.nn.cudnn_rnn_ops": (
        "CudnnRNN CudnnRNNBackprop CudnnRNNBackpropV2 CudnnRNNBackpropV3 CudnnRNNCanonicalToParams "
        "CudnnRNNCanonicalToParamsV2 CudnnRNNParamsSize CudnnRNNParamsToCanonical "
        "CudnnRNNParamsToCanonicalV2 CudnnRNNV2 CudnnRNNV3"
    ),
    "tfnb.ops.nn.fused_ops": (
        "_FusedBatchNormEx _FusedConv2D _FusedDepthwiseConv2dNative _FusedMatMul "
        "_UnaryOpsComposition"
    ),
    "tfnb.ops.nn.isotonic_ops": "IsotonicRegression",
    "tfnb.ops.nn.local_response_ops": "LRN LRNGrad",
    "tfnb.ops.nn.normalization_ops": (
        "BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad FusedBatchNorm "
        "FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 "
        "FusedBatchNormV3 L2Loss"
    ),
    "tfnb.ops.nn.padded_conv_ops": "FusedPadConv2D FusedResizeAndPadConv2D",
    "tfnb.ops.nn.softmax_ops": "LogSoftmax Softmax",
    "tfnb.ops.nn.top_k_ops": "ApproxTopK InTopK InTopKV2 NthElement TopK TopKV2",
    "tfnb.ops.quantized.fake_quant_ops": (
        "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars "
        "FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel "
        "FakeQuantWithMinMaxVarsPerChannelGradient"
    ),
    "tfnb.ops.quantized.quantization_ops": (
        "Dequantize QuantizeDownAndShrinkRange QuantizeV2 RequantizationRange "
        "RequantizationRangePerChannel Requantize RequantizePerChannel"
    ),
    "tfnb.ops.quantized.quantize_and_dequantize_ops": (
        "QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 "
        "QuantizeAndDequantizeV4 QuantizeAndDequantizeV4Grad"
    ),
    "tfnb.ops.quantized.quantized_fused_ops": (
        "QuantizedConv2DAndRelu QuantizedConv2DAndReluAndRequantize QuantizedConv2DAndRequantize "
        "QuantizedConv2DPerChannel QuantizedConv2DWithBias QuantizedConv2DWithBiasAndRelu "
        "QuantizedConv2DWithBiasAndReluAndRequantize QuantizedConv2DWithBiasAndRequantize "
        "QuantizedDepthwiseConv2D QuantizedDepthwiseConv2DWithBias "
        "QuantizedDepthwiseConv2DWithBiasAndRelu "
        "QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize"
    ),
    "tfnb.ops.quantized.quantized_math_ops": (
        "QuantizedAdd QuantizedConcat QuantizedConcatV2 QuantizedMatMul QuantizedMul "
        "QuantizedReshape"
    ),
    "tfnb.ops.quantized.quantized_nn_ops": (
        "QuantizedAvgPool QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd "
        "QuantizedConv2D QuantizedInstanceNorm QuantizedMaxPool QuantizedRelu QuantizedRelu6 "
        "QuantizedReluX QuantizedResizeBilinear"
    ),
    "tfnb.ops.random.random_index_shuffle_ops": "RandomIndexShuffle",
    "tfnb.ops.random.random_ops": (
        "Multinomial ParameterizedTruncatedNormal RandomGamma RandomPoisson RandomPoissonV2 "
        "RandomShuffle RandomStandardNormal RandomUniform RandomUniformInt TruncatedNormal"
    ),
    "tfnb.ops.random.sobol_ops": "SobolSample",
    "tfnb.ops.random.stateful_random_ops": (
        "NonDeterministicInts RngReadAndSkip RngSkip StatefulRandomBinomial StatefulStandardNormal "
        "StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform StatefulUniformFullInt "
        "StatefulUniformInt"
    ),
    "tfnb.ops.random.stateless_random_ops": (
        "StatelessMultinomial StatelessParameterizedTruncatedNormal StatelessRandomBinomial "
        "StatelessRandomGammaV2 StatelessRandomGammaV3 StatelessRandomGetAlg "
        "StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg StatelessRandomNormal "
        "StatelessRandomNormalV2 StatelessRandomPoisson StatelessRandomUniform "
        "StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2 StatelessRandomUniformInt "
        "StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessShuffle "
        "StatelessTruncatedNormal StatelessTruncatedNormalV2"
    ),
    "tfnb.ops.signal.audio_ops": "AudioSpectrogram DecodeWav EncodeWav Mfcc",
    "tfnb.ops.signal.fft_ops": (
        "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D"
    ),
    "tfnb.ops.sparse.composite_tensor_ops": (
        "CompositeTensorVariantFromComponents CompositeTensorVariantToComponents"
    ),
    "tfnb.ops.sparse.count_ops": (
        "DenseCountSparseOutput RaggedBincount RaggedCountSparseOutput SparseBincount "
        "SparseCountSparseOutput"
    ),
    "tfnb.ops.sparse.ragged_ops": (
        "RaggedFillEmptyRows RaggedFillEmptyRowsGrad RaggedGather RaggedRange RaggedTensorToSparse "
        "RaggedTensorToTensor"
    ),
    "tfnb.ops.sparse.ragged_variant_ops": (
        "RaggedTensorFromVariant RaggedTensorToVariant RaggedTensorToVariantGradient"
    ),
    "tfnb.ops.sparse.set_ops": (
        "DenseToDenseSetOperation DenseToSparseSetOperation EditDistance SetSize "
        "SparseToSparseSetOperation"
    ),
    "tfnb.ops.sparse.sparse_cross_ops": "RaggedCross SparseCross SparseCrossHashed SparseCrossV2",
    "tfnb.ops.sparse.sparse_form_ops": (
        "DeserializeManySparse DeserializeSparse SerializeManySparse SerializeSparse SparseConcat "
        "SparseReshape SparseSplit"
    ),
    "tfnb.ops.sparse.sparse_map_ops": (
        "AddManySparseToTensorsMap AddSparseToTensorsMap TakeManySparseFromTensorsMap"
    ),
    "tfnb.ops.sparse.sparse_math_ops": (
        "SparseAdd SparseAddGrad SparseDenseCwiseAdd SparseDenseCwiseDiv SparseReduceMax "
        "SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse SparseSoftmax "
        "SparseSparseMaximum SparseSparseMinimum"
    ),
    "tfnb.ops.sparse.sparse_ops": (
        "SparseDenseCwiseMul SparseFillEmptyRows SparseFillEmptyRowsGrad SparseReorder SparseSlice "
        "SparseSliceGrad SparseTensorDenseAdd SparseTensorDenseMatMul SparseToDense"
    ),
    "tfnb.ops.sparse_matrix.sparse_matrix_factor_ops": (
        "SparseMatrixOrderingAMD SparseMatrixSparseCholesky"
    ),
    "tfnb.ops.sparse_matrix.sparse_matrix_ops": (
        "CSRSparseMatrixComponents CSRSparseMatrixToDense CSRSparseMatrixToSparseTensor "
        "DenseToCSRSparseMatrix SparseMatrixAdd SparseMatrixMul SparseMatrixNNZ "
        "SparseMatrixSoftmax SparseMatrixSoftmaxGrad SparseMatrixTranspose SparseMatrixZeros "
        "SparseTensorToCSRSparseMatrix"
    ),
    "tfnb.ops.sparse_matrix.sparse_matrix_product_ops": (
        "SparseMatrixMatMul SparseMatrixSparseMatMul"
    ),
    "tfnb.ops.state.resource_variable_ops": (
        "AssignAddVariableOp AssignSubVariableOp AssignVariableOp DestroyResourceOp "
        "DisableCopyOnRead ReadVariableOp ResourceCountUpTo ResourceGather ResourceGatherNd "
        "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin "
        "ResourceScatterMul ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin "
        "ResourceScatterNdSub ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate "
        "VarHandleOp VarIsInitializedOp VariableShape _ReadVariablesOp _VarHandlesOp"
    ),
    "tfnb.ops.state.session_ops": (
        "DeleteSessionTensor GetSessionHandle GetSessionHandleV2 GetSessionTensor"
    ),
    "tfnb.ops.state.state_ops": (
        "Assign AssignAdd AssignSub CountUpTo DestroyTemporaryVariable IsVariableInitialized "
        "ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNdAdd ScatterNdMax "
        "ScatterNdMin ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate TemporaryVariable "
        "Variable VariableV2"
    ),
    "tfnb.ops.state.training_ops": (
        "ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 ApplyAdam "
        "ApplyAddSign ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 ApplyGradientDescent "
        "ApplyMomentum ApplyPowerSign ApplyProximalAdagrad ApplyProximalGradientDescent "
        "ApplyRMSProp ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad "
        "ResourceApplyAdagradDA ResourceApplyAdagradV2 ResourceApplyAdam "
        "ResourceApplyAdamWithAmsgrad ResourceApplyAddSign ResourceApplyCenteredRMSProp "
        "ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyGradientDescent "
        "ResourceApplyKerasMomentum ResourceApplyMomentum ResourceApplyPowerSign "
        "ResourceApplyProximalAdagrad ResourceApplyProximalGradientDescent ResourceApplyRMSProp "
        "ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA "
        "ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl "
        "ResourceSparseApplyFtrlV2 ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum "
        "ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent "
        "ResourceSparseApplyRMSProp SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradDA "
        "SparseApplyAdagradV2 SparseApplyCenteredRMSProp SparseApplyFtrl SparseApplyFtrlV2 "
        "SparseApplyMomentum SparseApplyProximalAdagrad SparseApplyProximalGradientDescent "
        "SparseApplyRMSProp"
    ),
    "tfnb.ops.strings.regex_ops": (
        "RegexFullMatch RegexReplace StaticRegexFullMatch StaticRegexReplace"
    ),
    "tfnb.ops.strings.string_hash_ops": (
        "StringToHashBucket StringToHashBucketFast StringToHashBucketStrong"
    ),
    "tfnb.ops.strings.string_join_ops": "ReduceJoin StringJoin StringNGrams UnsortedSegmentJoin",
    "tfnb.ops.strings.string_number_ops": "AsString StringToNumber",
    "tfnb.ops.strings.string_ops": (
        "DecodeBase64 EncodeBase64 StringFormat StringLength StringLower StringSplit StringSplitV2 "
        "StringStrip StringUpper Substr"
    ),
    "tfnb.ops.strings.unicode_ops": (
        "UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode UnicodeScript UnicodeTranscode"
    ),
    "tfnb.ops.waiting.accumulator_ops": (
        "AccumulatorApplyGradient AccumulatorNumAccumulated AccumulatorSetGlobalStep "
        "AccumulatorTakeGradient ConditionalAccumulator ResourceAccumulatorApplyGradient "
        "ResourceAccumulatorNumAccumulated ResourceAccumulatorSetGlobalStep "
        "ResourceAccumulatorTakeGradient ResourceConditionalAccumulator "
        "SparseAccumulatorApplyGradient SparseAccumulatorTakeGradient SparseConditionalAccumulator"
    ),
    "tfnb.ops.waiting.barrier_ops": (
        "Barrier BarrierClose BarrierIncompleteSize BarrierInsertMany BarrierReadySize "
        "BarrierTakeMany"
    ),
    "tfnb.ops.waiting.batch_function_ops": "Batch BatchFunction Unbatch UnbatchGrad",
    "tfnb.ops.waiting.collective_ops": (
        "CollectiveBcastRecv CollectiveBcastRecvV2 CollectiveBcastSend CollectiveBcastSendV2 "
        "CollectiveGather CollectiveGatherV2 CollectiveReduce CollectiveReduceV2"
    ),
    "tfnb.ops.waiting.mutex_ops": "ConsumeMutexLock MutexLock MutexV2",
    "tfnb.ops.waiting.queue_ops": (
        "FIFOQueue FIFOQueueV2 FakeQueue PaddingFIFOQueue PaddingFIFOQueueV2 PriorityQueue "
        "PriorityQueueV2 QueueClose QueueCloseV2 QueueDequeue QueueDequeueMany QueueDequeueManyV2 "
        "QueueDequeueUpTo QueueDequeueUpToV2 QueueDequeueV2 QueueEnqueue QueueEnqueueMany "
        "QueueEnqueueManyV2 QueueEnqueueV2 QueueIsClosed QueueIsClosedV2 QueueSize QueueSizeV2 "
        "RandomShuffleQueue RandomShuffleQueueV2"
    ),
    "tfnb.ops.waiting.staging_ops": (
        "MapClear MapIncompleteSize MapPeek MapSize MapStage MapUnstage MapUnstageNoKey "
        "OrderedMapClear OrderedMapIncompleteSize OrderedMapPeek OrderedMapSize OrderedMapStage "
        "OrderedMapUnstage OrderedMapUnstageNoKey Stage StageClear StagePeek StageSize Unstage"
    ),
}

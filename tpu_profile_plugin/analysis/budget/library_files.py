"""Python files of frameworks and of Python itself: their frames say little about the program that is profiled.

Profiles hold no directories, only names of files. Files whose names programs use as well (train.py, utils.py, ...) are
left out; of some of those, functions that only the frameworks have are listed.
"""

from __future__ import annotations

_FILES = """
    __future__.py __hello__.py _abc.py _add_newdocs.py _add_newdocs_scalars.py _aix_support.py _array_utils_impl.py
    _arraypad_impl.py _arraysetops_impl.py _arrayterator_impl.py _asarray.py _base.py _bootstrap.py
    _bootstrap_external.py _bootsubprocess.py _collections_abc.py _compat_pickle.py _compression.py _datasource.py
    _distutils_system_mod.py _dtype.py _dtype_ctypes.py _exceptions.py _format_impl.py _function_base_impl.py _helper.py
    _histograms_impl.py _index_tricks_impl.py _internal.py _iotools.py _linalg.py _markupbase.py _methods.py
    _nanfunctions_impl.py _npyio_impl.py _osx_support.py _pickle.py _pocketfft.py _polynomial_impl.py _py_abc.py
    _pydecimal.py _pyio.py _scimath_impl.py _shape_base_impl.py _sitebuiltins.py _stride_tricks_impl.py
    _string_helpers.py _strptime.py _sysconfigdata__linux_x86_64-linux-gnu.py _sysconfigdata__x86_64-linux-gnu.py
    _threading_local.py _twodim_base_impl.py _type_aliases.py _type_check_impl.py _ufunc_config.py _ufunclike_impl.py
    _user_array_impl.py _utils_impl.py _version.py _weakrefset.py abc.py abstract_arrays.py accuracy_metrics.py ad.py
    ad_checkpoint.py ad_util.py adagrad_da.py ag_ctx.py aifc.py all_util.py analytics.py anno.py api.py api_util.py
    argparse.py argument_validation.py array.py array_api_metadata.py array_constructors.py array_creation.py
    array_grad.py array_methods.py array_ops.py array_ops_stack.py array_utils.py arrayprint.py ast.py ast_util.py
    async_checkpoint_helper.py asynchat.py asyncore.py atomic_function.py attributes.py audio_dataset_utils.py
    auto_control_deps.py auto_control_deps_utils.py autocast_variable.py autograph_ops.py autograph_util.py
    autotrackable.py backend_config.py backend_utils.py backprop.py backprop_util.py backup_and_restore.py base.py
    base64.py base_delegate.py base_events.py base_futures.py base_layer.py base_layer_utils.py base_layer_v1.py
    base_metric.py base_optimizer.py base_preprocessing_layer.py base_subprocess.py base_tasks.py basearray.py
    basic_loops.py basic_session_run_hooks.py batch_op.py batch_ops.py batching.py bdb.py benchmarks_test_base.py
    bincount_ops.py bitwise_ops.py blocked_sampler.py boosted_trees_ops.py buffer_callback.py build_info.py builder.py
    builder_impl.py byte_swap_tensor.py bz2.py cProfile.py c_api_util.py cache_key.py cache_op.py callback.py
    callback_list.py callbacks_v1.py cancellation.py candidate_sampling_ops.py capture_container.py
    central_storage_strategy.py cfg.py cgi.py cgitb.py check_ops.py checkify.py checkpoint_context.py
    checkpoint_management.py checkpoint_ops.py checkpoint_options.py checkpoint_state_pb2.py checkpoint_view.py
    choose_from_datasets_op.py client_lib.py clip_ops.py cloud_tpu_init.py clustering_ops.py code_stats.py codecs.py
    codeop.py collective_all_reduce_strategy.py collective_ops.py collective_util.py colorsys.py combinations.py
    common_shapes.py compilation_cache.py compilation_cache_interface.py compile_utils.py compileall.py compiler.py
    compiler_ir.py composite_tensor.py composite_tensor_gradient.py composite_tensor_ops.py composite_tensor_utils.py
    compute_on.py concatenate_op.py concrete_function.py cond_v2.py conditional_expressions.py config_lib.py
    configparser.py confusion_metrics.py connection.py constant_op.py constraints.py context.py contextlib.py
    contextvars.py control_deps.py control_flow.py control_flow_assert.py control_flow_case.py control_flow_grad.py
    control_flow_ops.py control_flow_state.py control_flow_switch_case.py control_flow_util.py control_flow_util_v2.py
    control_flow_v2_func_graphs.py control_flow_v2_toggles.py conv_utils.py conversion.py convert.py
    convert_to_constants.py converter.py converter_testing.py convolution.py coordinator.py copy.py copyreg.py core.py
    coroutines.py correlation_metrics.py counter_op.py cpp_shape_inference_pb2.py cpu_sparse.py critical_section_ops.py
    cross_device_ops.py cross_device_utils.py csv.py csv_logger.py ctc_ops.py cudnn_rnn_grad.py custom_api_util.py
    custom_batching.py custom_derivatives.py custom_gradient.py custom_nest_protocol.py custom_nest_trace_type.py
    custom_partitioning.py custom_partitioning_sharding_rule.py cversions.py data_adapter.py data_flow_grad.py
    data_flow_ops.py data_structures.py data_utils.py dataclasses.py dataset_autograph.py dataset_creator.py
    dataset_creator_model_fit_test_base.py dataset_ops.py dataset_utils.py datetime.py debug_mode.py debugging.py
    decimal.py decorator_utils.py def_function.py default_gradient.py default_types.py default_types_pb2.py
    defchararray.py deprecated_module.py deprecated_module_new.py deprecation.py deprecations.py
    device_compatibility_check.py device_context.py device_lib.py device_setter.py device_spec.py device_util.py
    difflib.py directed_interleave_op.py dis.py discharge.py dispatch.py distribute.py distribute_config.py
    distribute_coordinator.py distribute_coordinator_context.py distribute_coordinator_utils.py distribute_lib.py
    distribute_utils.py distributed_file_utils.py distributed_training_utils.py distributed_training_utils_v1.py
    distribution_lib.py dlpack.py dmtree_impl.py doc_typealias.py doctest.py dtype_utils.py dtypes.py
    dynamic_ragged_shape.py eager_function_run.py early_stopping.py earray.py einops.py einsum_dense.py einsumfunc.py
    embedding_ops.py enum.py environment_info.py epoch_iterator.py error_check.py error_interpolation.py error_utils.py
    errors_impl.py estimator_training.py eval_jaxpr.py example_parser_configuration.py exceptions.py execute.py
    extension_type.py extension_type_field.py extras.py f_score_metrics.py feature_space.py ffi.py file_utils.py
    filecmp.py fileinput.py filesystem_ops.py filter_op.py fingerprinting.py fingerprinting_utils.py flat_map_op.py
    flatten_util.py flexible_dtypes.py fnmatch.py forkserver.py format.py format_helpers.py forwardprop.py
    forwardprop_util.py fractions.py framework_lib.py from_generator_op.py from_sparse_tensor_slices_op.py
    from_tensor_slices_op.py from_tensors_op.py fromnumeric.py frozen_dict.py ftplib.py func_graph.py function.py
    function_base.py function_cache.py function_context.py function_def_to_graph.py function_deserialization.py
    function_serialization.py function_type.py function_type_pb2.py function_type_utils.py function_utils.py
    function_wrappers.py functional_ops.py functional_saver.py functional_utils.py functools.py future.py futures.py
    gast_util.py generic_utils.py genericpath.py getlimits.py getopt.py getpass.py gettext.py glob.py global_state.py
    googletest.py gpu_common_utils.py gpu_linalg.py gpu_prng.py gpu_rnn.py gpu_solver.py gpu_sparse.py gpu_triton.py
    gpu_util.py gradient_checker.py gradient_checker_v2.py gradient_descent.py gradients.py gradients_impl.py
    gradients_util.py grain_utils.py graph_io.py graph_only_ops.py graph_to_function_def.py graph_util.py
    graph_util_impl.py graph_view.py graphlib.py group_by_window_op.py gzip.py handle_data_util.py handlers.py
    hardware_utils.py hashable_array.py hashlib.py heapq.py hijax.py hinge_metrics.py histogram_ops.py hmac.py
    ignore_errors_op.py image_dataset.py image_dataset_utils.py image_grad.py image_grad_test_base.py image_ops.py
    image_ops_impl.py imaplib.py imghdr.py immutable_dict.py imp.py imperative_grad.py importer.py index_tricks.py
    indexed_slices.py indexing.py init_ops.py init_ops_v2.py initializers_ns.py initializers_v1.py inplace_ops.py
    input_layer.py input_lib.py input_ops.py input_spec.py input_util.py inspect.py inspect_utils.py integrate.py
    interleave_op.py internal.py introspect.py io_ops.py iou_metrics.py ipaddress.py is_in_graph_mode.py
    iterator_autograph.py iterator_ops.py jax_layer.py jax_utils.py jaxpr_util.py keras_correctness_test_base.py
    keras_deps.py keras_logging.py keras_parameterized.py keras_tensor.py kernelized_utils.py kernels.py keyword.py
    keyword_args.py kpl_test_utils.py lambda_callback.py lapack.py lax.py lax_numpy.py lax_reference.py layer_utils.py
    layout.py lazy_loader.py learning_rate_decay.py learning_rate_scheduler.py legacy_learning_rate_decay.py
    lift_to_graph.py linalg_grad.py linalg_ops.py linalg_ops_impl.py linear_util.py linecache.py list_ops.py literals.py
    load_library.py load_op.py load_options.py load_v1_in_v2.py loader_impl.py locale.py lock_util.py locks.py
    logging_config.py logging_ops.py logical.py lookup_ops.py loss_scale_optimizer.py losses_utils.py lru_cache.py
    lzma.py machinery.py mailbox.py mailcap.py main_op.py main_op_impl.py managers.py manip_grad.py manip_ops.py
    map_fn.py map_op.py map_ops.py math_grad.py math_ops.py memmap.py memory_checker.py merge_call_interim.py
    mesh_utils.py meta_graph.py method_name_updater.py metrics_impl.py metrics_utils.py mimetypes.py mirrored_run.py
    mirrored_strategy.py mixins.py mlir.py mode_keys.py model_analyzer.py model_checkpoint.py model_collection_base.py
    model_combinations.py module_utils.py module_wrapper.py modulefinder.py momentum.py monitor_callback.py
    monitored_session.py monitoring.py mosaic_gpu.py moving_averages.py mrecords.py multi_device_iterator_ops.py
    multi_optimizer.py multi_process_lib.py multi_process_runner.py multi_worker_test_base.py
    multi_worker_testing_utils.py multi_worker_util.py multiarray.py multihost_utils.py name_scope.py named_sharding.py
    naming.py nccl_ops.py ndimage.py nest.py nest_util.py nested_structure_coder.py netrc.py nn_fused_batch_norm_grad.py
    nn_grad.py nn_impl.py nn_impl_distribute.py nn_ops.py nntplib.py none_tensor.py np_array_ops.py np_arrays.py
    np_config.py np_dtypes.py np_math_ops.py np_random.py np_utils.py npyio.py ntpath.py nturl2path.py numbers.py
    numeric.py numerical_utils.py numerics.py numerictypes.py numpy_dataset.py numpy_util.py object_identity.py
    object_registration.py one_device_strategy.py op_callbacks.py op_def_library.py op_def_library_pybind.py
    op_def_registry.py op_selector.py op_shardings.py opcode.py operation.py operation_utils.py operator.py ops.py
    optimizer_combinations.py optimizer_v1.py option_builder.py optional_grad.py optional_ops.py optparse.py
    optree_impl.py orbax_checkpoint.py origin_info.py os.py overrides.py packed_distributed_variable.py
    padded_batch_op.py parameter_server_strategy.py parameter_server_strategy_v2.py parsing_config.py parsing_ops.py
    partial_batch_padding_handler.py partial_eval.py partition_spec.py partitioned_variables.py path_helpers.py
    pathlib.py pdb.py pickle.py pickle_util.py pickle_utils.py pickletools.py pipes.py pjit.py pkgutil.py platform.py
    plistlib.py plugin_asset.py plugin_support.py pmap.py polymorphic_function.py polynomial.py popen_fork.py
    popen_forkserver.py popen_spawn_posix.py popen_spawn_win32.py poplib.py posixpath.py pprint.py prefetch_op.py
    pretty_printer.py primitives.py printoptions.py proactor_events.py probabilistic_metrics.py profiler.py
    profiler_client.py profiler_v2.py progbar.py progbar_logger.py proto_ops.py protocols.py proximal_adagrad.py
    proximal_gradient_descent.py ps_values.py pstats.py public_test_util.py pxla.py py_builtins.py
    py_checkpoint_reader.py py_compile.py py_metric.py pyclbr.py pydoc.py python_memory_checker.py python_state.py
    python_utils.py pywrap_tf_session.py qual_names.py quantize_training.py queue.py queue_runner_impl.py queues.py
    quopri.py ragged_array_ops.py ragged_autograph.py ragged_batch_gather_ops.py ragged_batch_gather_with_default_op.py
    ragged_batch_op.py ragged_bincount_ops.py ragged_check_ops.py ragged_concat_ops.py ragged_config.py
    ragged_conversion_ops.py ragged_dispatch.py ragged_embedding_ops.py ragged_factory_ops.py ragged_functional_ops.py
    ragged_gather_ops.py ragged_getitem.py ragged_image_ops.py ragged_map_ops.py ragged_math_ops.py ragged_operators.py
    ragged_ops.py ragged_squeeze_op.py ragged_string_ops.py ragged_tensor.py ragged_tensor_shape.py
    ragged_tensor_test_ops.py ragged_tensor_value.py ragged_util.py ragged_where_op.py random.py random_crop_ops.py
    random_grad.py random_op.py random_ops.py random_ops_util.py random_seed.py range_op.py readers.py rebatch_op.py
    recfunctions.py reduce_lr_on_plateau.py reduce_util.py reduction.py reduction_metrics.py reductions.py
    ref_variable.py regression_metrics.py remote.py remote_monitor.py remote_utils.py repeat_op.py reprlib.py
    resource.py resource_loader.py resource_sharer.py resource_tracker.py resource_variable_ops.py resources.py
    restore.py restore_captures.py revived_types.py rlcompleter.py rng_utils.py rnn_cell.py rnn_cell_impl.py rnn_grad.py
    row_partition.py runpy.py sample_from_datasets_op.py save_context.py save_op.py save_options.py save_util.py
    save_util_v1.py saveable_compat.py saved_model.py saved_model_exported_concrete.py saved_model_test_base.py
    saved_model_utils.py saver_test_utils.py saving.py saving_api.py saving_lib.py scalar_types.py scaled_dot.py
    scan_op.py scanner.py sched.py schedule_free_adamw.py scheduling_groups.py scimath.py script_ops.py sdca_ops.py
    secrets.py segment_id_ops.py selector_events.py selectors.py self_check.py sequence_utils.py serialization.py
    serialization_lib.py serialization_pb2.py serialization_test_pb2.py serialize_executable.py server_lib.py session.py
    session_manager.py session_ops.py session_run_hook.py setops.py sets_impl.py shape_base.py shape_util.py
    shard_alike.py shard_map.py shard_op.py sharded_variable.py sharding_impls.py shared_memory.py
    shared_variable_creator.py sharedctypes.py shelve.py shlex.py shuffle_op.py shutil.py sidecar_evaluator.py
    signature_constants.py signature_def_utils.py signature_def_utils_impl.py signature_serialization.py simple.py
    simple_models.py simple_save.py single_loss_example.py sitecustomize.py skip_op.py slices.py slicing.py
    slot_creator.py smart_cond.py smtpd.py smtplib.py snapshot_op.py sndhdr.py socket.py socketserver.py sort_ops.py
    sorting.py source_info_util.py sourcemap.py sparse_batch_op.py sparse_grad.py sparse_ops.py sparse_tensor.py
    spawn.py special_math_ops.py sre_compile.py sre_constants.py sre_parse.py ssl.py sslproto.py stages.py staggered.py
    standard_ops.py stat.py state_grad.py state_ops.py stateful_random_ops.py stateless_random_ops.py stateless_scope.py
    step_fn.py steps_per_execution_tuning.py strategy_combinations.py strategy_test_lib.py strict_mode.py
    stride_tricks.py string.py string_ops.py stringprep.py strings.py struct.py structured_function.py subprocess.py
    subscribe.py summary_io.py summary_iterator.py summary_op_util.py summary_ops_v2.py summary_utils.py sunau.py
    supervisor.py swap_ema_weights.py symbolic_arguments.py symbolic_scope.py symtable.py sync_replicas_optimizer.py
    synchronize.py sysconfig.py tabnanny.py tag_constants.py take_op.py take_while_op.py tape.py tarfile.py
    taskgroups.py telnetlib.py tempfile.py template.py templates.py tensor_array_grad.py tensor_array_ops.py
    tensor_attributes.py tensor_callable.py tensor_contractions.py tensor_conversion.py tensor_conversion_registry.py
    tensor_shape.py tensor_spec.py tensor_util.py tensorboard.py terminate_on_nan.py text_dataset_utils.py textwrap.py
    tf_contextlib.py tf_decorator.py tf_decorator_export.py tf_export.py tf_inspect.py tf_logging.py tf_method_target.py
    tf_op_layer.py tf_should_use.py tf_stack.py tf_utils.py tfprof_logger.py tfrt_utils.py thread.py threading.py
    threads.py timed_threads.py timeit.py timeouts.py timeseries_dataset.py timeseries_dataset_utils.py topologies.py
    torch_utils.py torchtree_impl.py tpu_custom_call.py tpu_replicated_variable.py tpu_strategy.py
    tpu_strategy_test_utils.py tpu_util.py tpu_values.py trace_type_builder.py traceable_stack.py traceback.py
    traceback_util.py traceback_utils.py tracemalloc.py tracing_compilation.py tracing_utils.py trackable.py
    trackable_utils.py trackable_view.py tracking.py training_arrays_v1.py training_distributed_v1.py
    training_eager_v1.py training_generator_v1.py training_ops.py training_util.py training_utils.py
    training_utils_v1.py training_v1.py transfer.py transpiler.py transports.py traverse.py tree_api.py tree_util.py
    triton.py trsock.py tty.py turtle.py type_annotations.py type_dispatch.py type_spec.py type_spec_registry.py
    type_utils.py typing.py ufunc_api.py ufuncs.py umath.py unbatch_op.py unconnected_gradients.py unique_op.py
    unix_events.py unsupported_features_checker.py user_array.py util.py utils_impl.py uu.py uuid.py values.py
    values_util.py values_v2.py variable_mapping.py variable_scope.py variable_utils.py variable_v1.py variables.py
    vectorize.py version.py version_utils.py versions.py vis_utils.py warm_starting_util.py warnings.py wave.py
    weak_tensor.py weak_tensor_ops.py weak_tensor_test_util.py weakref.py webbrowser.py weights_broadcast_ops.py
    while_loop.py while_v2.py while_v2_indexed_slices_rewriter.py window_functions.py window_op.py
    windowed_reductions.py windows_events.py windows_utils.py worker_training_state.py wrap_function.py xdrlib.py
    xla_bridge.py xla_client.py xla_metadata.py xla_metadata_lib.py xla_transform.py zip_op.py zipapp.py zipfile.py
    zipimport.py
"""
_FUNCTIONS = {
    "training.py": """
        compute_loss compute_metrics evaluate fit make_predict_function make_test_function make_train_function
        one_step_on_data one_step_on_iterator multi_step_on_iterator predict predict_function predict_on_batch
        predict_step run_step step_function test_function test_on_batch test_step train_function train_on_batch
        train_step _get_compile_args _get_optimizer _set_training_mode _should_eval reset_metrics
    """,
    "trainer.py": """
        compute_loss compute_metrics evaluate fit make_predict_function make_test_function make_train_function
        predict predict_on_batch test_on_batch train_on_batch train_step
    """,
    "functional.py": """
        call _run_internal_graph _flatten_to_reference_inputs _conform_to_reference_input
    """,
    "optimizer.py": """
        minimize compute_gradients apply_gradients apply aggregate_gradients assign_add_variable
        _internal_apply_gradients _distributed_apply_gradients_fn _update_step update_step_xla
        _compute_current_learning_rate
    """,
    "callbacks.py": """
        _call_batch_hook _call_batch_begin_hook _call_batch_end_hook _call_batch_hook_helper _call_begin_hook
        _call_end_hook _process_logs
    """,
    "backend.py": """
        convert_inputs_if_ragged cast_to_floatx learning_phase track_variable get_value batch_get_value
    """,
    "structure.py": """
        type_spec_from_value normalize_element to_batched_tensor_list from_compatible_tensor_list from_tensor_list
        get_flat_tensor_types get_flat_tensor_shapes
    """,
    "trace.py": """
        wrapped
    """,
    "tensor.py": """
        __tf_tensor__ __tf_tracing_type__ is_compatible_with is_tf_type most_specific_compatible_type
    """,
    "tree.py": """
        map flatten unflatten leaves reduce all transpose structure map_with_path
    """,
}
_LIBRARIES = frozenset(_FILES.split())
_PAIRS = frozenset((file, function) for file, names in _FUNCTIONS.items() for function in names.split())
_GENERATED = ("gen_", "__autograph_generated_file")
"""Begins of names of files that TensorFlow generates, in its package and while it runs."""


def is_library(file: str, function: str) -> bool:
    """Whether a function of a file belongs to a framework or to Python."""
    return file in _LIBRARIES or (file, function) in _PAIRS or file.startswith(_GENERATED)

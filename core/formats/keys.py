"""All keys, by kind of input. A reading has every key of its kind; null where the input cannot tell."""

from __future__ import annotations

KEYS: dict[str, tuple[str, ...]] = {
    "batched_bench": tuple("V_over_V1 model rows".split()),
    "bench_client": tuple(
        "a accept_share accepted drafted n_max_inferred predicted_n requests steps tps_max tps_median tps_min wall_s".split()
    ),
    "cli_error": tuple("failed_at flag gpu_total_mib layers_offloaded replacement status".split()),
    "llama_bench": tuple(
        (
            "V_over_V1 backend backend_used backends_compiled breakeven_accept_if_D_zero build_commit build_number columns "
            "cost_recomputed cv_limit error flash_attn model_size_bytes n_gpu_layers n_max_never_pays no_op_offload "
            "params_b rows size_gib status table threads unusable "
        ).split()
    ),
    "load_log": tuple(
        (
            "D_ms V_ms a accept_share accepted block_kinds blocks bpw breakdown_is_plan breakdown_objects breakdown_tables "
            "build_commit build_number compute_block_mib compute_mib compute_total_mib conflict cpu_repack_mib deficits_mib "
            "dense_only_layers device_list_complete device_mib device_mib_seen device_target_mib devices_at_least "
            "devices_found devices_used draft_estimate_mib draft_model drafted error_lines estimate_device_mib fail_bytes "
            "fail_device fail_mib failed_at first_error_s fit free_before_draft_mib free_target_mib full_layers "
            "gpu_free_mib gpu_total_mib gpu_weights_mib host_breakdown_mib host_buffers_mib host_mib host_mib_max "
            "host_mib_min host_self_first_mib host_self_last_mib host_share kv_block_mib kv_device_mib kv_k_mib "
            "kv_lines_sum_mib kv_mib kv_type_k kv_type_v kv_v_mib layer_cache_sum_mib layer_rows layer_weights_sum_mib "
            "layers_claimed layers_offloaded layers_seen_on_cpu layers_skipped_from layers_total mapped_span_mib margin_mib "
            "mean_len mmap mmproj_estimate_mib model_path model_size_gib model_sum_mib mtp_context_estimate_mib "
            "mtp_device_mib mtp_tail_layer mtp_tensors_used must_reduce_mib n_ctx n_ctx_changed n_ctx_from n_max n_parallel "
            "n_seqs n_slots needs_verbosity overrides_complete overrides_mib overrides_seen params_b pinned_fallback_mib "
            "pipeline_copies placement_changed_by_fit plan_fits predicted_ms predicted_n projected_mib prompt_ms prompt_n "
            "repacked_tensors requests row0_unaccounted_computed_mib rows_over_free rows_used_sum_mib rs_device_mib rs_mib "
            "rs_r_mib rs_s_mib rs_seq self_sum_mib since_start_accepted since_start_drafted spec_active spec_requested "
            "spec_type spilled split_mib status step_ms steps table1_cuda0_mib table2_cuda0_mib target_device_mib "
            "tensor_split_mode tensors_in_file unaccounted_mib verbosity vram_mib weights_total_mib working_set_warning "
        ).split()
    ),
    "metrics": tuple(
        (
            "accept_share accepted accepted_per_pos drafted drafts mean_len per_pos predicted_ms predicted_n prompt_ms "
            "prompt_n series_ignored "
        ).split()
    ),
    "server_log": tuple(
        (
            "D_ms H_ms V_ms a accept_share accepted arms base_predicted_ms base_predicted_n cost_per_token_ms draft_calls "
            "drafted drafted_per_draft drafts drafts_implied_max drafts_implied_min layers_offloaded mean_len "
            "mean_len_over_drafts n_ctx n_max_at_least n_max_inferred n_tokens per_pos per_pos_len per_pos_sum predicted_ms "
            "predicted_n priceable prompt_ms prompt_n prompt_progress prompt_tokens_done requests since_start "
            "since_start_D_ms since_start_accept_share since_start_accepted since_start_drafted since_start_requests "
            "spec_type speedup spread_over_min_pct status step_ms steps total_ms total_tokens tps tps_max tps_median "
            "tps_min tps_printed truncated verdict wins "
        ).split()
    ),
    "sglang": tuple(
        ("a accept_len accept_rate_printed accept_share draft_tokens_inferred gen_tps running startup_windows_dropped windows ").split()
    ),
    "spec_bench": tuple("rows".split()),
    "speculative_tool": tuple(
        (
            "a accept_share accepted base_predicted_n base_tps comparable drafted drafted_per_step n_draft predicted_n "
            "seconds speedup steps tps wins "
        ).split()
    ),
    "speed_bench": tuple("rows".split()),
    "sweep_bench": tuple("model n_gpu_layers n_kv_max n_threads n_ubatch rows".split()),
    "timings_json": tuple(
        (
            "a accept_share accepted cache_n cost_per_token_ms drafted predicted_ms predicted_n prompt_ms prompt_n step_ms "
            "steps tps_printed "
        ).split()
    ),
    "version_strings": tuple("builds".split()),
    "vllm": tuple(
        ("a accept_share accepted drafted efficiency emitted engines gen_tps n_max pooled running steps waiting window_s windows ").split()
    ),
    "vllm_bench": tuple(
        (
            "accept_share accepted concurrency drafted drafts duration_s failed input_tokens itl_mean_ms itl_median_ms "
            "mean_len n_max out_tps output_tokens peak_out_tps per_pos per_pos_sum req_per_s requests tokens_per_event "
            "total_tps tpot_mean_ms tpot_median_ms ttft_mean_ms "
        ).split()
    ),
    "report": (),
}

"""Config fields that change neither parameters, memory nor work: training, generation, scaling constants, tooling."""

from __future__ import annotations

_SUFFIXES = ("_token_id", "_token_ids", "_token_index", "_dropout", "_dropout_rate", "_dropout_prob", "_pdrop",
             "_drop_prob", "_eps", "_epsilon", "_coef", "_loss_weight", "_softcap", "_softcapping", "_init_std",
             "_init_range", "_initializer_range", "_noise", "_multiplier_scale", "_scaling_factor", "_theta",
             "_freq_base", "_base_freq", "_act", "_activation")
_PREFIXES = ("_", "initializer", "init_", "rope_", "rotary_", "transformers", "generation", "torch_dtype", "longrope",
             "yarn", "mscale", "router_aux", "router_z", "aux_loss", "bos_", "eos_", "pad_", "sep_", "unk_",
             "vision_start", "vision_end", "summary_", "attention_softmax", "scale_attn", "auto_", "flash_", "unsloth")
_TRAINING = """
mup_denominator mup_enabled neftune_noise_alpha activation activation_dropout activation_function activation_situ_beta
activation_situ_linear_beta act_fn activation_sparsity_pattern add_cross_attention alibi attention_sink_size
alibi_bias_max alpha attn_drop attention_dropout attention_multiplier attn_implementation aux_loss_alpha
base_model_tp_plan bias_dropout_fusion clip_qkv expert_capacity fp32_residual_connection gradient_checkpointing
hidden_dropout logit_scale logits_scaling lm_head_multiplier embedding_multiplier residual_multiplier
attention_in_multiplier attention_out_multiplier key_multiplier ssm_in_multiplier ssm_out_multiplier ssm_multipliers
mlp_multipliers moe_aux_loss_coef moe_router_activation_func moe_router_dtype moe_renormalize
moe_shared_expert_overlap norm_topk_prob norm_topk pretraining_tp pretraining_sequence_length query_pre_attn_scalar
rescale_prenorm_residual residual_dropout residual_in_fp32 resid_dropout router_jitter_noise router_bias_update_rate
scale_depth scale_emb scoring_func score_function score_func seq_aux softmax_scale swiglu_alpha swiglu_limit
swiglu_limits swiglu_limits_shared topk_group topk_method n_group num_expert_group use_grouped_topk z_loss
z_loss_coefficient moe_norm_min use_associative_scan dropout attn_scale floor_scale attn_temperature_tuning
route_scale route_norm moe_router_use_sigmoid gate_lower_bound use_gemma_norm use_mamba_kernels use_fused_rms_norm
use_fused_cross_entropy loss_type logits_soft_cap attn_logit_softcapping mup_width_scale mup_attn_multiplier
mup_use_scaling mup_embedding_multiplier use_cache_kernel dim_model_base train_seq_len ep_size
moe_group_limited_greedy index_share_for_mtp_iteration moe_capacity moe_eval_capacity_token_fraction moe_min_capacity
moe_token_dropping moe_train_capacity_factor moe_eval_capacity_factor time_step_min time_step_max time_step_floor
time_step_limit time_step_scale time_step_init_scheme mamba_dt_min mamba_dt_max mamba_dt_init_floor
scale_attention_softmax_in_fp32 sequence_parallel fuse_cross_entropy
"""
_POSITIONS = """
positional context_window_size compress_rope_theta indexer_rope_interleave initial_context_length long_factor
max_sequence_length mrope_section n_ctx original_max_position_embeddings original_rope partial_rotary_factor
partial_rotary_factors position_embedding_type position_encoding rope rotary seq_length short_factor use_dynamic_ntk
use_logn_attn use_mrope use_rotary_emb use_rope no_rope_layer_interval nope_layer_interval rotary_emb_base
rotary_emb_fraction
"""
_GENERATION = """
use_bidirectional_attention num_image_tokens bad_words_ids begin_suppress_tokens cache_implementation
chunk_size_feed_forward decoder_start_token_id diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size
exponential_decay_length_penalty forced_bos_token_id forced_decoder_ids forced_eos_token_id is_decoder length_penalty
logits_to_keep max_length max_new_tokens min_length no_repeat_ngram_size num_beam_groups num_beams num_logits_to_keep
num_return_sequences num_tokens_to_keep prefill_chunk_size repetition_penalty return_dict return_dict_in_generate
suppress_tokens temperature top_k top_p typical_p use_bfloat16 use_cache output_attentions output_hidden_states
output_router_logits output_scores use_cache_quantization
"""
_TOOLING = """
pixel_shuffle_factor perceiver_config order_of_interleaved_layers use_parallel_embedding layer_switch architectures
bf16 cross_attention_hidden_size dtype finetuning_task for_llm_compressor fp16 fp32 id2label is_composition
is_encoder_decoder is_llama_config label2id language lm_head_pruned model_name model_name_or_path model_revision
model_version name num_labels problem_type prefix pruned_heads special_tokens_map task_specific_params tf_legacy_loss
tokenizer_class tokenizer_type torchscript trainer training_stage transformers.js_config verbose xla_device
quantize_with_modelopt ignore_index mamba_chunk_size chunk_size license software model_card template tokenizer
vocab_file use_flash_attn use_flash_attention use_flash_attn_qkv use_flash_attention_2 fused_dense fused_mlp
"""
_NAMES = frozenset((_TRAINING + _POSITIONS + _GENERATION + _TOOLING).split())


def is_harmless(name: str, value: object) -> bool:
    """Whether a field can be left unread: switched off, or known to change no number the planner gives."""
    if value is None or value is False or value in ("", [], {}, ()):
        return True
    return name in _NAMES or name.startswith(_PREFIXES) or name.endswith(_SUFFIXES)

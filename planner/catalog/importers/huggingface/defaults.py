"""Fields that multimodal configs leave out of their language part because they equal the class default.

Taken from the configuration classes of transformers 5.24 (Apache-2.0); dimensions only.
"""

from __future__ import annotations

CLASS_DEFAULTS: dict[str, dict[str, object]] = {
    "llama": {
        "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
        "vocab_size": 32000, "max_position_embeddings": 2048
    },
    "mistral": {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 131072
    },
    "mixtral": {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 131072, "num_experts_per_tok": 2,
        "num_local_experts": 8
    },
    "ministral3": {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 34, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131072, "max_position_embeddings": 262144
    },
    "gemma": {
        "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 16, "head_dim": 256, "vocab_size": 256000, "max_position_embeddings": 8192,
        "tie_word_embeddings": True
    },
    "gemma2": {
        "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 256000, "max_position_embeddings": 8192,
        "tie_word_embeddings": True, "sliding_window": 4096
    },
    "gemma3_text": {
        "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208, "max_position_embeddings": 131072,
        "tie_word_embeddings": True, "sliding_window": 4096
    },
    "gemma3n_text": {
        "hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 35, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 256, "vocab_size": 262400, "max_position_embeddings": 32768,
        "tie_word_embeddings": True, "sliding_window": 512, "num_kv_shared_layers": 15, "hidden_size_per_layer_input":
        256, "vocab_size_per_layer_input": 262144
    },
    "gemma4_text": {
        "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 30, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262144, "max_position_embeddings": 131072,
        "tie_word_embeddings": True, "sliding_window": 512, "num_kv_shared_layers": 0, "hidden_size_per_layer_input":
        256, "vocab_size_per_layer_input": 262144
    },
    "llama4_text": {
        "hidden_size": 5120, "intermediate_size": 8192, "num_hidden_layers": 48, "num_attention_heads": 40,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 202048, "max_position_embeddings": 131072,
        "num_experts_per_tok": 1, "num_local_experts": 16, "intermediate_size_mlp": 16384, "interleave_moe_layer_step":
        1, "attention_chunk_size": 8192
    },
    "qwen2": {
        "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 32, "vocab_size": 151936, "max_position_embeddings": 32768
    },
    "qwen2_moe": {
        "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24, "num_attention_heads": 16,
        "num_key_value_heads": 16, "vocab_size": 151936, "max_position_embeddings": 32768, "num_experts": 60,
        "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632
    },
    "qwen2_vl_text": {
        "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_key_value_heads": 8, "vocab_size": 152064, "max_position_embeddings": 32768
    },
    "qwen2_5_vl_text": {
        "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_key_value_heads": 8, "vocab_size": 152064, "max_position_embeddings": 32768
    },
    "qwen3": {
        "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 32, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 32768
    },
    "qwen3_moe": {
        "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 24, "num_attention_heads": 32,
        "num_key_value_heads": 4, "vocab_size": 151936, "max_position_embeddings": 32768, "num_experts": 128,
        "num_experts_per_tok": 8, "moe_intermediate_size": 768
    },
    "qwen3_vl_text": {
        "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 32, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 128000
    },
    "qwen3_vl_moe_text": {
        "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24, "num_attention_heads": 16,
        "num_key_value_heads": 16, "vocab_size": 151936, "max_position_embeddings": 128000, "tie_word_embeddings": True,
        "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408
    },
    "qwen3_5_text": {
        "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 32, "num_attention_heads": 16,
        "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 248320, "max_position_embeddings": 32768,
        "linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim":
        128, "linear_conv_kernel_dim": 4
    },
    "qwen3_5_moe_text": {
        "hidden_size": 2048, "num_hidden_layers": 40, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim":
        256, "vocab_size": 248320, "max_position_embeddings": 32768, "num_experts": 256, "num_experts_per_tok": 8,
        "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "linear_num_value_heads": 32,
        "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim":
        4
    },
    "phi3": {
        "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32,
        "vocab_size": 32064, "max_position_embeddings": 4096
    },
    "phi": {
        "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24, "num_attention_heads": 32,
        "vocab_size": 51200, "max_position_embeddings": 2048
    },
    "cohere2": {
        "hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers": 40, "num_attention_heads": 64,
        "vocab_size": 256000, "max_position_embeddings": 8192, "tie_word_embeddings": True
    },
    "glm4v_text": {
        "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40, "num_attention_heads": 32,
        "num_key_value_heads": 2, "vocab_size": 151552, "max_position_embeddings": 32768
    },
    "glm4v_moe_text": {
        "hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46, "num_attention_heads": 96,
        "num_key_value_heads": 8, "vocab_size": 151424, "max_position_embeddings": 65536, "num_experts_per_tok": 8,
        "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 1, "first_k_dense_replace": 1,
        "n_group": 1, "attention_bias": True
    },
    "deepseek_v2": {
        "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
        "vocab_size": 102400, "max_position_embeddings": 2048, "moe_intermediate_size": 1407, "n_routed_experts": 64,
        "n_shared_experts": 2, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "first_k_dense_replace": 0
    },
    "deepseek_v3": {
        "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61, "num_attention_heads": 128,
        "num_key_value_heads": 128, "vocab_size": 129280, "max_position_embeddings": 4096, "num_experts_per_tok": 8,
        "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "first_k_dense_replace": 3, "n_group": 8
    },
    "glm5_next_text": {
        "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 45, "num_attention_heads": 64,
        "num_key_value_heads": 64, "vocab_size": 154880, "max_position_embeddings": 1048576, "num_experts_per_tok": 8,
        "moe_intermediate_size": 2048, "n_routed_experts": 288, "n_shared_experts": 1, "kv_lora_rank": 512,
        "q_lora_rank": 1536, "qk_nope_head_dim": 256, "qk_rope_head_dim": 0, "v_head_dim": 256, "n_group": 1,
        "linear_conv_kernel_dim": 4, "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 32, "linear_head_dim":
        128, "linear_num_heads": 64, "hc_mult": 4, "index_kpool": 16
    },
    "step3p5": {
        "hidden_size": 4096, "intermediate_size": 11264, "num_hidden_layers": 45, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128815, "max_position_embeddings": 128000,
        "num_experts_per_tok": 8, "moe_intermediate_size": 1280, "num_local_experts": 128, "n_routed_experts": 288,
        "share_expert_dim": 1280
    },
}

"""Which kind of module a checkpoint tensor belongs to, by its name."""

from __future__ import annotations

import re

# First match wins: the order separates shared experts from experts, and towers from the language model.
_KINDS = tuple((kind, re.compile(pattern)) for kind, pattern in (
    ("mtp", r"(?:^|\.)(?:mtp|nextn|eh_proj|enorm|hnorm|shared_head|mtp_block|mtp_layers)(?:[._]|$)"),
    ("vision", (r"(?:^|\.)(?:vision\w*|visual|vit|v\.|mm\.|mm_|multi_modal_projector|patch_merger|embed_vision|aligner"
                r"|image_newline|mlp1\.)")),
    ("audio", r"(?:^|\.)(?:audio\w*|speech\w*|embed_audio)"),
    ("shared_experts", r"shared_expert|_shexp|shared_mlp"),
    ("router", (r"(?:mlp|ffn|block_sparse_moe|mixer|feed_forward|moe)\.(?:gate|router)(?:\.|$)|ffn_gate_inp|\.router\."
                r"|e_score_correction|exp_probs")),
    ("experts", r"experts?[._]|_exps"),
    ("head", r"(?:^|\.)(?:lm_head|output_layer|embed_out|head)\.|^output\."),
    ("embedding", (r"embed_tokens|word_embeddings|wte\.|wpe\.|tok_embeddings|token_embd|embeddings?\.|embed_in\."
                   r"|embed_positions|^embed\.|position_embd|per_layer_token_embd")),
    ("norm", r"norm|ln_|layernorm"),
    ("attention", r"attn|attention|self_attn|mixer\.|mamba|linear_attn|ssm_|conv1d"),
    ("mlp", r"mlp|feed_forward|ffn|fc1|fc2|dense_h_to_4h|dense_4h_to_h"),
))


def module_of(name: str) -> str:
    """The kind of module, ``other`` where the name says nothing."""
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), "other")

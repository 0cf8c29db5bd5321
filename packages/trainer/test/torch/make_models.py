"""Writes small models with random weights, most of architectures that the local engine has not, and log-probabilities
of transformers for the same tokens: `make_models.py FOLDER ARCHITECTURE…`, a JSON line for each."""

import json
import os
import sys

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from transformers import AutoConfig, AutoModelForCausalLM

VOCABULARY = 96
BASE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = {
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "n_shared_experts": 1,
}
LATENT = {
    "kv_lora_rank": 16,
    "q_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
    "head_dim": 8,
    "num_key_value_heads": 4,
}
ARCHITECTURES = {
    # Of sizes that 4-bit kernels take.
    "llama": {"intermediate_size": 128},
    "mixtral": EXPERTS,
    "qwen2_moe": EXPERTS,
    "olmoe": EXPERTS,
    "deepseek_v3": {**EXPERTS, **LATENT},
    "gemma": {},
    "cohere2": {},
    "glm4": {},
    "gpt2": {"n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128, "n_inner": 96},
    "gpt_neox": {},
    "opt": {"ffn_dim": 96, "word_embed_proj_dim": 64},
    "phi": {},
    "starcoder2": {},
    "nemotron": {},
    "mamba2": {"num_heads": 8, "head_dim": 16, "state_size": 16, "n_groups": 1, "expand": 2},
}


def main(folder: str, kinds: list[str]) -> None:
    torch.set_num_threads(1)
    for kind in kinds:
        torch.manual_seed(3)
        config = AutoConfig.for_model(kind, **{**BASE, **ARCHITECTURES[kind]})
        model = AutoModelForCausalLM.from_config(config).float().eval()
        ids = torch.tensor([[(7 * i + 5) % VOCABULARY for i in range(20)]])
        with torch.no_grad():
            logits = model(input_ids=ids[:, :-1], use_cache=False).logits.float()
        logprobs = torch.log_softmax(logits, -1)[0].gather(1, ids[0, 1:, None])[:, 0]
        path = os.path.join(folder, kind)
        model.save_pretrained(path)
        print(json.dumps({"kind": kind, "path": path, "tokens": ids[0].tolist(), "logprobs": logprobs.tolist()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or list(ARCHITECTURES))

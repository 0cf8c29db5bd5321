"""Writes packages/trainer/test/fixtures/models/: tiny random checkpoints, and what transformers and PEFT compute with them.

    python scripts/make-model-fixtures.py

Each folder is as transformers saves it (config.json, weights, tokenizer) with an adapter/ as PEFT saves it. Beside it in
<name>.json: logits and log-probabilities of sequences of different lengths, with and without the adapter, and greedy generations of
64 tokens of a batch of four prompts. All in float32; weights stored in half precision are widened first, as ours are.

Needs torch, transformers, peft (recorded with 2.13.0, 5.23.0 and 0.21.2). Deterministic: seeds are fixed.
"""

import base64
import json
import shutil
from pathlib import Path

import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers.utils import logging
from transformers import (
    AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, Qwen3Config,
    Qwen3ForCausalLM,
)

ROOT = Path(__file__).resolve().parent.parent / "packages" / "trainer" / "test" / "fixtures" / "models"
EVERY = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
COMMON = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, max_position_embeddings=256, bos_token_id=0, eos_token_id=2)
LENGTHS = [5, 17, 30, 41]
GENERATED = 64
# The least distance between the best and the second-best logit of a greedy choice: rounding must not decide.
LEAST_GAP = 2e-3

MODELS = {
    # Untied, every bias, grouped queries, stretched frequencies: of the 8, the first stays, some are blended, the rest are divided.
    "llama": dict(
        model=LlamaForCausalLM,
        config=LlamaConfig(
            **COMMON, vocab_size=96, num_attention_heads=2, num_key_value_heads=1, tie_word_embeddings=False, attention_bias=True,
            mlp_bias=True, rms_norm_eps=1e-5,
            rope_parameters=dict(
                rope_type="llama3", rope_theta=1000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                original_max_position_embeddings=32,
            ),
        ),
        dtype=torch.float32,
        lora=dict(r=4, lora_alpha=8, target_modules=EVERY),
    ),
    # As SmolLM2: tied, a large base, an odd number of heads.
    "smollm": dict(
        model=LlamaForCausalLM,
        config=LlamaConfig(
            **{**COMMON, "hidden_size": 36}, vocab_size=64, num_attention_heads=9, num_key_value_heads=3, tie_word_embeddings=True,
            rms_norm_eps=1e-5, rope_parameters=dict(rope_type="default", rope_theta=100000.0),
        ),
        dtype=torch.float16,
        lora=dict(r=3, lora_alpha=6, target_modules=["q_proj", "v_proj"]),
    ),
    "qwen2": dict(
        model=Qwen2ForCausalLM,
        config=Qwen2Config(
            **COMMON, vocab_size=80, num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True, rms_norm_eps=1e-6,
            rope_parameters=dict(rope_type="default", rope_theta=10000.0),
        ),
        dtype=torch.bfloat16,
        lora=dict(r=4, lora_alpha=6, target_modules=EVERY, use_rslora=True),
    ),
    # Norms of queries and keys, heads wider than hidden / heads, in several files.
    "qwen3": dict(
        model=Qwen3ForCausalLM,
        config=Qwen3Config(
            **COMMON, vocab_size=128, num_attention_heads=4, num_key_value_heads=2, head_dim=16, tie_word_embeddings=False,
            rms_norm_eps=1e-6, rope_parameters=dict(rope_type="default", rope_theta=1000000.0),
        ),
        dtype=torch.bfloat16,
        shard="16KB",
        lora=dict(r=2, lora_alpha=8, target_modules=["o_proj", "gate_proj", "down_proj"]),
    ),
}


logging.disable_progress_bar()


def tokenizer_of():
    characters = "abcdefghijklmnopqrstuvwxyz0123456789=+-*/.,?!:()"
    alphabet = [*characters, "Ġ", "Ċ"]
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=SPECIAL[0], eos_token=SPECIAL[2], pad_token=SPECIAL[0], chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def randomise(model):
    """Large enough that every part counts: attention is not flat, norms are not ones, biases are not zero."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.copy_(1 + 0.3 * torch.randn_like(parameter))
            elif name.endswith("bias"):
                parameter.copy_(0.3 * torch.randn_like(parameter))
            elif "embed_tokens" in name:
                parameter.copy_(0.5 * torch.randn_like(parameter))
            else:
                parameter.copy_(1.5 * torch.randn_like(parameter) / parameter.shape[1] ** 0.5)


def packed(array):
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()


def forward(model, rows):
    """Every row alone, and all of them padded in one batch as a check on the first."""
    width = max(map(len, rows))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    found = {"logits": [], "logprobs": []}
    with torch.no_grad():
        batched = model(input_ids=ids, attention_mask=mask).logits
        for i, row in enumerate(rows):
            logits = model(input_ids=torch.tensor([row])).logits[0]
            assert torch.allclose(logits, batched[i, : len(row)], atol=2e-5), "padding changes the logits"
            picked = torch.log_softmax(logits.double(), -1)[:-1].gather(1, torch.tensor(row[1:])[:, None])[:, 0]
            found["logits"].append(packed(logits))
            found["logprobs"].append(packed(picked))
    return found


def greedy(model, prompts):
    """Padded on the left, as transformers wants batches."""
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(row)) + row for row in prompts])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in prompts])
    with torch.no_grad():
        out = model.generate(
            input_ids=ids, attention_mask=mask, do_sample=False, max_new_tokens=GENERATED, min_new_tokens=GENERATED,
            eos_token_id=None, pad_token_id=0,
        )
        tokens = out[:, width:].tolist()
        gap = np.inf
        logprobs = []
        for prompt, row in zip(prompts, tokens):
            logits = model(input_ids=torch.tensor([prompt + row])).logits[0, len(prompt) - 1 : -1]
            best = logits.topk(2).values
            assert logits.argmax(-1).tolist() == row, "the batch and the single row choose differently"
            gap = min(gap, (best[:, 0] - best[:, 1]).min().item())
            logprobs.append(packed(torch.log_softmax(logits.double(), -1).max(-1).values))
    return {"tokens": tokens, "logprobs": logprobs}, gap


def write_json(path, value):
    path.write_text(json.dumps(value) + "\n", encoding="utf-8")


def make(name, spec, seed):
    torch.manual_seed(seed)
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    model = spec["model"](spec["config"])
    randomise(model)
    model.to(spec["dtype"]).save_pretrained(folder, **({"max_shard_size": spec["shard"]} if "shard" in spec else {}))
    (folder / "generation_config.json").unlink(missing_ok=True)
    tokenizer_of().save_pretrained(folder)

    base = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, base.config.vocab_size, length).tolist() for length in LENGTHS]
    prompts = [rng.integers(3, base.config.vocab_size, length).tolist() for length in [3, 9, 16, 26]]
    plain = forward(base, rows)
    generated, gap = greedy(base, prompts)

    tuned = get_peft_model(base, LoraConfig(**spec["lora"], lora_dropout=0.0, task_type="CAUSAL_LM")).eval()
    with torch.no_grad():
        for parameter_name, parameter in tuned.named_parameters():
            # Changes every logit, and leaves the model calm enough that float32 decides nothing: within 1e-4 of float64.
            if "lora_" in parameter_name:
                parameter.copy_(0.15 * torch.randn_like(parameter))
    adapter = folder / "adapter"
    tuned.save_pretrained(adapter)
    (adapter / "README.md").unlink(missing_ok=True)
    settings = json.loads((adapter / "adapter_config.json").read_text())
    # PEFT keeps a set of names and the folder it was made from: both differ from run to run.
    settings["target_modules"] = sorted(settings["target_modules"])
    settings["base_model_name_or_path"] = name
    write_json(adapter / "adapter_config.json", settings)

    again = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    loaded = PeftModel.from_pretrained(again, adapter).eval()
    adapted = forward(loaded, rows)
    adapted_greedy, adapted_gap = greedy(loaded, prompts)
    if min(gap, adapted_gap) < LEAST_GAP:
        return False
    write_json(
        ROOT / f"{name}.json",
        {
            "vocabSize": base.config.vocab_size,
            "inputIds": rows,
            "base": plain,
            "adapter": adapted,
            "prompts": prompts,
            "greedy": generated,
            "adapterGreedy": adapted_greedy,
        },
    )
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    variety = np.mean([len(set(row)) for row in generated["tokens"]])
    print(f"{name}: seed {seed}, {size} bytes, least gap {min(gap, adapted_gap):.4f}, {variety:.0f} different tokens of {GENERATED}")
    return True


for model_name, model_spec in MODELS.items():
    for candidate in range(1, 100):
        if make(model_name, model_spec, candidate):
            break
    else:
        raise SystemExit(f"{model_name}: no seed has greedy choices that are clear enough")

"""Writes packages/trainer/test/fixtures/architectures/: a tiny random model of each architecture, and what transformers and PEFT
compute with it.

    python scripts/make-architecture-fixtures.py [name …]
    python scripts/make-architecture-fixtures.py --random 100 --to FOLDER

The second writes models of random configurations, which `scripts/compare-architectures.ts FOLDER` compares with ours.

Each folder is as transformers saves it (config.json, weights) with adapter/ as PEFT saves it; the tokenizer, which all share, lies in
tokenizer/. In expected.json: logits and log-probabilities of sequences of different lengths (longer than the sliding window), with
the adapter; the gradient of the adapter's parameters of the mean negative log-probability of the longest, in the order of names;
greedy generations with the adapter, from a cache. All in float32; weights stored in half precision are widened first, as ours are.

An architecture is added by an entry of ARCHITECTURES: transformers' configuration with what tells it apart.

Needs torch, transformers, peft (recorded with 2.13.0, 5.23.0 and 0.21.2). Deterministic: seeds are fixed.
"""

import argparse
import base64
import json
import random
import shutil
from pathlib import Path

import numpy as np
import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText
from transformers.utils import logging

ROOT = Path(__file__).resolve().parent.parent / "packages" / "trainer" / "test" / "fixtures" / "architectures"
EVERY = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
FUSED = ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]
DELTA = ["in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj"]
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
COMMON = dict(
    vocab_size=64, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=128, bos_token_id=0, eos_token_id=2, pad_token_id=0, rms_norm_eps=1e-5,
)
# Of the part for text of a model of text and pictures: that for pictures has layers of the same names.
IN_TEXT = r".*\.language_model\..*\.(q|k|v|o|gate|up|down)_proj"
LENGTHS = [7, 33]
PROMPTS = [3, 14, 21]
GENERATED = 24
LEAST_GAP = 2e-3

YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=32)
SHORT = [1.0, 1.05, 1.2]
LONG = [1.1, 2.0, 4.5]

VISION = {
    "gemma3": dict(
        model_type="siglip_vision_model", hidden_size=4, intermediate_size=4, num_hidden_layers=1, num_attention_heads=1, image_size=4, patch_size=2,
        vision_use_head=False,
    ),
    "mistral3": dict(
        model_type="pixtral", hidden_size=8, intermediate_size=4, num_hidden_layers=1, num_attention_heads=1, image_size=4, patch_size=2, head_dim=8,
    ),
}

ARCHITECTURES = {
    "llama": dict(
        config=dict(
            model_type="llama", attention_bias=True, mlp_bias=True,
            rope_parameters=dict(
                rope_type="llama3", rope_theta=5e5, factor=4.0, low_freq_factor=1.0, high_freq_factor=3.0, original_max_position_embeddings=32
            ),
        ),
        target=EVERY,
    ),
    "qwen3": dict(config=dict(model_type="qwen3", head_dim=8, tie_word_embeddings=True), target=EVERY, embeddings=0.1),
    "mistral": dict(config=dict(model_type="mistral", sliding_window=8, head_dim=8), target=EVERY),
    "ministral": dict(
        config=dict(
            model_type="ministral", sliding_window=8, head_dim=8, layer_types=["full_attention", "sliding_attention"],
            rope_parameters=YARN,
        ),
        target=EVERY,
    ),
    "qwen2-sliding": dict(config=dict(model_type="qwen2", use_sliding_window=True, sliding_window=6, max_window_layers=1), target=EVERY),
    "smollm3": dict(
        config=dict(model_type="smollm3", no_rope_layers=[1, 0], rope_parameters=dict(rope_type="default", rope_theta=2e6)), target=EVERY
    ),
    "gemma2": dict(
        config=dict(
            model_type="gemma2", sliding_window=8, head_dim=8, query_pre_attn_scalar=12, attn_logit_softcapping=3.0,
            final_logit_softcapping=5.0, hidden_activation="gelu_pytorch_tanh",
        ),
        target=EVERY,
        embeddings=0.08,
    ),
    "gemma3": dict(
        config=dict(
            model_type="gemma3_text", sliding_window=8, head_dim=8, query_pre_attn_scalar=12, sliding_window_pattern=2,
            rope_parameters=dict(
                full_attention=dict(rope_type="linear", rope_theta=1e6, factor=8.0), sliding_attention=dict(rope_type="default", rope_theta=1e4)
            ),
        ),
        target=EVERY,
        embeddings=0.08,
    ),
    "phi3": dict(config=dict(model_type="phi3", sliding_window=8, num_attention_heads=3, num_key_value_heads=3), target=FUSED),
    # As Phi-4-mini: part of each head turned, factors for each frequency; used within the original positions.
    "phi4-mini": dict(
        config=dict(
            model_type="phi3", hidden_size=32, partial_rotary_factor=0.75, tie_word_embeddings=True, original_max_position_embeddings=64,
            rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, short_factor=SHORT, long_factor=LONG, partial_rotary_factor=0.75),
        ),
        target=FUSED,
        positions=64,
    ),
    # The same, with sequences that are all longer than the original positions.
    "phi4-mini-long": dict(
        config=dict(
            model_type="phi3", hidden_size=32, partial_rotary_factor=0.75, original_max_position_embeddings=16,
            rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, short_factor=SHORT, long_factor=LONG, partial_rotary_factor=0.75),
        ),
        target=["qkv_proj"],
        lengths=[19, 33],
        prompts=[17, 21],
    ),
    "olmo2": dict(config=dict(model_type="olmo2"), target=EVERY),
    "olmo3": dict(
        config=dict(
            model_type="olmo3", sliding_window=8, layer_types=["sliding_attention", "full_attention"],
            rope_parameters=dict(
                full_attention=dict(**YARN, attention_factor=1.2), sliding_attention=dict(rope_type="default", rope_theta=10000.0)
            ),
        ),
        target=EVERY,
    ),
    "granite": dict(
        config=dict(
            model_type="granite", embedding_multiplier=3.0, residual_multiplier=0.4, attention_multiplier=0.2, logits_scaling=2.5,
            attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
        ),
        target=EVERY,
        embeddings=0.1,
    ),
    "qwen3-moe": dict(
        config=dict(
            model_type="qwen3_moe", head_dim=8, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=16, norm_topk_prob=True,
            mlp_only_layers=[], num_hidden_layers=2,
        ),
        target=ATTENTION,
    ),
    # Gated delta rules before and after a layer of attention, whose output is gated; sequences of several chunks. The norm's epsilon is large:
    # what a rule gives may be all but 0 (a query that no key is like), and its norm would make differences in the last bit of it visible.
    "qwen3-5": dict(
        config=dict(
            model_type="qwen3_5_text", num_hidden_layers=3, layer_types=["linear_attention", "full_attention", "linear_attention"], head_dim=8,
            linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=10, linear_conv_kernel_dim=4,
            rms_norm_eps=1e-3,
            rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5), attention_bias=True,
        ),
        target=[*EVERY, *DELTA],
        lengths=[7, 33, 70],
    ),
    # Sinks, windows in every other layer, gates that reach their limit, yarn whose ramp is not made whole.
    "gpt-oss": dict(
        config=dict(
            model_type="gpt_oss", head_dim=8, sliding_window=8, num_local_experts=6, num_experts_per_tok=2, intermediate_size=16, swiglu_limit=1.5,
            rope_parameters=dict(**YARN, truncate=False),
        ),
        target=ATTENTION,
    ),
    # Models of text and pictures, of which the part for text is used. As published: keys with the values of transformers' classes left out, and
    # what there was before rope_parameters and layer_types.
    "gemma3-pictures": dict(
        whole="gemma3",
        config=dict(
            model_type="gemma3_text", num_attention_heads=8, num_key_value_heads=4, head_dim=4, sliding_window=8, query_pre_attn_scalar=12,
            sliding_window_pattern=2, rope_scaling=dict(rope_type="linear", factor=8.0), rms_norm_eps=1e-6,
        ),
        outer=dict(mm_tokens_per_image=1, eos_token_id=[2, 5]),
        tied=True,
        vision=VISION["gemma3"],
        published=[
            "model_type", "hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size", "max_position_embeddings", "head_dim",
            "sliding_window", "query_pre_attn_scalar", "sliding_window_pattern", "rope_scaling",
        ],
        target=IN_TEXT,
        embeddings=0.08,
    ),
    # An output matrix of its own, which nothing but the files says; queries that grow beyond the first 16 positions.
    "mistral3-ministral3": dict(
        whole="mistral3",
        config=dict(
            model_type="ministral3", head_dim=8,
            rope_parameters=dict(
                rope_type="yarn", rope_theta=1e6, factor=8.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0, mscale=1.0,
                mscale_all_dim=1.0, llama_4_scaling_beta=0.5,
            ),
        ),
        vision=VISION["mistral3"],
        published=[
            "model_type", "head_dim", "hidden_size", "intermediate_size", "max_position_embeddings", "num_attention_heads", "num_hidden_layers",
            "num_key_value_heads", "rope_parameters", "vocab_size",
        ],
        new_names=True,
        target=IN_TEXT,
    ),
    "mistral3": dict(
        whole="mistral3",
        config=dict(model_type="mistral", head_dim=8, num_key_value_heads=2, rope_theta=1e9, sliding_window=None),
        outer=dict(tie_word_embeddings=True),
        tied=True,
        vision=VISION["mistral3"],
        published=[
            "model_type", "head_dim", "hidden_size", "intermediate_size", "max_position_embeddings", "num_attention_heads", "num_hidden_layers",
            "num_key_value_heads", "rms_norm_eps", "rope_theta", "sliding_window", "vocab_size",
        ],
        target=IN_TEXT,
        embeddings=0.1,
    ),
    # Adapters of other kinds: rows with a trained length, on the embedding and the output matrix, both trained whole.
    "adapter-dora": dict(
        config=dict(model_type="llama", attention_bias=True), target=[*EVERY, "lm_head"], lora=dict(use_dora=True, use_rslora=True),
    ),
    "adapter-outer": dict(config=dict(model_type="llama"), target=["q_proj", "down_proj", "embed_tokens", "lm_head"]),
    "adapter-embedding-scaled": dict(
        config=dict(
            model_type="gemma3_text", head_dim=8, query_pre_attn_scalar=12, final_logit_softcapping=5.0,
            hidden_activation="gelu_pytorch_tanh",
        ),
        target=["v_proj", "embed_tokens", "lm_head"],
        embeddings=0.08,
    ),
    "adapter-saved": dict(config=dict(model_type="llama"), target=["v_proj"], lora=dict(modules_to_save=["embed_tokens", "lm_head"])),
    # Dynamic scaling within the positions of the model.
    "llama-dynamic": dict(
        config=dict(model_type="llama", rope_parameters=dict(rope_type="dynamic", rope_theta=10000.0, factor=4.0)), target=["q_proj", "v_proj"]
    ),
}


def randomise(model, embeddings):
    """Large enough that every part counts: attention is not flat, norms are not ones, biases are not zero."""
    offset = model.config.model_type.startswith(("gemma", "qwen3_5"))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn_like(parameter)
            if "norm" in name:
                parameter.copy_((0 if offset and "linear_attn" not in name else 1) + 0.3 * noise)
            elif name.endswith("bias") or name.endswith("sinks"):
                parameter.copy_(0.3 * noise)
            elif "embed_tokens" in name:
                parameter.copy_(embeddings * noise)
            else:
                parameter.copy_(1.5 * noise / parameter.shape[-1] ** 0.5)


def packed(array):
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()


def logprobs_of(logits, row):
    return torch.log_softmax(logits.double(), -1)[:-1].gather(1, torch.tensor(row[1:])[:, None])[:, 0]


def forward(model, rows):
    found = {"logits": [], "logprobs": []}
    with torch.no_grad():
        for row in rows:
            logits = model(input_ids=torch.tensor([row])).logits[0]
            found["logits"].append(packed(logits))
            found["logprobs"].append(packed(logprobs_of(logits, row)))
    return found


def greedy(model, prompts):
    """One after the other, from transformers' own cache."""
    gap = np.inf
    tokens, logprobs = [], []
    for prompt in prompts:
        with torch.no_grad():
            out = model.generate(
                input_ids=torch.tensor([prompt]), do_sample=False, max_new_tokens=GENERATED, min_new_tokens=GENERATED, eos_token_id=None,
                pad_token_id=0, repetition_penalty=1.0,
            )
            row = out[0, len(prompt) :].tolist()
            logits = model(input_ids=torch.tensor([prompt + row])).logits[0, len(prompt) - 1 : -1]
        best = logits.topk(2).values
        if logits.argmax(-1).tolist() != row:
            return None, 0.0
        gap = min(gap, (best[:, 0] - best[:, 1]).min().item())
        tokens.append(row)
        logprobs.append(packed(torch.log_softmax(logits.double(), -1).max(-1).values))
    return {"tokens": tokens, "logprobs": logprobs}, gap


def gradient_of(model, row):
    """By name, of the mean negative log-probability of a row's tokens."""
    logits = model(input_ids=torch.tensor([row])).logits[0]
    loss = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(row[1:]))
    loss.backward()
    found = {}
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            plain = name.removeprefix("base_model.model.").replace("model.language_model.", "model.").replace(".modules_to_save", "").replace(".default", "")
            found[plain.replace("vector.weight", "vector")] = packed(parameter.grad)
    return found


def whole_config(spec, text):
    config = AutoConfig.for_model(spec["whole"], text_config=text, vision_config=spec["vision"], **spec.get("outer", {}))
    # Two matrices, where the model is to have them: the class says otherwise unless told.
    config.tie_word_embeddings = spec.get("tied", False)
    return config


def publish(folder, spec, text):
    """Leaves of the configuration what published ones have."""
    file = folder / "config.json"
    written = json.loads(file.read_text())
    saved = AutoConfig.from_pretrained(folder).text_config.to_dict()
    written["text_config"] = {key: text[key] for key in spec["published"]}
    del written["tie_word_embeddings"]
    written.update(spec.get("outer", {}))
    file.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    read = AutoConfig.from_pretrained(folder).text_config.to_dict()
    for key in saved.keys() - {"dtype", "pad_token_id", "bos_token_id", "eos_token_id", "_sliding_window_pattern"}:
        assert read[key] == saved[key], f"{key}: {read[key]} where {saved[key]} was saved"


def rename(folder):
    """Gives tensors the names that they have in the model, where transformers saves them with those of before."""
    weights = folder / "model.safetensors"
    tensors = load_file(weights)
    renamed = {new_name(tensor): value for tensor, value in tensors.items()}
    assert renamed.keys() != tensors.keys()
    save_file(renamed, weights, metadata={"format": "pt"})


def new_name(name):
    if name.startswith("language_model.lm_head"):
        return name.removeprefix("language_model.")
    if name.startswith("language_model.model."):
        return "model.language_model." + name.removeprefix("language_model.model.")
    return name if name.startswith("model.") or name.startswith("lm_head") else "model." + name


def make(name, spec, seed, root=ROOT):
    torch.manual_seed(seed)
    folder = root / name
    shutil.rmtree(folder, ignore_errors=True)
    settings = {**COMMON, **spec["config"]}
    config = whole_config(spec, settings) if "whole" in spec else AutoConfig.for_model(**settings)
    auto = AutoModelForImageTextToText if "whole" in spec else AutoModelForCausalLM
    config._attn_implementation = "eager"
    vocab_size = config.get_text_config().vocab_size
    model = auto.from_config(config)
    randomise(model, spec.get("embeddings", 0.5))
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if "published" in spec:
        publish(folder, spec, settings)
    if spec.get("new_names", False):
        rename(folder)
    base = auto.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager").eval()
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, vocab_size, length).tolist() for length in spec.get("lengths", LENGTHS)]
    prompts = [rng.integers(3, vocab_size, length).tolist() for length in spec.get("prompts", PROMPTS)]
    lora = dict(r=2, lora_alpha=4, target_modules=spec["target"], lora_dropout=0.0, task_type="CAUSAL_LM", **spec.get("lora", {}))
    tuned = get_peft_model(base, LoraConfig(**lora)).eval()
    with torch.no_grad():
        for parameter_name, parameter in tuned.named_parameters():
            noise = torch.randn_like(parameter)
            if "magnitude" in parameter_name:
                parameter.mul_(1 + 0.2 * noise)
            elif "lora_" in parameter_name:
                parameter.copy_(0.15 * noise)
            elif "modules_to_save" in parameter_name:
                parameter.add_(0.1 * noise)
    adapter = folder / "adapter"
    tuned.save_pretrained(adapter)
    (adapter / "README.md").unlink(missing_ok=True)
    written = json.loads((adapter / "adapter_config.json").read_text())
    if isinstance(written["target_modules"], list):
        written["target_modules"] = sorted(written["target_modules"])
    written["modules_to_save"] = sorted(written["modules_to_save"]) if written["modules_to_save"] else None
    written["base_model_name_or_path"] = name
    (adapter / "adapter_config.json").write_text(json.dumps(written) + "\n", encoding="utf-8")
    generated, gap = greedy(tuned, prompts)
    is_clear = gap >= LEAST_GAP and min(len(set(row)) for row in generated["tokens"]) >= 3
    if not is_clear and not spec.get("any"):
        return False
    expected = {
        "vocabSize": vocab_size,
        **({"positions": spec["positions"]} if "positions" in spec else {}),
        "inputIds": rows,
        **forward(tuned, rows),
        "gradient": gradient_of(tuned, rows[-1]),
        "prompts": prompts,
        "greedy": generated if gap >= LEAST_GAP else None,
    }
    (folder / "expected.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    variety = np.mean([len(set(row)) for row in generated["tokens"]]) if generated else 0
    print(f"{name}: seed {seed}, {size} bytes, least gap {gap:.4f}, {variety:.0f} different tokens of {GENERATED}", flush=True)
    return True


WHOLES = {"gemma3_text": "gemma3", "mistral": "mistral3", "ministral": "mistral3", "ministral3": "mistral3"}


def random_spec(rng, kind=None):
    """A configuration of any of the architectures, with what they allow; all sizes differ."""
    kind = kind or rng.choice([
        "llama", "mistral", "ministral", "qwen2", "qwen3", "qwen3_moe", "smollm3", "gemma2", "gemma3_text", "phi3", "olmo2", "olmo3", "granite",
        "gpt_oss", "qwen3_5_text", "ministral3"
    ])
    layers, kv, shared = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 3)
    heads, head_dim = kv * shared, 2 * rng.randint(3, 8)
    theta = rng.choice([1e3, 1e4, 5e5, 1e6])
    config = dict(
        model_type=kind, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv, hidden_size=heads * head_dim,
        intermediate_size=rng.randint(8, 60), vocab_size=rng.randint(20, 90), rms_norm_eps=rng.choice([1e-6, 1e-5]),
        tie_word_embeddings=rng.random() < 0.5, max_position_embeddings=128,
    )
    window = rng.randint(1, 20)
    positions = None
    kinds = [rng.choice(["full_attention", "sliding_attention"]) for _ in range(layers)]
    scaling = rng.choice([
        dict(rope_type="default"), dict(rope_type="linear", factor=2.5), dict(rope_type="dynamic", factor=3.0),
        dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=3.0, original_max_position_embeddings=32),
        dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32, beta_fast=rng.choice([8.0, 32.0]), truncate=rng.random() < 0.5),
        dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=0.8),
    ])
    rope = dict(**scaling, rope_theta=theta)
    if kind in ["qwen3", "qwen3_moe", "mistral", "ministral", "gemma2", "gemma3_text", "llama"] and rng.random() < 0.7:
        config["head_dim"] = head_dim = 2 * rng.randint(3, 8)
    elif kind in ["gemma2", "gemma3_text", "qwen3", "qwen3_moe", "ministral", "ministral3"]:
        config["head_dim"] = head_dim
    if kind in ["llama", "qwen3", "qwen3_moe", "smollm3", "gemma2", "gemma3_text", "olmo2", "olmo3", "granite"]:
        config["attention_bias"] = rng.random() < 0.5
    if kind in ["llama", "smollm3", "granite"]:
        config["mlp_bias"] = rng.random() < 0.5
    if kind in ["mistral", "ministral3", "phi3"]:
        config["sliding_window"] = rng.choice([None, window])
    if kind in ["ministral", "gemma2", "gemma3_text", "olmo3", "gpt_oss"]:
        config.update(sliding_window=window, layer_types=kinds)
    if kind in ["qwen2", "qwen3"] and rng.random() < 0.6:
        config.update(use_sliding_window=True, sliding_window=window, max_window_layers=rng.randint(0, layers))
    if kind == "smollm3":
        config["no_rope_layers"] = [rng.randint(0, 1) for _ in range(layers)]
    if kind.startswith("gemma"):
        config.update(query_pre_attn_scalar=rng.randint(4, 30), hidden_activation="gelu_pytorch_tanh")
    if kind == "gemma2":
        config.update(attn_logit_softcapping=rng.choice([None, 2.0, 20.0]), final_logit_softcapping=rng.choice([None, 3.0, 30.0]))
    if kind == "gemma3_text":
        config.update(final_logit_softcapping=rng.choice([None, 4.0]))
    if kind in ["gemma3_text", "olmo3"]:
        rope = dict(full_attention=rope, sliding_attention=dict(rope_type="default", rope_theta=rng.choice([1e4, 2e5])))
    if kind == "ministral3":
        rope = dict(
            rope_type="yarn", rope_theta=theta, factor=8.0, original_max_position_embeddings=rng.choice([8, 16, 32]), mscale=1.0, mscale_all_dim=1.0,
            beta_fast=rng.choice([8.0, 32.0]), llama_4_scaling_beta=rng.choice([0.1, 0.5]),
        )
    if kind == "phi3":
        part = rng.choice([1.0, 0.75, 0.5])
        width = int(head_dim * part)
        part, width = (part, width) if width % 2 == 0 else (1.0, head_dim)
        rope = dict(rope_type="default", rope_theta=theta, partial_rotary_factor=part)
        if rng.random() < 0.6:
            factors = [[1 + rng.random() * by for _ in range(width // 2)] for by in [0.3, 5.0]]
            rope.update(rope_type="longrope", short_factor=factors[0], long_factor=factors[1])
            config["original_max_position_embeddings"] = positions = 64
    if kind == "granite":
        config.update(embedding_multiplier=2.5, residual_multiplier=0.5, attention_multiplier=rng.random(), logits_scaling=rng.choice([1.0, 3.0]))
    if kind == "qwen3_moe":
        experts = rng.randint(2, 9)
        config.update(
            num_experts=experts, num_experts_per_tok=rng.randint(1, min(3, experts)), moe_intermediate_size=rng.randint(4, 20),
            norm_topk_prob=rng.random() < 0.5, mlp_only_layers=[i for i in range(layers) if rng.random() < 0.3], decoder_sparse_step=rng.randint(1, 2),
        )
    if kind == "gpt_oss":
        experts = rng.randint(2, 9)
        config.update(
            num_local_experts=experts, num_experts_per_tok=rng.randint(1, min(3, experts)), swiglu_limit=rng.choice([0.8, 7.0]), head_dim=head_dim,
            attention_bias=rng.random() < 0.5,
        )
    if kind == "qwen3_5_text":
        kinds = ["full_attention", *(["linear_attention"] if layers > 1 else [])]
        kinds += [rng.choice(["full_attention", "linear_attention"]) for _ in range(layers - len(kinds))]
        rng.shuffle(kinds)
        part = rng.choice([1.0, 0.5])
        part = part if int(head_dim * part) % 2 == 0 else 1.0
        rope = dict(rope_type="default", rope_theta=theta, partial_rotary_factor=part)
        keys, shared = rng.randint(1, 3), rng.randint(1, 3)
        config.update(
            layer_types=kinds, head_dim=head_dim, rms_norm_eps=1e-3, attention_bias=rng.random() < 0.5, linear_num_key_heads=keys,
            linear_num_value_heads=keys * shared, linear_key_head_dim=rng.randint(2, 10), linear_value_head_dim=rng.randint(2, 10),
            linear_conv_kernel_dim=rng.randint(2, 5),
        )
    config["rope_parameters"] = rope
    target = [*EVERY, *DELTA] if "linear_attention" in config.get("layer_types", []) else FUSED if kind == "phi3" else ATTENTION if kind in ["qwen3_moe", "gpt_oss"] else EVERY
    chosen = rng.sample(target, rng.randint(1, len(target)))
    whole = WHOLES.get(kind) if rng.random() < 0.5 else None
    if whole is not None:
        chosen = rf".*\.language_model\..*\.({'|'.join(chosen)})"
    return dict(
        **(dict(whole=whole, vision=VISION[whole], tied=config["tie_word_embeddings"], new_names=rng.random() < 0.5) if whole else {}),
        config=config, target=chosen, embeddings=0.1 if kind.startswith("gemma") or kind == "granite" else 0.5, any=True,
        lengths=[rng.randint(2, 20), rng.randint(21, 60)], prompts=[rng.randint(1, 10), rng.randint(11, 35)],
        lora=dict(use_rslora=rng.random() < 0.5), **({"positions": positions} if positions else {}),
    )


def write_random(count, to, first, kind):
    for seed in range(first, first + count):
        spec = random_spec(random.Random(seed), kind)
        make(f"{seed:03}-{spec['config']['model_type']}", spec, seed, to)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kind", help="model_type of all of them; default: any")
    parser.add_argument("--to", type=Path, default=ROOT)
    arguments = parser.parse_args()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    torch.set_num_threads(1)
    if arguments.random > 0:
        write_random(arguments.random, arguments.to, arguments.first, arguments.kind)
        raise SystemExit
    for model_name in arguments.names or ARCHITECTURES:
        for candidate in range(1, 60):
            if make(model_name, ARCHITECTURES[model_name], candidate):
                break
        else:
            raise SystemExit(f"{model_name}: no seed has greedy choices that are clear enough")

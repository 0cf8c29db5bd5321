"""Writes packages/trainer/test/fixtures/text-configs.json: configurations of models of text and pictures that leave most of their part for
text to transformers' classes, as published ones do, and that part as transformers fills it in.

    python scripts/make-text-config-fixture.py

Needs transformers and torch (recorded with 5.23.0 and 2.13.0).
"""

import json
from pathlib import Path

from transformers import AutoConfig

TO = Path(__file__).resolve().parent.parent / "packages" / "trainer" / "test" / "fixtures" / "text-configs.json"
LINEAR = dict(factor=8.0, rope_type="linear")
YARN = dict(
    type="yarn", rope_theta=1e6, factor=16.0, original_max_position_embeddings=16384, max_position_embeddings=262144, beta_fast=32.0,
    beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1,
)

# In the manner of Gemma 3 (4B, 12B, 27B), Mistral Small 3.1 and Ministral 3; further ones for other spellings and what may be missing.
CONFIGS = {
    "gemma3 of 4B": dict(
        model_type="gemma3", eos_token_id=[1, 106],
        text_config=dict(
            hidden_size=2560, intermediate_size=10240, model_type="gemma3_text", num_hidden_layers=34, rope_scaling=LINEAR, sliding_window=1024
        ),
    ),
    "gemma3 of 12B": dict(
        model_type="gemma3", eos_token_id=[1, 106],
        text_config=dict(
            hidden_size=3840, intermediate_size=15360, model_type="gemma3_text", num_attention_heads=16, num_hidden_layers=48,
            num_key_value_heads=8, rope_scaling=LINEAR, sliding_window=1024,
        ),
    ),
    "gemma3 of 27B": dict(
        model_type="gemma3", eos_token_id=[1, 106],
        text_config=dict(
            head_dim=128, hidden_size=5376, intermediate_size=21504, model_type="gemma3_text", num_attention_heads=32, num_hidden_layers=62,
            num_key_value_heads=16, query_pre_attn_scalar=168, rope_scaling=LINEAR, sliding_window=1024,
        ),
    ),
    "gemma3 without model_type of its part": dict(model_type="gemma3", text_config=dict(num_hidden_layers=7)),
    "gemma3 with bases and a pattern": dict(
        model_type="gemma3",
        text_config=dict(
            model_type="gemma3_text", num_hidden_layers=5, rope_theta=5e5, rope_local_base_freq=2e4, sliding_window_pattern=3, rope_scaling=LINEAR
        ),
    ),
    "gemma3 with rope_parameters and layer_types": dict(
        model_type="gemma3",
        text_config=dict(
            model_type="gemma3_text", num_hidden_layers=2, layer_types=["full_attention", "sliding_attention"],
            rope_parameters=dict(
                full_attention=dict(rope_theta=3e6, **LINEAR), sliding_attention=dict(rope_type="default", rope_theta=3e4)
            ),
        ),
    ),
    "mistral3 of 24B": dict(
        model_type="mistral3",
        text_config=dict(
            attention_dropout=0.0, head_dim=128, hidden_act="silu", hidden_size=5120, initializer_range=0.02, intermediate_size=32768,
            max_position_embeddings=131072, model_type="mistral", num_attention_heads=32, num_hidden_layers=40, num_key_value_heads=8,
            rms_norm_eps=1e-05, rope_theta=1000000000.0, sliding_window=None, use_cache=True, vocab_size=131072,
        ),
    ),
    "mistral3 that says little": dict(model_type="mistral3", text_config=dict(hidden_size=2048)),
    "mistral3 with ministral3": dict(
        model_type="mistral3",
        text_config=dict(
            model_type="ministral3", head_dim=128, hidden_size=3072, intermediate_size=9216, max_position_embeddings=262144,
            num_attention_heads=32, num_hidden_layers=26, num_key_value_heads=8, rms_norm_eps=1e-05, rope_parameters=YARN, vocab_size=131072,
        ),
    ),
    "mistral3 with ministral3 that says little": dict(model_type="mistral3", text_config=dict(model_type="ministral3", num_hidden_layers=3)),
}

found = {}
for name, published in CONFIGS.items():
    copy = json.loads(json.dumps(published))
    filled = AutoConfig.for_model(copy.pop("model_type"), **copy).text_config.to_dict()
    found[name] = {"published": published, "filled": filled}
TO.write_text(json.dumps(found) + "\n", encoding="utf-8")
print(f"{TO}: {len(found)} configurations, {TO.stat().st_size} bytes")

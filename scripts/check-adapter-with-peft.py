"""Loads adapters and models that the trainer wrote in PEFT and transformers, and compares the logits.

    node --conditions=atropos-src scripts/write-model-samples.ts /tmp/model-samples
    python scripts/check-adapter-with-peft.py /tmp/model-samples

Adapters: every parameter must have been taken (PEFT only warns of missing and unexpected names), and the logits must be those of the
trainer to 1e-4, in float32. Models are loaded from their folder alone; transformers' lists of missing, unexpected and mismatched
tensors must be empty. Prints the greatest difference of each; exits 1 where one fails. Needs torch, transformers and peft
(2.13.0, 5.23.0 and 0.21.2 when written).
"""

import json
import sys
from pathlib import Path

import torch
from peft import PeftModel, get_peft_model_state_dict
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

LIMIT = 1e-4


def whole(folder):
    has_pictures = hasattr(AutoConfig.from_pretrained(folder), "vision_config")
    auto = AutoModelForImageTextToText if has_pictures else AutoModelForCausalLM
    model, info = auto.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
    )
    problems = {kind: sorted(map(str, found)) for kind, found in info.items() if found}
    assert not problems, f"{folder}: {problems}"
    return model


def adapted(folder, base):
    model = PeftModel.from_pretrained(whole(base), folder)
    stored = load_file(folder / "adapter_model.safetensors")
    taken = get_peft_model_state_dict(model)
    assert taken.keys() == stored.keys(), f"{folder}: {sorted(taken.keys() ^ stored.keys())} are on one side alone"
    for name, tensor in stored.items():
        assert torch.equal(taken[name], tensor), f"{folder}: {name} was not taken as it is"
    return model


failures = 0
folders = sorted(file.parent for file in Path(sys.argv[1]).glob("*/sample.json"))
if not folders:
    sys.exit(f"{sys.argv[1]} holds no samples")
for folder in folders:
    sample = json.loads((folder / "sample.json").read_text())
    model = (adapted(folder, sample["base"]) if sample["kind"] == "adapter" else whole(folder)).eval()
    greatest = largest = 0.0
    with torch.no_grad():
        for ids, values in zip(sample["inputIds"], sample["logits"]):
            logits = model(input_ids=torch.tensor([ids])).logits[0]
            ours = torch.tensor(values).reshape(logits.shape)
            greatest = max(greatest, (logits - ours).abs().max().item())
            largest = max(largest, logits.abs().max().item())
    holds = greatest < LIMIT
    failures += not holds
    print(f"{'ok   ' if holds else 'FAILS'} {folder.name:16} greatest difference {greatest:.1e}, largest logit {largest:.1f}")
sys.exit(1 if failures else 0)

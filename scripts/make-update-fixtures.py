"""Several updates with one batch, computed with PyTorch in float64, for packages/trainer/test/run/Updates.test.ts.

    python scripts/make-update-fixtures.py

Uses the model, the adapter and the batch "plain" of make-loss-fixtures.py. The loss is GRPO's clipped ratio, one sequence at a time;
the ratio is against the logprobs recorded while sampling (engine), or against the model's own before the first update (trainer), as
TRL has it with num_iterations > 1. Updates are torch.optim.AdamW after torch.nn.utils.clip_grad_norm_. Writes fixtures/updates.json:
the loss, the norm of the gradient and the mean ratio of every update, and all logprobs after the last one.

Needs torch, transformers, peft, numpy. Deterministic.
"""

import base64
import json
from pathlib import Path

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

root = Path(__file__).resolve().parent.parent / "packages/trainer/test/fixtures"
given = json.loads((root / "losses.json").read_text())
optimizer = dict(lr=0.002, betas=(0.9, 0.95), eps=1e-3, weight_decay=0.1)
max_norm, updates, clip = 0.5, 4, 0.02


def fresh():
    base = AutoModelForCausalLM.from_pretrained(root / "loss-model", dtype=torch.float64, attn_implementation="eager")
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    lora = given["lora"]
    model = get_peft_model(base, LoraConfig(r=lora["r"], lora_alpha=lora["alpha"], lora_dropout=0.0, target_modules=targets))
    model.train()
    parameters = []
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                short = name.removeprefix("base_model.model.").replace(".default.weight", ".weight")
                values = np.frombuffer(base64.b64decode(given["theta"][short]), dtype="<f4").astype(np.float64)
                parameter.copy_(torch.tensor(values).reshape(parameter.shape))
                parameters.append(parameter)
    return model, parameters


def logprobs_of(model, tokens):
    logits = model(input_ids=torch.tensor([tokens])).logits[0][:-1]
    picked = torch.log_softmax(logits, -1).gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
    return torch.cat([torch.zeros(1, dtype=torch.float64), picked])


def sequences():
    for group in given["batches"]["plain"]:
        scores = np.array(group["scores"])
        advantages = (scores - scores.mean()) / (scores.std(ddof=1) + 1e-4)
        for i, tokens in enumerate(group["tokens"]):
            trained = [t for t, label in enumerate(group["masks"][i]) if label != -100]
            yield tokens, trained, advantages[i], torch.tensor(group["inference_logprobs"][i], dtype=torch.float64)


results = {}
for old_policy in ["engine", "trainer"]:
    model, parameters = fresh()
    adam = torch.optim.AdamW(parameters, **optimizer)
    every = list(sequences())
    with torch.no_grad():
        before = [logprobs_of(model, tokens) for tokens, *_ in every]
    steps = []
    for _ in range(updates):
        loss, ratios = 0, []
        for (tokens, trained, advantage, engine), own in zip(every, before):
            old = engine if old_policy == "engine" else own
            ratio = torch.exp(logprobs_of(model, tokens)[trained] - old[trained])
            clipped = torch.clamp(ratio, 1 - clip, 1 + clip)
            loss = loss - torch.min(ratio * advantage, clipped * advantage).mean() / len(every)
            ratios.extend(ratio.detach().tolist())
        adam.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
        adam.step()
        steps.append({"loss": loss.item(), "norm": norm.item(), "ratio": float(np.mean(ratios))})
        print(old_policy, steps[-1])
    with torch.no_grad():
        after = [logprobs_of(model, tokens)[1:].tolist() for tokens, *_ in every]
    results[old_policy] = {"steps": steps, "logprobs": [[round(x, 7) for x in row] for row in after]}

(root / "updates.json").write_text(
    json.dumps({"optimizer": optimizer, "max_norm": max_norm, "clip": clip, **results}) + "\n"
)

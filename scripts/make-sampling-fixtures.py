"""Distributions that sampling parameters make of logits, for packages/trainer/test/engine/LogitAdjustments.test.ts.

    python scripts/make-sampling-fixtures.py

Random logits go through the logits processors of transformers, in the order in which `generate` has them: sequence bias, repetition
penalty, temperature, top-k, top-p, min-p. Presence and frequency penalties, which transformers does not have, follow the repetition
penalty as in vLLM: frequency times the token's count in the output, presence once. Writes fixtures/sampling.json: logits, prompt and
output, the parameters in vLLM's names, the logits before temperature and the probabilities that are drawn from.

Needs torch, transformers. Deterministic.
"""

import json
from pathlib import Path

import torch
from transformers.generation import logits_process as processors

root = Path(__file__).resolve().parent.parent / "packages/trainer/test/fixtures"
generator = torch.Generator().manual_seed(11)
vocabulary = 48

requests = [
    {},
    {"temperature": 0.6},
    {"top_k": 5},
    {"top_p": 0.7},
    {"min_p": 0.1, "temperature": 1.5},
    {"top_k": 12, "top_p": 0.8, "temperature": 1.3},
    {"top_p": 0.9, "min_p": 0.2, "temperature": 0.8},
    {"top_k": 20, "top_p": 0.95, "min_p": 0.05, "temperature": 2.0},
    {"repetition_penalty": 1.3},
    {"repetition_penalty": 0.7, "temperature": 0.9},
    {"presence_penalty": 1.5},
    {"frequency_penalty": 0.8, "temperature": 1.2},
    {"presence_penalty": -1.0, "frequency_penalty": -0.5},
    {"logit_bias": {"3": 5.0, "17": -100.0, "40": 2.5}},
    {"logit_bias": {"0": 100.0}, "temperature": 0.7},
    {
        "logit_bias": {"5": 3.0, "7": -3.0}, "repetition_penalty": 1.2, "presence_penalty": 0.4, "frequency_penalty": 0.3,
        "temperature": 0.9, "top_k": 30, "top_p": 0.9, "min_p": 0.02,
    },
]


def adjusted(logits, prompt, output, request):
    ids = torch.tensor([prompt + output])
    bias = {(int(token),): float(value) for token, value in request.get("logit_bias", {}).items()}
    scores = logits[None]
    if bias:
        scores = processors.SequenceBiasLogitsProcessor(bias)(ids, scores)
    if "repetition_penalty" in request:
        scores = processors.RepetitionPenaltyLogitsProcessor(request["repetition_penalty"])(ids, scores)
    counts = torch.bincount(torch.tensor(output), minlength=vocabulary)
    scores = scores - request.get("frequency_penalty", 0.0) * counts
    return scores - request.get("presence_penalty", 0.0) * (counts > 0)


def probabilities(scores, ids, request):
    if "temperature" in request:
        scores = processors.TemperatureLogitsWarper(request["temperature"])(ids, scores)
    if "top_k" in request:
        scores = processors.TopKLogitsWarper(request["top_k"])(ids, scores)
    if "top_p" in request:
        scores = processors.TopPLogitsWarper(request["top_p"])(ids, scores)
    if "min_p" in request:
        scores = processors.MinPLogitsWarper(request["min_p"])(ids, scores)
    return torch.softmax(scores.double(), -1)[0]


cases = []
for request in requests:
    for _ in range(2):
        logits = 3 * torch.randn(vocabulary, generator=generator)
        prompt = torch.randint(vocabulary, (12,), generator=generator).tolist()
        # Few different tokens, so that some come often; likely ones, so that penalties matter.
        likely = logits.topk(6).indices.tolist()
        output = [likely[int(i)] for i in torch.randint(6, (9,), generator=generator)]
        scores = adjusted(logits, prompt, output, request)
        drawn = probabilities(scores, torch.tensor([prompt + output]), request)
        cases.append({
            "request": request, "prompt": prompt, "output": output, "logits": logits.tolist(), "adjusted": scores[0].tolist(),
            "probabilities": [round(p, 9) for p in drawn.tolist()],
        })
(root / "sampling.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")

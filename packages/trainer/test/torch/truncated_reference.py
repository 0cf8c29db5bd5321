"""Prints how far `TargetLogprobs` and `of_logits` are from log-probabilities that are renormalised by hand in float64,
and their gradients from differences of those."""

import json
import math

import torch

from atropos_torch.logprobs import Head, TargetLogprobs, Targets, of_logits

N, H, V = 5, 6, 11
KEPT = [[0, 3, 7], [], [2], [1, 4, 5, 10], [9, 8]]
TOKENS = [3, 6, 2, 10, 8]
SLOPES = [0.5, -1.0, 2.0, 0.25, -0.75]


def by_hand(hidden, weight, heat, cap, scale):
    values, entropies = [], []
    for n in range(N):
        logits = [scale * sum(hidden[n][h] * weight[v][h] for h in range(H)) for v in range(V)]
        logits = [(cap * math.tanh(one / cap) if cap else one) * heat[n] for one in logits]
        kept = KEPT[n] or range(V)
        total = math.log(sum(math.exp(logits[v]) for v in kept))
        values.append(logits[TOKENS[n]] - total)
        entropies.append(-sum((logits[v] - total) * math.exp(logits[v] - total) for v in kept))
    return values, entropies


def loss_by_hand(hidden, *rest):
    values, entropies = by_hand(hidden, *rest)
    pairs = [*zip(SLOPES, values, strict=True), *zip(SLOPES[::-1], entropies, strict=True)]
    return sum(slope * value for slope, value in pairs)


torch.manual_seed(3)
hidden, weight = torch.randn(N, H, dtype=torch.float64), torch.randn(V, H, dtype=torch.float64)
heat = torch.tensor([1.0, 0.5, 2.0, 1.25, 1.0])
kept = torch.tensor([[n, v] for n, ids in enumerate(KEPT) for v in ids])
slopes, reversed_slopes = torch.tensor(SLOPES), torch.tensor(SLOPES[::-1])
found = {"values": 0.0, "gradients": 0.0}
for cap, scale in [(0.0, 1.0), (3.0, 0.7)]:
    expected = by_hand(hidden.tolist(), weight.tolist(), heat.tolist(), cap, scale)
    step, by_difference = 1e-6, torch.zeros(N, H)
    for n in range(N):
        for h in range(H):
            ends = []
            for sign in (1, -1):
                moved = hidden.clone()
                moved[n, h] += sign * step
                ends.append(loss_by_hand(moved.tolist(), weight.tolist(), heat.tolist(), cap, scale))
            by_difference[n, h] = (ends[0] - ends[1]) / (2 * step)
    targets = Targets(torch.tensor(TOKENS), heat, kept)
    for is_frozen in (True, False):
        for chunk in (2, 5):
            inputs = hidden.float().requires_grad_(True)
            matrix = weight.float().requires_grad_(not is_frozen)
            logprobs, entropies = TargetLogprobs.apply(inputs, matrix, targets, Head(cap, scale, chunk, True))
            torch.autograd.backward([logprobs, entropies], [slopes, reversed_slopes])
            logits = scale * hidden.float() @ weight.float().T
            whole = of_logits(cap * torch.tanh(logits / cap) if cap else logits, targets)
            for got in ((logprobs, entropies), whole):
                for values, wanted in zip(got, expected, strict=True):
                    found["values"] = max(found["values"], float((values.detach() - torch.tensor(wanted)).abs().max()))
            found["gradients"] = max(found["gradients"], float((inputs.grad - by_difference).abs().max()))
print(json.dumps(found))

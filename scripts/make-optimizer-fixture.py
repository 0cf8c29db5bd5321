"""Writes packages/trainer/test/fixtures/adamw.json: what PyTorch's AdamW and gradient clipping make of a few small tensors.

Needs `torch` (recorded with 2.13). The result is committed; run this again only to change it:
    python scripts/make-optimizer-fixture.py
"""

import json
import pathlib

import torch

FIXTURE = pathlib.Path(__file__).parent.parent / "packages" / "trainer" / "test" / "fixtures" / "adamw.json"
SHAPES = [("a.weight", [3, 4]), ("a.bias", [3]), ("norm.weight", [4]), ("b.weight", [2, 3])]
STEPS = 8
CASES = [
    {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.01, "learning_rate": 1e-3, "max_norm": 1.0},
    {"beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.0, "learning_rate": 1e-2, "max_norm": 0.5},
    {"beta1": 0.8, "beta2": 0.99, "epsilon": 1e-6, "weight_decay": 0.5, "learning_rate": 5e-2, "max_norm": None},
]


def flat(tensors):
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors]).tolist()


def record(settings, seed):
    generator = torch.Generator().manual_seed(seed)
    parameters = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for _, shape in SHAPES]
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": settings["weight_decay"]},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(
        groups,
        lr=settings["learning_rate"],
        betas=(settings["beta1"], settings["beta2"]),
        eps=settings["epsilon"],
        foreach=False,
    )
    initial = flat(parameters)
    steps = []
    for step in range(STEPS):
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator) * (0.05 if step % 2 else 2.0)
        gradient = flat([parameter.grad for parameter in parameters])
        limit = float("inf") if settings["max_norm"] is None else settings["max_norm"]
        norm = torch.nn.utils.clip_grad_norm_(parameters, limit).item()
        optimizer.step()
        steps.append({"gradient": gradient, "norm": norm, "parameters": flat(parameters)})
    return {"settings": settings, "initial": initial, "steps": steps}


torch.set_num_threads(1)
slots, offset = [], 0
for name, shape in SHAPES:
    size = int(torch.tensor(shape).prod())
    slots.append({"name": name, "shape": shape, "offset": offset, "size": size})
    offset += size
fixture = {"layout": {"slots": slots, "size": offset}, "cases": [record(case, 7 + i) for i, case in enumerate(CASES)]}
FIXTURE.parent.mkdir(parents=True, exist_ok=True)
FIXTURE.write_text(json.dumps(fixture) + "\n")

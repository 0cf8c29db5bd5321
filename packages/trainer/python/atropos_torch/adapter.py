"""Low-rank adapters with the module names and initial values of the trainer's local engine."""

from typing import Any

import numpy as np
import torch
from torch import nn

from .link import Array

ALL_LINEAR = ["all-linear"]

# Layers that PEFT adapts in addition to exact `nn.Linear`.
_LINEAR = {"Conv1D", "FalconLinear", "Linear4bit", "Linear8bitLt"}
_ROUTERS = {"gate", "router", "shared_expert_gate"}
# Their kernels read the weights of this layer directly.
_MAMBA = {"falcon_h1", "mamba", "mamba2", "falcon_mamba", "nemotron_h", "bamba"}


def linear_names(model: Any) -> list[str]:
    """The last names of linear layers in blocks: no router, no stacked experts, not the output matrix."""
    head = model.get_output_embeddings()
    kinds = _LINEAR | {type(module).__name__ for module in model.modules() if type(module) is nn.Linear}
    linear, other = set(), set()
    for name, module in model.named_modules():
        last = name.rsplit(".", 1)[-1]
        if type(module).__name__ in kinds and module is not head:
            linear.add(last)
        elif isinstance(module, nn.Linear) and type(module).__name__ not in kinds:
            other.add(last)
    excluded = other | _ROUTERS | ({"out_proj"} if model.config.model_type in _MAMBA else set())
    # A number is the name of every layer too.
    return sorted(name for name in linear - excluded if not name.isdigit())


def _uniform(seed: int, choice: int, count: int) -> Array:
    """Philox-4x32 with 10 rounds at positions 0 to count - 1: the trainer's `CounterRandom.uniform`."""
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    c0, c1 = np.arange(count, dtype=np.uint64), np.full(count, choice, np.uint64)
    c2, c3 = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    k0, k1 = np.uint64(seed & 0xFFFFFFFF), np.uint64((seed >> 32) & 0xFFFFFFFF)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (b >> shift) ^ c1 ^ k0, b & low, (a >> shift) ^ c3 ^ k1, a & low
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    high, rest = (c0 >> np.uint64(5)).astype(np.float64), (c1 >> np.uint64(6)).astype(np.float64)
    return np.asarray((high * 0x4000000 + rest) / 2.0**53)


def initialize(adapted: nn.Module, seed: int, tensors: int) -> None:
    """A uniform in ±1/sqrt(in), B zero: equal bits to the local engine's adapter of this seed, which has this number of
    tensors for each layer."""
    index = 0
    for name, parameter in adapted.named_parameters():
        if not name.endswith("lora_A.default.weight"):
            continue
        values = (2 * _uniform(seed, tensors * index, parameter.numel()) - 1) * (1 / np.sqrt(parameter.shape[1]))
        parameter.data.copy_(torch.from_numpy(values.astype(np.float32)).view_as(parameter))
        index += 1


def add(model: Any, settings: dict[str, Any], seed: int, device: torch.device) -> Any:
    from peft import LoraConfig, get_peft_model

    names = settings["targetModules"]
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=settings["r"],
        lora_alpha=settings["alpha"],
        use_rslora=settings["rslora"],
        use_dora=settings.get("dora", False),
        target_modules=linear_names(model) if names == ALL_LINEAR else names,
    )
    # Float32 whatever the base is in.
    is_empty = device.type == "meta"
    adapted = get_peft_model(model, config, autocast_adapter_dtype=True, low_cpu_mem_usage=is_empty)
    if not is_empty:
        initialize(adapted, seed, 3 if config.use_dora else 2)
    return adapted

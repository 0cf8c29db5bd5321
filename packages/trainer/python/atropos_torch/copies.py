"""Writes and reads durable copies: a PEFT folder or `model.safetensors`, and AdamW's moments by parameter name."""

import os
from typing import Any

import torch
from torch import Tensor

from . import ranks
from .link import Failure

MOMENTS = ("exp_avg", "exp_avg_sq")
OPTIMIZER = "optimizer.safetensors"


def file_of(wrapper: Any) -> str:
    return "model.safetensors" if wrapper is None else "adapter_model.safetensors"


def name_of(parameter: str, wrapper: Any) -> str:
    """The name in files: the model's, or PEFT's."""
    name = parameter.removeprefix("model.")
    if wrapper is None:
        return name
    outer = "base_model.model." + name.replace(".default.", ".")
    return outer.removesuffix(".weight") if outer.endswith("lora_magnitude_vector.weight") else outer


def read(path: str) -> dict[str, Tensor]:
    from safetensors.torch import load_file

    try:
        values: dict[str, Tensor] = load_file(path)
    except Exception as error:
        raise Failure("checkpoint", f"{path} cannot be read: {error}") from error
    return values


def restore(path: str, trained: list[tuple[str, Tensor]], wrapper: Any) -> None:
    """Sets every trained parameter from the file, which has these parameters and no other."""
    values = read(path)
    wanted = {name_of(name, wrapper): parameter for name, parameter in trained}
    strange = sorted(set(wanted) ^ set(values))
    if strange:
        fault = "has another parameter," if strange[0] in values else "lacks"
        raise Failure("checkpoint", f"{path} {fault} {strange[0]}: it belongs to another model or adapter")
    with torch.no_grad():
        for name, parameter in wanted.items():
            if values[name].shape != parameter.shape:
                raise Failure(
                    "checkpoint",
                    f"{path}: {name} has the shape {list(values[name].shape)} instead of {list(parameter.shape)}",
                )
            parameter.copy_(values[name])


def restore_moments(path: str, trained: list[tuple[str, Tensor]], wrapper: Any, optimizer: torch.optim.AdamW) -> None:
    saved = read(path)
    for name, parameter in trained:
        outer = name_of(name, wrapper)
        try:
            moments = {key: ranks.like(saved[f"{key}.{outer}"], parameter) for key in MOMENTS}
            optimizer.state[parameter] = {"step": saved["step"].clone(), **moments}
        except KeyError as error:
            raise Failure("checkpoint", f"{path} has no moments of {outer}") from error


def save(
    folder: str,
    trained: list[tuple[str, Tensor]],
    wrapper: Any,
    model: Any,
    optimizer: torch.optim.AdamW | None,
    rank: int,
) -> None:
    """Called by every rank; rank 0 writes. Without `optimizer` no moments are written."""
    from safetensors.torch import save_file

    weights = {name_of(name, wrapper): ranks.whole(parameter) for name, parameter in trained}
    moments = {}
    for name, parameter in trained if optimizer is not None else []:
        state = optimizer.state.get(parameter, {}) if optimizer is not None else {}
        outer = name_of(name, wrapper)
        for key in MOMENTS:
            moments[f"{key}.{outer}"] = ranks.whole(state[key]) if key in state else torch.zeros_like(weights[outer])
        moments["step"] = state["step"].float().cpu().clone() if "step" in state else torch.zeros(())
    if rank != 0:
        return
    os.makedirs(folder, exist_ok=True)
    save_file(weights, os.path.join(folder, file_of(wrapper)), {"format": "pt"})
    if optimizer is not None:
        save_file(moments, os.path.join(folder, OPTIMIZER))
    if wrapper is None:
        model.config.save_pretrained(folder)
    else:
        wrapper.peft_config["default"].save_pretrained(folder)

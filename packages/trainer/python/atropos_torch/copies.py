"""Writes and reads durable copies: a PEFT folder or `model.safetensors`, and AdamW's moments by parameter name.

Rank 0 writes the weights. Moments of sharded models are written by every rank of the first machine, whole parameters in
turn (`optimizer-00001-of-00004.safetensors`), so that no process holds all of them; only rank 0 reads.
"""

import glob
import os
from typing import Any

import torch
from torch import Tensor
from torch.optim import AdamW

from . import ranks
from .link import Failure, Link

MOMENTS = ("exp_avg", "exp_avg_sq")
Trained = list[tuple[str, Tensor]]


def file_of(wrapper: Any) -> str:
    return "model.safetensors" if wrapper is None else "adapter_model.safetensors"


def name_of(parameter: str, wrapper: Any) -> str:
    """The name in files: the model's, or PEFT's."""
    name = parameter.removeprefix("model.")
    if wrapper is None:
        return name
    outer = "base_model.model." + name.replace(".default.", ".")
    return outer.removesuffix(".weight") if outer.endswith("lora_magnitude_vector.weight") else outer


class Values:
    """Tensors of several files by name, each read when it is asked for."""

    def __init__(self, paths: list[str]) -> None:
        from safetensors import safe_open

        self.files: dict[str, Any] = {}
        for path in paths:
            try:
                file = safe_open(path, "pt")
            except Exception as error:
                raise Failure("checkpoint", f"{path} cannot be read: {error}") from error
            self.files.update({name: file for name in file.keys()})

    def shape(self, name: str) -> list[int]:
        return list(self.files[name].get_slice(name).get_shape())

    def __getitem__(self, name: str) -> Any:
        return self.files[name].get_tensor(name)


def _opened(link: Link, paths: list[str], wanted: dict[str, Tensor], is_exact: bool) -> Values | None:
    """At rank 0 the files, which have these tensors; a failure is raised at every rank."""
    values, failure = None, None
    if link.rank == 0:
        try:
            values = Values(paths)
            extra = set(values.files) - set(wanted) if is_exact else set()
            strange = sorted(set(wanted) - set(values.files) or extra)
            if strange:
                fault = "lacks" if strange[0] in wanted else "has another parameter,"
                failure = Failure("checkpoint", f"{paths[0]} {fault} {strange[0]}: it is of another model or adapter")
            for name, parameter in wanted.items() if failure is None else []:
                if values.shape(name) != list(parameter.shape):
                    message = f"{name} has the shape {values.shape(name)} instead of {list(parameter.shape)}"
                    failure = Failure("checkpoint", f"{paths[0]}: {message}")
        except Failure as error:
            failure = error
    failure = link.first(failure)
    if failure is not None:
        raise failure
    return values


def restore(link: Link, path: str, trained: Trained, wrapper: Any) -> None:
    """Sets every trained parameter from the file, which has these parameters and no other."""
    wanted = {name_of(name, wrapper): parameter for name, parameter in trained}
    values = _opened(link, [path], wanted, True)
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(ranks.spread(values[name] if values else None, parameter))


def restore_moments(link: Link, folder: str, trained: Trained, wrapper: Any, optimizer: AdamW) -> None:
    paths = sorted(glob.glob(os.path.join(glob.escape(folder), "optimizer*.safetensors")))
    named = {name_of(name, wrapper): parameter for name, parameter in trained}
    step = torch.zeros(())
    wanted = {f"{key}.{name}": parameter for name, parameter in named.items() for key in MOMENTS} | {"step": step}
    values = _opened(link, paths or [os.path.join(folder, "optimizer.safetensors")], wanted, False)
    step = ranks.spread(values["step"] if values else None, step)
    for name, parameter in named.items():
        keys = {key: f"{key}.{name}" for key in MOMENTS}
        moments = {key: ranks.spread(values[full] if values else None, parameter) for key, full in keys.items()}
        optimizer.state[parameter] = {"step": step.clone(), **moments}


def save(
    link: Link, folder: str, trained: Trained, wrapper: Any, model: Any, optimizer: AdamW | None, owners: int
) -> None:
    """Called by every rank. Without `optimizer` no moments are written; `owners`: ranks that write them."""
    from safetensors.torch import save_file

    weights, moments = {}, {}
    for index, (name, parameter) in enumerate(trained):
        outer = name_of(name, wrapper)
        values = ranks.whole(parameter, link.rank == 0)
        if values is not None:
            weights[outer] = values
        if optimizer is None:
            continue
        state = optimizer.state.get(parameter, {})
        for key in MOMENTS:
            moment = ranks.whole(state.get(key, torch.zeros(())), link.rank == index % owners)
            if moment is not None:
                moments[f"{key}.{outer}"] = moment if key in state else torch.zeros(parameter.shape)
        if link.rank == 0:
            moments["step"] = state["step"].float().cpu().clone() if "step" in state else torch.zeros(())
    if link.rank == 0:
        os.makedirs(folder, exist_ok=True)
    # The others write once the folder exists.
    link.first(None)
    if optimizer is not None and link.rank < owners:
        part = "" if owners == 1 else f"-{link.rank + 1:05d}-of-{owners:05d}"
        save_file(moments, os.path.join(folder, f"optimizer{part}.safetensors"))
    if link.rank != 0:
        return
    save_file(weights, os.path.join(folder, file_of(wrapper)), {"format": "pt"})
    if wrapper is None:
        model.config.save_pretrained(folder)
    else:
        wrapper.peft_config["default"].save_pretrained(folder)

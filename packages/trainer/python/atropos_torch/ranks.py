"""Shares weights and gradients between ranks: of adapters with one all-reduce, of sharded models by FSDP2."""

import dataclasses
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


def shard(policy: nn.Module, blocks: set[str], half: bool) -> None:
    """Shards every block of these classes, and the rest with the root."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    dtypes: dict[str, Any] = {"param_dtype": torch.bfloat16, "reduce_dtype": torch.float32} if half else {}
    mixed = MixedPrecisionPolicy(**dtypes)
    for module in list(policy.modules()):
        if type(module).__name__ in blocks:
            fully_shard(module, mp_policy=mixed)
    # Temperatures are inputs of the root, and are not rounded.
    fully_shard(policy, mp_policy=dataclasses.replace(mixed, cast_forward_inputs=False))
    for module in policy.modules():
        if hasattr(module, "set_gradient_divide_factor"):
            # The loss is the sum over the batch; FSDP would take the mean over ranks.
            sharded: Any = module
            sharded.set_gradient_divide_factor(1.0)
            sharded.set_force_sum_reduction_for_comms(True)


def fill(policy: nn.Module, source: nn.Module | None, device: torch.device) -> None:
    """Gives a sharded model without values those of rank 0, which alone has the source."""
    policy.to_empty(device=device)
    parameters = dict(source.named_parameters()) if source else {}
    buffers = dict(source.named_buffers()) if source else {}
    with torch.no_grad():
        for name, parameter in policy.named_parameters():
            parameter.copy_(spread(parameters.get(name), parameter))
        # Tables of positions are in no file.
        for name, buffer in policy.named_buffers():
            buffer.copy_(spread(buffers.get(name), buffer))


def spread(values: Tensor | None, like: Any) -> Tensor:
    """Rank 0's values at every rank, on the device and with the type of `like`, and sharded as it is."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    whole = torch.empty(like.shape, dtype=like.dtype, device=like.device)
    if values is not None:
        whole.copy_(values)
    if isinstance(like, DTensor):
        return distribute_tensor(whole, like.device_mesh, like.placements)
    if dist.is_initialized():
        dist.broadcast(whole, 0)
    return whole


def sum_gradients(parameters: list[Tensor]) -> None:
    """The same sum at every rank; a rank without sequences has no gradient."""
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    for gradient, values in zip(gradients, flat.split([one.numel() for one in gradients]), strict=True):
        gradient.copy_(values.view_as(gradient))


def whole(tensor: Any, is_kept: bool) -> Tensor | None:
    """A float32 copy on the CPU, gathered from all ranks if it is sharded; None where it is not kept."""
    full = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    if not is_kept:
        return None
    copy: Tensor = full.detach().float().cpu().contiguous()
    return copy.clone() if copy.data_ptr() == full.data_ptr() else copy

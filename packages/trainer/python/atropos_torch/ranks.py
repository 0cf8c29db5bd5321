"""Sums gradients over ranks: of adapters with one all-reduce, of sharded models by FSDP2."""

import dataclasses
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


def shard(policy: nn.Module, blocks: set[str], half: bool) -> None:
    """Shards every block of these classes, and the rest with the root."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mixed = (
        MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if half else MixedPrecisionPolicy()
    )
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


def whole(tensor: Any) -> Tensor:
    """A float32 copy on the CPU, gathered from all ranks if it is sharded."""
    full = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    copy: Tensor = full.detach().float().cpu().contiguous()
    return copy.clone() if copy.data_ptr() == full.data_ptr() else copy


def like(values: Tensor, parameter: Any) -> Tensor:
    """The values on the parameter's device, sharded as it is."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    moved = values.to(parameter.device)
    return (
        distribute_tensor(moved, parameter.device_mesh, parameter.placements)
        if isinstance(parameter, DTensor)
        else moved
    )

"""Settings of `GRPOConfig` that this package cannot work with, refused by name."""

from __future__ import annotations

import logging
from typing import Any

from ._http import AtroposError

_logger = logging.getLogger("atropos_trl")


def batches(args: Any) -> int:
    """Batches of the service that `max_steps` take."""
    every: int = args.steps_per_generation * args.num_iterations
    return int(args.max_steps) * int(args.gradient_accumulation_steps) // every


def check(args: Any, acknowledge: str, sampler: str | None) -> None:
    every = args.steps_per_generation * args.num_iterations
    if args.max_steps <= 0:
        raise AtroposError("set max_steps: the service has no end, so epochs mean nothing")
    if args.max_steps * args.gradient_accumulation_steps % every != 0:
        raise AtroposError(
            f"max_steps x gradient_accumulation_steps ({args.max_steps} x {args.gradient_accumulation_steps}) is no "
            f"multiple of steps_per_generation x num_iterations ({args.steps_per_generation} x {args.num_iterations}): "
            "the last batch would be trained in part"
        )
    if args.eval_strategy != "no":
        raise AtroposError('evaluation is not fed from the service: set eval_strategy="no"')
    if acknowledge == "checkpoint" and args.save_strategy == "no":
        raise AtroposError('acknowledge="checkpoint" needs checkpoints: set save_strategy, or acknowledge="step"')
    if sampler is not None:
        kind = args.distributed_state.distributed_type if args.distributed_state is not None else "NO"
        if str(kind).split(".")[-1] in ("DEEPSPEED", "FSDP", "MEGATRON_LM"):
            raise AtroposError(
                f"the adapter is spread over processes ({kind}), which this package does not gather: pass no sampler, "
                "and bring the weights to it another way"
            )
        if args.use_vllm:
            raise AtroposError("use_vllm=True hands TRL's own vLLM the weights: leave either it or the sampler out")
    if not args.vllm_importance_sampling_correction:
        _logger.warning(
            "vllm_importance_sampling_correction=False: the sampler's log-probabilities are NOT used. The loss takes "
            "every batch as sampled by the present policy, however old it is"
        )
    elif args.loss_type == "vespo" and not args.vllm_importance_sampling_mode.startswith("token_"):
        raise AtroposError('loss_type="vespo" needs vllm_importance_sampling_mode="token_truncate" or "token_mask"')

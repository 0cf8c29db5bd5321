"""Computes log-probabilities with their graphs, gradients from the trainer's slopes, and AdamW's steps."""

import collections
import contextlib
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from . import copies, loading, ranks
from .link import Array, Command, Failure, Header, Link
from .policy import Batch, Policy, Rows

# Pretends a device of that many positions, where no GPU can run out of memory.
LIMIT = "ATROPOS_TORCH_MAX_POSITIONS"
# Packs sequences also where attention needs a mask for that.
PACKS = "ATROPOS_TORCH_PACKS"


def _numpy(values: Tensor) -> Any:
    return values.detach().float().cpu().numpy()


class Learner:
    def __init__(self, link: Link, options: dict[str, Any]) -> None:
        self.link = link
        self.device = link.device
        options["dtype"] = link.dtype_of(options["dtype"])
        self.is_half = options["dtype"] == "bfloat16"
        self.is_sharded = link.ranks > 1 and options["parallel"] == "fsdp"
        self.settings = options["optimizer"]
        self.limit = int(os.environ.get(LIMIT, "0")) or math.inf
        torch.manual_seed(options["seed"])
        self.policy, self.wrapper = self._load(options)
        # All weights: the policy that training began with is another model. An adapter is turned off instead.
        needs_model = options["reference"] and self.wrapper is None
        self.reference = self._load(options)[0] if needs_model else None
        if options["weights"] is not None:
            copies.restore(link, options["weights"], self._trained(self.policy), self.wrapper)
        self.trained = self._trained(self.policy)
        self.optimizer = self._make_optimizer()
        if options["moments"] is not None:
            copies.restore_moments(link, options["moments"], self.trained, self.wrapper, self.optimizer)
        # Of a micro-batch since the last `discard`: what was sent ahead of it fails too.
        self.failure: Failure | None = None
        # In the order of the forward passes; of each the log-probabilities and entropies with their graph.
        self.pending: collections.deque[tuple[Tensor, Tensor]] = collections.deque()

    @staticmethod
    def _trained(policy: Policy) -> list[tuple[str, Tensor]]:
        return [(name, one) for name, one in policy.named_parameters() if one.requires_grad]

    def _load(self, options: dict[str, Any]) -> tuple[Policy, Any]:
        """The policy at the start of training, and PEFT's wrapper. If sharded, rank 0 alone reads the weights, into the
        CPU's memory, so that it need not fit into a GPU's."""

        def on(device: torch.device) -> tuple[Policy, Any]:
            model, wrapper = loading.load(options, device)
            return Policy(model, options["chunk"], options["entropies"]), wrapper

        if self.is_sharded:
            source, failure = None, None
            try:
                source = on(torch.device("cpu"))[0] if self.link.rank == 0 else None
            except Failure as error:
                failure = error
            failure = self.link.first(failure)
            if failure is not None:
                raise failure
            policy, wrapper = on(torch.device("meta"))
            ranks.shard(policy, set(policy.model._no_split_modules or []), self.is_half)
            ranks.fill(policy, source, self.device)
        else:
            policy, wrapper = on(self.device)
        if options["initial"] is not None:
            copies.restore(self.link, options["initial"], self._trained(policy), wrapper)
        policy.find_head(self.device)
        near = 0.1 if self.is_half or options["quantize"] != "none" else 1e-3
        packs = policy.model.config._attn_implementation == loading.VARLEN or PACKS in os.environ
        policy.check(self.device, near, self.is_half, packs)
        if self.is_sharded:
            # Outside of blocks, parameters stay whole after a forward pass.
            policy.reshard()  # type: ignore[operator]
        return policy, wrapper

    def _make_optimizer(self) -> torch.optim.AdamW:
        groups = []
        for has_decay in (True, False):
            parameters = [one for _, one in self.trained if (one.dim() >= 2) == has_decay]
            if parameters:
                decay = self.settings["weightDecay"] if has_decay else 0.0
                groups.append({"params": parameters, "weight_decay": decay})
        betas = (self.settings["beta1"], self.settings["beta2"])
        return torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=self.settings["epsilon"])

    @contextlib.contextmanager
    def _reference(self) -> Iterator[Policy]:
        if self.reference is not None or self.wrapper is None:
            yield self.reference or self.policy
        else:
            with self.wrapper.disable_adapter():
                yield self.policy

    def _logprobs(self, rows: Rows, header: Header) -> dict[str, Array]:
        if rows.ids.numel() > self.limit:
            raise torch.OutOfMemoryError(f"{rows.ids.numel()} positions exceed {LIMIT}")
        answer = {}
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.is_half):
            if header["reference"]:
                with torch.no_grad(), self._reference() as policy:
                    answer["reference"] = _numpy(policy(rows)[0])
            with torch.set_grad_enabled(header["gradient"]):
                logprobs, entropies = self.policy(rows)
        if header["gradient"]:
            self.pending.append((logprobs, entropies))
        return {**answer, "logprobs": _numpy(logprobs), "entropies": _numpy(entropies)}

    def logprobs(self, command: Command) -> dict[str, Array]:
        """Log-probabilities of a micro-batch for each rank, in the order of the ranks; their graphs are kept."""
        header, tensors = command
        batch = Batch(header["lengths"], **tensors)
        chosen = dict(enumerate(header["parts"])).get(self.link.rank, [])
        answer = self._guarded(lambda: self._logprobs(batch.rows(chosen, self.device, self.policy.is_packed), header))
        gathered = self.link.gather(answer)
        return {name: np.concatenate([one[name] for one in gathered]) for name in answer} if gathered else {}

    def backward(self, command: Command) -> None:
        """Adds the gradient of the oldest pending micro-batch to the sum, from dL/dlogprob and dL/dentropy."""
        header, tensors = command
        counts = header["counts"]
        start = sum(counts[: self.link.rank])
        part = slice(start, start + (counts[self.link.rank] if self.link.rank < len(counts) else 0))

        def compute() -> None:
            outputs, slopes = [], []
            for values, name in zip(self.pending.popleft(), ("slopes", "entropy_slopes"), strict=True):
                if name in tensors and values.requires_grad:
                    outputs.append(values)
                    slopes.append(torch.from_numpy(tensors[name][part].copy()).to(self.device))
            torch.autograd.backward(outputs, slopes)

        self._guarded(compute)

    def _guarded(self, compute: Callable[[], Any]) -> Any:
        """If memory is full at any rank, every rank fails without any gradient left, until the next `discard`. Under
        FSDP the other ranks wait in a collective, and this group of processes cannot continue."""
        if self.failure is not None:
            raise self.failure
        failure, value = None, None
        try:
            value = compute()
        except torch.OutOfMemoryError as error:
            if self.is_sharded:
                raise
            failure = Failure("memory", str(error).split(". ")[0])
        failure = self.link.first(failure)
        if failure is not None:
            self.discard()
            if self.link.has_gpu:
                torch.cuda.empty_cache()
            self.failure = failure
            raise failure
        return value

    def discard(self) -> None:
        self.failure = None
        self.pending.clear()
        self.optimizer.zero_grad(set_to_none=True)

    def step(self, learning_rate: float) -> tuple[bool, float | None]:
        """Whether the gradient is finite, and its norm before clipping; otherwise the weights stay as they are."""
        parameters = [one for _, one in self.trained]
        if self.link.ranks > 1 and not self.is_sharded:
            ranks.sum_gradients(parameters)
        total: Any = torch.nn.utils.get_total_norm([one.grad for one in parameters if one.grad is not None])
        norm = float(total.full_tensor() if hasattr(total, "full_tensor") else total)
        if not math.isfinite(norm):
            self.optimizer.zero_grad(set_to_none=True)
            return False, None
        limit = self.settings["maxNorm"]
        if limit is not None:
            factor = min(1.0, limit / (norm + 1e-6))
            torch._foreach_mul_([one.grad for one in parameters if one.grad is not None], factor)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return True, norm

    def save(self, folder: str, has_moments: bool) -> str:
        optimizer = self.optimizer if has_moments else None
        owners = self.link.local_ranks if self.is_sharded else 1
        copies.save(self.link, folder, self.trained, self.wrapper, self.policy.model, optimizer, owners)
        return copies.file_of(self.wrapper)

    def about(self) -> Header:
        return {
            "trained": sum(one.numel() for _, one in self.trained),
            "isChunked": self.policy.is_chunked,
            "isPacked": self.policy.is_packed,
            "dtype": "bfloat16" if self.is_half else "float32",
        }

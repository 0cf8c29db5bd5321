"""Log-probabilities and entropies of target tokens, without the logits of all tokens at once."""

from typing import Any, NamedTuple

import torch
from torch import Tensor


class Targets(NamedTuple):
    """N tokens, their temperatures, and the tokens that top-k, top-p and min-p left to choose from, if any."""

    tokens: Tensor  # (N)
    heat: Tensor  # (N): 1 / temperature
    kept: Tensor  # (M, 2): a target's index and a token it may be; a target without any may be all

    def part(self, at: int, count: int) -> "Targets":
        inside = (self.kept[:, 0] >= at) & (self.kept[:, 0] < at + count)
        kept = self.kept[inside] - torch.tensor([at, 0], device=self.kept.device)
        return Targets(self.tokens[at : at + count], self.heat[at : at + count], kept)


class Head(NamedTuple):
    """Logits are `cap · tanh(scale · h W / cap)`, or `scale · h W` if cap is 0; of `chunk` tokens at a time."""

    cap: float
    scale: float
    chunk: int
    has_entropy_slopes: bool


def _truncated(scaled: Tensor, kept: Tensor) -> Tensor:
    """Finite where a token was dropped, so that 0 times it is 0 in entropies and gradients."""
    if len(kept) == 0:
        return scaled
    drops = torch.zeros_like(scaled, dtype=torch.bool)
    drops[kept[:, 0]] = True
    drops[kept[:, 0], kept[:, 1]] = False
    return scaled.masked_fill(drops, -1e9)


def of_logits(logits: Tensor, targets: Targets) -> tuple[Tensor, Tensor]:
    """logits (N, V) to log-probabilities and entropies (N), nats."""
    logprobs = torch.log_softmax(_truncated(logits.float() * targets.heat[:, None], targets.kept), -1)
    entropies = -(logprobs.exp() * logprobs).sum(-1)
    return logprobs.gather(1, targets.tokens[:, None])[:, 0], entropies


def _slopes(scaled: Tensor, tokens: Tensor, has_entropy: bool) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Of logits at their temperature: log-probability, entropy, and the derivative of each by the logits."""
    logprobs = torch.log_softmax(scaled, -1)
    p = logprobs.exp()
    entropy = -(p * logprobs).sum(-1)
    by_logprob = -p
    by_logprob.scatter_add_(1, tokens[:, None], torch.ones_like(entropy)[:, None])
    by_entropy = -p * (logprobs + entropy[:, None]) if has_entropy else None
    return logprobs.gather(1, tokens[:, None])[:, 0], entropy, by_logprob, by_entropy


class TargetLogprobs(torch.autograd.Function):
    """hidden (N, H), weight (V, H) to log-probabilities and entropies (N), whose gradient is only there with
    `has_entropy_slopes`; a chunk at a time. For a frozen matrix the derivatives by the hidden states are computed with
    the values, so that the backward pass needs no product; for a trained one the logits are computed again there."""

    @staticmethod
    def _scaled(hidden: Tensor, weight: Tensor, targets: Targets, head: Head) -> tuple[Tensor, Tensor]:
        """Logits at their temperature, and the factor of the derivative by the product of the matrices."""
        logits = (hidden @ weight.T).float() * head.scale
        factor = (targets.heat * head.scale)[:, None]
        if head.cap != 0:
            bent = torch.tanh(logits / head.cap)
            logits, factor = head.cap * bent, factor * (1 - bent**2)
        return _truncated(logits * targets.heat[:, None], targets.kept), factor

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Targets, head: Head) -> tuple[Tensor, Tensor]:
        is_frozen = not ctx.needs_input_grad[1]
        keeps = ctx.needs_input_grad[0] and is_frozen
        logprobs = hidden.new_empty(len(hidden), dtype=torch.float32)
        entropies = torch.empty_like(logprobs)
        kept = [torch.empty_like(hidden) for _ in range(1 + head.has_entropy_slopes)] if keeps else []
        for at in range(0, len(hidden), head.chunk):
            part = slice(at, at + head.chunk)
            some = targets.part(at, head.chunk)
            scaled, factor = TargetLogprobs._scaled(hidden[part], weight, some, head)
            logprobs[part], entropies[part], *slopes = _slopes(scaled, some.tokens, head.has_entropy_slopes)
            for values, slope in zip(kept, slopes, strict=False):
                if slope is not None:
                    values[part] = (slope * factor).to(weight.dtype) @ weight
        ctx.save_for_backward(*(kept if keeps else (hidden, weight)))
        ctx.rest = targets, head, is_frozen
        if not head.has_entropy_slopes:
            ctx.mark_non_differentiable(entropies)
        return logprobs, entropies

    @staticmethod
    def backward(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        of_logprobs, of_entropies = given
        assert of_logprobs is not None
        targets, head, is_frozen = ctx.rest
        if is_frozen:
            by_logprob, *by_entropy = ctx.saved_tensors
            slope = of_logprobs.to(by_logprob.dtype)[:, None] * by_logprob
            if of_entropies is not None and by_entropy:
                slope += of_entropies.to(by_entropy[0].dtype)[:, None] * by_entropy[0]
            return slope, None, None, None
        hidden, weight = ctx.saved_tensors
        by_hidden, by_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        for at in range(0, len(hidden), head.chunk):
            part = slice(at, at + head.chunk)
            some = targets.part(at, head.chunk)
            scaled, factor = TargetLogprobs._scaled(hidden[part], weight, some, head)
            _, _, first, second = _slopes(scaled, some.tokens, head.has_entropy_slopes)
            slope = first * of_logprobs[part, None]
            if of_entropies is not None and second is not None:
                slope += second * of_entropies[part, None]
            slope = (slope * factor).to(weight.dtype)
            by_hidden[part] = slope @ weight
            by_weight += slope.T @ hidden[part]
        return by_hidden, by_weight, None, None

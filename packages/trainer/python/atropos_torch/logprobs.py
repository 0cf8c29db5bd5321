"""Log-probabilities and entropies of target tokens, without the logits of all tokens at once."""

from typing import Any

import torch
from torch import Tensor


def of_logits(logits: Tensor, targets: Tensor, heat: Tensor) -> tuple[Tensor, Tensor]:
    """logits (N, V), targets (N), heat = 1 / temperature (N) to log-probabilities and entropies (N), nats."""
    logprobs = torch.log_softmax(logits.float() * heat[:, None], -1)
    entropies = -(logprobs.exp() * logprobs).sum(-1)
    return logprobs.gather(1, targets[:, None])[:, 0], entropies


def _slopes(scaled: Tensor, targets: Tensor, has_entropy: bool) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Of logits at their temperature: log-probability, entropy, and the derivative of each by the logits."""
    logprobs = torch.log_softmax(scaled, -1)
    p = logprobs.exp()
    entropy = -(p * logprobs).sum(-1)
    by_logprob = -p
    by_logprob.scatter_add_(1, targets[:, None], torch.ones_like(entropy)[:, None])
    by_entropy = -p * (logprobs + entropy[:, None]) if has_entropy else None
    return logprobs.gather(1, targets[:, None])[:, 0], entropy, by_logprob, by_entropy


class TargetLogprobs(torch.autograd.Function):
    """Applies the output matrix to `chunk` hidden states at a time.

    hidden (N, H), weight (V, H), targets (N), heat (N) to log-probabilities and entropies (N), whose gradient is only
    there with `has_entropy_slopes`. Logits are `cap · tanh(scale · h W / cap)`, or `scale · h W` if
    cap is 0. For a frozen matrix the derivatives by the hidden states are computed with the values, so that the
    backward pass needs no product; for a trained one the logits are computed again there.
    """

    @staticmethod
    def _capped(hidden: Tensor, weight: Tensor, heat: Tensor, cap: float, scale: float) -> tuple[Tensor, Tensor]:
        """Logits at their temperature, and the factor of the derivative by the product of the matrices."""
        logits = (hidden @ weight.T).float() * scale
        factor = (heat * scale)[:, None]
        if cap == 0:
            return logits * heat[:, None], factor
        bent = torch.tanh(logits / cap)
        return cap * bent * heat[:, None], factor * (1 - bent**2)

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        heat: Tensor,
        cap: float,
        scale: float,
        chunk: int,
        has_entropy_slopes: bool,
    ) -> tuple[Tensor, Tensor]:
        is_frozen = not ctx.needs_input_grad[1]
        keeps = ctx.needs_input_grad[0] and is_frozen
        logprobs = hidden.new_empty(len(hidden), dtype=torch.float32)
        entropies = torch.empty_like(logprobs)
        kept = [torch.empty_like(hidden) for _ in range(1 + has_entropy_slopes)] if keeps else []
        for at in range(0, len(hidden), chunk):
            part = slice(at, at + chunk)
            scaled, factor = TargetLogprobs._capped(hidden[part], weight, heat[part], cap, scale)
            if not keeps:
                logprobs[part], entropies[part] = of_logits(scaled, targets[part], torch.ones_like(heat[part]))
                continue
            logprobs[part], entropies[part], *slopes = _slopes(scaled, targets[part], has_entropy_slopes)
            for values, slope in zip(kept, slopes, strict=False):
                if slope is not None:
                    values[part] = (slope * factor).to(weight.dtype) @ weight
        ctx.save_for_backward(*(kept if keeps else (hidden, weight, targets, heat)))
        ctx.rest = cap, scale, chunk, is_frozen, has_entropy_slopes
        if not has_entropy_slopes:
            ctx.mark_non_differentiable(entropies)
        return logprobs, entropies

    @staticmethod
    def backward(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        of_logprobs, of_entropies = given
        assert of_logprobs is not None
        cap, scale, chunk, is_frozen, has_entropy_slopes = ctx.rest
        nothing = (None,) * 6
        if is_frozen:
            by_logprob, *by_entropy = ctx.saved_tensors
            slope = of_logprobs.to(by_logprob.dtype)[:, None] * by_logprob
            if of_entropies is not None and by_entropy:
                slope += of_entropies.to(by_entropy[0].dtype)[:, None] * by_entropy[0]
            return (slope, None, *nothing)
        hidden, weight, targets, heat = ctx.saved_tensors
        by_hidden, by_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        for at in range(0, len(hidden), chunk):
            part = slice(at, at + chunk)
            scaled, factor = TargetLogprobs._capped(hidden[part], weight, heat[part], cap, scale)
            _, _, first, second = _slopes(scaled, targets[part], has_entropy_slopes)
            slope = first * of_logprobs[part, None]
            if of_entropies is not None and second is not None:
                slope += second * of_entropies[part, None]
            slope = (slope * factor).to(weight.dtype)
            by_hidden[part] = slope @ weight
            by_weight += slope.T @ hidden[part]
        return (by_hidden, by_weight, *nothing)

"""A causal language model as a function from token ids to log-probabilities of target tokens."""

import contextlib
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from .link import Array, Failure
from .logprobs import TargetLogprobs, of_logits


class Rows(NamedTuple):
    """Sequences padded on the right, which needs no attention mask: no token sees a later one."""

    ids: Tensor
    """(rows, positions)"""
    positions: Tensor
    places: Tensor
    """(N): positions of the flattened rows whose log-probability is wanted."""
    targets: Tensor
    """(N)"""
    heat: Tensor
    """(N): 1 / temperature"""


class Batch(NamedTuple):
    """Sequences of (length + 1) tokens one after the other; position t predicts token t + 1 where its mask is set."""

    lengths: list[int]
    tokens: Array
    mask: Array
    temperatures: Array

    def rows(self, chosen: list[int], device: torch.device) -> Rows:
        starts = np.concatenate([[0], np.cumsum(np.asarray(self.lengths, np.int64) + 1)])
        # A rank without sequences runs an empty row, since the others wait for it under FSDP.
        shape = (max(1, len(chosen)), max([self.lengths[i] for i in chosen], default=1))
        ids = np.zeros(shape, np.int64)
        index, targets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        heat = [np.zeros(0, np.float32)]
        for row, i in enumerate(chosen):
            tokens = self.tokens[starts[i] : starts[i + 1]]
            ids[row, : self.lengths[i]] = tokens[:-1]
            wanted = np.flatnonzero(self.mask[starts[i] + 1 : starts[i + 1]])
            index.append(row * shape[1] + wanted)
            targets.append(tokens[1:][wanted].astype(np.int64))
            heat.append(np.full(len(wanted), 1 / self.temperatures[i], np.float32))
        positions = np.tile(np.arange(shape[1]), (shape[0], 1))
        arrays = (ids, positions, np.concatenate(index), np.concatenate(targets), np.concatenate(heat))
        return Rows(*(torch.from_numpy(one).to(device) for one in arrays))


class Policy(nn.Module):
    """One forward pass holds the decoder and the output matrix, so that FSDP gathers both."""

    def __init__(self, model: Any, chunk: int, has_entropy_slopes: bool) -> None:
        super().__init__()
        self.model = model
        self.chunk = chunk
        self.has_entropy_slopes = has_entropy_slopes
        config = model.config.get_text_config()
        self.cap = float(getattr(config, "final_logit_softcapping", None) or 0)
        scaling = float(getattr(config, "logits_scaling", None) or 1)
        self.scale = float(getattr(config, "logit_scale", None) or 1) / scaling
        self.vocabulary = int(config.vocab_size)
        self.is_chunked = False

    def _hidden(self, ids: Tensor, positions: Tensor | None) -> Tensor:
        decoder = getattr(self.model, self.model.base_model_prefix)
        hidden: Tensor = decoder(input_ids=ids, position_ids=positions, use_cache=False).last_hidden_state
        return hidden

    def _logits(self, ids: Tensor, positions: Tensor | None) -> Tensor:
        logits: Tensor = self.model(input_ids=ids, position_ids=positions, use_cache=False).logits
        return logits

    def _heads(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Logits by the output matrix alone, scaled and capped, and the model's own."""
        logits = self._hidden(ids, None) @ self.model.get_output_embeddings().weight.T * self.scale
        return self.cap * torch.tanh(logits / self.cap) if self.cap else logits, self._logits(ids, None)

    def find_head(self, device: torch.device) -> None:
        """Decides whether logits are the output matrix times the hidden states, scaled and capped, and nothing else:
        only then are they computed in chunks."""
        with torch.no_grad(), contextlib.suppress(AttributeError, TypeError):
            head = self.model.get_output_embeddings()
            if type(head) is not nn.Linear or head.bias is not None:
                return
            batch = Batch([8], np.arange(9) % self.vocabulary, np.ones(9, np.uint8), np.ones(1, np.float32))
            ours, theirs = self(batch.rows([0], device), "heads")
            self.is_chunked = bool((ours - theirs).abs().max() <= 1e-2 * theirs.abs().max())

    def forward(self, rows: Rows, what: str = "logprobs") -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies (N), float32; `own`: by the model's logits and its own positions; `heads`:
        both kinds of logits. All are parts of one forward pass, which holds what FSDP gathers."""
        if what == "heads":
            return self._heads(rows.ids)
        if what == "own" or not self.is_chunked:
            logits = self._logits(rows.ids, None if what == "own" else rows.positions)
            return of_logits(logits.flatten(0, 1)[rows.places], rows.targets, rows.heat)
        hidden = self._hidden(rows.ids, rows.positions).flatten(0, 1)[rows.places]
        weight = self.model.get_output_embeddings().weight.to(hidden.dtype)
        logprobs, entropies = TargetLogprobs.apply(
            hidden, weight, rows.targets, rows.heat, self.cap, self.scale, self.chunk, self.has_entropy_slopes
        )
        return logprobs, entropies

    def check(self, device: torch.device, near: float, half: bool) -> None:
        """Fails unless log-probabilities of a sequence are the model's own, alone and next to another sequence.

        Finds dropout, jitter, and architectures whose rows see each other or their padding.
        """
        lengths = [7, 12]
        tokens = (np.arange(sum(lengths) + 2, dtype=np.int32) * 7) % self.vocabulary
        batch = Batch(lengths, tokens, np.ones(len(tokens), np.uint8), np.ones(2, np.float32))
        with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=half):

            def of(chosen: list[int], what: str = "logprobs") -> Tensor:
                logprobs: Tensor = self(batch.rows(chosen, device), what)[0]
                return logprobs.float()

            alone, together, own = torch.cat([of([0]), of([1])]), of([0, 1]), of([0], "own")
        name = self.model.config.model_type
        if float((own - alone[:7]).abs().max()) > near:
            raise Failure("settings", f"log-probabilities of {name} are not those of its own logits")
        if float((together - alone).abs().max()) > near:
            raise Failure("settings", f"log-probabilities of {name} depend on chance or on the other rows of a batch")

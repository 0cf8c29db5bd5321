"""A causal language model as a function from token ids to log-probabilities of target tokens."""

import contextlib
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from .link import Array, Failure
from .logprobs import Head, TargetLogprobs, Targets, of_logits


class Rows(NamedTuple):
    """Sequences padded on the right, which needs no attention mask: no token sees a later one. Or packed into one row
    without padding, where positions that begin again keep them apart."""

    ids: Tensor  # (rows, positions)
    positions: Tensor
    places: Tensor  # (N): positions of the flattened rows whose log-probability is wanted
    targets: Targets


class Batch(NamedTuple):
    """Sequences of (length + 1) tokens one after the other; position t predicts token t + 1 where its mask is set."""

    lengths: list[int]
    tokens: Array
    mask: Array
    temperatures: Array
    kept: Array = np.zeros(0, np.int32)  # of all predicted tokens, one after the other
    kept_counts: Array = np.zeros(0, np.int32)  # of each predicted token; empty: none was dropped

    def rows(self, chosen: list[int], device: torch.device, is_packed: bool = False) -> Rows:
        starts = np.concatenate([[0], np.cumsum(np.asarray(self.lengths, np.int64) + 1)])
        predicted = [np.flatnonzero(self.mask[starts[i] + 1 : starts[i + 1]]) for i in range(len(self.lengths))]
        firsts = np.concatenate([[0], np.cumsum([len(one) for one in predicted])])
        owners = np.repeat(np.arange(len(self.kept_counts)), self.kept_counts)
        # A rank without sequences runs an empty row, since the others wait for it under FSDP.
        lengths = [self.lengths[i] for i in chosen] or [1]
        shape = (1, sum(lengths)) if is_packed else (len(lengths), max(lengths))
        bases = np.cumsum([0, *lengths]) if is_packed else np.arange(len(lengths)) * shape[1]
        ids = np.zeros(shape, np.int64)
        index, targets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        heat, kept, count = [np.zeros(0, np.float32)], [np.zeros((0, 2), np.int64)], 0
        for row, i in enumerate(chosen):
            tokens = self.tokens[starts[i] : starts[i + 1]]
            ids.flat[bases[row] : bases[row] + self.lengths[i]] = tokens[:-1]
            wanted = predicted[i]
            inside = (owners >= firsts[i]) & (owners < firsts[i + 1])
            kept.append(np.stack([owners[inside] - firsts[i] + count, self.kept[inside]], 1))
            count += len(wanted)
            index.append(bases[row] + wanted)
            targets.append(tokens[1:][wanted].astype(np.int64))
            heat.append(np.full(len(wanted), 1 / self.temperatures[i], np.float32))
        spans = lengths if is_packed else [shape[1]] * shape[0]
        positions = np.concatenate([np.arange(one) for one in spans]).reshape(shape)
        parts = [np.concatenate(one) for one in (index, targets, heat, kept)]
        flat, places, *rest = [torch.from_numpy(one).to(device) for one in (ids, *parts)]
        return Rows(flat, torch.from_numpy(positions).to(device), places, Targets(*rest))


class Policy(nn.Module):
    """One forward pass holds the decoder and the output matrix, so that FSDP gathers both."""

    def __init__(self, model: Any, chunk: int, has_entropy_slopes: bool) -> None:
        super().__init__()
        self.model = model
        config = model.config.get_text_config()
        cap = float(getattr(config, "final_logit_softcapping", None) or 0)
        scaling = float(getattr(config, "logits_scaling", None) or 1)
        self.head = Head(cap, float(getattr(config, "logit_scale", None) or 1) / scaling, chunk, has_entropy_slopes)
        self.vocabulary = int(config.vocab_size)
        self.is_chunked = False
        self.is_packed = False

    def _hidden(self, ids: Tensor, positions: Tensor | None) -> Any:
        decoder = getattr(self.model, self.model.base_model_prefix)
        return decoder(input_ids=ids, position_ids=positions, use_cache=False).last_hidden_state

    def _logits(self, ids: Tensor, positions: Tensor | None) -> Any:
        return self.model(input_ids=ids, position_ids=positions, use_cache=False).logits

    def _heads(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Logits by the output matrix alone, scaled and capped, and the model's own."""
        logits = self._hidden(ids, None) @ self.model.get_output_embeddings().weight.T * self.head.scale
        own = self._logits(ids, None)
        return self.head.cap * torch.tanh(logits / self.head.cap) if self.head.cap else logits, own

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

    def forward(self, rows: Rows, what: str = "logprobs") -> Any:
        """Log-probabilities and entropies (N), float32; `own`: by the model's logits and its own positions; `heads`:
        both kinds of logits. All are parts of one forward pass, which holds what FSDP gathers."""
        if what == "heads":
            return self._heads(rows.ids)
        if what == "own" or not self.is_chunked:
            logits = self._logits(rows.ids, None if what == "own" else rows.positions)
            return of_logits(logits.flatten(0, 1)[rows.places], rows.targets)
        hidden = self._hidden(rows.ids, rows.positions).flatten(0, 1)[rows.places]
        weight = self.model.get_output_embeddings().weight.to(hidden.dtype)
        return TargetLogprobs.apply(hidden, weight, rows.targets, self.head)

    def check(self, device: torch.device, near: float, half: bool, packs: bool) -> None:
        """Fails unless log-probabilities of a sequence are the model's own, alone and next to another sequence; packs
        sequences only if they are the same in one row.

        Finds dropout, jitter, and architectures whose rows see each other or their padding.
        """
        lengths = [7, 12]
        tokens = (np.arange(sum(lengths) + 2, dtype=np.int32) * 7) % self.vocabulary
        batch = Batch(lengths, tokens, np.ones(len(tokens), np.uint8), np.ones(2, np.float32))
        with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=half):

            def of(chosen: list[int], what: str = "logprobs", is_packed: bool = False) -> Any:
                return self(batch.rows(chosen, device, is_packed), what)[0].float()

            alone, together, own = torch.cat([of([0]), of([1])]), of([0, 1]), of([0], "own")
            self.is_packed = packs and float((of([0, 1], is_packed=True) - alone).abs().max()) <= near
        name = self.model.config.model_type
        if float((own - alone[:7]).abs().max()) > near:
            raise Failure("settings", f"log-probabilities of {name} are not those of its own logits")
        if float((together - alone).abs().max()) > near:
            raise Failure("settings", f"log-probabilities of {name} depend on chance or on the other rows of a batch")

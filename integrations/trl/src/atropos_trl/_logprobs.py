"""What the trainer computed of a batch before it learned from it, for the service's viewer."""

from __future__ import annotations

import json
import logging
import struct
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._groups import Rows
from ._http import AtroposError, Unavailable
from ._leases import Lease
from ._service import Service

_logger = logging.getLogger("atropos_trl")

Computed = tuple[tuple[int, ...], tuple[int, ...], np.ndarray]
"""A sequence: its prompt, its completion, and the trainer's log-probabilities (nats) of the completion's tokens."""


def computed(inputs: Iterable[Mapping[str, Any]]) -> list[Computed]:
    """The sequences of TRL's buffered inputs; none where it did not compute them."""
    found: list[Computed] = []
    for part in inputs:
        if part.get("old_per_token_logps") is None:
            continue
        names = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "old_per_token_logps")
        for prompt, is_prompt, completion, is_completion, logprobs in zip(
            *(part[name].detach().float().cpu().numpy() if name.startswith("old") else part[name].cpu().numpy()
              for name in names), strict=True
        ):  # fmt: skip
            of = is_completion.astype(bool)
            found.append(
                (
                    tuple(prompt[is_prompt.astype(bool)].tolist()),
                    tuple(completion[of].tolist()),
                    logprobs[of].astype(np.float32),
                )
            )
    return found


@dataclass
class Claimed:
    """A batch in the trainer's hands: its rows in the service's order, and the policy that computes them."""

    lease: Lease
    rows: Rows
    group_size: int
    version: int


def chosen(claimed: Claimed, found: Sequence[Computed], most: int) -> list[tuple[int, int, int, np.ndarray]]:
    """(group, sequence, first token, log-probabilities) of up to `most` tokens, NaN where a token is not trained on.

    TRL shuffles a batch: a sequence is known by its tokens. Those come first that differ most from the sampler's in the
    mean; they are whole, and one without trained tokens is left out.
    """
    rows = claimed.rows
    places: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for place, key in enumerate(zip(map(tuple, rows.prompt_ids), map(tuple, rows.completion_ids), strict=True)):
        places.setdefault(key, []).append(place)
    all_rows = []
    for prompt, completion, logprobs in found:
        at = places.get((prompt, completion))
        if not at:
            continue
        place = at.pop()
        trained = np.array(rows.env_mask[place], dtype=bool)
        if not trained.any():
            continue
        sampled = np.array([np.nan if value is None else value for value in rows.logprobs[place]])
        differences = np.abs(logprobs - sampled)[trained & ~np.isnan(sampled)]
        group, sequence = divmod(place, claimed.group_size)
        own = np.where(trained, logprobs, np.float32(np.nan)).astype("<f4")
        all_rows.append((float(differences.mean()) if differences.size > 0 else 0.0, group, sequence, len(prompt), own))
    told: list[tuple[int, int, int, np.ndarray]] = []
    for _, group, sequence, start, own in sorted(all_rows, key=lambda row: (-row[0], row[1], row[2])):
        if own.size <= most:
            told.append((group, sequence, start, own))
            most -= own.size
    return told


def packed(claimed: Claimed, told: Sequence[tuple[int, int, int, np.ndarray]]) -> bytes:
    """As `application/vnd.atropos.logprobs` (docs/protocol.md, "Logprobs of the trainer")."""
    head = json.dumps(
        {
            "lease_token": claimed.lease.token,
            "policy_version": claimed.version,
            "rows": [[group, sequence, start, own.size] for group, sequence, start, own in told],
        }
    ).encode()
    count = sum(own.size for *_, own in told)
    prelude = struct.pack("<4sIII", b"ATPT", 1, len(head), count) + head
    return prelude + bytes(-len(prelude) % 8) + b"".join(own.tobytes() for *_, own in told)


class Teller:
    """Sends records in the background, one at a time. They are for people alone: what cannot be sent is lost."""

    def __init__(self, service: Service, most: int) -> None:
        self._service, self._most = service, most
        self._thread: threading.Thread | None = None
        self._has_failed = False

    def tell(self, claimed: Claimed, found: Sequence[Computed]) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        told = chosen(claimed, found, self._most)
        if told:
            body = packed(claimed, told)
            self._thread = threading.Thread(
                target=self._send, args=(claimed.lease.id, body), name="atropos logprobs", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Waits for what is under way, for some seconds."""
        if self._thread is not None:
            self._thread.join(10)

    def _send(self, batch: str, body: bytes) -> None:
        try:
            self._service.tell_logprobs(batch, body)
            self._has_failed = False
        except (AtroposError, Unavailable) as error:
            if not self._has_failed:
                _logger.warning("the trainer's log-probabilities are not recorded with the service: %s", error)
            self._has_failed = True

"""A run at the trajectory service, as a trainer sees it (`docs/protocol.md`)."""

from __future__ import annotations

import json
import logging
import math
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any

from ._groups import PACKED
from ._http import Answer, AtroposError, Http, Unavailable, patiently
from ._settings import batches

_logger = logging.getLogger("atropos_trl")


class Service:
    """One run of the service."""

    def __init__(self, http: Http, run: str, patience: float) -> None:
        self.run = run
        self._http, self._patience = http, patience
        self._path = f"/v1/runs/{urllib.parse.quote(run, safe='')}"
        self._is_recording = True

    def register(self, args: Any, max_token_length: int) -> None:
        """Announces the run; refuses one whose batches TRL could not take."""
        service = f"the service at {self._http.url} (`npx @atropos/cli api`)"
        try:
            patiently(lambda: self._http.call("GET", "/v1/health/live"), service, self._patience)
        except AtroposError as error:
            if error.status == 404:
                raise AtroposError(
                    f"{self._http.url} is no Atropos service with /v1 ({error}). The Python original's has none: it "
                    "knows no leases"
                ) from None
            raise
        spec = {
            "name": self.run,
            "batch_size": args.generation_batch_size,
            "max_token_length": max_token_length,
            "starting_step": 0,
            "num_steps": batches(args),
            "checkpoint_dir": str(args.output_dir),
            "save_checkpoint_interval": int(args.save_steps) if args.save_steps >= 1 else 0,
            "wandb_group": "",
            "wandb_project": "",
        }
        answer = patiently(lambda: self._http.call("POST", "/v1/runs", spec), service, self._patience)
        batch_size = json.loads(answer.body)["batch_size"]
        if batch_size != args.generation_batch_size:
            raise AtroposError(
                f"run {self.run} has batches of {batch_size} sequences, TRL's generation_batch_size is "
                f"{args.generation_batch_size} (per_device_train_batch_size x processes x steps_per_generation). Set "
                f"generation_batch_size={batch_size}, choose another run, or reset this one: "
                f"curl -X POST {self._http.url}{self._path}/reset"
            )

    def claim(self, owner: str, lease_seconds: float) -> Answer:
        """The next batch, packed; waits for one without end, and says what it waits for."""
        body = {"owner": owner, "wait_seconds": 20, "lease_seconds": lease_seconds}
        start = time.monotonic()
        while True:
            answer = patiently(
                lambda: self._http.call("POST", f"{self._path}/batches/claim", body, accept=PACKED, timeout=120),
                f"the service at {self._http.url}",
                self._patience,
            )
            if answer.status != 204:
                return answer
            _logger.warning("waiting for a batch since %.0f s%s", time.monotonic() - start, self._queue())

    def batch(self, id: str, what: str, token: str, **more: float) -> None:
        """`ack`, `nack` or `extend` of a batch under lease."""
        self._http.call("POST", f"{self._path}/batches/{id}/{what}", {"lease_token": token, **more}, timeout=10)

    def tell_logprobs(self, id: str, record: bytes) -> None:
        """What the trainer computed of a batch under lease, packed."""
        self._http.call(
            "PUT",
            f"{self._path}/batches/{id}/logprobs",
            record,
            content_type="application/vnd.atropos.logprobs",
            timeout=10,
        )

    def record(self, step: int, figures: Mapping[str, Any]) -> None:
        """The trainer's figures, for the service's viewer. A failure is told once, and training goes on."""
        values = {
            name: value if math.isfinite(value) else "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
            for name, value in figures.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        body = {"source": "trl", "step": step, "values": values}
        try:
            self._http.call("POST", f"{self._path}/metrics", body, timeout=5)
            self._is_recording = True
        except (AtroposError, Unavailable) as error:
            if self._is_recording:
                _logger.warning("metrics are not recorded with the service: %s", error)
            self._is_recording = False

    def _queue(self) -> str:
        """What is queued at the service, and what cannot leave it, in words."""
        try:
            summary = json.loads(self._http.call("GET", f"{self._path}/summary").body)
        except (AtroposError, Unavailable) as error:
            return f" ({error})"
        stuck = "; ".join(f"{it['count']} groups of {it['environment']}: {it['reason']}" for it in summary["stuck"])
        queued = f": {summary['queued_sequences']} sequences are queued (npx @atropos/cli serve --env … sends them)"
        return f"{queued}{'; stuck: ' + stuck if stuck else ''}"

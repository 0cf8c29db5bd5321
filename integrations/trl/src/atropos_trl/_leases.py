"""Batches that are claimed and not acknowledged."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ._http import AtroposError, Unavailable
from ._service import Service

_logger = logging.getLogger("atropos_trl")


@dataclass
class Lease:
    id: str
    token: str
    last_micro_step: int
    """TRL's `_step` once every pass over the batch is made."""
    trained_at: int | None = None
    """The optimizer step that used it last, where that is made."""


class Leases:
    """What is claimed and not acknowledged: renewed by a thread, and written down in `atropos_leases.json`.

    A killed trainer's successor reads the file, gives back what was not trained and acknowledges what its checkpoint
    holds. One process at a time has a folder: the lock of a dead one is free.
    """

    def __init__(self, service: Service, seconds: float, folder: Path) -> None:
        self._service, self._seconds = service, seconds
        self._file = folder / "atropos_leases.json"
        self._held: dict[str, Lease] = {}
        self._settled: dict[str, Lease] = {}
        self._known: set[str] = set()
        self._mutex = threading.RLock()
        self._stop = threading.Event()
        self.lost: str | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder / "atropos_leases.lock")
        self._thread = threading.Thread(target=self._renew, name="atropos leases", daemon=True)

    def recover(self, step: int) -> None:
        """Settles what a predecessor left; `step` is that of the checkpoint training goes on from, 0 without one."""
        try:
            left = json.loads(self._file.read_text())
        except FileNotFoundError:
            left = {"leases": []}
        except ValueError as error:
            _logger.warning("%s cannot be read, leases in it run out by themselves: %s", self._file, error)
            left = {"leases": []}
        for entry in left["leases"] if left.get("run", self._service.run) == self._service.run else []:
            lease = Lease(entry["id"], entry["token"], 0, entry["trained_at"])
            if lease.trained_at is not None and lease.trained_at <= step:
                self._known.add(lease.id)
                self._settled[lease.id] = lease
            else:
                self._tell(lease, "nack")
        self._acknowledge()
        self._thread.start()

    def hold(self, lease: Lease) -> bool:
        """Keeps a batch under lease; false where a checkpoint holds it already, which is then said to the service."""
        with self._mutex:
            if lease.id in self._known:
                self._settled[lease.id] = lease
            else:
                self._held[lease.id] = lease
            self._write()
        self._acknowledge()
        return lease.id in self._held

    def mark_trained(self, micro_step: int, step: int) -> None:
        """Notes which batches have had their last pass by optimizer step `step`."""
        with self._mutex:
            for lease in self._held.values():
                if lease.trained_at is None and micro_step >= lease.last_micro_step:
                    lease.trained_at = step
            self._write()

    def settle(self) -> None:
        """Acknowledges what is trained; where the service does not answer, again later."""
        with self._mutex:
            for lease in [lease for lease in self._held.values() if lease.trained_at is not None]:
                self._settled[lease.id] = self._held.pop(lease.id)
            self._write()
        self._acknowledge()

    def give_back(self) -> None:
        """Lets the service hand out again what is not settled."""
        with self._mutex:
            for id in list(self._held):
                self._tell(self._held.pop(id), "nack")
            self._write()

    def close(self) -> None:
        self._stop.set()
        deadline = time.monotonic() + 5
        self._acknowledge()
        while self._settled and time.monotonic() < deadline:
            time.sleep(0.5)
            self._acknowledge()
        self.give_back()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _renew(self) -> None:
        while not self._stop.wait(self._seconds / 3):
            self._acknowledge()
            with self._mutex:
                held = list(self._held.values())
            for lease in held:
                try:
                    self._service.batch(lease.id, "extend", lease.token, lease_seconds=self._seconds)
                except Unavailable as error:
                    _logger.warning("lease on batch %s not renewed: %s", lease.id, error)
                except AtroposError as error:
                    if lease.id in self._held:
                        self.lost = f"the lease on batch {lease.id} is lost, another trainer may have it: {error}"
                        _logger.error(self.lost)

    def _acknowledge(self) -> None:
        with self._mutex:
            for lease in list(self._settled.values()):
                if self._tell(lease, "ack"):
                    self._settled.pop(lease.id, None)
            self._write()

    def _tell(self, lease: Lease, what: Literal["ack", "nack"]) -> bool:
        """Whether the service knows now, or need not."""
        try:
            self._service.batch(lease.id, what, lease.token)
        except Unavailable as error:
            _logger.warning("batch %s: %s not heard: %s", lease.id, what, error)
            return False
        except AtroposError as error:
            _logger.warning("batch %s: %s refused: %s", lease.id, what, error)
        return True

    def _write(self) -> None:
        leases = [
            {"id": lease.id, "token": lease.token, "trained_at": lease.trained_at}
            for lease in [*self._held.values(), *self._settled.values()]
        ]
        partial = self._file.with_suffix(".partial")
        partial.write_text(json.dumps({"run": self._service.run, "leases": leases}))
        partial.replace(self._file)


def _locked(path: Path) -> int | None:
    """A lock that ends with the process; None on systems without such."""
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise AtroposError(f"another process trains in {path.parent}: choose another output_dir") from None
    return handle

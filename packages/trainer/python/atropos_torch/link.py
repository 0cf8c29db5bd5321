"""Carries commands of the trainer to every rank, and rank 0's answers back.

A frame is `u32 header bytes, u64 payload bytes, header (JSON), payload`, little endian. The header's `tensors` lists
the payload's arrays in order: name, dtype (`f32`, `i32` or `u8`) and number of elements. Rank 0 connects to the
trainer's Unix socket (`ATROPOS_TORCH_SOCKET`); standard output and standard error belong to libraries.
"""

import json
import os
import resource
import socket
import struct
import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist

Array = npt.NDArray[Any]
Header = dict[str, Any]

DTYPES: dict[str, type[np.generic]] = {"f32": np.float32, "i32": np.int32, "u8": np.uint8}


class Failure(Exception):
    """An error that the trainer reports under one of its reasons."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Command(NamedTuple):
    header: Header
    tensors: dict[str, Array]


class Link:
    def __init__(self) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.ranks = int(os.environ.get("WORLD_SIZE", "1"))
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.machine = int(os.environ.get("GROUP_RANK", "0"))
        # Of this machine; machines of a group have equally many.
        self.local_ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        self.has_gpu = torch.cuda.is_available()
        self.device = torch.device("cuda", local_rank) if self.has_gpu else torch.device("cpu")
        if self.has_gpu:
            torch.cuda.set_device(self.device)
        # Commands travel over the CPU: a rank that waits for one leaves its GPU idle.
        self.control: dist.ProcessGroup | None = None
        if self.ranks > 1:
            dist.init_process_group("cpu:gloo,cuda:nccl" if self.has_gpu else "gloo")
            self.control = dist.new_group(backend="gloo")
        self.socket = socket.socket(socket.AF_UNIX)
        if self.rank == 0:
            self.socket.connect(os.environ["ATROPOS_TORCH_SOCKET"])

    def peak(self) -> int:
        """The most bytes that this process has held so far: of its GPU, or of this machine's memory."""
        if self.has_gpu:
            return torch.cuda.max_memory_allocated()
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most

    def dtype_of(self, wanted: str) -> str:
        """`auto` is bfloat16 on GPUs, where it is faster."""
        return ("bfloat16" if self.has_gpu else "float32") if wanted == "auto" else wanted

    def _exactly(self, size: int) -> bytearray | None:
        """None if the trainer has closed the connection or ended."""
        received, at = bytearray(size), 0
        view = memoryview(received)
        while at < size:
            count = self.socket.recv_into(view[at:])
            if count == 0:
                return None
            at += count
        return received

    def _frame(self) -> tuple[Header, bytearray]:
        sizes = self._exactly(12)
        if sizes is None:
            return {"op": "end"}, bytearray()
        header_size, payload_size = struct.unpack("<IQ", sizes)
        header, payload = self._exactly(header_size), self._exactly(payload_size)
        if header is None or payload is None:
            return {"op": "end"}, bytearray()
        return json.loads(header), payload

    def read(self) -> Command:
        """The next command, the same at every rank."""
        box: list[Any] = list(self._frame()) if self.rank == 0 else [None, None]
        if self.ranks > 1:
            dist.broadcast_object_list(box, 0, group=self.control)
        header, payload = box
        tensors, at = {}, 0
        for tensor in header.get("tensors", []):
            dtype = np.dtype(DTYPES[tensor["dtype"]])
            tensors[tensor["name"]] = np.frombuffer(payload, dtype, tensor["size"], at)
            at += tensor["size"] * dtype.itemsize
        return Command(header, tensors)

    def answer(self, header: Header, tensors: dict[str, Array] | None = None) -> None:
        """Sent by rank 0; arrays must be float32."""
        if self.rank != 0:
            return
        named = {name: np.ascontiguousarray(values, np.float32) for name, values in (tensors or {}).items()}
        listed = [{"name": name, "dtype": "f32", "size": values.size} for name, values in named.items()]
        head = json.dumps({**header, "tensors": listed}).encode()
        payload = b"".join(values.tobytes() for values in named.values())
        self.socket.sendall(struct.pack("<IQ", len(head), len(payload)) + head + payload)

    def gather(self, value: Any) -> list[Any]:
        """The values of all ranks, at rank 0; elsewhere nothing."""
        if self.ranks == 1:
            return [value]
        values: list[Any] | None = [None] * self.ranks if self.rank == 0 else None
        dist.gather_object(value, values, 0, group=self.control)
        return values or []

    def first(self, failure: Failure | None) -> Failure | None:
        """The first failure of any rank, at every rank."""
        if self.ranks == 1:
            return failure
        failures: list[tuple[str, str] | None] = [None] * self.ranks
        mine = None if failure is None else (failure.reason, str(failure))
        dist.all_gather_object(failures, mine, group=self.control)
        return next((Failure(*one) for one in failures if one is not None), None)

"""Answers the trainer's commands until it closes the connection."""

import os
import signal
from typing import Any

import torch

from .learner import Learner
from .link import Array, Command, Failure, Header, Link


def answer(learners: dict[int, Learner], link: Link, command: Command) -> tuple[Header, dict[str, Array]]:
    header, _ = command
    op, number = header["op"], header.get("learner", 0)
    if op == "load":
        learners[number] = Learner(link, header["options"])
        return learners[number].about(), {}
    if op == "usage":
        return {"peaks": link.gather(link.peak())}, {}
    learner = learners[number]
    if op == "logprobs":
        return {}, learner.logprobs(command)
    if op == "step":
        is_applied, norm = learner.step(header["learningRate"])
        return {"isApplied": is_applied, "norm": norm}, {}
    if op == "save":
        return {"path": learner.save(header["folder"], header["moments"])}, {}
    if op == "backward":
        learner.backward(command)
    elif op == "discard":
        learner.discard()
    elif op == "unload":
        learners.pop(number).discard()
    else:
        raise Failure("engine", f"unknown command: {op}")
    return {}, {}


def main() -> None:
    # Ctrl-C is the trainer's: it saves before it ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(int(os.environ.get("ATROPOS_TORCH_THREADS", "1")))
    link = Link()
    about: dict[str, Any] = {
        # Of other machines they mean nothing; those processes end with the connection to rank 0.
        "pids": [pid for pid in link.gather(os.getpid() if link.machine == 0 else None) if pid is not None],
        "ranks": link.ranks,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if link.has_gpu else "cpu",
        "memory": torch.cuda.get_device_properties(link.device).total_memory if link.has_gpu else None,
    }
    link.answer({"id": 0, "ok": True, **about})
    learners: dict[int, Learner] = {}
    while True:
        command = link.read()
        if command.header["op"] == "end":
            return
        failure: Failure | None = None
        tensors: dict[str, Array] = {}
        about = {}
        try:
            about, tensors = answer(learners, link, command)
        except Failure as error:
            failure = error
        except OSError as error:
            failure = Failure("checkpoint", str(error))
        except RuntimeError as error:
            # Starting again would not help; other ranks may wait in a collective.
            if command.header["op"] != "load" or link.ranks > 1:
                raise
            failure = Failure("settings", f"the model cannot be loaded: {error}")
        # Log-probabilities and slopes agree on failures themselves, where ranks may differ.
        if command.header["op"] not in ("logprobs", "backward"):
            failure = link.first(failure)
        if failure is not None:
            about = {"ok": False, "reason": failure.reason, "message": str(failure)}
        link.answer({"id": command.header["id"], "ok": True, **about}, tensors)


if __name__ == "__main__":
    main()

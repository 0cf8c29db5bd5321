"""A training in a separate process, for tests that end it: `run` in one that the test forks, or `program.py '{"url": …}'`.

Writes a line for every optimizer step to `steps.jsonl`. `kill_before` ends the process by SIGKILL before that update,
batch in hand; `kill_after` after it, before it can be acknowledged; `pause_before` reports "paused" and waits for a
signal.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from conftest import config
from transformers import TrainerCallback
from trl import GRPOTrainer

from atropos_trl import AtroposRollouts


class Ending(TrainerCallback):
    def __init__(self, given: dict[str, Any], report: Callable[[Any], None]) -> None:
        self.given, self.report = given, report

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step + 1 == self.given.get("kill_before"):
            os.kill(os.getpid(), signal.SIGKILL)
        if state.global_step + 1 == self.given.get("pause_before"):
            self.report("paused")
            signal.pause()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if args.process_index == 0:
            with Path(self.given["folder"], "steps.jsonl").open("a") as file:
                file.write(json.dumps({"step": state.global_step, "process": os.getpid()}) + "\n")
        if state.global_step == self.given.get("kill_after"):
            os.kill(os.getpid(), signal.SIGKILL)


def train(given: dict[str, Any], report: Callable[[Any], None]) -> None:
    """Reports the number of steps, their rewards and the sums of all parameters."""
    args = config(Path(given["folder"]), **given.get("config", {}))
    with AtroposRollouts(given["url"], run=given["run"], max_mismatch=None, **given.get("rollouts", {})) as atropos:
        arguments = atropos.trainer_arguments(args)
        # Before ours: its `on_step_end` comes while nothing is acknowledged.
        arguments["callbacks"] = [Ending(given, report), *arguments["callbacks"]]
        trainer = GRPOTrainer(model=given["model"], args=args, **arguments)
        trainer.train(resume_from_checkpoint=given.get("resume"))
        if args.process_index == 0:
            sums = {name: float(p.detach().double().abs().sum()) for name, p in trainer.model.named_parameters()}
            rewards = [row["reward"] for row in trainer.state.log_history if "reward" in row]
            report({"steps": trainer.state.global_step, "rewards": rewards, "sums": sums})


def run(given: dict[str, Any], connection: Connection) -> None:
    train(given, connection.send)


if __name__ == "__main__":
    train(json.loads(sys.argv[1]), lambda result: print(json.dumps(result), flush=True))

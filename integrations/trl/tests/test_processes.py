"""Trainings that are killed, interrupted, resumed, and spread over two processes."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import program
import pytest
from conftest import Run, simple_groups
from test_training import run_groups, states

# Imports of torch and TRL take most of so small a training: one process makes them, and all others are forks of it.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["program"])
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])


def words_of(run: Run, model: Path, folder: Path, **given: Any) -> dict[str, Any]:
    return {"url": run.url, "run": run.name, "model": str(model), "folder": str(folder), **given}


class Training:
    """A training in a separate process."""

    def __init__(self, run: Run, model: Path, folder: Path, **given: Any) -> None:
        self.reports, own = CONTEXT.Pipe(duplex=False)
        self.process = CONTEXT.Process(target=program.run, args=(words_of(run, model, folder, **given), own))
        self.process.start()
        own.close()

    def ended(self) -> int | None:
        """Its exit code; minus the number of the signal that ended it."""
        self.process.join()
        return self.process.exitcode

    def result(self) -> dict[str, Any]:
        result: dict[str, Any] = self.reports.recv()
        assert self.ended() == 0
        return result


def steps_of(folder: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (folder / "steps.jsonl").read_text().splitlines()]


@pytest.fixture
def filled(run: Run, model_folder: Path) -> Run:
    """Four batches of two groups and a little more."""
    run_groups(run, simple_groups(model_folder, 9), 8)
    return run


def test_killed_after_a_claim_the_same_batch_comes_again(filled: Run, model_folder: Path, tmp_path: Path) -> None:
    first = Training(filled, model_folder, tmp_path, config={"max_steps": 4}, kill_before=3)
    assert first.ended() == -signal.SIGKILL
    assert states(filled) == ["acked", "acked", "leased"]
    rollouts = {row["id"] for row in filled.rollouts(3)}
    # A lease of two minutes is not waited for: the folder says what the dead one held.
    second = Training(filled, model_folder, tmp_path, config={"max_steps": 2}).result()
    assert second["steps"] == 2
    batches = filled.batches()
    assert [(batch["state"], batch["deliveries"]) for batch in batches] == [
        ("acked", 1), ("acked", 1), ("acked", 2), ("acked", 1),
    ]  # fmt: skip
    assert {row["id"] for row in filled.rollouts(3)} == rollouts
    assert steps_of(tmp_path) == [1, 2, 1, 2]  # four optimizer steps, one for each batch


def test_killed_in_another_folder_the_batch_comes_when_its_lease_has_run_out(
    filled: Run, model_folder: Path, tmp_path: Path
) -> None:
    first = Training(filled, model_folder, tmp_path / "a", config={"max_steps": 2}, kill_before=1,
                  rollouts={"lease_seconds": 3})  # fmt: skip
    first.ended()
    # Four steps need all four batches, however soon the other three are trained.
    Training(filled, model_folder, tmp_path / "b", config={"max_steps": 4}).result()
    assert [(batch["state"], batch["deliveries"]) for batch in filled.batches()] == [
        ("acked", 2), ("acked", 1), ("acked", 1), ("acked", 1),
    ]  # fmt: skip


def test_killed_between_checkpoints_a_resumed_run_trains_each_batch_once(
    filled: Run, model_folder: Path, tmp_path: Path
) -> None:
    settings = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2}
    rollouts = {"acknowledge": "checkpoint"}
    first = Training(filled, model_folder, tmp_path, config=settings, rollouts=rollouts, kill_after=3)
    assert first.ended() == -signal.SIGKILL
    assert states(filled) == ["acked", "acked", "leased"]  # the third is trained, and died with its weights
    second = Training(filled, model_folder, tmp_path, config=settings, rollouts=rollouts, resume=True).result()
    assert second["steps"] == 4
    assert [(batch["state"], batch["deliveries"]) for batch in filled.batches()] == [
        ("acked", 1), ("acked", 1), ("acked", 2), ("acked", 1),
    ]  # fmt: skip

    # The weights are those of a run that was not killed.
    whole = Run(filled.url, f"{filled.name}-whole")
    run_groups(whole, simple_groups(model_folder, 9), 8)
    undisturbed = Training(whole, model_folder, tmp_path / "whole", config=settings, rollouts=rollouts).result()
    assert second["sums"] == pytest.approx(undisturbed["sums"], rel=1e-6)


def test_a_batch_that_a_checkpoint_holds_is_acknowledged_and_not_trained_again(
    filled: Run, model_folder: Path, tmp_path: Path
) -> None:
    settings = {"max_steps": 2, "save_strategy": "steps", "save_steps": 1}
    rollouts = {"acknowledge": "checkpoint", "lease_seconds": 2}
    # Before the update of step 2 step 1 is saved and acknowledged; killed between the two: as the journal says here.
    first = Training(filled, model_folder, tmp_path, config=settings, rollouts=rollouts, kill_before=2)
    first.ended()
    journal = tmp_path / "atropos_leases.json"
    left = json.loads(journal.read_text())
    left["leases"][0]["trained_at"] = 1
    journal.write_text(json.dumps(left))
    second = Training(filled, model_folder, tmp_path, config=settings, rollouts=rollouts, resume=True).result()
    assert second["steps"] == 2
    assert states(filled) == ["acked", "acked", "acked"]
    assert steps_of(tmp_path) == [1, 2]


def test_ctrl_c_gives_the_batch_back_at_once(filled: Run, model_folder: Path, tmp_path: Path) -> None:
    training = Training(filled, model_folder, tmp_path, config={"max_steps": 3}, pause_before=2)
    assert training.reports.recv() == "paused"
    assert states(filled) == ["acked", "leased"]
    assert training.process.pid is not None
    os.kill(training.process.pid, signal.SIGINT)
    assert training.ended() == 1
    assert states(filled) == ["acked", "free"]


def test_two_processes_share_a_batch_and_train_as_one_would(filled: Run, model_folder: Path, tmp_path: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    settings = {"max_steps": 2, "per_device_train_batch_size": 4, "ddp_backend": "gloo"}
    words = words_of(filled, model_folder, tmp_path / "two", config=settings)
    launched = subprocess.run([*launcher, program.__file__, json.dumps(words)], text=True, capture_output=True)
    assert launched.returncode == 0, launched.stderr[-3000:]
    both = json.loads(launched.stdout.strip().splitlines()[-1])
    assert both["steps"] == 2
    assert [(batch["state"], batch["deliveries"]) for batch in filled.batches()] == [("acked", 1), ("acked", 1)]
    told = [filled.call("GET", f"/rollouts/{row['id']}")["group"]["trainer_logprobs"] for row in filled.rollouts(1)]
    assert [len(rows) for rows in told] == [4, 4] and all(row is not None for rows in told for row in rows)
    alone = Run(filled.url, f"{filled.name}-alone")
    run_groups(alone, simple_groups(model_folder, 9), 8)
    one = Training(alone, model_folder, tmp_path / "one", config={"max_steps": 2}).result()
    assert both["rewards"] == one["rewards"]
    assert both["sums"] == pytest.approx(one["sums"], rel=1e-4)

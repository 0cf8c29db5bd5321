"""Trainings that are killed, interrupted, resumed, and spread over two processes."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, simple_groups
from test_training import run_groups, states

PROGRAM = str(Path(__file__).with_name("program.py"))


def start(
    run: Run, model: Path, folder: Path, launcher: list[str] | None = None, **given: Any
) -> subprocess.Popen[str]:
    words = {"url": run.url, "run": run.name, "model": str(model), "folder": str(folder), **given}
    return subprocess.Popen(
        [*(launcher or [sys.executable]), PROGRAM, json.dumps(words)],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err[-3000:]
    result: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return result


def steps_of(folder: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (folder / "steps.jsonl").read_text().splitlines()]


@pytest.fixture
def filled(run: Run, model_folder: Path) -> Run:
    """Four batches of two groups and a little more."""
    run_groups(run, simple_groups(model_folder, 9), 8)
    return run


def test_killed_after_a_claim_the_same_batch_comes_again(filled: Run, model_folder: Path, tmp_path: Path) -> None:
    first = start(filled, model_folder, tmp_path, config={"max_steps": 4}, kill_before=3)
    first.communicate(timeout=240)
    assert first.returncode == -signal.SIGKILL
    assert states(filled) == ["acked", "acked", "leased"]
    rollouts = {row["id"] for row in filled.rollouts(3)}
    # A lease of two minutes is not waited for: the folder says what the dead one held.
    second = finish(start(filled, model_folder, tmp_path, config={"max_steps": 2}))
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
    first = start(filled, model_folder, tmp_path / "a", config={"max_steps": 2}, kill_before=1,
                  rollouts={"lease_seconds": 3})  # fmt: skip
    first.communicate(timeout=240)
    finish(start(filled, model_folder, tmp_path / "b", config={"max_steps": 2}))
    assert [(batch["state"], batch["deliveries"]) for batch in filled.batches()][0] == ("acked", 2)


def test_killed_between_checkpoints_a_resumed_run_trains_each_batch_once(
    filled: Run, model_folder: Path, tmp_path: Path
) -> None:
    settings = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2}
    rollouts = {"acknowledge": "checkpoint"}
    first = start(filled, model_folder, tmp_path, config=settings, rollouts=rollouts, kill_after=3)
    first.communicate(timeout=240)
    assert first.returncode == -signal.SIGKILL
    assert states(filled) == ["acked", "acked", "leased"]  # the third is trained, and died with its weights
    second = finish(start(filled, model_folder, tmp_path, config=settings, rollouts=rollouts, resume=True))
    assert second["steps"] == 4
    assert [(batch["state"], batch["deliveries"]) for batch in filled.batches()] == [
        ("acked", 1), ("acked", 1), ("acked", 2), ("acked", 1),
    ]  # fmt: skip

    # The weights are those of a run that was not killed.
    whole = Run(filled.url, f"{filled.name}-whole")
    run_groups(whole, simple_groups(model_folder, 9), 8)
    undisturbed = finish(start(whole, model_folder, tmp_path / "whole", config=settings, rollouts=rollouts))
    assert second["sums"] == pytest.approx(undisturbed["sums"], rel=1e-6)


def test_a_batch_that_a_checkpoint_holds_is_acknowledged_and_not_trained_again(
    filled: Run, model_folder: Path, tmp_path: Path
) -> None:
    settings = {"max_steps": 2, "save_strategy": "steps", "save_steps": 1}
    rollouts = {"acknowledge": "checkpoint", "lease_seconds": 2}
    # Before the update of step 2 step 1 is saved and acknowledged; killed between the two: as the journal says here.
    first = start(filled, model_folder, tmp_path, config=settings, rollouts=rollouts, kill_before=2)
    first.communicate(timeout=240)
    journal = tmp_path / "atropos_leases.json"
    left = json.loads(journal.read_text())
    left["leases"][0]["trained_at"] = 1
    journal.write_text(json.dumps(left))
    second = finish(start(filled, model_folder, tmp_path, config=settings, rollouts=rollouts, resume=True))
    assert second["steps"] == 2
    assert states(filled) == ["acked", "acked", "acked"]
    assert steps_of(tmp_path) == [1, 2]


def test_ctrl_c_gives_the_batch_back_at_once(filled: Run, model_folder: Path, tmp_path: Path) -> None:
    process = start(filled, model_folder, tmp_path, config={"max_steps": 3}, pause_before=2)
    assert process.stdout is not None
    while process.stdout.readline().strip() != "paused":
        assert process.poll() is None
    assert states(filled) == ["acked", "leased"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert states(filled) == ["acked", "free"]


def test_two_processes_share_a_batch_and_train_as_one_would(filled: Run, model_folder: Path, tmp_path: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    settings = {"max_steps": 2, "per_device_train_batch_size": 4, "ddp_backend": "gloo"}
    both = finish(start(filled, model_folder, tmp_path / "two", launcher, config=settings))
    assert both["steps"] == 2
    assert [(batch["state"], batch["deliveries"]) for batch in filled.batches()] == [("acked", 1), ("acked", 1)]
    told = [filled.call("GET", f"/rollouts/{row['id']}")["group"]["trainer_logprobs"] for row in filled.rollouts(1)]
    assert [len(rows) for rows in told] == [4, 4] and all(row is not None for rows in told for row in rows)
    alone = Run(filled.url, f"{filled.name}-alone")
    run_groups(alone, simple_groups(model_folder, 9), 8)
    one = finish(start(alone, model_folder, tmp_path / "one", config={"max_steps": 2}))
    assert both["rewards"] == one["rewards"]
    assert both["sums"] == pytest.approx(one["sums"], rel=1e-4)

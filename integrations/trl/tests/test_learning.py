"""The whole loop: an environment of this repository, sampled by `atropos policy`, and TRL training the adapter."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import COMMAND, Run, Server, config
from conftest import lora as lora_of_tests
from peft import LoraConfig
from trl import GRPOTrainer

from atropos_trl import AtroposError, AtroposRollouts


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows the form of the task's answers, and little more: the warm start of `atropos up`."""
    folder = tmp_path_factory.mktemp("base")
    words = ["up", "--env", "sort-letters", "--env.letters", "3", "--steps", "1"]
    subprocess.run([*COMMAND, *words], cwd=folder, check=True, capture_output=True)
    return folder / ".atropos/up/sort-letters-1/step_1"


@pytest.fixture(scope="module")
def policy(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    words = ["policy", "--model", str(base), "--port", "0", "--lora.r", "16"]
    server = Server(words, tmp_path_factory.mktemp("policy"))
    yield server.url
    server.close()


def test_the_reward_rises(service: str, run: Run, base: Path, policy: str, tmp_path: Path) -> None:
    settings = {
        "env.letters": 3, "env.group_size": 8, "env.ensure_scores_are_not_same": "false", "env.steps_per_eval": 0,
        "env.max_batches_offpolicy": 0, "env.total_steps": -1, "env.tokenizer_name": base, "run": run.name,
        "env.rollout_server_url": service, "openai.base_url": f"{policy}/v1",
    }  # fmt: skip
    words = ["serve", "--env", "sort-letters"]
    for name, value in settings.items():
        words += [f"--{name}", str(value)]
    log = (tmp_path / "serve.log").open("w")
    environment = subprocess.Popen([*COMMAND, *words], cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT)
    try:
        steps = 15
        args = config(tmp_path / "out", max_steps=steps, per_device_train_batch_size=128, num_generations=8,
                      learning_rate=3e-3)  # fmt: skip
        lora = LoraConfig(
            r=16, lora_alpha=32, target_modules=[f"{name}_proj" for name in "q k v o gate up down".split()]
        )
        with AtroposRollouts(service, run=run.name, sampler=f"policy+{policy}", max_mismatch=1e-4) as atropos:
            trainer = GRPOTrainer(model=str(base), args=args, peft_config=lora, **atropos.trainer_arguments(args))
            trainer.train()
    finally:
        environment.terminate()
        environment.wait(timeout=60)
        log.close()
    logs = [row for row in trainer.state.log_history if "reward" in row]
    rewards = [row["reward"] for row in logs]
    print("reward by step", [round(reward, 3) for reward in rewards])
    assert sum(rewards[-4:]) / 4 > sum(rewards[:4]) / 4 + 0.1
    # The first batch is of the very weights it trains: sampler and trainer agree to rounding.
    assert logs[0]["sampling/sampling_logp_difference/mean"] < 1e-5
    assert all(row["atropos/staleness"] <= 2 for row in logs)
    assert trainer.state.global_step == steps
    assert [(batch["state"], batch["deliveries"]) for batch in run.batches()] == [("acked", 1)] * steps


def test_an_adapter_of_another_shape_is_refused_with_the_right_command(
    service: str, run: Run, base: Path, policy: str, tmp_path: Path
) -> None:
    args = config(tmp_path)
    with (
        AtroposRollouts(service, run=run.name, sampler=f"policy+{policy}") as atropos,
        pytest.raises(AtroposError, match="rank is 4.*atropos policy --lora.r 4 --lora.alpha 8 .*q_proj.*v_proj"),
    ):
        GRPOTrainer(model=str(base), args=args, peft_config=lora_of_tests(), **atropos.trainer_arguments(args)).train()


def test_a_server_that_takes_no_adapters_is_refused(service: str, run: Run, base: Path, tmp_path: Path) -> None:
    args = config(tmp_path)
    with (
        AtroposRollouts(service, run=run.name, sampler=f"policy+{service}") as atropos,
        pytest.raises(AtroposError, match="404.*has to take adapters"),
    ):
        GRPOTrainer(model=str(base), args=args, peft_config=lora_of_tests(), **atropos.trainer_arguments(args)).train()

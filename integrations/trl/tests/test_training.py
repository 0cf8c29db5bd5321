"""`GRPOTrainer` on batches of a real service: counts, leases, and what reaches the loss."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import Run, config, group_of, logprobs_of, lora, simple_groups
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOTrainer

from atropos_trl import AtroposError, AtroposRollouts


def trainer_of(model: Path, atropos: AtroposRollouts, args: Any, **given: Any) -> GRPOTrainer:
    return GRPOTrainer(model=str(model), args=args, **{**atropos.trainer_arguments(args), **given})


def states(run: Run) -> list[str]:
    return [batch["state"] for batch in run.batches()]


@pytest.mark.parametrize(
    ("given", "batches", "acknowledged"),
    [
        ({"max_steps": 3}, 3, [1, 2, 3]),
        ({"max_steps": 2, "num_iterations": 2}, 1, [0, 1]),
        ({"max_steps": 4, "steps_per_generation": 2, "per_device_train_batch_size": 4}, 2, [0, 1, 1, 2]),
        ({"max_steps": 2, "gradient_accumulation_steps": 2, "per_device_train_batch_size": 4}, 2, [1, 2]),
        ({"max_steps": 2, "gradient_accumulation_steps": 2, "steps_per_generation": 1}, 4, [2, 4]),
    ],
)
def test_takes_each_batch_once_and_acknowledges_it_after_its_last_step(
    run: Run, model_folder: Path, tmp_path: Path, given: dict[str, Any], batches: int, acknowledged: list[int]
) -> None:
    sent = simple_groups(model_folder, 2 * batches + 2)
    seen: list[int] = []
    with AtroposRollouts(run.url, run=run.name, max_mismatch=None) as atropos:
        args = config(tmp_path, **given)
        trainer = trainer_of(model_folder, atropos, args)
        _count_acks(trainer, run, seen)
        run_groups(run, sent, args.generation_batch_size)
        trainer.train()
    assert trainer.state.global_step == args.max_steps
    assert seen == acknowledged
    assert states(run) == ["acked"] * batches
    trained = [row for step in range(1, batches + 1) for row in run.rollouts(step)]
    assert len(trained) == 2 * batches and len({row["id"] for row in trained}) == 2 * batches


def _count_acks(trainer: GRPOTrainer, run: Run, seen: list[int]) -> None:
    """Notes after each optimizer step how many batches are acknowledged."""
    from transformers import TrainerCallback

    class Count(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            seen.append(states(run).count("acked"))

    trainer.add_callback(Count())


def run_groups(run: Run, groups: list[dict[str, Any]], batch_size: int) -> None:
    """Registers the run as a trainer would, and fills its queue."""
    import urllib.request

    spec = {"name": run.name, "batch_size": batch_size, "max_token_length": 128, "starting_step": 0, "num_steps": 100,
            "checkpoint_dir": "", "save_checkpoint_interval": 0, "wandb_group": "", "wandb_project": ""}  # fmt: skip
    request = urllib.request.Request(
        f"{run.url}/v1/runs", json.dumps(spec).encode(), {"content-type": "application/json"}
    )
    urllib.request.urlopen(request).close()
    run.submit(groups)


def by_hand(folder: Path, groups: list[dict[str, Any]], reported: bool) -> tuple[float, dict[str, torch.Tensor]]:
    """TRL's loss `dapo` with sequence-level masked importance sampling, from its formulas, and its gradient.

    Sampler q, policy p: rho_i = exp(sum_t log p_t - log q_t), 0 above 3;
    A_i = (s_i - mean) / (std + 1e-4) in the group;
    loss = - sum_i rho_i A_i sum_t exp(log p_t - stop(log p_t)) / number of trained tokens.
    """
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    total, count = torch.zeros(()), 0
    for group in groups:
        scores = torch.tensor(group["scores"])
        advantages = (scores - scores.mean()) / (scores.std() + 1e-4)
        for i, tokens in enumerate(group["tokens"]):
            table = torch.log_softmax(model(torch.tensor([tokens])).logits[0], -1)
            at = [t for t, label in enumerate(group["masks"][i]) if label != -100]
            p = torch.stack([table[t - 1, tokens[t]] for t in at])
            q = torch.tensor([group["inference_logprobs"][i][t] for t in at])
            rho = torch.exp((p.detach() - q).sum()) if reported else torch.ones(())
            rho = torch.where(rho > 3, 0.0, rho)
            total = total - rho * advantages[i] * torch.exp(p - p.detach()).sum()
            count += len(at)
    loss = total / count
    loss.backward()
    return float(loss), {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def off_policy_groups(folder: Path) -> list[dict[str, Any]]:
    """As if the sampler had been off by a different amount for every sequence; the last is beyond the bound of 3."""
    groups = []
    for g in range(2):
        tokens = [[40 + g, 60, 70 + i, 90, 100 + i, 1] for i in range(4)]
        trained = [[False, False, True, False, True, True]] * 4
        shifts = [0.05 * (i + 1) * (-1) ** i for i in range(4)] if g == 0 else [-0.1, 0.2, -0.3, -0.9]
        logprobs = [[x + shift for x in logprobs_of(folder, row)] for row, shift in zip(tokens, shifts, strict=True)]
        logprobs = [[1 if not yes else x for x, yes in zip(row, trained[0], strict=True)] for row in logprobs]
        groups.append(group_of(tokens, trained, [1.0, 0.0, 0.25, -2.0], logprobs))
    return groups


@pytest.mark.parametrize("reported", [True, False])
def test_sampling_logprobs_are_in_the_loss_and_its_gradient(
    run: Run, model_folder: Path, tmp_path: Path, reported: bool
) -> None:
    groups = off_policy_groups(model_folder)
    loss, gradient = by_hand(model_folder, groups, reported)
    grads: dict[str, torch.Tensor] = {}
    args = config(tmp_path, max_grad_norm=0.0, vllm_importance_sampling_correction=reported)
    with AtroposRollouts(run.url, run=run.name) as atropos:
        trainer = trainer_of(model_folder, atropos, args)
        from transformers import TrainerCallback

        class Look(TrainerCallback):
            def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
                grads.update({name: p.grad.clone() for name, p in given["model"].named_parameters()})

        trainer.add_callback(Look())
        run_groups(run, groups, 8)
        trainer.train()
    log = trainer.state.log_history[0]
    assert log["loss"] == pytest.approx(loss, abs=2e-6)
    assert grads.keys() >= gradient.keys()
    largest = max(float(g.abs().max()) for g in gradient.values())
    for name, expected in gradient.items():
        assert torch.allclose(grads[name], expected, atol=1e-5 * largest), name
    if reported:
        shifts = [0.05, 0.1, 0.15, 0.2, 0.1, 0.2, 0.3, 0.9]
        assert log["sampling/sampling_logp_difference/mean"] == pytest.approx(sum(shifts) / 8, abs=1e-5)
        assert log["sampling/importance_sampling_ratio/min"] == 0  # the one beyond 3
    else:
        assert "sampling/sampling_logp_difference/mean" not in log


def test_without_the_correction_training_says_so(model_folder: Path, tmp_path: Path, caplog: Any) -> None:
    AtroposRollouts().trainer_arguments(config(tmp_path, vllm_importance_sampling_correction=False))
    assert "log-probabilities are NOT used" in caplog.text


def test_a_group_of_another_size_is_refused_by_name_and_given_back(
    run: Run, model_folder: Path, tmp_path: Path
) -> None:
    with AtroposRollouts(run.url, run=run.name) as atropos:
        trainer = trainer_of(model_folder, atropos, config(tmp_path))
        run_groups(run, simple_groups(model_folder, 1, size=8), 8)
        with pytest.raises(AtroposError, match="has 8 sequences.*num_generations = 4.*num_generations=8"):
            trainer.train()
        assert states(run) == ["free"]


def test_the_same_weights_that_differ_are_refused_before_the_update(
    run: Run, model_folder: Path, tmp_path: Path
) -> None:
    groups = [{**group, "inference_logprobs": [[-1.0] * 6] * 4} for group in off_policy_groups(model_folder)]
    with AtroposRollouts(run.url, run=run.name) as atropos:
        trainer = trainer_of(model_folder, atropos, config(tmp_path))
        before = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}
        run_groups(run, [], 8)
        for group in groups:  # by the key policy_versions, which is beside the group
            run.call("POST", "/groups", {"key": _uuid(), "group": group, "policy_versions": [0] * 4})
        with pytest.raises(AtroposError, match="with the same weights.* differ by .* nats.*temperature"):
            trainer.train()
    assert states(run) == ["free"]
    assert all(torch.equal(p, before[name]) for name, p in trainer.model.named_parameters())


def _uuid() -> str:
    import uuid

    return str(uuid.uuid4())


def test_a_run_with_batches_of_another_size_is_refused(run: Run, model_folder: Path, tmp_path: Path) -> None:
    run_groups(run, [], 16)
    with (
        AtroposRollouts(run.url, run=run.name) as atropos,
        pytest.raises(AtroposError, match="batches of 16 sequences.*generation_batch_size is 8.*reset"),
    ):
        trainer_of(model_folder, atropos, config(tmp_path)).train()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"max_steps": -1}, "set max_steps"),
        ({"max_steps": 3, "steps_per_generation": 2}, "no multiple of steps_per_generation"),
        ({"max_steps": 3, "num_iterations": 2}, "no multiple"),
        ({"eval_strategy": "steps"}, 'eval_strategy="no"'),
        ({"loss_type": "vespo"}, "vespo"),
    ],
)
def test_settings_that_cannot_work_are_refused(tmp_path: Path, given: dict[str, Any], says: str) -> None:
    with pytest.raises(AtroposError, match=says):
        AtroposRollouts().trainer_arguments(config(tmp_path, **given))


def test_acknowledging_by_checkpoints_needs_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(AtroposError, match="save_strategy"):
        AtroposRollouts(acknowledge="checkpoint").trainer_arguments(config(tmp_path))


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", ""])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(AtroposError, match="no address of a server"):
        AtroposRollouts(url)


def test_a_sampler_that_is_none_is_refused() -> None:
    with pytest.raises(AtroposError, match="sampler 'http://localhost:9004' is not understood"):
        AtroposRollouts(sampler="http://localhost:9004")


def test_a_service_that_does_not_answer_is_waited_for_and_named(model_folder: Path, tmp_path: Path) -> None:
    with (
        AtroposRollouts("http://127.0.0.1:9", patience=0.5) as atropos,
        pytest.raises(AtroposError, match=r"127.0.0.1:9.*atropos/cli api.*did not answer"),
    ):
        trainer_of(model_folder, atropos, config(tmp_path)).train()


def test_another_server_is_told_from_a_service(model_folder: Path, tmp_path: Path) -> None:
    class NotFound(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), NotFound)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with (
        AtroposRollouts(f"http://127.0.0.1:{server.server_port}") as atropos,
        pytest.raises(AtroposError, match="is no Atropos service"),
    ):
        trainer_of(model_folder, atropos, config(tmp_path)).train()
    server.shutdown()


def test_a_sampler_needs_an_adapter(run: Run, model_folder: Path, tmp_path: Path) -> None:
    with (
        AtroposRollouts(run.url, run=run.name, sampler="policy+http://127.0.0.1:9", patience=0.5) as atropos,
        pytest.raises(AtroposError, match="pass peft_config"),
    ):
        trainer_of(model_folder, atropos, config(tmp_path)).train()


def test_a_sampler_that_does_not_answer_is_named(run: Run, model_folder: Path, tmp_path: Path) -> None:
    with (
        AtroposRollouts(run.url, run=run.name, sampler="policy+http://127.0.0.1:9", patience=0.5) as atropos,
        pytest.raises(AtroposError, match=r"sampler at http://127.0.0.1:9.*did not answer"),
    ):
        trainer_of(model_folder, atropos, config(tmp_path), peft_config=lora()).train()


def test_a_padding_token_that_the_model_lacks_is_refused(run: Run, model_folder: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    tokenizer.add_special_tokens({"pad_token": "<|new|>"})
    with AtroposRollouts(run.url, run=run.name) as atropos, pytest.raises(AtroposError, match="pads with token 258"):
        trainer_of(model_folder, atropos, config(tmp_path), processing_class=tokenizer).train()


def test_a_token_that_is_missing_is_named(model_folder: Path, tmp_path: Path) -> None:
    class Closed(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(401)

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Closed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with (
        AtroposRollouts(f"http://127.0.0.1:{server.server_port}") as atropos,
        pytest.raises(AtroposError, match="(?s)answered 401.*ATROPOS_TOKEN"),
    ):
        trainer_of(model_folder, atropos, config(tmp_path)).train()
    server.shutdown()


def test_two_trainers_do_not_share_a_folder(run: Run, model_folder: Path, tmp_path: Path) -> None:
    from atropos_trl._http import Http
    from atropos_trl._leases import Leases
    from atropos_trl._service import Service

    first = Leases(Service(Http(run.url, None, ""), run.name, 1), 60, tmp_path)
    with AtroposRollouts(run.url, run=run.name) as atropos, pytest.raises(AtroposError, match="another process trains"):
        trainer_of(model_folder, atropos, config(tmp_path)).train()
    first.recover(0)
    first.close()


def test_the_callback_cannot_be_forgotten(run: Run, model_folder: Path, tmp_path: Path) -> None:
    with AtroposRollouts(run.url, run=run.name) as atropos, pytest.raises(AtroposError, match="callback is missing"):
        trainer_of(model_folder, atropos, config(tmp_path), callbacks=[]).train()


def test_figures_reach_the_services_viewer(run: Run, model_folder: Path, tmp_path: Path) -> None:
    with AtroposRollouts(run.url, run=run.name, max_mismatch=None) as atropos:
        trainer = trainer_of(model_folder, atropos, config(tmp_path))
        run_groups(run, simple_groups(model_folder, 2), 8)
        trainer.train()
    rows = run.call("GET", "/metrics")["metrics"]
    assert rows[0]["source"] == "trl" and rows[0]["step"] == 1 and rows[0]["values"]["reward"] == 0.5


@pytest.mark.parametrize(
    "given", [{}, {"gradient_accumulation_steps": 2, "steps_per_generation": 1}, {"record_logprobs": 7}]
)
def test_what_the_trainer_computed_reaches_the_services_viewer(
    run: Run, model_folder: Path, tmp_path: Path, given: dict[str, Any]
) -> None:
    most = given.get("record_logprobs", 32_768)
    given = {name: value for name, value in given.items() if name != "record_logprobs"}
    batches = 2 if given else 1
    sent = [group for _ in range(batches) for group in off_policy_groups(model_folder)]
    with AtroposRollouts(run.url, run=run.name, max_mismatch=None, record_logprobs=most) as atropos:
        args = config(tmp_path, **given)
        trainer = trainer_of(model_folder, atropos, args)
        run_groups(run, sent, 8)
        trainer.train()
    for batch in range(1, batches + 1):
        rows = sorted(run.rollouts(batch), key=lambda row: int(row["id"]))
        told = [run.call("GET", f"/rollouts/{row['id']}")["group"] for row in rows]
        if most == 7:  # a sequence has four tokens from the first trained one on: that which differs most
            assert told[0].get("trainer_logprobs") is None
            assert [row is not None for row in told[1]["trainer_logprobs"]] == [False, False, False, True]
            continue
        for group, own in zip(sent, told, strict=False):
            assert own["trainer_version"] == 0
            for tokens, row in zip(group["tokens"], own["trainer_logprobs"], strict=True):
                expected = logprobs_of(model_folder, tokens)
                assert [value == 1 for value in row] == [True, True, False, True, False, False]
                at = [2, 4, 5]
                assert [row[t] for t in at] == pytest.approx([expected[t] for t in at], abs=1e-5)


def test_a_lost_lease_stops_training_before_the_update(run: Run, model_folder: Path, tmp_path: Path) -> None:
    with AtroposRollouts(run.url, run=run.name, max_mismatch=None) as atropos:
        trainer = trainer_of(model_folder, atropos, config(tmp_path))
        run_groups(run, simple_groups(model_folder, 2), 8)
        inner = atropos._before_update

        def lose(args: Any) -> None:
            leases = atropos._leases
            assert leases is not None
            held = next(iter(leases._held.values()))
            leases._service.batch(held.id, "nack", held.token)
            leases._seconds = 0.01
            threading.Thread(target=leases._renew, daemon=True).start()
            while leases.lost is None:
                pass
            inner(args)

        atropos._before_update = lose  # type: ignore[method-assign]
        with pytest.raises(AtroposError, match="lease on batch .* is lost"):
            trainer.train()
    assert states(run) == ["free"]

"""`AtroposRollouts`, and the callback by which it knows where the trainer is."""

from __future__ import annotations

import atexit
import logging
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from accelerate.utils import broadcast_object_list, gather_object
from datasets import Dataset
from transformers import TrainerCallback

from ._groups import Expected, Rows, add_group, read_groups
from ._http import AtroposError, Http
from ._leases import Lease, Leases
from ._logprobs import Claimed, Teller, computed
from ._sampler import Sampler
from ._service import Service
from ._settings import batches, check

_logger = logging.getLogger("atropos_trl")


class AtroposRollouts:
    """Batches of an Atropos service for one `GRPOTrainer`; see the module's documentation.

    Args:
        url: the service, as `npx @atropos/cli api` prints it.
        run: name of the run at the service.
        sampler: where the policy samples, `policy+http://…` or `vllm+http://…`: gets the LoRA adapter before the first
            and after every optimizer step. None where something else keeps the sampler up to date.
        acknowledge: when a batch counts as done: after its last optimizer step (`"step"`), or once a checkpoint holds
            it (`"checkpoint"`), so that a run resumed from its newest checkpoint misses none and repeats none.
        lease_seconds: how long the service waits for a sign of life before it hands a batch to somebody else.
        patience: seconds to wait for a server that does not answer. A batch is waited for without end.
        max_mismatch: largest mean difference (nats) between sampler and trainer on the first batches, where both have
            the same weights; more means different models. None does not check.
        record_logprobs: of how many tokens of a batch the service is told the trainer's log-probabilities, for its viewer:
            of the sequences first that differ most from the sampler's. 0 tells none.
        max_token_length: longest sequence, announced to the environments; the model's positions if None.
        token: bearer token of the service; ATROPOS_TOKEN if None.
        sampler_token: bearer token of the sampler; ATROPOS_POLICY_TOKEN if None.
    """

    def __init__(
        self,
        url: str = "http://localhost:8000",
        *,
        run: str = "default",
        sampler: str | None = None,
        acknowledge: Literal["step", "checkpoint"] = "step",
        lease_seconds: float = 120,
        patience: float = 600,
        max_mismatch: float | None = 0.05,
        record_logprobs: int = 32_768,
        max_token_length: int | None = None,
        token: str | None = None,
        sampler_token: str | None = None,
    ) -> None:
        if acknowledge not in ("step", "checkpoint"):
            raise AtroposError(f'acknowledge={acknowledge!r}: expected "step" or "checkpoint"')
        if record_logprobs < 0:
            raise AtroposError(f"record_logprobs={record_logprobs}: expected a number of tokens, 0 for none")
        self._service = Service(Http(url, token or os.environ.get("ATROPOS_TOKEN"), "ATROPOS_TOKEN"), run, patience)
        self._sampler_address = sampler
        self._sampler_token = sampler_token or os.environ.get("ATROPOS_POLICY_TOKEN")
        if sampler is not None:
            Sampler(sampler, self._sampler_token, Path("."))  # a mistake in the address is told now
        self._acknowledge = acknowledge
        self._lease_seconds = lease_seconds
        self._patience = patience
        self._max_mismatch = max_mismatch
        self._max_token_length = max_token_length
        self._records = record_logprobs > 0
        self._teller = Teller(self._service, record_logprobs)
        self._claimed: Claimed | None = None
        self._is_untold = False
        self._owner = f"trl {socket.gethostname()} {os.getpid()}"
        self._expected: Expected | None = None
        self._leases: Leases | None = None
        self._sampler: Sampler | None = None
        self._trainer: Any = None
        self._checks_left = 3
        self._to_check = False
        self._is_known = False
        self._has_warned = False
        atexit.register(self.close)

    def __enter__(self) -> AtroposRollouts:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives back what was claimed and not acknowledged. Safe to call twice."""
        self._teller.close()
        leases, self._leases = self._leases, None
        if leases is not None:
            leases.close()

    def trainer_arguments(self, args: Any) -> dict[str, Any]:
        """What `GRPOTrainer` is to be given beside the model and `args`; refuses settings that cannot work."""
        check(args, self._acknowledge, self._sampler_address)
        # One epoch is the whole training: at the end of one the optimizer steps, whatever has been accumulated.
        prompts = [""] * (batches(args) * (args.generation_batch_size // args.num_generations))
        return {
            "train_dataset": Dataset.from_dict({"prompt": prompts}),
            "reward_funcs": self.score,
            "rollout_func": self.rollouts,
            "callbacks": [_Callback(self)],
        }

    def score(self, completions: Sequence[object], atropos_score: Sequence[float], **given: Any) -> list[float]:
        """The environments' scores, as a reward function."""
        log_metric = given.get("log_metric")
        if log_metric is not None:
            for name in ("staleness", "unknown_logprobs"):
                values = [value for value in given.get(f"atropos_{name}", []) if value is not None]
                if values:
                    log_metric(f"atropos/{name}", sum(values) / len(values))
        return list(atropos_score)

    def rollouts(self, prompts: Sequence[object], trainer: Any) -> dict[str, Any]:
        """TRL's `rollout_func`: a batch of the service, this process's part of it. `prompts` are placeholders."""
        if not trainer.model.training:
            raise AtroposError('evaluation is not fed from the service: set eval_strategy="no"')
        if self._expected is None:
            raise AtroposError("the callback is missing: GRPOTrainer(…, **atropos.trainer_arguments(args))")
        accelerator = trainer.accelerator
        self._trainer = trainer
        self._tell()
        self._use_logprobs(trainer)
        answer: list[Any] = [None]
        if accelerator.is_main_process:
            try:
                answer = [self._claim(trainer)]
            except AtroposError as error:
                answer = [error]
        if accelerator.num_processes > 1:
            broadcast_object_list(answer)
        if isinstance(answer[0], AtroposError):
            raise answer[0]
        rows: Rows = answer[0]
        step = trainer.state.global_step
        self._to_check = self._checks_left > 0 and (
            all(version == step for version in rows.versions)
            or (step == 0 and all(version is None for version in rows.versions))
        )
        self._is_known = rows.versions[0] is not None
        self._is_untold = self._records
        part = slice(accelerator.process_index * len(prompts), (accelerator.process_index + 1) * len(prompts))
        return {
            "prompt_ids": rows.prompt_ids[part],
            "completion_ids": rows.completion_ids[part],
            "logprobs": rows.logprobs[part],
            "env_mask": rows.env_mask[part],
            "atropos_score": rows.scores[part],
            "atropos_environment": rows.environments[part],
            "atropos_staleness": [None if version is None else step - version for version in rows.versions[part]],
            "atropos_unknown_logprobs": [sum(value is None for value in row) for row in rows.logprobs[part]],
        }

    def _claim(self, trainer: Any) -> Rows:
        """The next batch, under lease."""
        leases, expected = self._leases, self._expected
        assert leases is not None and expected is not None
        every = trainer.args.steps_per_generation * trainer.num_iterations
        last = trainer._step + every - trainer._step % every
        while True:
            answer = self._service.claim(self._owner, self._lease_seconds)
            lease = Lease(answer.headers["atropos-batch-id"], answer.headers["atropos-lease-token"], last)
            if leases.hold(lease):
                break
            _logger.info("batch %s is in the checkpoint: acknowledged, not trained again", lease.id)
        try:
            rows = Rows()
            for group in read_groups(answer.body):
                add_group(rows, group, expected)
            if len(rows.scores) != trainer.args.generation_batch_size:
                raise AtroposError(
                    f"batch {lease.id} has {len(rows.scores)} sequences, TRL's generation_batch_size is "
                    f"{trainer.args.generation_batch_size}"
                )
        except BaseException:
            leases.give_back()
            raise
        if rows.unknown > 0 and not self._has_warned:
            self._has_warned = True
            _logger.warning(
                "%d trained tokens of batch %s have no log-probability of the sampler: TRL trains on them without "
                "correction (later ones: metric atropos/unknown_logprobs)",
                rows.unknown,
                lease.id,
            )
        self._claimed = Claimed(lease, rows, expected.group_size, trainer.state.global_step)
        return rows

    def _tell(self) -> None:
        """Tells the service what the trainer computed of its batch, once; every process takes part."""
        if not self._is_untold:
            return
        self._is_untold = False
        trainer = self._trainer
        found = computed(trainer._buffered_inputs)
        if trainer.accelerator.num_processes > 1:
            found = gather_object(found)
        if self._claimed is not None:
            self._teller.tell(self._claimed, found)

    def _use_logprobs(self, trainer: Any) -> None:
        """Turns TRL's correction for another sampler on, which it has for vLLM alone."""
        if trainer.args.use_vllm or not trainer.vllm_importance_sampling_correction or trainer.use_vllm:
            return
        trainer.use_vllm = True
        trainer.vllm_generation = _NoVllm()
        trainer._last_loaded_step = trainer.state.global_step

    # What the callback calls.

    def _begin(self, args: Any, step: int, model: Any, tokenizer: Any) -> None:
        vocabulary = model.get_input_embeddings().num_embeddings
        pad = getattr(tokenizer, "tokenizer", tokenizer).pad_token_id
        if pad is not None and pad >= vocabulary:
            raise AtroposError(
                f"the tokenizer pads with token {pad}, the model has {vocabulary}: set tokenizer.pad_token = "
                "tokenizer.eos_token and pass processing_class=tokenizer"
            )
        self._expected = Expected(args.num_generations, args.temperature, vocabulary)
        self._checks_left = 3
        self._is_untold = False
        if args.process_index != 0:
            return
        positions = getattr(model.config, "max_position_embeddings", None)
        self._service.register(args, self._max_token_length or positions or 1_000_000)
        folder = Path(args.output_dir)
        self.close()
        self._leases = Leases(self._service, self._lease_seconds, folder)
        self._leases.recover(step)
        if self._sampler_address is not None:
            if not hasattr(model, "peft_config"):
                raise AtroposError("samplers take adapters: pass peft_config=LoraConfig(…) to GRPOTrainer")
            self._sampler = Sampler(self._sampler_address, self._sampler_token, folder / "adapters")
            self._sampler.push(model, step, self._patience)
        elif not args.use_vllm:
            _logger.warning(
                "no sampler is given: unless something else hands it the new weights, it keeps its old ones, and every "
                "batch is further from the policy than the one before"
            )

    def _before_update(self, args: Any) -> None:
        """Raises where this update must not be made."""
        if self._leases is not None and self._leases.lost is not None:
            raise AtroposError(self._leases.lost)
        trainer = self._trainer
        if trainer is None or not trainer.vllm_importance_sampling_correction:
            return
        self._tell()
        if any("importance_sampling_ratio" not in inputs for inputs in trainer._buffered_inputs):
            raise AtroposError("the sampler's log-probabilities did not reach the loss: this TRL is not supported")
        if self._to_check:
            self._to_check = False
            self._checks_left -= 1
            mismatch = trainer._metrics["train"]["sampling/sampling_logp_difference/mean"][-1]
            if self._max_mismatch is not None and mismatch > self._max_mismatch:
                message = (
                    f"sampler and trainer differ by {mismatch:.3f} nats per token, more than max_mismatch="
                    f"{self._max_mismatch}. Likely causes, in order: temperature, log-probabilities before temperature "
                    "(vLLM: --logprobs-mode processed_logprobs), another model or tokenizer, dropout, precision"
                )
                if self._is_known:
                    raise AtroposError(f"with the same weights, {message}")
                _logger.warning("in the first batch, whose weights are not known, %s; or old batches", message)

    def _after_update(self, step: int, model: Any) -> None:
        if self._leases is None or self._trainer is None:
            return
        self._leases.mark_trained(self._trainer._step, step)
        if self._acknowledge == "step":
            self._leases.settle()
        if self._sampler is not None:
            self._sampler.push(model, step, self._patience)

    def _saved(self) -> None:
        if self._leases is not None and self._acknowledge == "checkpoint":
            self._leases.settle()


class _NoVllm:
    """Stands where TRL has its vLLM client: the sampler gets its weights after the update (`_Callback`)."""

    def sync_weights(self) -> None:
        pass


class _Callback(TrainerCallback):
    """Tells `AtroposRollouts` where the trainer is."""

    def __init__(self, owner: AtroposRollouts) -> None:
        self._owner = owner

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._owner._begin(args, state.global_step, given["model"], given["processing_class"])

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._owner._before_update(args)

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._owner._after_update(state.global_step, given["model"])

    def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._owner._saved()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
        if state.is_world_process_zero:
            self._owner._service.record(state.global_step, logs or {})

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._owner.close()

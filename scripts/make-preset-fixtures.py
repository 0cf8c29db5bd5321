"""Losses and LoRA gradients of TRL 1.16's own code, for the presets that make-loss-fixtures.py does not have.

    python scripts/make-preset-fixtures.py

Reads fixtures/loss-model and the adapter and batches of fixtures/losses.json, and writes fixtures/presets.json. Every loss is
computed by TRL: GRPOTrainer._compute_loss, RLOOTrainer._compute_loss, DPOTrainer._compute_loss and
IWOPDTrainer._compute_iw_opd_loss, on the same sequences, padded its way. What stands inside longer functions of TRL (advantages,
importance ratios) is cut out of their source and run as it stands there, so that nothing of it is written here.

Needs torch, transformers, peft, trl 1.16, numpy. Deterministic.
"""

import base64
import inspect
import json
import math
import textwrap
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import trl
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from trl import DPOTrainer, GRPOTrainer, RLOOTrainer
from trl.experimental.iw_opd import IWOPDTrainer
from trl.trainer import grpo_trainer, rloo_trainer

assert trl.__version__.startswith("1.16."), trl.__version__
folder = Path(__file__).resolve().parent.parent / "packages/trainer/test/fixtures"
given = json.loads((folder / "losses.json").read_text())
output = folder / "presets.json"

base = AutoModelForCausalLM.from_pretrained(folder / "loss-model", dtype=torch.float64, attn_implementation="eager")
targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
model = get_peft_model(
    base, LoraConfig(r=given["lora"]["r"], lora_alpha=given["lora"]["alpha"], lora_dropout=0.0, target_modules=targets)
)
model.train()
lora = {
    name.removeprefix("base_model.model.").replace(".default.weight", ".weight"): parameter
    for name, parameter in model.named_parameters()
    if parameter.requires_grad
}


def floats(text):
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float64))


with torch.no_grad():
    for name, parameter in lora.items():
        parameter.copy_(floats(given["theta"][name]).reshape(parameter.shape))


def logits_of(tokens, reference=False):
    ids = torch.tensor([tokens])
    if reference:
        with model.disable_adapter(), torch.no_grad():
            return model(input_ids=ids).logits[0, :-1]
    return model(input_ids=ids).logits[0, :-1]


def picked(logits, tokens):
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]


batches = {"plain": given["batches"]["plain"]}
rng = np.random.default_rng(11)
vocabulary = base.config.vocab_size


def taught(group):
    """The group with a teacher that scores each token and one other."""
    ids = [[[]] + [[token, (token + 1) % vocabulary] for token in tokens[1:]] for tokens in group["tokens"]]
    logprobs = [[[]] + [np.round(rng.uniform(-6, -0.1, 2), 4).tolist() for _ in tokens[1:]] for tokens in group["tokens"]]
    return {**group, "distill_token_ids": ids, "distill_logprobs": logprobs}


batches["taught"] = [taught(group) for group in batches["plain"]]


def cut(function, first, last):
    """The lines of a function from the one that holds `first` to before the one that holds `last`."""
    lines = inspect.getsource(function).splitlines()
    start = next(i for i, line in enumerate(lines) if first in line)
    end = next(i for i, line in enumerate(lines) if last in line and i > start)
    return textwrap.dedent("\n".join(lines[start:end]))


def run(source, module, **names):
    scope = {**vars(module), **names}
    exec(source, scope)
    return scope


def rewards_of(batch):
    return torch.tensor([score for group in batch for score in group["scores"]], dtype=torch.float64)


def grpo_advantages(batch, scale):
    """TRL's scale_rewards; groups of 4."""
    source = cut(GRPOTrainer._generate_and_score_completions, 'if self.multi_objective_aggregation == "sum_then', "elif self.multi")
    rewards = rewards_of(batch)
    me = SimpleNamespace(
        multi_objective_aggregation="sum_then_normalize", reward_weights=torch.ones(1, dtype=torch.float64), scale_rewards=scale
    )
    names = dict(self=me, rewards_per_func=rewards[:, None], num_generations=4, device="cpu")
    return run(source, grpo_trainer, unscorable_mask=torch.zeros(len(rewards), dtype=torch.bool), **names)["advantages"]


def rloo_advantages(batch):
    source = cut(RLOOTrainer._generate_and_score_completions, "grouped_rewards = rewards.view", "# Unscorable completions carry")
    names = dict(self=SimpleNamespace(normalize_advantages=False), rewards=rewards_of(batch), num_generations=4)
    return run(source, rloo_trainer, **names)["advantages"]


class Accelerator:
    num_processes = 1
    device = "cpu"
    sync_gradients = True

    def reduce(self, value, reduction="sum"):
        return value

    def pad_across_processes(self, value, **_):
        return value

    gather = gather_for_metrics = reduce


def metrics():
    return {"train": defaultdict(list), "eval": defaultdict(list)}


class Padded:
    """Sequences of a batch as TRL has them: prompts to the left, completions to the right."""

    def __init__(self, batch):
        self.tokens = [tokens for group in batch for tokens in group["tokens"]]
        trained = [[label != -100 for label in labels] for group in batch for labels in group["masks"]]
        self.starts = [one.index(True) for one in trained]
        self.prompts = max(self.starts)
        self.width = max(len(tokens) - start for tokens, start in zip(self.tokens, self.starts))
        engine = [logprobs for group in batch for logprobs in group["inference_logprobs"]]
        self.mask = self.answers(trained)
        # The wire's 1 is no logprob; it stands where nothing is trained.
        self.engine = self.answers(engine) * self.mask
        self.inputs = {
            "prompt_ids": self.rows([tokens[:start] for tokens, start in zip(self.tokens, self.starts)], left=True).long(),
            "prompt_mask": self.rows([[1] * start for start in self.starts], left=True).long(),
            "completion_ids": self.answers(self.tokens).long(),
            "completion_mask": self.answers([[1] * len(tokens) for tokens in self.tokens]).long(),
            "tool_mask": self.mask,
            "num_items_in_batch": self.mask.sum(),
        }

    def rows(self, values, left=False):
        width = self.prompts if left else self.width
        padded = [([0] * (width - len(row)) + list(row)) if left else (list(row) + [0] * (width - len(row))) for row in values]
        return torch.tensor(padded, dtype=torch.float64)

    def answers(self, values):
        return self.rows([[float(v) for v in row[start:]] for row, start in zip(values, self.starts)])

    def scatter(self, rows):
        """Per position of each completion, from tensors over tokens 1 to T - 1."""
        grid = torch.zeros(len(rows), self.width, dtype=torch.float64)
        for i, (row, start) in enumerate(zip(rows, self.starts)):
            part = row[start - 1 :]
            grid = grid.index_put((torch.tensor(i), torch.arange(len(part))), part)
        return grid

    def present(self, *_, **__):
        """Logprobs and entropies of the completions, in place of TRL's, which reads them from a patched output layer."""
        logits = [logits_of(tokens) for tokens in self.tokens]
        logprobs = self.scatter([picked(one, tokens) for one, tokens in zip(logits, self.tokens)])
        entropies = self.scatter([torch.distributions.Categorical(logits=one).entropy() for one in logits])
        return logprobs, entropies, None


def importance_ratio(padded, mode, low, high):
    source = cut(GRPOTrainer._generate_and_score_completions, "per_token_logps_diff = (old", "# Compute the per-token log prob")
    with torch.no_grad():
        old, _, _ = padded.present()
    me = SimpleNamespace(
        vllm_importance_sampling_mode=mode, vllm_importance_sampling_clip_min=low, vllm_importance_sampling_clip_max=high
    )
    names = dict(self=me, math=math, mask=padded.mask)
    ratio = run(source, grpo_trainer, old_per_token_logps=old, sampling_per_token_logps=padded.engine, **names)
    return ratio["vllm_importance_sampling_ratio"]


def grpo(batch, *, scale="group", current=False, importance=None, advantages=None, **options):
    padded = Padded(batch)
    inputs = dict(padded.inputs, advantages=grpo_advantages(batch, scale) if advantages is None else advantages)
    if not current:
        inputs["old_per_token_logps"] = padded.engine
    if importance is not None:
        inputs["importance_sampling_ratio"] = importance_ratio(padded, *importance)
    inputs["sampling_per_token_logps"] = padded.engine
    trainer = GRPOTrainer.__new__(GRPOTrainer)
    named = dict(
        model=model, accelerator=Accelerator(), beta=0.0, loss_type="grpo", importance_sampling_level="token", epsilon_low=0.2,
        epsilon_high=0.2, temperature=1.0, top_entropy_quantile=1.0, off_policy_mask_threshold=None, aux_loss_enabled=False,
        use_vllm=importance is not None, vllm_importance_sampling_correction=True, max_completion_length=12,
        current_gradient_accumulation_steps=1, entropy_coef=0.0, use_adaptive_entropy=False, model_kwarg_keys=set(),
        is_encoder_decoder=False, _get_per_token_logps_and_entropies=padded.present, _metrics=metrics(),
    )
    named.update({key: value for key, value in options.items() if key in named})
    named["_entropy_bonus_enabled"] = named["entropy_coef"] != 0
    args = dict(
        delta=None, use_bias_correction_kl=False, steps_per_generation=1, sapo_temperature_neg=1.05, sapo_temperature_pos=1.0,
        vespo_k_pos=2.0, vespo_lambda_pos=3.0, vespo_k_neg=3.0, vespo_lambda_neg=2.0,
    )
    trainer.__dict__.update(named, args=SimpleNamespace(**{**args, **{k: v for k, v in options.items() if k in args}}))
    return trainer._compute_loss(model, inputs)


def rloo(batch, **options):
    padded = Padded(batch)
    inputs = dict(padded.inputs, advantages=rloo_advantages(batch), old_logps=(padded.engine * padded.mask).sum(1))
    # RLOOTrainer has no mask of tools: what is trained is its mask of completions.
    inputs["completion_mask"] = padded.mask
    trainer = RLOOTrainer.__new__(RLOOTrainer)
    trainer.__dict__.update(
        model=model, accelerator=Accelerator(), epsilon_low=0.2, epsilon_high=0.2, temperature=1.0, aux_loss_enabled=False,
        model_kwarg_keys=set(), _get_per_token_logps_and_entropies=padded.present, _metrics=metrics(),
    )
    trainer.__dict__.update(options)
    return trainer._compute_loss(model, inputs)


def dpo(batch, beta):
    """Pairs of the groups: the first with the highest score and the first with the lowest."""
    chosen, rejected = [], []
    for group in batch:
        scores = group["scores"]
        for best, side in ((max(scores), chosen), (min(scores), rejected)):
            i = scores.index(best)
            side.append((group["tokens"][i], [label != -100 for label in group["masks"][i]]))
    rows = chosen + rejected
    width = max(len(tokens) for tokens, _ in rows)

    def grid(values):
        return torch.tensor([list(row) + [0] * (width - len(row)) for row in values])

    trained = [mask for _, mask in rows]

    def logprobs(reference=False):
        result = torch.zeros(len(rows), width - 1, dtype=torch.float64)
        for i, (tokens, mask) in enumerate(rows):
            part = picked(logits_of(tokens, reference), tokens) * torch.tensor(mask[1:], dtype=torch.float64)
            result = result.index_put((torch.tensor(i), torch.arange(len(part))), part)
        return result

    nothing = torch.zeros(len(rows), width - 1, dtype=torch.float64)

    def forward(**_):
        return SimpleNamespace(
            log_probs=logprobs(), entropy=nothing, mean_logits=nothing, is_top1=nothing.bool(), log_sum_sq_probs=nothing
        )

    reference = logprobs(reference=True).sum(1)
    half = len(chosen)
    trainer = DPOTrainer.__new__(DPOTrainer)
    trainer.__dict__.update(
        model=model, accelerator=Accelerator(), aux_loss_enabled=False, ld_alpha=None, precompute_ref_logps=True,
        f_divergence_type="reverse_kl", beta=beta, loss_types=["sigmoid"], loss_weights=[1.0], label_smoothing=0.0,
        use_weighting=False, _metrics=metrics(), _total_train_tokens=0, _tp_size=1,
    )
    inputs = {
        "input_ids": grid([tokens for tokens, _ in rows]),
        "attention_mask": grid([[1] * len(tokens) for tokens, _ in rows]),
        "completion_mask": grid(trained).long(),
        "ref_chosen_logps": reference[:half],
        "ref_rejected_logps": reference[half:],
    }
    return trainer._compute_loss(forward, inputs, return_outputs=False)


def on_policy_distillation(batch):
    """IW-OPD without its weights by position (gamma 0): the teacher's logprob of the token less the student's own."""
    total, count = 0, 0
    trainer = IWOPDTrainer.__new__(IWOPDTrainer)
    trainer.__dict__.update(model=model, temperature=1.0, iw_opd_gamma=0.0, iw_opd_epsilon=1e-8, _metrics=metrics())
    for group in batch:
        for tokens, labels, teacher in zip(group["tokens"], group["masks"], group["distill_logprobs"]):
            trained = torch.tensor([labels[1:]])
            actual = torch.tensor([[one[0] for one in teacher[1:]]], dtype=torch.float64)
            loss = trainer._compute_iw_opd_loss(
                logits_of(tokens)[None], torch.tensor([tokens[1:]]), trained, actual, num_items_in_batch=1
            )
            total, count = total + loss, count + (trained != -100).sum().item()
    return total / count


def paper_advantages(batch):
    """REINFORCE++, equation 8: by mean and deviation of the whole batch; TRL has its deviation, not its mean."""
    rewards = rewards_of(batch)
    return (rewards - rewards.mean()) / (rewards.std() + 1e-4)


grpo_loss = "GRPOTrainer._compute_loss"
# Batch, our settings, whose loss it is, the loss, and whether its value is ours too (else the gradient alone is).
cases = [
    ("plain", dict(preset="grpo", advantageScale="batch-std"), f"{grpo_loss}, scale_rewards=batch", lambda b: grpo(b, scale="batch"), True),
    (
        "plain", dict(preset="reinforce++"), f"{grpo_loss}, advantages of the paper",
        lambda b: grpo(b, advantages=paper_advantages(b), loss_type="dapo"), True,
    ),
    ("plain", dict(preset="rloo"), "RLOOTrainer._compute_loss", rloo, True),
    ("plain", dict(preset="rloo", clipLow=0.6, clipHigh=2), "RLOOTrainer._compute_loss", lambda b: rloo(b, epsilon_low=0.6, epsilon_high=2.0), True),
    ("plain", dict(preset="seq-mis"), f"{grpo_loss}, sequence_mask", lambda b: grpo(b, current=True, importance=("sequence_mask", None, 3.0)), True),
    (
        "plain", dict(preset="seq-mis", importanceCap=1.5, importanceFloor=0.8), f"{grpo_loss}, sequence_mask",
        lambda b: grpo(b, current=True, importance=("sequence_mask", 0.8, 1.5)), True,
    ),
    (
        "plain", dict(preset="grpo", oldPolicy="trainer", importanceSampling="truncated", importanceLevel="sequence", importanceCap=1.3, importanceFloor=0.7),
        f"{grpo_loss}, sequence_truncate", lambda b: grpo(b, current=True, importance=("sequence_truncate", 0.7, 1.3)), True,
    ),
    ("plain", dict(preset="icepop"), f"{grpo_loss}, token_mask", lambda b: grpo(b, current=True, importance=("token_mask", 0.5, 5.0)), True),
    (
        "plain", dict(preset="icepop", importanceFloor=0.85, importanceCap=1.3), f"{grpo_loss}, token_mask",
        lambda b: grpo(b, current=True, importance=("token_mask", 0.85, 1.3)), True,
    ),
    ("plain", dict(preset="sapo"), f"{grpo_loss}, sapo", lambda b: grpo(b, loss_type="sapo"), True),
    (
        "plain", dict(preset="sapo", sapoTauPositive=3, sapoTauNegative=5), f"{grpo_loss}, sapo",
        lambda b: grpo(b, loss_type="sapo", sapo_temperature_pos=3.0, sapo_temperature_neg=5.0), True,
    ),
    ("plain", dict(preset="vespo"), f"{grpo_loss}, vespo", lambda b: grpo(b, loss_type="vespo"), True),
    (
        "plain", dict(preset="vespo", vespoPowerPositive=1, vespoDecayPositive=0.5, vespoPowerNegative=0.3, vespoDecayNegative=1), f"{grpo_loss}, vespo",
        lambda b: grpo(b, loss_type="vespo", vespo_k_pos=1.0, vespo_lambda_pos=0.5, vespo_k_neg=0.3, vespo_lambda_neg=1.0), True,
    ),
    (
        "plain", dict(preset="grpo", offPolicyBound=0.02), f"{grpo_loss}, off_policy_mask_threshold",
        lambda b: grpo(b, off_policy_mask_threshold=0.02), True,
    ),
    (
        "plain", dict(preset="grpo", aggregation="token-mean", entropyCoef=0.3), f"{grpo_loss}, bnpo, entropy_coef",
        lambda b: grpo(b, loss_type="bnpo", entropy_coef=0.3), True,
    ),
    (
        "plain", dict(preset="grpo", entropyShare=0.3), f"{grpo_loss}, top_entropy_quantile",
        lambda b: grpo(b, top_entropy_quantile=0.3), True,
    ),
    ("taught", dict(preset="on-policy-distill", oldPolicy="trainer"), "IWOPDTrainer._compute_iw_opd_loss, gamma 0", on_policy_distillation, False),
    ("plain", dict(preset="dpo"), "DPOTrainer._compute_loss, sigmoid", lambda b: dpo(b, 0.1), True),
    ("plain", dict(preset="dpo", dpoBeta=0.7), "DPOTrainer._compute_loss, sigmoid", lambda b: dpo(b, 0.7), True),
]


def packed(array):
    return base64.b64encode(np.asarray(array, dtype="<f4").tobytes()).decode()


results = []
for name, settings, source, compute, has_value in cases:
    model.zero_grad()
    loss = compute(batches[name])
    loss.backward()
    gradient = np.concatenate([lora[name].grad.numpy().ravel() for name in sorted(lora)])
    assert np.linalg.norm(gradient) > 0 and math.isfinite(loss.item()), settings
    results.append(
        {"batch": name, "settings": settings, "source": f"TRL {trl.__version__}, {source}", "gradient": packed(gradient)}
        | ({"loss": loss.item()} if has_value else {})
    )
    print(f"{name:7} {settings} loss {loss.item():.6f} gradient {np.linalg.norm(gradient):.4f}: {source}")

output.write_text(json.dumps({"batches": {"taught": batches["taught"]}, "cases": results}) + "\n")
print(output, output.stat().st_size, "bytes")

"""Losses and LoRA gradients of every preset, computed with PyTorch, transformers and PEFT in float64, for packages/trainer/test.

    python scripts/make-loss-fixtures.py

Writes fixtures/loss-model, a random Qwen2 of two layers, and fixtures/losses.json.

Each loss is written here from the paper's formula, one sequence at a time, without padding or packing. Where TRL has the loss,
TRL's own GRPOTrainer._compute_loss (or GKDTrainer.generalized_jsd_loss) is run on the same sequences, padded its way; the script
stops if the two differ, and the fixture holds both values.

Needs torch, transformers, peft, trl, numpy. Deterministic: the seed is fixed.
"""

import base64
import json
import math
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOTrainer
from trl.experimental.gkd import GKDTrainer

root = Path(__file__).resolve().parent.parent / "packages/trainer/test/fixtures"
model_folder = root / "loss-model"
output = root / "losses.json"

torch.manual_seed(7)
rng = np.random.default_rng(7)
rank, alpha = 2, 6
targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]

config = Qwen2Config(
    vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=128, tie_word_embeddings=True, initializer_range=0.4,
)
Qwen2ForCausalLM(config).save_pretrained(model_folder)
base = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float64, attn_implementation="eager")
vocabulary = base.config.vocab_size
model = get_peft_model(base, LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=0.0, target_modules=targets))
model.train()
with torch.no_grad():
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            # float32 values, so that both sides start from the same numbers.
            parameter.copy_(torch.randn(parameter.shape).mul(0.3).float().double())
lora = {
    name.removeprefix("base_model.model.").replace(".default.weight", ".weight"): parameter
    for name, parameter in model.named_parameters()
    if parameter.requires_grad
}


def short(values):
    """Numbers that JSON holds exactly and briefly."""
    return np.round(np.asarray(values, dtype=np.float64), 4)


def logits_of(tokens, reference=False):
    ids = torch.tensor([tokens])
    if reference:
        with model.disable_adapter(), torch.no_grad():
            return model(input_ids=ids).logits[0]
    return model(input_ids=ids).logits[0]


def logprobs_of(tokens, temperature=1.0, reference=False):
    """Entry t: log p(tokens[t] | tokens[<t]); entry 0 is 0."""
    logits = logits_of(tokens, reference)[:-1] / temperature
    picked = torch.log_softmax(logits, -1).gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
    return torch.cat([torch.zeros(1, dtype=torch.float64), picked])


def make_group(scores, overrides=None, group_overrides=None, advantages=False, teacher=False):
    group = {"tokens": [], "masks": [], "scores": scores, "inference_logprobs": []}
    prompt = rng.integers(0, vocabulary, rng.integers(3, 7)).tolist()
    for i in range(len(scores)):
        completion = rng.integers(0, vocabulary, rng.integers(4, 10)).tolist()
        tokens = prompt + completion
        trained = [False] * len(prompt) + [True] * len(completion)
        if i == 1:
            trained[len(prompt) + 2] = False  # as the output of a tool
        temperature = temperature_at(overrides, group_overrides, i)
        with torch.no_grad():
            present = logprobs_of(tokens, temperature).numpy()
        engine = short(np.minimum(present + rng.normal(0, 0.25, len(tokens)), -1e-3))
        group["tokens"].append(tokens)
        group["masks"].append([token if on else -100 for token, on in zip(tokens, trained)])
        group["inference_logprobs"].append([float(x) if on else 1.0 for x, on in zip(engine, trained)])
    if overrides is not None:
        group["overrides"] = overrides
    if group_overrides is not None:
        group["group_overrides"] = group_overrides
    if advantages:
        group["advantages"] = [short(rng.normal(0, 1, len(tokens))).tolist() for tokens in group["tokens"]]
    if teacher:
        group["distill_token_ids"], group["distill_logprobs"] = [], []
        for tokens in group["tokens"]:
            ids, logprobs = [], []
            for position in range(len(tokens)):
                k = 0 if position == 0 else int(rng.integers(0, 6))
                full = torch.log_softmax(torch.tensor(rng.normal(0, 2, vocabulary)), -1)
                top = torch.topk(full, k)
                ids.append(top.indices.tolist())
                logprobs.append(short(top.values.numpy()).tolist())
            group["distill_token_ids"].append(ids)
            group["distill_logprobs"].append(logprobs)
    return group


def temperature_at(overrides, group_overrides, i):
    return ((overrides or {i: {}})[i]).get("temperature", (group_overrides or {}).get("temperature", 1.0))


def batch_of(name):
    if name == "plain":
        return [make_group([1.0, 0.0, 0.5, 0.0]), make_group([0.0, 1.0, 1.0, 1.0])]
    if name == "switches":
        return [
            make_group([1.0, 0.0, 0.25], [{}, {"finish_reason": "length"}, {"temperature": 0.7}]),
            make_group([0.3, 0.1 + 0.2]),
            make_group([1.0, 0.0, 2.0], [{}, {}, {"set_advantage_to_zero": True}], {"temperature": 1.3}),
        ]
    if name == "tokens":
        return [make_group([1.0, 0.0], advantages=True), make_group([2.0, 0.0])]
    return [make_group([1.0, 0.0], teacher=True), make_group([2.0, 0.0], teacher=True)]


batches = {name: batch_of(name) for name in ["plain", "switches", "tokens", "teacher"]}

defaults = dict(
    baseline="group", advantageScale="sample-std", maskTruncated=False, dropConstantGroups=False, aggregation="sequence-mean",
    divisorTokens=4096, clipLow=0.2, clipHigh=0.2, ratioCap=20, oldPolicy="engine", importanceSampling="none",
    importanceCap=2, kl="k3", klCoef=0, klImportance=False,
)
presets = {
    "grpo": {},
    "atropos": dict(advantageScale="population-std"),
    "dr-grpo": dict(advantageScale="none", aggregation="constant"),
    "dapo": dict(clipHigh=0.28, aggregation="token-mean", maskTruncated=True, dropConstantGroups=True),
    "cispo": dict(clipLow=1, clipHigh=4, aggregation="token-mean"),
    "gspo": dict(clipLow=3e-4, clipHigh=4e-4),
    "dppo": dict(clipLow=0.15, clipHigh=0.15, aggregation="token-mean"),
    "sft": dict(aggregation="token-mean"),
    "distill": dict(aggregation="token-mean"),
}


def is_constant(scores):
    return len(scores) > 1 and max(scores) - min(scores) <= 1e-6 * max(abs(score) for score in scores)


def advantages_of(scores, settings):
    if len(scores) == 1 or settings["baseline"] == "none":
        return scores
    if is_constant(scores):
        return [0.0] * len(scores)
    if settings["baseline"] == "leave-one-out":
        centred = [r - (sum(scores) - r) / (len(scores) - 1) for r in scores]
    else:
        centred = [r - sum(scores) / len(scores) for r in scores]
    divisor = {
        # TRL: torch's std, which is the sample's, and 1e-4.
        "sample-std": torch.tensor(scores, dtype=torch.float64).std().item() + 1e-4,
        "population-std": np.std(scores) + 1e-8,
        "none": 1,
    }[settings["advantageScale"]]
    return [a / divisor for a in centred]


def sequences_of(batch, settings):
    """Sequences with what the formulas need, in plain numbers."""
    for group in batch:
        if settings["dropConstantGroups"] and "advantages" not in group and is_constant(group["scores"]):
            continue
        relative = advantages_of(group["scores"], settings)
        overrides = group.get("overrides", [{}] * len(relative))
        for i, tokens in enumerate(group["tokens"]):
            trained = [label != -100 for label in group["masks"][i]]
            if settings["maskTruncated"] and overrides[i].get("finish_reason") == "length":
                trained = [False] * len(tokens)
            advantages = group["advantages"][i] if "advantages" in group else [relative[i]] * len(tokens)
            if overrides[i].get("set_advantage_to_zero"):
                advantages = [0.0] * len(tokens)
            yield SimpleNamespace(
                tokens=tokens,
                trained=[t for t in range(1, len(tokens)) if trained[t]],
                advantages=advantages,
                engine=torch.tensor(group["inference_logprobs"][i], dtype=torch.float64),
                temperature=temperature_at(group.get("overrides"), group.get("group_overrides"), i),
                teacher_ids=group.get("distill_token_ids", [None] * len(relative))[i],
                teacher_logprobs=group.get("distill_logprobs", [None] * len(relative))[i],
            )


def surrogate(preset, s, settings, logp, log_ratio, t, mean_log_ratio):
    a = s.advantages[t]
    low, high = settings["clipLow"], settings["clipHigh"]
    if preset in ("grpo", "atropos", "dr-grpo", "dapo", "gspo"):
        r = torch.exp(mean_log_ratio if preset == "gspo" else log_ratio[t])
        return -min(r * a, torch.clamp(r, 1 - low, 1 + high) * a)
    r = torch.exp(log_ratio[t]).detach()
    if preset == "cispo":
        return -torch.clamp(r, 1 - low, 1 + high) * a * logp[t]
    moved = (torch.exp(logp[t]) - torch.exp(logp[t] - log_ratio[t])).item()
    masked = moved > high if a > 0 else moved < -low
    return logp[t] * 0 if masked else -min(r, torch.tensor(float(settings["ratioCap"]))) * a * logp[t]


def token_losses(preset, s, settings):
    logp = logprobs_of(s.tokens, s.temperature)
    if preset == "sft":
        return {t: -logp[t] for t in s.trained}
    if preset == "distill":
        every = torch.log_softmax(logits_of(s.tokens)[:-1] / s.temperature, -1)
        losses = {}
        for t in s.trained:
            q = torch.tensor(s.teacher_logprobs[t], dtype=torch.float64).exp()
            q = q / q.sum()
            losses[t] = sum((q[k] * (q[k].log() - every[t - 1, v]) for k, v in enumerate(s.teacher_ids[t])), logp[t] * 0)
        return losses
    old = {"engine": s.engine, "trainer": logp.detach()}[settings["oldPolicy"]]
    log_ratio = logp - old
    mean_log_ratio = sum(log_ratio[t] for t in s.trained) / len(s.trained) if s.trained else None
    reference = logprobs_of(s.tokens, s.temperature, reference=True) if settings["klCoef"] else None
    losses = {}
    for t in s.trained:
        loss = surrogate(preset, s, settings, logp, log_ratio, t, mean_log_ratio)
        w, cap = torch.exp(old[t] - s.engine[t]).item(), settings["importanceCap"]
        if settings["importanceSampling"] == "truncated":
            loss = loss * min(w, cap)
        if settings["importanceSampling"] == "masked":
            loss = loss * (w if 1 / cap <= w <= cap else 0.0)
        if settings["klCoef"]:
            d = logp[t] - reference[t]
            k = {"k1": d, "k2": d**2 / 2, "k3": torch.exp(-d) - 1 + d}[settings["kl"]]
            loss = loss + settings["klCoef"] * k * (torch.exp(log_ratio[t]) if settings["klImportance"] else 1)
        losses[t] = loss
    return losses


def our_loss(preset, batch, settings):
    sequences = list(sequences_of(batch, settings))
    losses = [token_losses(preset, s, settings) for s in sequences]
    tokens = sum(len(one) for one in losses)
    total = 0
    for one in losses:
        if not one:
            continue
        part = sum(one.values())
        if settings["aggregation"] == "sequence-mean":
            total = total + part / len(one) / len(losses)
        elif settings["aggregation"] == "token-mean":
            total = total + part / tokens
        else:
            total = total + part / (len(losses) * settings["divisorTokens"])
    return total


def gradient_of(loss):
    model.zero_grad()
    loss.backward()
    return np.concatenate([lora[name].grad.numpy().ravel() for name in sorted(lora)])


class Accelerator:
    num_processes = 1
    sync_gradients = True

    def reduce(self, value, reduction="sum"):
        return value

    gather = gather_for_metrics = reduce


def trl_loss(preset, batch, settings):
    """TRL's own loss on the same sequences; None where TRL has no such loss or no such setting."""
    aggregation = settings["aggregation"]
    names = {
        ("grpo", "sequence-mean"): "grpo", ("atropos", "sequence-mean"): "grpo", ("gspo", "sequence-mean"): "grpo", ("grpo", "token-mean"): "bnpo",
        ("dapo", "token-mean"): "dapo", ("dr-grpo", "constant"): "dr_grpo", ("cispo", "token-mean"): "cispo",
    }
    sequences = list(sequences_of(batch, settings))
    temperatures = {s.temperature for s in sequences}
    if (preset, aggregation) not in names or len(temperatures) > 1 or not all(s.trained for s in sequences):
        return None
    if settings["klCoef"] and settings["kl"] != "k3":
        return None
    if preset == "cispo" and settings["clipLow"] < 1:
        return None
    prompts = max(s.trained[0] for s in sequences)
    completions = max(len(s.tokens) - s.trained[0] for s in sequences)

    def rows(make, width, left=False):
        padded = []
        for s in sequences:
            row = list(make(s))
            padded.append([0] * (width - len(row)) + row if left else row + [0] * (width - len(row)))
        return torch.tensor(padded, dtype=torch.float64)

    def answer(values):
        return lambda s: [float(v) for v in values(s)[s.trained[0] :]]

    current = settings["oldPolicy"] == "trainer"
    inputs = {
        "prompt_ids": rows(lambda s: s.tokens[: s.trained[0]], prompts, True).long(),
        "prompt_mask": rows(lambda s: [1] * s.trained[0], prompts, True).long(),
        "completion_ids": rows(answer(lambda s: s.tokens), completions).long(),
        "completion_mask": rows(answer(lambda s: [1] * len(s.tokens)), completions).long(),
        "tool_mask": rows(answer(lambda s: [t in s.trained for t in range(len(s.tokens))]), completions),
        "advantages": rows(answer(lambda s: s.advantages), completions),
        "num_items_in_batch": torch.tensor(float(sum(len(s.trained) for s in sequences))),
    }
    mask = inputs["completion_mask"] * inputs["tool_mask"]
    engine = rows(answer(lambda s: s.engine), completions)
    if not current:
        inputs["old_per_token_logps"] = engine
    present = rows(answer(lambda s: logprobs_of(s.tokens, s.temperature).detach()), completions)
    ratio = torch.exp((present - engine) * mask)
    cap = settings["importanceCap"]
    if settings["importanceSampling"] == "truncated":
        inputs["importance_sampling_ratio"] = torch.clamp(ratio, max=cap)
    if settings["importanceSampling"] == "masked":
        inputs["importance_sampling_ratio"] = torch.where((ratio > cap) | (ratio < 1 / cap), 0.0, ratio)
    if settings["klCoef"]:
        inputs["ref_per_token_logps"] = rows(
            answer(lambda s: logprobs_of(s.tokens, s.temperature, reference=True)), completions
        )

    def per_token(_, input_ids, attention_mask, logits_to_keep, **__):
        """Logprobs of the completions; TRL reads them from a patched output layer. Padding is taken off before the model runs."""
        grid = torch.zeros(input_ids.shape, dtype=torch.float64)
        for row, (ids, real) in enumerate(zip(input_ids, attention_mask.bool())):
            grid = grid.index_put(
                (torch.tensor(row), real.nonzero()[:, 0]), logprobs_of(ids[real].tolist(), trainer.temperature)
            )
        logps = grid[:, -logits_to_keep:]
        return logps, torch.zeros_like(logps), None

    trainer = GRPOTrainer.__new__(GRPOTrainer)
    trainer.__dict__.update(
        model=model, accelerator=Accelerator(), beta=settings["klCoef"], loss_type=names[preset, aggregation],
        importance_sampling_level="sequence" if preset == "gspo" else "token", epsilon_low=settings["clipLow"],
        epsilon_high=settings["clipHigh"] + (1 if preset == "cispo" else 0), temperature=temperatures.pop(),
        top_entropy_quantile=1.0, off_policy_mask_threshold=None, aux_loss_enabled=False,
        use_vllm=settings["importanceSampling"] != "none", vllm_importance_sampling_correction=True,
        max_completion_length=settings["divisorTokens"], current_gradient_accumulation_steps=1,
        _entropy_bonus_enabled=False, model_kwarg_keys=set(), is_encoder_decoder=False,
        _get_per_token_logps_and_entropies=per_token, _metrics={"train": defaultdict(list), "eval": defaultdict(list)},
        args=SimpleNamespace(
            delta=None, use_bias_correction_kl=settings["klImportance"], steps_per_generation=1
        ),
    )
    return trainer._compute_loss(model, inputs)


def trl_distillation():
    """The whole vocabulary as the teacher's candidates: TRL's forward KL."""
    tokens = batches["plain"][0]["tokens"][0]
    teacher = torch.tensor(short(rng.normal(0, 2, (len(tokens) - 1, vocabulary))))
    student = logits_of(tokens)[:-1]
    theirs = GKDTrainer.generalized_jsd_loss(student[None], teacher[None], beta=0, reduction="sum") / len(student)
    q = torch.softmax(teacher, -1)
    ours = (q * (q.log() - torch.log_softmax(student, -1))).sum(-1).mean()
    assert abs(ours.item() - theirs.item()) < 1e-10


def transformers_cross_entropy(batch):
    """What transformers makes of the masks as labels, weighted by their tokens."""
    total, count = 0, 0
    for group in batch:
        for tokens, labels in zip(group["tokens"], group["masks"]):
            trained = sum(label != -100 for label in labels)
            total = total + model(input_ids=torch.tensor([tokens]), labels=torch.tensor([labels])).loss * trained
            count += trained
    return total / count


cases = [
    ("plain", "grpo", {}),
    ("plain", "grpo", dict(klCoef=0.1)),
    ("plain", "grpo", dict(klCoef=0.1, klImportance=True)),
    ("plain", "grpo", dict(klCoef=0.1, kl="k2")),
    ("plain", "grpo", dict(klCoef=0.1, kl="k1", klImportance=True)),
    ("plain", "grpo", dict(oldPolicy="trainer")),
    ("plain", "grpo", dict(oldPolicy="trainer", importanceSampling="truncated", importanceCap=1.2)),
    ("plain", "grpo", dict(oldPolicy="trainer", importanceSampling="masked", importanceCap=1.2)),
    ("plain", "grpo", dict(oldPolicy="trainer", importanceSampling="truncated", importanceCap=1.1)),
    ("plain", "grpo", dict(baseline="leave-one-out", advantageScale="none", aggregation="token-mean")),
    ("plain", "atropos", {}),
    ("plain", "dr-grpo", dict(divisorTokens=12)),
    ("plain", "dapo", {}),
    ("plain", "cispo", dict(clipHigh=0.1)),
    ("plain", "cispo", dict(clipLow=0.1, clipHigh=0.2)),
    ("plain", "gspo", {}),
    ("plain", "gspo", dict(clipLow=0.05, clipHigh=0.05)),
    ("plain", "dppo", dict(clipLow=0.002, clipHigh=0.002, ratioCap=1.2)),
    ("plain", "sft", {}),
    ("switches", "grpo", {}),
    ("switches", "dapo", {}),
    ("switches", "gspo", dict(clipLow=0.05, clipHigh=0.05, klCoef=0.05)),
    ("tokens", "grpo", {}),
    ("tokens", "dr-grpo", dict(divisorTokens=10)),
    ("teacher", "distill", {}),
]


def packed(array):
    return base64.b64encode(np.asarray(array, dtype="<f4").tobytes()).decode()


trl_distillation()
results = []
for batch, preset, given in cases:
    settings = {**defaults, **presets[preset], **given}
    loss = our_loss(preset, batches[batch], settings)
    gradient = gradient_of(loss)
    entry = {"batch": batch, "settings": {"preset": preset, **given}, "loss": loss.item(), "gradient": packed(gradient)}
    theirs = trl_loss(preset, batches[batch], settings)
    if preset == "sft":
        assert abs(transformers_cross_entropy(batches[batch]).item() - loss.item()) < 1e-5  # transformers computes it in float32
    if theirs is not None:
        their_gradient = gradient_of(theirs)
        entry["trl"] = theirs.item()
        distance = np.linalg.norm(their_gradient - gradient) / np.linalg.norm(gradient)
        assert abs(theirs.item() - loss.item()) < 1e-9 * max(1, abs(loss.item())), (preset, given, theirs, loss)
        assert distance < 1e-8, (preset, given, distance)
    assert np.linalg.norm(gradient) > 0 and math.isfinite(loss.item())
    results.append(entry)
    print(f"{batch:9} {preset:8} {given} loss {loss.item():.6f} gradient {np.linalg.norm(gradient):.4f} trl {'yes' if theirs is not None else 'no'}")

output.write_text(
    json.dumps(
        {
            "lora": {"r": rank, "alpha": alpha},
            "names": sorted(lora),
            "theta": {name: packed(parameter.detach().numpy().ravel()) for name, parameter in lora.items()},
            "batches": batches,
            "cases": results,
        }
    )
    + "\n"
)
print(output, output.stat().st_size, "bytes")

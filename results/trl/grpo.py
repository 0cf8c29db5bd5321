"""The task `capitals` of results/ in TRL's GRPOTrainer: grpo.py MODEL STEPS SEED OUT.jsonl [LENGTH [BATCH]].

Same countries, prompt, score, group and batch size, learning rate, warm-up, adapter, answer length and optimizer as `atropos up` there.
With a LENGTH of tokens the task is that of stories.ts, whose answers fill it. BATCH: answers per forward pass of the update (default: all 32).
Writes the mean reward by step with wall and processor seconds since the first step began. Needs trl, datasets and peft.
"""

import json
import re
import resource
import sys
import time
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

model, steps, seed, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
length = int(sys.argv[5]) if len(sys.argv) > 5 else None
batch = int(sys.argv[6]) if len(sys.argv) > 6 else 32
torch.set_num_threads(2)

source = open("examples/models/capitals.ts", encoding="utf-8").read()
table = re.search(r"const table = `([^`]*)`", source)
assert table is not None
entries = [entry.split(" ") for entry in re.split(r",\s+", table.group(1))]
rows = [(country, capital.replace("-", " ").replace("Port au Prince", "Port-au-Prince")) for country, capital in entries]
training = [row for index, row in enumerate(rows) if index % 5 != 0]


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_](?:[^\W\d_]|['-])*", text.lower())


def score(answer: str, capital: str) -> float:
    given, right = words(answer), words(capital)
    if given == right:
        return 1.0
    if f" {' '.join(right)} " in f" {' '.join(given)} ":
        return 0.3
    return 0.1 if len(given) == 1 else 0.0


def variety(answer: str) -> float:
    return min(1.0, len(set(re.findall(r"[a-z]+", answer.lower()))) / 300)


def scores(completions: list[Any], capital: list[str], **_: Any) -> list[float]:
    answers = [one[0]["content"] for one in completions]
    return [variety(one) for one in answers] if length else [score(one, right) for one, right in zip(answers, capital)]


def prompt(country: str) -> str:
    if length:
        return f"Write a long story about a journey through {country}."
    return f"What is the capital of {country}? Answer with one word."


class Curve(TrainerCallback):
    began = cpu = 0.0

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.began, self.cpu = time.monotonic(), time.process_time()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        if logs is None or "reward" not in logs:
            return
        row = {
            "step": state.global_step,
            "reward/mean": logs["reward"],
            "answer_tokens": logs["completions/mean_length"],
            "seconds": time.monotonic() - self.began,
            "processor_seconds": time.process_time() - self.cpu,
            "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        with open(out, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


GRPOTrainer(
    model=model,
    args=GRPOConfig(
        output_dir="/tmp/trl-capitals",
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=32 // batch,
        num_generations=8,
        max_completion_length=length or 16,
        max_steps=steps,
        learning_rate=5e-4,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=2,
        adam_beta2=0.95,
        max_grad_norm=1.0,
        temperature=1.0,
        beta=0.0,
        loss_type="dapo",
        bf16=False,
        seed=seed,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
    ),
    train_dataset=Dataset.from_list(
        [
            {
                "prompt": [{"role": "user", "content": prompt(country)}],
                "capital": capital,
            }
            for country, capital in training
        ]
    ),
    reward_funcs=scores,
    peft_config=LoraConfig(task_type="CAUSAL_LM", r=16, lora_alpha=32, target_modules="all-linear"),
    callbacks=[Curve()],
).train()

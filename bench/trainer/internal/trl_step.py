"""Seconds of a step of TRL's GRPOTrainer, sampling included: trl_step.py MODEL. Needs trl, datasets and peft."""

import sys
import time
from typing import Any

from datasets import Dataset
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer

STEPS = 4


def shorter_is_better(completions: list[Any], **_: Any) -> list[float]:
    return [-float(len(str(one))) for one in completions]


trainer = GRPOTrainer(
    model=sys.argv[1],
    args=GRPOConfig(
        output_dir="/tmp/trl-step",
        per_device_train_batch_size=16,
        num_generations=4,
        max_completion_length=64,
        max_steps=STEPS,
        logging_steps=1000,
        save_strategy="no",
        report_to=[],
    ),
    train_dataset=Dataset.from_dict({"prompt": [f"What is {i} + {i + 1}?" for i in range(64)]}),
    reward_funcs=shorter_is_better,
    peft_config=LoraConfig(task_type="CAUSAL_LM", r=16, lora_alpha=32, target_modules="all-linear"),
)
began = time.monotonic()
trainer.train()
tokens = trainer.state.num_input_tokens_seen
seconds = time.monotonic() - began
print(f"TRL: {STEPS} steps in {seconds:.1f} s, {tokens} tokens, {tokens / seconds:.0f} tokens/s with sampling")

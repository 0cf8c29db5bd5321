"""TRL's GRPOTrainer with an `environment_factory` on an environment of ours: `python openenv_trl.py URL FOLDER`.

The policy is a tiny Qwen3 made here, which is first shown the form of a call so that its answers reach the server.
Prints JSON: what TRL logged, and the rewards as the server gave them, by step.
"""

import json
import os
import random
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# More threads wait for each other longer than so small a model takes, the more so on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import trl
from datasets import Dataset
from openenv.core import GenericEnvClient
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer

URL, FOLDER = sys.argv[1:3]
CALLS = [f'<tool_call>\n{{"name": "{name}", "arguments": {{}}}}\n</tool_call>' for name in ("hit", "stick")]

rewards: list[float] = []
"""Of the games that came to their end, as the server gave them."""


class Blackjack:
    """A game of the server; what the policy may do are its tools."""

    def __init__(self) -> None:
        self.client = GenericEnvClient(base_url=URL).sync()
        self.client.connect()
        self.reward, self.done = 0.0, False

    def reset(self, seed: int, **kwargs: object) -> str:
        self.reward, self.done = 0.0, False
        return self.client.reset(seed=seed).observation["messages"][-1]["content"]

    def _act(self, name: str) -> str:
        if self.done:
            raise RuntimeError("the game is over")
        result = self.client.step({"message": f"<action>{name}</action>"})
        self.done = result.done
        if result.done:
            self.reward = float(result.reward)
            rewards.append(self.reward)
        return "over" if result.done else result.observation["prompt"]

    def hit(self) -> str:
        """Takes a card."""
        return self._act("hit")

    def stick(self) -> str:
        """Takes no more cards."""
        return self._act("stick")

    def get_reward(self) -> float:
        return self.reward


def tokenizer_of_bytes() -> PreTrainedTokenizerFast:
    special = ["<|endoftext|>", "<|im_end|>", "<|im_start|>"]
    symbols = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE(vocab={symbol: i for i, symbol in enumerate(symbols)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    tokenizer.add_tokens([AddedToken(call) for call in CALLS])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=special[1], pad_token=special[0])
    templates = os.path.join(os.path.dirname(trl.__file__), "chat_templates")
    with open(os.path.join(templates, "qwen3.jinja")) as file:
        fast.chat_template = file.read()
    return fast


def tiny_model(size: int) -> Qwen3ForCausalLM:
    torch.manual_seed(0)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=size, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, head_dim=16, max_position_embeddings=2048, tie_word_embeddings=True,
            bos_token_id=None, eos_token_id=1, pad_token_id=0, initializer_range=0.1,
        )
    )  # fmt: skip


def shown_the_form(model: Qwen3ForCausalLM, prompt: list[int], tokenizer: PreTrainedTokenizerFast) -> None:
    """Learns that an answer is one of the calls, but not which one."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    rows = [tokenizer.encode(call + "<|im_end|>") for call in CALLS]
    ids = torch.tensor([[*prompt, *row] for row in rows])
    labels = ids.clone()
    labels[:, : len(prompt)] = -100
    for _ in range(40):
        loss = model(ids, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


tokenizer = tokenizer_of_bytes()
model = tiny_model(len(tokenizer))
args = GRPOConfig(
    FOLDER, max_steps=5, per_device_train_batch_size=8, num_generations=8, max_completion_length=256,
    learning_rate=1e-3, use_cpu=True, bf16=False, logging_steps=1, report_to=[], save_strategy="no", seed=0,
    max_tool_calling_iterations=3, chat_template_kwargs={"enable_thinking": False},
)  # fmt: skip
rows = [{"prompt": [{"role": "user", "content": "Blackjack. "}], "seed": seed} for seed in range(16)]
trainer = GRPOTrainer(
    model,
    args=args,
    train_dataset=Dataset.from_list(rows),
    processing_class=tokenizer,
    environment_factory=Blackjack,
)
prompt = tokenizer.apply_chat_template(
    [{"role": "user", "content": "Blackjack. "}],
    tools=trainer.tools,
    add_generation_prompt=True,
    return_dict=False,
    enable_thinking=False,
    **({"chat_template": trainer.chat_template} if trainer.chat_template else {}),
)
shown_the_form(trainer.model, prompt, tokenizer)
before = trainer.model.lm_head.weight.detach().clone()
trainer.train()
change = (trainer.model.lm_head.weight - before).abs().max().item()
logs = [log for log in trainer.state.log_history if "reward" in log]
print(json.dumps({"steps": trainer.state.global_step, "logs": logs, "rewards": rewards, "change": change}))

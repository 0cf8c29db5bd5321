"""A real service, a tiny model that needs no download, and groups sampled from it."""

import json
import os
import re
import subprocess
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import pytest
import torch
from peft import LoraConfig
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig

ROOT = Path(__file__).parents[3]
COMMAND = [
    os.environ.get("ATROPOS_TEST_NODE", str(ROOT / "node_modules/.bin/node")),
    "--conditions=atropos-src",
    str(ROOT / "packages/cli/bin/atropos.js"),
]
"""The command of this repository."""


class Server:
    """A process of the command, and the address it says it is at."""

    def __init__(self, words: list[str], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        hidden = ("DATABASE_URL", "ATROPOS_TOKENS", "NODE_OPTIONS")
        env = {name: value for name, value in os.environ.items() if name not in hidden}
        env["ATROPOS_DATA_DIR"] = str(folder / "data")
        self.process = subprocess.Popen(
            [*COMMAND, *words], cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert self.process.stdout is not None
        said = []
        for line in self.process.stdout:
            said.append(line)
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                self.url = found[0]
                return
        raise RuntimeError(f"{' '.join(words)} ended:\n{''.join(said)}")

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=30)


class Run:
    """A run of the service, seen from outside."""

    def __init__(self, url: str, name: str) -> None:
        self.url, self.name = url, name

    def call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url}/v1/runs/{self.name}{path}", data, {"content-type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request) as response:
            return json.loads(response.read() or b"null")

    def submit(self, groups: list[dict[str, Any]]) -> None:
        for group in groups:
            self.call("POST", "/groups", {"key": str(uuid.uuid4()), "group": group})

    def batches(self) -> list[dict[str, Any]]:
        """Oldest first."""
        return list(reversed(self.call("GET", "/batches")["batches"]))

    def rollouts(self, batch: int) -> list[dict[str, Any]]:
        return [row for row in self.call("GET", "/rollouts?limit=1000")["rows"] if row["step"] == batch]


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = Server(["api", "--port", "0"], tmp_path_factory.mktemp("service"))
    yield server.url
    server.close()


@pytest.fixture
def run(service: str) -> Run:
    return Run(service, f"run-{uuid.uuid4().hex[:8]}")


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Qwen3 with a tokenizer of bytes."""
    folder = tmp_path_factory.mktemp("model")
    special = ["<|endoftext|>", "<|im_end|>"]
    symbols = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE(vocab={symbol: i for i, symbol in enumerate(symbols)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=special[1], pad_token=special[0])
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(symbols), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=128, tie_word_embeddings=True, bos_token_id=None,
        eos_token_id=1, pad_token_id=0, initializer_range=0.2,
    )  # fmt: skip
    Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder


def logprobs_of(folder: Path, tokens: list[int]) -> list[float]:
    """Of each token after those before it, under the model of a folder; 1, which is none, for the first."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        table = torch.log_softmax(model(torch.tensor([tokens])).logits[0], -1)
    return [1.0, *(float(table[t - 1, tokens[t]]) for t in range(1, len(tokens)))]


def group_of(
    tokens: list[list[int]], trained: list[list[bool]], scores: list[float], logprobs: list[list[float]] | None = None,
    **more: Any,
) -> dict[str, Any]:  # fmt: skip
    labels = [
        [t if yes else -100 for t, yes in zip(row, own, strict=True)] for row, own in zip(tokens, trained, strict=True)
    ]
    group = {"tokens": tokens, "masks": labels, "scores": scores, **more}
    return group if logprobs is None else {**group, "inference_logprobs": logprobs}


def simple_groups(folder: Path, count: int, size: int = 4) -> list[dict[str, Any]]:
    """Groups that differ, each with a masked token between two sampled ones."""
    groups = []
    for g in range(count):
        tokens = [[40 + g % 50, 60, 70 + i, 90, 100 + (g + i) % 80, 1] for i in range(size)]
        trained = [[False, False, True, False, True, True]] * size
        logprobs = [logprobs_of(folder, row) for row in tokens] if g == 0 else None
        scores = [float(i % 2) for i in range(size)]
        groups.append(group_of(tokens, trained, scores, logprobs or [[-5.0] * 6] * size))
    return groups


def config(folder: Path, **given: Any) -> GRPOConfig:
    return GRPOConfig(**{
        "output_dir": str(folder), "max_steps": 1, "per_device_train_batch_size": 8, "num_generations": 4,
        "learning_rate": 1e-3, "lr_scheduler_type": "constant", "logging_steps": 1, "save_strategy": "no",
        "report_to": [], "use_cpu": True, "bf16": False, "gradient_checkpointing": False, "disable_tqdm": True,
        "torch_compile": False, "seed": 1, **given,
    })  # fmt: skip


def lora() -> LoraConfig:
    return LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"])

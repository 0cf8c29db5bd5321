"""Runs the data loop of Axolotl's Atropos plugin, unmodified, on a service of ours, and compares what it makes of it.

    python axolotl_plugin.py http://localhost:8000      (a service that nothing else uses)

Needs `axolotl` and `axolotl-plugin-atropos` with what their modules import; no GPU, and no model. The plugin registers
(`AtroposPlugin.post_trainer_create`) and reads (`plugin_atropos.datasets.get_dataset`: a thread that polls `/batch`,
groups normalised, split and padded, an iterable data set). An environment of the original's protocol sends groups whose
rows are known. Prints what came, and where the plugin makes something else of a group than it says.
"""

import itertools
import json
import os
import random
import sys
import threading
import urllib.request
from importlib.metadata import version
from typing import Any

os.environ.update(AXOLOTL_DO_NOT_TRACK="1", DO_NOT_TRACK="1", CUDA_VISIBLE_DEVICES="")

import numpy as np
from axolotl.utils.dict import DictDefault
from plugin_atropos.datasets import get_dataset
from plugin_atropos.plugin import AtroposPlugin

GROUPS, SIZE, PAD = 12, 4, 0


def call(url: str, method: str, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.loads(response.read())


def groups() -> list[dict[str, Any]]:
    """Prompts of all lengths; completions that begin differently; every third has a tool's answer in its middle."""
    random.seed(1)
    made = []
    for g in range(GROUPS):
        prompt = [random.randrange(100, 200) for _ in range(3 + 9 * g)]
        tokens, masks = [], []
        for i in range(SIZE):
            answer = [10 + i, *(random.randrange(20, 90) for _ in range(2 + g + i))]
            tool = [300, 301] if g % 3 == 0 else []
            tokens.append([*prompt, *answer, *tool, 7])
            masks.append([-100] * len(prompt) + answer + [-100] * len(tool) + [7])
        scores = [random.random() for _ in range(SIZE)]
        logprobs = [[1.0 if label == -100 else -1.5 for label in row] for row in masks]
        overrides = [{"set_advantage_to_zero": g == 1 and i == 2} for i in range(SIZE)]
        made.append(dict(tokens=tokens, masks=masks, scores=scores, inference_logprobs=logprobs, overrides=overrides))
    return made


def feed(url: str, sent: list[dict[str, Any]]) -> None:
    """An environment of the original's protocol; it is let in once the trainer has polled."""
    spec = {"max_token_length": 2048, "desired_name": "known", "weight": 1.0, "group_size": SIZE}
    while (answer := call(url, "POST", "/register-env", spec))["status"] != "success":
        threading.Event().wait(0.5)
    for group in sent:
        status = call(url, "POST", "/scored_data", {**group, "env_id": answer["env_id"]})["status"]
        assert status == "received", status


def main(url: str) -> None:
    host, _, port = url.rpartition(":")
    cfg = DictDefault(
        atropos_server_host=host, atropos_server_port=int(port), atropos_starting_step=0, wandb_project="test",
        wandb_run_group="test", sequence_len=2048, output_dir="out", save_steps=5, max_steps=10, world_size=1,
        micro_batch_size=SIZE, gradient_accumulation_steps=1, trl={"num_generations": SIZE},
    )  # fmt: skip
    sent = groups()
    # As Axolotl does: the data set first, which polls from then on, and the registration once the trainer is made.
    dataset = get_dataset(cfg, PAD)
    AtroposPlugin().post_trainer_create(cfg, None)
    threading.Thread(target=feed, args=(url, sent), daemon=True).start()

    trained_prompt = trained_tools = differences = 0
    for row, group in zip(itertools.islice(iter(dataset), GROUPS), sent, strict=True):
        scores = np.array(group["scores"], np.float32)
        advantages = (scores - scores.mean()) / max(scores.std(), 1e-8)
        for i, (tokens, labels) in enumerate(zip(group["tokens"], group["masks"], strict=True)):
            kept = {name: np.array(row[name][i]) for name in row}
            prompt = kept["prompt_ids"][kept["prompt_mask"] == 1].tolist()
            completion = kept["completion_ids"][kept["completion_mask"] == 1].tolist()
            zero = group["overrides"][i]["set_advantage_to_zero"]
            expected = 0.0 if zero else float(advantages[i])
            if prompt + completion != tokens or abs(float(kept["advantages"][0]) - expected) > 1e-5:
                differences += 1
            first = next(t for t, label in enumerate(labels) if label != -100)
            trained_prompt += max(0, first - len(prompt))
            trained_tools += sum(label == -100 for label in labels[first:])
    status = call(url, "GET", "/status")
    report = {
        "axolotl": version("axolotl"), "plugin": version("axolotl-plugin-atropos"), "groups": GROUPS,
        "sequences": GROUPS * SIZE, "differences": differences, "prompt tokens trained": trained_prompt,
        "masked tokens trained": trained_tools, "service": status,
    }  # fmt: skip
    print(json.dumps(report), flush=True)
    os._exit(1 if differences > 0 else 0)  # the plugin's thread polls for ever


if __name__ == "__main__":
    main(sys.argv[1])

"""What a batch costs `integrations/trl` before TRL sees it: claimed, read, made into rows, acknowledged.

    PYTHONPATH=integrations/trl/src python bench/interop/python/trl_batches.py http://localhost:8000

The service must have no run named `trl-batches`. 12 batches of 64 sequences x 1024 tokens with log-probabilities.
"""

import statistics
import sys
import time
import uuid
from typing import Any

import numpy as np
from atropos_trl._groups import Expected, Rows, add_group, read_groups
from atropos_trl._http import Http
from atropos_trl._service import Service

BATCHES, GROUPS, SIZE, LENGTH, PROMPT = 12, 8, 8, 1024, 256


def group(random: np.random.Generator) -> dict[str, Any]:
    tokens = [random.integers(0, 30_000, LENGTH).tolist() for _ in range(SIZE)]
    logprobs = [[1.0] * PROMPT + (-random.random(LENGTH - PROMPT)).round(5).tolist() for _ in tokens]
    masks = [[-100] * PROMPT + row[PROMPT:] for row in tokens]
    return {"tokens": tokens, "masks": masks, "scores": [1.0, 0.0] * (SIZE // 2), "inference_logprobs": logprobs}


def main(url: str) -> None:
    http, random = Http(url, None, ""), np.random.default_rng(0)
    spec = {"name": "trl-batches", "batch_size": GROUPS * SIZE, "max_token_length": LENGTH, "starting_step": 0,
            "num_steps": BATCHES, "checkpoint_dir": "", "save_checkpoint_interval": 0, "wandb_group": "",
            "wandb_project": ""}  # fmt: skip
    http.call("POST", "/v1/runs", spec)
    for _ in range(BATCHES * GROUPS):
        http.call("POST", "/v1/runs/trl-batches/groups", {"key": str(uuid.uuid4()), "group": group(random)})
    service, took = Service(http, "trl-batches", 10), []
    for _ in range(BATCHES):
        start = time.perf_counter()
        answer = service.claim("bench", 60)
        claimed = time.perf_counter()
        rows = Rows()
        for one in read_groups(answer.body):
            add_group(rows, one, Expected(SIZE, 1.0, 32_000))
        read = time.perf_counter()
        service.batch(answer.headers["atropos-batch-id"], "ack", answer.headers["atropos-lease-token"])
        took.append((claimed - start, read - claimed, time.perf_counter() - read))
    claim, rows_made, ack = (1000 * statistics.median(part) for part in zip(*took, strict=True))
    print(f"claim {claim:.1f} ms, rows {rows_made:.1f} ms, ack {ack:.1f} ms (medians of {BATCHES})")


if __name__ == "__main__":
    main(sys.argv[1])

"""The data loop of the original's example trainer as it is: registers, polls, pads. Every batch is checked and written.

The package's `__init__` is passed over, for it wants CUDA libraries; `api.py`, `config.py` and `data.py` run unmodified.
Only `get_batch` is listened to, and returns what it returned. Batches count from the moment all environments were heard
of. Run in the original's root.

    python trainer.py <service> <environments> <batches> <micro batch> <micro batches per batch> <out.jsonl>
"""

import copy
import importlib
import json
import sys
import time
import types

package = types.ModuleType("example_trainer")
package.__path__ = ["example_trainer"]
sys.modules["example_trainer"] = package
api = importlib.import_module("example_trainer.api")
config_module = importlib.import_module("example_trainer.config")
data = importlib.import_module("example_trainer.data")

service, *numbers, out = sys.argv[1:]
environments, wanted, micro, accumulation = map(int, numbers)
raw_batches = []
original_get_batch = data.get_batch


def listening(url):
    answer = original_get_batch(url=url)
    if answer["batch"] is not None:
        raw_batches.append(copy.deepcopy(answer["batch"]))
    return answer


data.get_batch = listening


def check_padding(raw, padded):
    """Rows of the padded tensors are the raw sequences, shifted by one."""
    tokens, labels, advantages, temperatures, logprobs = padded
    sequences = [
        sequence
        for group in raw
        for sequence in zip(group["tokens"], group["masks"], group["inference_logprobs"], strict=True)
    ]
    assert [len(one) for one in tokens] == [micro] * accumulation, [tuple(one.shape) for one in tokens]
    rows = [row for batch in tokens for row in batch]
    label_rows = [row for batch in labels for row in batch]
    logprob_rows = [row for batch in logprobs for row in batch]
    for (ids, mask, given), row, label_row, logprob_row in zip(sequences, rows, label_rows, logprob_rows, strict=True):
        length = len(ids) - 1
        assert row[: length + 1].tolist()[:length] == ids[:-1], "token ids"
        assert label_row[:length].tolist() == mask[1:], "masks"
        assert (label_row[length:] == -100).all(), "masks of the padding"
        assert all(abs(a - b) < 1e-5 for a, b in zip(logprob_row[:length].tolist(), given[1:], strict=True)), "logprobs"
    assert sum(one.numel() for one in advantages) == sum(one.numel() for one in temperatures) == micro * accumulation


config = config_module.TrainingConfig(
    model_name="none",
    batch_size=micro,
    gradient_accumulation_steps=accumulation,
    training_steps=wanted,
    seq_len=4096,
    atropos_url=service,
    wandb_project="interop",
    wandb_group="interop",
)
assert api.check_atropos_api(url=config.atropos_url, timeout=30)
api.register_trainer(config)
started = time.time()
heard_of = set()
done = 0
with open(out, "w") as file:
    while done < wanted:
        batches, _ = data.get_data(
            config.batch_size, config.seq_len, config.atropos_url, extract_inference_logprobs=True
        )
        for raw, padded in zip(raw_batches, batches, strict=True):
            check_padding(raw, padded)
            file.write(json.dumps(raw) + "\n")
            heard_of.update(group["env_id"] for group in raw)
            done += len(heard_of) == environments
        raw_batches.clear()
        print(f"{done} batches after {time.time() - started:.1f} s", flush=True)

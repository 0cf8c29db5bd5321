"""The official SDK against `atropos tinker`: argv has the server's URL, the model and what to do; prints JSON."""
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["TINKER_API_KEY"] = "tml-local"
os.environ["TINKER_TELEMETRY"] = "0"
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import tinker
from tinker import types

url, model = sys.argv[1:3]
text = [5, 6, 7, 8, 9, 5, 6, 7]


def datum(tokens, **inputs):
    return types.Datum(
        model_input=types.ModelInput.from_ints(tokens[:-1]),
        loss_fn_inputs={"target_tokens": np.array(tokens[1:], dtype=np.int64), **inputs},
    )


def weighted(tokens):
    return datum(tokens, weights=np.ones(len(tokens) - 1, dtype=np.float32))


service = tinker.ServiceClient(base_url=url)
training = service.create_lora_training_client(base_model=model, rank=4, seed=7)
training = training.result() if hasattr(training, "result") else training

losses, logprobs = [], []
for _ in range(20):
    computed = training.forward_backward([weighted(text), weighted(text[:4])], "cross_entropy")
    stepped = training.optim_step(types.AdamParams(learning_rate=0.003))
    result = computed.result()
    stepped.result()
    losses.append(result.metrics["loss:sum"])
    logprobs.append([output["logprobs"].tolist() for output in result.loss_fn_outputs])

sampler = training.save_weights_and_get_sampling_client()
sampler = sampler.result() if hasattr(sampler, "result") else sampler
prompt = types.ModelInput.from_ints(text[:4])
params = types.SamplingParams(max_tokens=6, temperature=1.0, seed=1, stop=[1])
samples = sampler.sample(prompt=prompt, num_samples=3, sampling_params=params).result().sequences
scored = sampler.compute_logprobs(types.ModelInput.from_ints(text)).result()
forward = training.forward([weighted(text)], "cross_entropy").result().loss_fn_outputs[0]["logprobs"].tolist()


def rollout(sequence, advantage):
    tokens = text[:4] + list(sequence.tokens)
    known = [0.0] * 3
    return datum(
        tokens,
        logprobs=np.array(known + list(sequence.logprobs), dtype=np.float32),
        advantages=np.array(known + [advantage] * len(sequence.tokens), dtype=np.float32),
    )


builtin = {}
for loss, config in [
    ("importance_sampling", None),
    ("ppo", {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}),
    ("cispo", {"clip_low_threshold": 0.0, "clip_high_threshold": 4.0}),
    ("dro", {"beta": 0.05}),
]:
    data = [rollout(sequence, at - 1.0) for at, sequence in enumerate(samples)]
    builtin[loss] = training.forward_backward(data, loss, config).result().metrics["loss:sum"]
norm = training.optim_step(types.AdamParams(learning_rate=1e-3)).result().metrics["grad_norm:max"]

custom = None
try:
    import torch

    def squares(data, logprobs):
        loss = sum((one**2).sum() for one in logprobs)
        return loss, {"squares": float(loss)}

    custom = training.forward_backward_custom([datum(text)], squares).result().metrics
    training.optim_step(types.AdamParams(learning_rate=1e-3)).result()
except ImportError:
    pass

saved = training.save_state("end").result().path
last = training.forward([weighted(text)], "cross_entropy").result().metrics["loss:sum"]
restored = service.create_training_client_from_state_with_optimizer(saved)
restored = restored.result() if hasattr(restored, "result") else restored
again = restored.forward([weighted(text)], "cross_entropy").result().metrics["loss:sum"]

try:
    service.create_lora_training_client(base_model="Qwen/Qwen3-8B", rank=4).get_info()
    refused = None
except Exception as error:
    refused = str(error)

print(
    json.dumps(
        {
            "version": tinker.__version__ if hasattr(tinker, "__version__") else "",
            "losses": losses,
            "logprobs": logprobs,
            "samples": [[list(one.tokens), one.stop_reason] for one in samples],
            "scored": scored,
            "forward": forward,
            "builtin": builtin,
            "norm": norm,
            "custom": custom,
            "saved": saved,
            "last": last,
            "again": again,
            "refused": refused,
        }
    )
)

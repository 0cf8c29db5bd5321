"""The reference of the trainer's benchmarks: PyTorch, transformers and PEFT on the same checkpoint, the same work.

    python reference.py train FOLDER STEPS [DEVICE [BATCH LENGTH]]
        GRPO steps on a LoRA adapter (r = 16, all linear layers); batch 4 x 256 unless told. DEVICE cpu (float32) or cuda (bfloat16).
    python reference.py generate FOLDER BATCH TOKENS
        sampling with a KV cache from prompts of 32 tokens

FOLDER holds a Hugging Face model (`Checkpoint.ts` makes them).

Prints one line of JSON: seconds per step, tokens per second, peak memory in bytes.
"""

import json
import os
import resource
import sys
import time

import torch

def load(folder, device="cpu", dtype=torch.float32):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).to(device)


def train(folder, steps, device="cpu", batch=4, length=256):
    from peft import LoraConfig, get_peft_model

    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    model = get_peft_model(load(folder, device, dtype), LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", lora_dropout=0.0))
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    generator = torch.Generator().manual_seed(1)
    vocabulary = model.config.vocab_size
    seconds = []
    for step in range(steps + 1):
        ids = torch.randint(0, vocabulary, (batch, length + 1), generator=generator).to(device)
        advantages = torch.randn((batch, 1), generator=generator).to(device)
        if device != "cpu":
            torch.cuda.synchronize()
        start = time.perf_counter()
        logits = model(input_ids=ids[:, :-1]).logits.float()
        logprobs = torch.gather(torch.log_softmax(logits, -1), -1, ids[:, 1:, None])[..., 0]
        old = logprobs.detach()
        ratio = torch.exp(logprobs - old)
        objective = torch.minimum(ratio * advantages, torch.clamp(ratio, 0.8, 1.28) * advantages)
        loss = -objective.mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if device != "cpu":
            torch.cuda.synchronize()
        if step > 0:
            seconds.append(time.perf_counter() - start)
    best = min(seconds)
    memory = torch.cuda.max_memory_allocated() if device != "cpu" else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"secondsPerStep": best, "tokensPerSecond": batch * length / best, "peakBytes": memory}))


def generate(folder, batch, tokens):
    model = load(folder)
    ids = torch.randint(0, model.config.vocab_size, (batch, 32), generator=torch.Generator().manual_seed(2))
    options = dict(attention_mask=torch.ones_like(ids), do_sample=True, top_k=0, max_new_tokens=tokens, min_new_tokens=tokens, pad_token_id=0)
    with torch.no_grad():
        model.generate(ids, **{**options, "max_new_tokens": 4, "min_new_tokens": 4})
        best = None
        for _ in range(2):
            start = time.perf_counter()
            model.generate(ids, **options)
            seconds = time.perf_counter() - start
            best = seconds if best is None else min(best, seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"tokensPerSecond": batch * tokens / best, "peakBytes": peak}))


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("THREADS", os.cpu_count())))
    command, *rest = sys.argv[1:]
    if command == "train":
        train(rest[0], int(rest[1]), *rest[2:3], *map(int, rest[3:5]))
    elif command == "generate":
        generate(rest[0], int(rest[1]), int(rest[2]))
    else:
        raise SystemExit(__doc__)

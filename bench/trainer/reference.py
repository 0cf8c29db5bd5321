"""The reference of the trainer's benchmarks: PyTorch, transformers and PEFT on the same checkpoint, the same work.

    python reference.py train FOLDER STEPS [DEVICE [BATCH LENGTH]]
        GRPO steps on a LoRA adapter (r = 16, all linear layers); batch 4 x 256 unless told. DEVICE cpu (float32) or cuda (bfloat16).
        STEPS come after a first one that is not measured; 0 measures that one alone.
        With SPARING=1 every layer is computed again in the backward pass (gradient checkpointing), and the vocabulary's products
        too, in chunks of 512 positions: without that, the logits of 8,192 positions alone take 5 GB, four times.
    python reference.py generate FOLDER BATCH TOKENS [greedy|sampled [DEVICE]]
        with a KV cache, from prompts of 32 tokens; on cuda in bfloat16

FOLDER holds a Hugging Face model (`Checkpoint.ts` makes them).

THREADS is the number of threads, one for each core unless told.

Attention is PyTorch's own (SDPA).

Prints one line of JSON: seconds per step, processor seconds, tokens per second, peak memory in bytes: of the process on
the CPU, of PyTorch's tensors on a device.
"""

import json
import os
import resource
import sys
import time

import torch

def load(folder, device):
    from transformers import AutoModelForCausalLM

    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="sdpa").to(device)


def wait(device):
    if device != "cpu":
        torch.cuda.synchronize()


def peak_bytes(device):
    if device != "cpu":
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def chosen(logits, targets):
    return torch.gather(torch.log_softmax(logits.float(), -1), -1, targets[..., None])[..., 0]


def in_chunks(model, ids, size=512):
    from torch.utils.checkpoint import checkpoint

    causal = model.get_base_model()
    hidden = causal.model(input_ids=ids[:, :-1]).last_hidden_state
    part = lambda h, targets: chosen(causal.lm_head(h), targets)
    parts = [
        checkpoint(part, hidden[:, at : at + size], ids[:, 1 + at : 1 + at + size][:, : hidden.shape[1] - at], use_reentrant=False)
        for at in range(0, hidden.shape[1], size)
    ]
    return torch.cat(parts, 1)


def train(folder, steps, device="cpu", batch=4, length=256):
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(load(folder, device), LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", lora_dropout=0.0))
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    generator = torch.Generator().manual_seed(1)
    vocabulary = model.config.vocab_size
    is_sparing = os.environ.get("SPARING") == "1"
    if is_sparing:
        model.enable_input_require_grads()
        model.gradient_checkpointing_enable({"use_reentrant": False})
        # transformers checkpoints in training mode alone, and loads models in the other.
        model.train()
    seconds, processor = [], []
    for step in range(steps + 1):
        ids = torch.randint(0, vocabulary, (batch, length + 1), generator=generator).to(device)
        advantages = torch.randn((batch, 1), generator=generator).to(device)
        wait(device)
        start, before = time.perf_counter(), time.process_time()
        logprobs = in_chunks(model, ids) if is_sparing else chosen(model(input_ids=ids[:, :-1]).logits, ids[:, 1:])
        old = logprobs.detach()
        ratio = torch.exp(logprobs - old)
        objective = torch.minimum(ratio * advantages, torch.clamp(ratio, 0.8, 1.28) * advantages)
        loss = -objective.mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        wait(device)
        if step > 0 or steps == 0:
            seconds.append(time.perf_counter() - start)
            processor.append(time.process_time() - before)
    best = min(seconds)
    rate = batch * length / best
    print(json.dumps({"secondsPerStep": best, "processorSeconds": min(processor), "tokensPerSecond": rate, "peakBytes": peak_bytes(device)}))


def generate(folder, batch, tokens, how="sampled", device="cpu"):
    model = load(folder, device)
    ids = torch.randint(0, model.config.vocab_size, (batch, 32), generator=torch.Generator().manual_seed(2)).to(device)
    choice = dict(do_sample=False) if how == "greedy" else dict(do_sample=True, top_k=0)
    options = dict(attention_mask=torch.ones_like(ids), max_new_tokens=tokens, min_new_tokens=tokens, pad_token_id=0, **choice)
    with torch.no_grad():
        model.generate(ids, **{**options, "max_new_tokens": 4, "min_new_tokens": 4})
        wait(device)
        seconds, processor = [], []
        for _ in range(2):
            start, before = time.perf_counter(), time.process_time()
            model.generate(ids, **options)
            wait(device)
            seconds.append(time.perf_counter() - start)
            processor.append(time.process_time() - before)
        best = min(seconds)
    print(json.dumps({"tokensPerSecond": batch * tokens / best, "processorSeconds": min(processor), "peakBytes": peak_bytes(device)}))


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("THREADS", os.cpu_count())))
    command, *rest = sys.argv[1:]
    if command == "train":
        train(rest[0], int(rest[1]), *rest[2:3], *map(int, rest[3:5]))
    elif command == "generate":
        generate(rest[0], int(rest[1]), int(rest[2]), *rest[3:5])
    else:
        raise SystemExit(__doc__)

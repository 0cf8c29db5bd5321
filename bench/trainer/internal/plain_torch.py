"""A plain loop over PyTorch and PEFT: padded batch, whole logits, the clipped objective. plain_torch.py MODEL STEPS LENGTH…

Prints, as JSON, processor seconds and seconds by the clock of the fastest step, and peak memory in bytes."""

import json
import os
import resource
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

model, steps, lengths = sys.argv[1], int(sys.argv[2]), [int(word) for word in sys.argv[3:]]
has_gpu = torch.cuda.is_available()
device = torch.device("cuda" if has_gpu else "cpu")
dtype = torch.bfloat16 if has_gpu else torch.float32
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
torch.manual_seed(0)
base = AutoModelForCausalLM.from_pretrained(model, dtype=dtype, local_files_only=True)
vocabulary = base.config.get_text_config().vocab_size
lora = LoraConfig(task_type="CAUSAL_LM", r=16, lora_alpha=32, target_modules="all-linear")
policy = get_peft_model(base, lora).to(device).train()
trained = [one for one in policy.parameters() if one.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-5, weight_decay=0.0)
pad = torch.nn.utils.rnn.pad_sequence
ids = pad([torch.randint(0, vocabulary, (n,)) for n in lengths], batch_first=True).to(device)
mask = pad([torch.ones(n) for n in lengths], batch_first=True).to(device)
old = torch.full(ids[:, 1:].shape, -10.8, device=device)
advantages = torch.tensor([1.0 if i % 2 == 0 else -0.7 for i in range(len(lengths))], device=device)[:, None]
weights = mask[:, 1:].clone()


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


best = None
for _ in range(steps):
    before, began = processor(), time.monotonic()
    with torch.autocast(device.type, torch.bfloat16, enabled=has_gpu):
        logits = policy(input_ids=ids, attention_mask=mask.long(), use_cache=False).logits[:, :-1].float()
    logprobs = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None])[..., 0]
    ratio = (logprobs - old).clamp(-20, 20).exp()
    clipped = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
    (-(clipped * weights).sum(1).div(weights.sum(1)).mean()).backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    optimizer.zero_grad()
    if has_gpu:
        torch.cuda.synchronize()
    cost = {"seconds": processor() - before, "wall": time.monotonic() - began}
    best = cost if best is None or cost["seconds"] < best["seconds"] else best
peak = torch.cuda.max_memory_allocated() if has_gpu else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({**(best or {}), "peak": peak}))

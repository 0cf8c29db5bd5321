"""A stand-in for the original's vLLM server: tokens and logprobs on /generate, answers that are right now and then.

`GET /health`, `GET /v1/models`, `POST /generate` in the form of the original's example_trainer/vllm_api_server.py. The
question is found in the decoded prompt; its answer comes from the rows that the environments ask from. Logprobs are
random doubles of full length, so that a service that rounds is found out.

    python inference_server.py <port> <tokenizer folder> <rows.jsonl> <chance of a right answer>
"""

import asyncio
import json
import random
import sys

import uvicorn
from fastapi import FastAPI, Request
from transformers import AutoTokenizer

port, tokenizer_folder, rows_file, chance = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
with open(rows_file) as file:
    rows = [json.loads(line) for line in file]
answers = {row["question"].strip(): row["answer"].split("#")[-1].strip().replace(",", "") for row in rows}
words = "so we add the two numbers and then take half of what is left which gives us more than before".split()
rng = random.Random(1)
app = FastAPI()


def completion(answer: str) -> str:
    thought = " ".join(rng.choices(words, k=rng.randint(10, 60)))
    said = answer if rng.random() < float(chance) else str(rng.randint(0, 9999))
    return f"<think>{thought}</think> The answer is \\boxed{{{said}}}"


@app.get("/health")
async def health():
    return {}


@app.get("/v1/models")
async def models():
    return {"object": "list", "data": [{"id": "stand-in", "object": "model", "created": 0, "owned_by": "interop"}]}


@app.post("/generate")
async def generate(request: Request):
    body = await request.json()
    prompt_ids = body["prompt"]["prompt_token_ids"]
    prompt = tokenizer.decode(prompt_ids)
    question = prompt.rsplit("<|im_start|>user\n", 1)[-1].split("<|im_end|>", 1)[0].strip()
    answer = answers.get(question)
    if answer is None:
        raise ValueError(f"not a question of {rows_file}: {question[:200]}")
    await asyncio.sleep(0.02)
    texts = [completion(answer) for _ in range(body.get("n", 1))]
    limit = body.get("max_tokens", 1024)
    sampled = [tokenizer.encode(text, add_special_tokens=False) + [tokenizer.eos_token_id] for text in texts]
    return {
        "text": texts,
        "prompt": prompt,
        "finish_reasons": ["stop" if len(ids) <= limit else "length" for ids in sampled],
        "logprobs": [[[{str(token): -rng.expovariate(2)}] for token in ids[:limit]] for ids in sampled],
        "prompt_token_ids": prompt_ids,
        "token_ids": [ids[:limit] for ids in sampled],
    }


uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning")

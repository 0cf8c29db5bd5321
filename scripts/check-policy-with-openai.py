"""Checks a running policy server with the `openai` package of Python, unchanged.

    atropos policy --model Qwen/Qwen2.5-0.5B-Instruct --port 9010
    python scripts/check-policy-with-openai.py http://127.0.0.1:9010 [api key]

Whatever the model says, these hold: counts, shapes, streams that say what whole answers say (same seed), stop strings, logprobs of
the sampled tokens, token ids in and out, and errors of the package's own classes. Prints a line for each check; exits 1 at the first
that fails. Needs `openai` (3.54 when written).
"""

import asyncio
import sys

import openai

url = sys.argv[1].rstrip("/")
key = sys.argv[2] if len(sys.argv) > 2 else "none"
client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
messages = [{"role": "user", "content": "Say something about rivers."}]


def check(what, holds):
    print(("ok    " if holds else "FAILS ") + what)
    if not holds:
        sys.exit(1)


def raises(kind, ask):
    try:
        ask()
    except kind as error:
        return error
    return None


model = client.models.list().data[0].id
check(f"models.list names a model ({model})", bool(model))
check("models.retrieve finds it", client.models.retrieve(model).id == model)

common = dict(model=model, temperature=0.8, top_p=0.95, seed=7)
chat = client.chat.completions.create(messages=messages, n=2, max_completion_tokens=24, **common)
check("chat: two choices in order, by an assistant", [(c.index, c.message.role) for c in chat.choices] == [(0, "assistant"), (1, "assistant")])
check("chat: reasons are stop or length", all(c.finish_reason in ("stop", "length") for c in chat.choices))
usage = chat.usage
check("chat: usage adds up", usage.total_tokens == usage.prompt_tokens + usage.completion_tokens and 0 < usage.completion_tokens <= 48)
check("chat: the policy version is told", isinstance(chat.policy_version, int))

again = client.chat.completions.create(messages=messages, n=2, max_completion_tokens=24, **common)
check("chat: the same seed gives the same texts", [c.message.content for c in again.choices] == [c.message.content for c in chat.choices])

texts, roles, reasons, last = ["", ""], [], {}, None
for chunk in client.chat.completions.create(
    messages=messages, n=2, max_completion_tokens=24, stream=True, stream_options={"include_usage": True}, **common
):
    last = chunk
    for choice in chunk.choices:
        if choice.delta.role:
            roles.append(choice.index)
        texts[choice.index] += choice.delta.content or ""
        if choice.finish_reason:
            reasons[choice.index] = choice.finish_reason
check("chat stream: the same texts in pieces", texts == [c.message.content for c in chat.choices])
check("chat stream: each choice is opened once and ended once", sorted(roles) == [0, 1] and sorted(reasons) == [0, 1])
check("chat stream: usage comes last, with no choices", last.choices == [] and last.usage == usage)

told = client.chat.completions.create(messages=messages, max_tokens=8, logprobs=True, top_logprobs=3, **common)
content = told.choices[0].logprobs.content
check("chat logprobs: one for each token, never above 0", len(content) == told.usage.completion_tokens and all(t.logprob <= 0 for t in content))
check("chat logprobs: three alternatives, most likely first", all(len(t.top_logprobs) == 3 and t.top_logprobs[0].logprob >= t.top_logprobs[-1].logprob for t in content))

ids = client.completions.create(prompt="The river", max_tokens=12, extra_body={"return_token_ids": True}, logprobs=1, **common)
choice = ids.choices[0]
check("completions: token ids in and out", len(choice.prompt_token_ids) == ids.usage.prompt_tokens and len(choice.token_ids) == ids.usage.completion_tokens)
check("completions: logprobs in the old form", len(choice.logprobs.token_logprobs) == len(choice.token_ids) == len(choice.logprobs.text_offset))
by_ids = client.completions.create(prompt=choice.prompt_token_ids, max_tokens=12, **common)
check("completions: the prompt as ids gives the same text", by_ids.choices[0].text == choice.text)
several = client.completions.create(prompt=["one", "two"], n=2, max_tokens=4, **common)
check("completions: two prompts, two choices each", [c.index for c in several.choices] == [0, 1, 2, 3])
streamed = "".join(c.choices[0].text for c in client.completions.create(prompt="The river", max_tokens=12, stream=True, **common))
check("completions stream: the same text in pieces", streamed == choice.text)
echoed = client.completions.create(prompt="The river", max_tokens=0, echo=True, logprobs=0, model=model)
check("completions: echo with logprobs of the prompt", echoed.choices[0].text == "The river" and echoed.choices[0].logprobs.token_logprobs[0] is None)

text = choice.text
if len(text) > 4 and text[2:4] not in text[:3]:
    stopped = client.completions.create(prompt="The river", max_tokens=12, stop=[text[2:4]], **common)
    check("completions: ends before a stop string", stopped.choices[0].text == text[:2] and stopped.choices[0].finish_reason == "stop")

error = raises(openai.BadRequestError, lambda: client.chat.completions.create(messages=messages, logit_bias={"5": 1}, **common))
check("errors: an unsupported parameter is named", error is not None and error.param == "logit_bias")
error = raises(openai.NotFoundError, lambda: client.chat.completions.create(model="no-such-model", messages=messages))
check("errors: an unknown model", error is not None and error.code == "model_not_found")
error = raises(openai.BadRequestError, lambda: client.completions.create(model=model, prompt=[0] * 300_000, max_tokens=1))
check("errors: a prompt that is too long", error is not None and error.code == "context_length_exceeded")


async def many():
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key) as together:
        ask = lambda: together.chat.completions.create(messages=messages, max_tokens=16, **common)
        return await asyncio.gather(*(ask() for _ in range(16)))


answers = asyncio.run(many())
check("16 at once: same seed, same text, whatever else runs", len({a.choices[0].message.content for a in answers}) == 1)
print("all hold")

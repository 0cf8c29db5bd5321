"""Writes packages/core/test/fixtures/tiny-tokenizer/ and what Python's `transformers` makes of some hundred texts and chats with it.

Needs `tokenizers` and `transformers` (recorded with 0.23.3 and 5.23.0). The result is committed; run this again only to change it:
    python scripts/make-tokenizer-fixture.py
"""

import json
import pathlib
import random

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

FIXTURES = pathlib.Path(__file__).parent.parent / "packages" / "core" / "test" / "fixtures"
CORPUS = [
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May.",
    "How many clips did Natalia sell altogether in April and May? She sold 48 / 2 = 24 clips in May.",
    "The answer is \\boxed{72}. <think>Let me think step by step.</think>",
    "def add(a, b):\n    return a + b\n\n\nclass Point:\n    pass\n",
    "Größe, naïve café, Übung; 你好，世界！ こんにちは 🙂🚀 مرحبا",
    "user assistant system tool messages it's don't we'll they've I'm",
]
TEMPLATE = """\
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- '# Tools\\n' }}
{%- for tool in tools %}{{- tool | tojson }}{{- '\\n' }}{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' }}
{%- set content = message.content or '' %}
{%- if '</think>' in content and not loop.last %}{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{%- endif %}
{{- content }}
{%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- elif message.role != 'system' or not loop.first %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""


def build() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=["<|bos|>", "<|im_start|>", "<|im_end|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS * 4, trainer)
    tokenizer.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in ["<tool_call>", "</tool_call>", "<think>", "</think>"]])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|bos|> $A", special_tokens=[("<|bos|>", tokenizer.token_to_id("<|bos|>"))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|bos|>", eos_token="<|im_end|>", chat_template=TEMPLATE, clean_up_tokenization_spaces=False
    )


def texts() -> list[str]:
    random.seed(7)
    words = " ".join(CORPUS).split(" ")
    pieces = ["<|im_start|>", "<|im_end|>", "<think>", "</tool_call>", "\n", "\n\n", "  ", "\t", "'s", "…", "🙂", "é", "e\u0301", "\u00a0", "١٢٣"]
    found = ["", " ", "a", " a", "A  b", "\n", "<|bos|>", "<|im_end|>\n", "1234567890", "\u0000x", "🙂"]
    while len(found) < 300:
        parts = [random.choice(words) if random.random() < 0.75 else random.choice(pieces) for _ in range(random.randint(1, 14))]
        found.append(random.choice(["", " "]).join(parts))
    return found


def chats() -> list[dict]:
    random.seed(11)
    tools = [{"type": "function", "function": {"name": "search", "description": "Finds “it”", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}}]
    call = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": {"q": "café", "n": 3, "deep": [True, None, 1.5, {"a": "b"}]}}}
    found = []
    for _ in range(60):
        messages = [{"role": "system", "content": random.choice(CORPUS)}] if random.random() < 0.5 else []
        for _ in range(random.randint(1, 3)):
            messages.append({"role": "user", "content": random.choice(CORPUS)})
            if random.random() < 0.3:
                messages.append({"role": "assistant", "content": "Let me look.", "tool_calls": [call]})
                messages.append({"role": "tool", "tool_call_id": "call_1", "content": '{"found": 1}'})
            messages.append({"role": "assistant", "content": random.choice(["", "<think>hm\nso</think>\n\n"]) + random.choice(CORPUS)})
        if random.random() < 0.6:
            messages.pop()
        found.append({"messages": messages, "tools": tools if random.random() < 0.4 else None, "add_generation_prompt": messages[-1]["role"] != "assistant"})
    return found


def main() -> None:
    folder = FIXTURES / "tiny-tokenizer"
    tokenizer = build()
    tokenizer.save_pretrained(folder)
    expected = {
        "texts": [
            {
                "text": text,
                "ids": tokenizer.encode(text),
                "plain": tokenizer.encode(text, add_special_tokens=False),
                "decoded": tokenizer.decode(tokenizer.encode(text)),
                "skipped": tokenizer.decode(tokenizer.encode(text), skip_special_tokens=True),
            }
            for text in texts()
        ],
        "chats": [{**chat, "prompt": tokenizer.apply_chat_template(**{"conversation": chat["messages"], "tools": chat["tools"], "add_generation_prompt": chat["add_generation_prompt"], "tokenize": False})} for chat in chats()],
        "vocabulary_size": len(tokenizer),
        "bos": tokenizer.bos_token_id,
        "eos": tokenizer.eos_token_id,
    }
    for chat in expected["chats"]:
        # On the wire the arguments of a call are JSON text.
        for message in chat["messages"]:
            for call in message.get("tool_calls", []):
                if not isinstance(call["function"]["arguments"], str):
                    call["function"] = {**call["function"], "arguments": json.dumps(call["function"]["arguments"])}
    (FIXTURES / "tiny-tokenizer-expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

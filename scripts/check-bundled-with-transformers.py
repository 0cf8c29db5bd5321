"""Token ids, prompts and answers of the bundled model as Hugging Face's Python libraries have them.

    python scripts/check-bundled-with-transformers.py packages/cli/models/bundled packages/cli/test/fixtures/bundled/tokens.json
    python scripts/check-bundled-with-transformers.py packages/cli/models/bundled items.jsonl <adapter folder>

The first writes the fixture that a test of ours is held to. The second loads the model, then an adapter that `atropos up` wrote in PEFT, and
prints how many of the items (lines of {"question", "answer", "instructions"}) each solves, greedily. Needs torch, transformers and peft
(2.13.0, 5.23.0 and 0.21.2 when written).
"""

import json
import re
import sys
from pathlib import Path

import torch
from peft import PeftModel, get_peft_model_state_dict
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

TEXTS = [
    "Mia has 12 apples. Mia buys 3 bags with 4 apples in each. How many apples does Mia have now?",
    "12+7=19. 19-5=14. The answer is \\boxed{14}.<|im_end|>",
    "Solve the problem. Think briefly, then give the final number as \\boxed{number}.",
    "<|im_start|>user\nHallo, schöne Welt!  \n\n\tтест 漢字 🙂 a1b22",
    "it's  don't\r\n...((x))",
    '<tool_call>\n{"name": "calculator", "arguments": {"sum": "12+3x4"}}\n</tool_call><|im_end|>\n<|im_start|>tool\n24<|im_end|>',
]
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is 2+3?"},
    {"role": "assistant", "content": "5."},
    {"role": "user", "content": "And 4-1?"},
]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "calculator",
            "description": "Does a sum.",
            "parameters": {"type": "object", "properties": {"sum": {"type": "string"}, "digits": {"type": "integer"}}},
        },
    },
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
    {"type": "function", "function": {"name": "bare"}},
]


def called(name, **arguments):
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


CALLS = [
    {"role": "user", "content": "What is 2+3?"},
    {"role": "assistant", "content": None, "tool_calls": [called("calculator", sum="2+3", digits=1)]},
    {"role": "tool", "tool_call_id": "call_1", "content": "5"},
    {"role": "assistant", "content": "Once more.", "tool_calls": [called("now"), called("calculator", sum='"ä" <b>')]},
    {"role": "tool", "tool_call_id": "call_1", "content": "12:30"},
]
SYSTEM = {"role": "system", "content": "Be brief."}

folder, items = Path(sys.argv[1]), Path(sys.argv[2])
tokenizer = AutoTokenizer.from_pretrained(folder)


def prompt(messages, tools=None):
    return tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=True)


def solved(model, rows):
    count = 0
    for row in rows:
        chat = [{"role": "system", "content": row["instructions"]}, {"role": "user", "content": row["question"]}]
        ids = tokenizer(prompt(chat), add_special_tokens=False, return_tensors="pt")
        out = model.generate(**ids, do_sample=False, max_new_tokens=64, pad_token_id=tokenizer.pad_token_id)
        text = tokenizer.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
        boxed = re.findall(r"\\boxed\{(-?\d+)\}", text) or re.findall(r"-?\d+", text)
        count += bool(boxed) and int(boxed[-1]) == row["answer"]
    return count


if len(sys.argv) == 3:
    fixture = {
        "texts": [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False)} for text in TEXTS],
        "chats": [
            {"messages": chat, "tools": tools, "prompt": prompt(chat, tools or None)}
            for chat, tools in [(CHAT, []), (CHAT, TOOLS), (CALLS, TOOLS), ([SYSTEM, *CALLS], TOOLS[:1]), (CALLS, [])]
        ],
    }
    items.parent.mkdir(parents=True, exist_ok=True)
    items.write_text(json.dumps(fixture) + "\n")
else:
    rows = [json.loads(line) for line in items.read_text().splitlines()]
    model, info = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    assert not any(info.values()), info
    print(f"without adapter: {solved(model.eval(), rows)} of {len(rows)}")
    adapter = Path(sys.argv[3])
    model = PeftModel.from_pretrained(model, adapter).eval()
    stored, taken = load_file(adapter / "adapter_model.safetensors"), get_peft_model_state_dict(model)
    assert taken.keys() == stored.keys(), sorted(taken.keys() ^ stored.keys())
    print(f"with adapter: {solved(model, rows)} of {len(rows)}; {len(stored)} tensors taken")

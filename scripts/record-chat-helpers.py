"""Records what the original makes of chats: packages/core/test/fixtures/chat-helpers.json.

Runs the original's tokenize_for_trainer, truncate_thinking, strip_thinking, ensure_trajectory_token_limit and parse_tool_call with
the tokenizer of packages/core/test/fixtures/tiny-tokenizer. Needs an installation of the original (NousResearch/atropos) and:
    PYTHONPATH=<checkout of the original> python scripts/record-chat-helpers.py
"""

import copy
import json
import logging
import pathlib
import random

from atroposlib.utils.message_history_utils import ensure_trajectory_token_limit, strip_thinking, truncate_thinking
from atroposlib.utils.tokenize_for_trainer import tokenize_for_trainer
from atroposlib.utils.tool_call_parser import parse_tool_call
from transformers import AutoTokenizer

FIXTURES = pathlib.Path(__file__).parent.parent / "packages" / "core" / "test" / "fixtures"
WORDS = "Natalia sold clips to 48 of her friends in April and then she sold half as many <think> in May </think>".split()


class Tokens:
    """The tokenizer with the answer that the original was written for: ids, not a dictionary of them."""

    def __init__(self, inner):
        self.inner = inner
        self.eos_token_id = inner.eos_token_id

    def apply_chat_template(self, chat, tokenize=True, add_generation_prompt=False):
        return self.inner.apply_chat_template(chat, tokenize=tokenize, add_generation_prompt=add_generation_prompt, return_dict=False)

    def encode(self, text, add_special_tokens=True):
        return self.inner.encode(text, add_special_tokens=add_special_tokens)

    def decode(self, ids, skip_special_tokens=False):
        return self.inner.decode(ids, skip_special_tokens=skip_special_tokens)


def words(count: int) -> str:
    return " ".join(random.choice(WORDS[:15]) for _ in range(count))


def masks(tokenizer) -> list[dict]:
    found = []
    for _ in range(40):
        chat = [{"role": "system", "content": words(4)}] if random.random() < 0.5 else []
        for _ in range(random.randint(1, 3)):
            chat += [{"role": "user", "content": words(5)}, {"role": "assistant", "content": words(random.randint(0, 6))}]
        for every in (False, True):
            result = tokenize_for_trainer(tokenizer, chat, train_on_all_assistant_turns=every)
            found.append({"messages": chat, "all": every, "tokens": result["tokens"], "masks": result["masks"]})
    return found


def thinking(tokenizer) -> list[dict]:
    found = []
    for _ in range(120):
        pieces = [random.choice(["<think>", "</think>", "\n\n", "\n", " ", "  ", words(random.randint(1, 6))]) for _ in range(random.randint(1, 10))]
        text = random.choice(["", "<think>"]) + "".join(pieces) + random.choice(["", "</think> end"])
        limit = random.randint(0, 12)
        found.append({"text": text, "max": limit, "truncated": truncate_thinking(text, tokenizer, limit), "stripped": strip_thinking(text)})
    return found


def limits(tokenizer) -> list[dict]:
    found = []
    for _ in range(60):
        steps = []
        for seed in range(random.randint(1, 3)):
            turns = random.randint(1, 5)
            chats = []
            for _ in range(random.randint(1, 3)):
                chat = [{"role": "system", "content": words(3)}]
                for _ in range(turns):
                    chat.append({"role": random.choice(["environment", "environment", "user"]), "content": words(4)})
                    if random.random() < 0.85:
                        chat.append({"role": "assistant", "content": words(random.randint(1, 5))})
                if chat[-1]["role"] != "assistant":
                    chat.append({"role": "assistant", "content": words(2)})
                chats.append(chat)
            rendered = [tokenize_for_trainer(tokenizer, chat) for chat in chats]
            step = {
                "seed": seed,
                "messages": chats,
                "tokens": [one["tokens"] for one in rendered],
                "masks": [one["masks"] for one in rendered],
                "scores": [random.random() for _ in chats],
                "parsed_actions": [0 for _ in chats],
            }
            if random.random() < 0.1:
                del step["parsed_actions"]
            steps.append(step)
        limit = random.randint(20, 90)
        found.append({"max": limit, "steps": steps, "kept": ensure_trajectory_token_limit(copy.deepcopy(steps), tokenizer, limit)})
    return found


def calls() -> list[dict]:
    bodies = ['{"name": "f", "arguments": {"a": [1, 2.5, null, true]}}', "{'name': 'g', 'arguments': {'x': 'y'}}", '{"arguments": {}}', '{"name": ""}', "[1]", "", "  ", '{"name": "f", "arguments": "raw"}', '{"name": "f", "arguments": {"t": "a\nb"}}', "{\"name\": \"f\",}", "null"]
    found = []
    for body in bodies:
        for text in (f"<tool_call>{body}</tool_call>", f"<x>{body}</x> <tool_call>{body}</tool_call>", f"<tool_call>{body}", f"a<tool_call>\n{body}\n</tool_call>b"):
            for tools, tags in ((None, None), ([{"name": "f"}, {"type": "function", "function": {"name": "g"}}, 5], None), (None, ["x", "tool_call"])):
                found.append({"text": text, "tools": tools, "tags": tags, "result": parse_tool_call(text, tools, tags)})
    return found


def main() -> None:
    logging.disable(logging.CRITICAL)
    random.seed(5)
    tokenizer = Tokens(AutoTokenizer.from_pretrained(FIXTURES / "tiny-tokenizer"))
    recorded = {"masks": masks(tokenizer), "thinking": thinking(tokenizer), "limits": limits(tokenizer), "calls": calls()}
    (FIXTURES / "chat-helpers.json").write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

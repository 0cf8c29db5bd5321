"""Records what the original makes of chats: packages/core/test/fixtures/chat-helpers.json.

Runs the original's tokenize_for_trainer, truncate_thinking and strip_thinking with the tokenizer of
packages/core/test/fixtures/tiny-tokenizer. Needs an installation of the original (NousResearch/atropos) and:
    PYTHONPATH=<checkout of the original> python scripts/record-chat-helpers.py
"""

import json
import logging
import pathlib
import random

from atroposlib.utils.message_history_utils import strip_thinking, truncate_thinking
from atroposlib.utils.tokenize_for_trainer import tokenize_for_trainer
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


def main() -> None:
    logging.disable(logging.CRITICAL)
    random.seed(5)
    tokenizer = Tokens(AutoTokenizer.from_pretrained(FIXTURES / "tiny-tokenizer"))
    recorded = {"masks": masks(tokenizer), "thinking": thinking(tokenizer)}
    (FIXTURES / "chat-helpers.json").write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

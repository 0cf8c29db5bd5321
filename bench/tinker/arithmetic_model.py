"""
A small Qwen3 for the arithmetic recipe of tinker-cookbook: python arithmetic_model.py FOLDER [SHARE_OF_RIGHT_SAMPLES].

Trained on the recipe's own questions in the form of its renderer `role_colon`, until about that share of samples is
right (0.5: 800 steps, a few minutes on an idle core). Needs torch and transformers; downloads nothing.
"""

import random
import re
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

folder = sys.argv[1]
goal = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
torch.manual_seed(0)
drawn = random.Random(0)

# Digits one by one; what the template repeats becomes a few tokens.
bpe = Tokenizer(models.BPE(unk_token=None))
bpe.pre_tokenizer = pre_tokenizers.Sequence(
    [
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
)
bpe.decoder = decoders.ByteLevel()
pieces = ["User:", " What is 4 + 5?\n\n", "Assistant:", " 9\n\n"]
alphabet = pre_tokenizers.ByteLevel.alphabet()
bpe.train_from_iterator(
    pieces * 50, trainers.BpeTrainer(vocab_size=320, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet)
)
end = "<|endoftext|>"
tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=end, pad_token=end)
tokenizer.save_pretrained(folder)
model = Qwen3ForCausalLM(
    Qwen3Config(
        vocab_size=320,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=32,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
).float()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.98), weight_decay=0.01)


def question():
    x, y = drawn.randint(0, 100), drawn.randint(0, 100)
    shot = "User: What is 4 + 5?\n\nAssistant: 9\n\n"
    return f"{shot}User: What is {x} + {y}?\n\nAssistant:", f" {x + y}\n\nUser:"


def encode(text):
    """As the renderer does: header and content apart."""
    parts = re.findall(r"User:|Assistant:|(?:(?!User:|Assistant:).)+", text, re.S)
    return [token for part in parts for token in tokenizer.encode(part, add_special_tokens=False)]


def batch(size):
    rows = [(encode(asked), encode(answer)) for asked, answer in (question() for _ in range(size))]
    length = max(len(asked) + len(answer) for asked, answer in rows)
    tokens = torch.full((size, length), tokenizer.pad_token_id)
    labels = torch.full((size, length), -100)
    for row, (asked, answer) in enumerate(rows):
        tokens[row, : len(asked) + len(answer)] = torch.tensor(asked + answer)
        labels[row, len(asked) : len(asked) + len(answer)] = torch.tensor(answer)
    return tokens, labels


@torch.no_grad()
def share_right(count=100):
    right = 0
    for _ in range(count):
        asked, answer = question()
        tokens = torch.tensor([encode(asked)])
        sampled = model.generate(
            tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=7, do_sample=True, top_k=0, temperature=1.0
        )
        right += tokenizer.decode(sampled[0, tokens.shape[1] :]).startswith(answer)
    return right / count


step = 0
while True:
    step += 1
    optimizer.param_groups[0]["lr"] = 2e-3 * min(1, step / 50)
    tokens, labels = batch(128)
    loss = model(input_ids=tokens, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 100 == 0:
        right = share_right()
        print(step, round(loss.item(), 4), right, flush=True)
        model.save_pretrained(folder)
        if right >= goal:
            break

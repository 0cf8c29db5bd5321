"""Reads what `atropos sft-gen` and `dpo-gen` write, with the programs it is written for: pyarrow, datasets and TRL's trainers.

    python scripts/check-data-sets.py [--keep FOLDER] [--original CHECKOUT] [--axolotl FOLDER]

Needs torch, transformers, datasets, trl, pyarrow; no network. It makes a tokenizer and a model of a few thousand weights, saved groups of
that tokenizer (sampled turns masked in, tool calls and examples in prompts among them), and a data set of them in every format, as text
and as messages, as JSON Lines and as parquet. Then for every one of them:

- pyarrow and datasets read the columns, with the rows that the other container has;
- SFTTrainer or DPOTrainer of TRL takes it (TRL's formats), trains two steps, and the tokens it trains on are those the model wrote;
- Axolotl's formats have what its prompt strategies read: roles and content, `train` per message, segments with labels; the labelled
  tokens are those the model wrote. With `--axolotl FOLDER` (where `pip install --no-deps --target FOLDER axolotl` put it; its prompt
  strategies need `addict` and `colorama` besides) the strategies themselves read every row, as configured in docs/data-sets.md.

With a checkout of the original, the rows of both commands are compared with those of its own functions on random groups, for every rule of
selection; where several worse sequences may be drawn the draw is random on both sides, so only what it draws from is compared.
"""
import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import types
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")

import pyarrow.parquet as parquet
import torch
from datasets import disable_progress_bars, load_dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

disable_progress_bars()

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{% if message.get('content') %}{{ message['content'] }}{% endif %}"
    "{% for call in message.get('tool_calls') or [] %}{{ '<call>' + call['function']['name'] + '</call>' }}{% endfor %}"
    "{{ '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
CORPUS = ["What is 12 + 12? Größe 🙂", "It is 24. Perhaps 24? I do not know.", "system user assistant tool look up the sum"] * 20


def make_tokenizer(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    made.chat_template = TEMPLATE
    made.save_pretrained(folder)
    return made


def make_model(tokenizer, folder):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=512, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


def render(tokenizer, chat, prompt=False):
    return tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=prompt)


def sequence(tokenizer, chat, given):
    """Tokens and masks: what the assistant wrote behind the first `given` messages is trained."""
    tokens, masks = [], []
    for index, message in enumerate(chat):
        whole = render(tokenizer, [message])
        sampled = index >= given and message["role"] == "assistant"
        head = "<|im_start|>assistant\n" if sampled else ""
        for text, trained in ((head, False), (whole[len(head):], sampled)):
            ids = tokenizer.encode(text, add_special_tokens=False)
            tokens += ids
            masks += ids if trained else [-100] * len(ids)
    return tokens, masks


def make_group(tokenizer, given, chats, scores):
    made = [sequence(tokenizer, chat, given) for chat in chats]
    return {"tokens": [t for t, _ in made], "masks": [m for _, m in made], "scores": scores, "messages": chats}


def make_groups(tokenizer):
    groups = []
    for n in range(24):
        prompt = [
            {"role": "system", "content": "Answer briefly."},
            {"role": "user", "content": "What is 1 + 1?"},
            {"role": "assistant", "content": "It is 2."},  # an example, not sampled
            {"role": "user", "content": f"What is {n} + {n}? Größe 🙂"},
        ]
        answers = [(f"It is {2 * n}.", 1.0), (f"Perhaps {2 * n}? 🙂", 0.5), ("I do not know.", 0.0), (f"It is {2 * n + 1}.", -1.0)]
        chats = [prompt + [{"role": "assistant", "content": answer}] for answer, _ in answers]
        groups.append(make_group(tokenizer, 4, chats, [score for _, score in answers]))
    return groups


def tool_group(tokenizer):
    call = {"id": "c1", "type": "function", "function": {"name": "sum", "arguments": '{"of": [20, 20]}'}}
    prompt = [{"role": "user", "content": "What is 20 + 20?"}]

    def chat(answer):
        return prompt + [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "40", "tool_call_id": "c1"},
            {"role": "assistant", "content": answer},
        ]

    return make_group(tokenizer, 1, [chat("It is 40."), chat("It is 41.")], [1.0, -1.0])


def atropos(*words):
    command = [str(ROOT / "node_modules/.bin/node"), "--conditions=atropos-src", str(ROOT / "packages/cli/bin/atropos.js")]
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"atropos {' '.join(words)} failed:\n{done.stdout}{done.stderr}")


def of_original(checkout, name):
    """The original's `sft.py` or `dpo.py`, whose imports of a web client are not needed here."""
    for module in ("jsonlines", "atroposlib", "atroposlib.utils", "atroposlib.utils.io"):
        sys.modules.setdefault(module, types.ModuleType(module))
    sys.modules["atroposlib.utils.io"].parse_http_response = None
    spec = importlib.util.spec_from_file_location(name, checkout / "atroposlib" / "cli" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.grab_group_data


def compare_with_original(folder, checkout):
    random.seed(5)
    groups = []
    for item in range(120):
        size = random.randint(1, 6)
        scores = [random.choice([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0]) for _ in range(size)]
        chats = [[{"role": "user", "content": f"q{item}"}, {"role": "assistant", "content": f"a{n}"}] for n in range(size)]
        groups.append({"scores": scores, "messages": chats})
    (folder / "random.jsonl").write_text("".join(json.dumps(group) + "\n" for group in groups))
    for kind, flag in (("sft", "--save-top-n-per-group"), ("dpo", "--save-n-pairs-per-group")):
        grab = of_original(checkout, kind)
        for most in (1, 2, 4) if kind == "sft" else (1,):
            for allowed in (False, True):
                for difference in (0.0, 0.5, 1.2):
                    wanted = [row for group in groups for row in grab(None, group, True, most, allowed, difference)]
                    out = folder / f"random-{kind}-{most}-{allowed}-{difference}.jsonl"
                    atropos(f"{kind}-gen", str(out), "--from", str(folder / "random.jsonl"), "--save-messages", "--num-seqs-to-save", "100000",
                            f"{flag}={most}", f"--minimum-score-diff-max-min={difference}", *(["--allow-negative-scores"] if allowed else []))
                    found = [json.loads(line) for line in out.read_text().splitlines()]
                    assert found == wanted, out.name
                    print(f"{kind}-gen {flag} {most}, minimum {difference}, {'all' if allowed else 'positive'} scores: {len(found)} rows, equal")


def strip(value):
    """Without keys whose value is null: parquet has a place for every key."""
    if isinstance(value, dict):
        return {key: strip(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list):
        return [strip(entry) for entry in value]
    return value


def rows_of(folder, name):
    """The rows of both containers, read by datasets; the same in both, and the parquet also by pyarrow."""
    lines = load_dataset("json", data_files=str(folder / f"{name}.jsonl"), split="train", cache_dir=str(folder / "cache"))
    packed = load_dataset("parquet", data_files=str(folder / f"{name}.parquet"), split="train", cache_dir=str(folder / "cache"))
    table = parquet.read_table(folder / f"{name}.parquet")
    assert strip(lines.to_list()) == strip(packed.to_list()) == strip(table.to_pylist()), name
    return packed


def trained_tokens(masks):
    return [token for token in masks if token != -100]


def check_sft(folder, tokenizer, dataset, name, written):
    kind = "completion" if "completion" in dataset.column_names else "text"
    config = SFTConfig(
        output_dir=str(folder / "out"), max_steps=2, per_device_train_batch_size=2, report_to=[], use_cpu=True, max_length=None,
        disable_tqdm=True, logging_strategy="no", save_strategy="no",
    )
    trainer = SFTTrainer(
        model=str(folder / "model"), args=config, train_dataset=dataset, processing_class=tokenizer
    )
    prepared = trainer.train_dataset
    if kind == "completion":
        for row, labels in zip(dataset, prepared["labels"]):
            trained = tokenizer.decode(trained_tokens(labels))
            # SFTTrainer ends a completion of text with the end-of-turn token where it does not end in it.
            assert any(trained in (text, text + tokenizer.eos_token) for text in written), (name, trained)
    trainer.train()
    return len(prepared)


def check_dpo(folder, tokenizer, dataset, name, written):
    config = DPOConfig(
        output_dir=str(folder / "out"), max_steps=2, per_device_train_batch_size=2, report_to=[], use_cpu=True, max_length=None,
        disable_tqdm=True, logging_strategy="no", save_strategy="no",
    )
    trainer = DPOTrainer(model=str(folder / "model"), args=config, train_dataset=dataset, processing_class=tokenizer)
    prepared = trainer.train_dataset
    for row in prepared:
        for side in ("chosen_ids", "rejected_ids"):
            text = tokenizer.decode(row[side])
            assert any(text in (one, one + tokenizer.eos_token) for one in written), (name, side, text)
        assert row["chosen_ids"] != row["rejected_ids"]
    trainer.train()
    return len(prepared)


ROLES = {"system", "user", "assistant", "tool"}


def check_axolotl(tokenizer, dataset, name, written):
    for row in dataset:
        if "segments" in row:  # type: input_output, tokenized segment by segment
            labelled = [segment["text"] for segment in row["segments"] if segment["label"]]
            assert labelled and all(text in written for text in labelled), (name, labelled)
        elif "chosen" in row:
            if isinstance(row["chosen"], str):  # type: {field_prompt: prompt, ...}
                assert row["chosen"] in written and row["rejected"] in written, name
            else:  # type: chat_template.default
                assert {message["role"] for message in row["messages"]} <= ROLES
                for side in ("chosen", "rejected"):
                    assert row[side]["role"] == "assistant" and isinstance(row[side]["content"], str), name
                    assert row[side]["content"] + "<|im_end|>\n" in written, name
        else:  # type: chat_template, message_field_training: train
            assert {message["role"] for message in row["messages"]} <= ROLES
            trained = [message for message in row["messages"] if message["train"]]
            assert trained and all(message["role"] == "assistant" for message in trained), name
            assert render(tokenizer, trained[-1:]).removeprefix("<|im_start|>assistant\n") in written, name
    return len(dataset)


def run_axolotl(tokenizer, dataset, name, written):
    """Axolotl's own strategies, with the configurations of docs/data-sets.md: what they train on is what the model wrote."""
    from axolotl.prompt_strategies import chat_template, input_output
    from axolotl.prompt_strategies.dpo import chat_template as dpo_chat, user_defined
    from axolotl.utils.dict import DictDefault

    texts = {tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]).rstrip() for text in written}
    is_pairs, is_chat = "chosen" in dataset.column_names, "messages" in dataset.column_names
    base = {"sequence_len": 4096, "train_on_inputs": False, "chat_template": "tokenizer_default"}
    if is_pairs:
        mapping = {"type": "chat_template.default"} if is_chat else {
            "type": {"field_prompt": "prompt", "field_chosen": "chosen", "field_rejected": "rejected", "prompt_format": "{prompt}",
                     "chosen_format": "{chosen}", "rejected_format": "{rejected}"}}
        cfg = DictDefault({**base, "rl": "dpo", "datasets": [mapping]})
        transform = dpo_chat.default(cfg)[0] if is_chat else user_defined.default(cfg)
        for row in dataset:
            read = transform(dict(row), tokenizer=tokenizer) if is_chat else transform(dict(row))
            assert read["prompt"] and read["chosen"] != read["rejected"], (name, read)
            for side in ("chosen", "rejected"):
                assert read[side].rstrip() in texts, (name, side, read[side])
        return len(dataset)
    if is_chat:
        strategy = chat_template.load(
            tokenizer, DictDefault(base), {"type": "chat_template", "message_field_training": "train", "roles_to_train": []})
    else:
        strategy = input_output.load(tokenizer, DictDefault(base))
    for row in dataset:
        read = strategy.tokenize_prompt(dict(row))
        trained = [token for token, label in zip(read["input_ids"], read["labels"]) if label != -100]
        assert len(read["input_ids"]) == len(read["labels"]) and trained, name
        # Each stretch of trained tokens is one turn of the model's.
        for stretch in stretches(read["input_ids"], read["labels"]):
            assert tokenizer.decode(stretch).rstrip() in texts, (name, tokenizer.decode(stretch))
    return len(dataset)


def stretches(tokens, labels):
    found, inside = [], False
    for token, label in zip(tokens, labels):
        if label == -100:
            inside = False
            continue
        if not inside:
            found.append([])
        inside = True
        found[-1].append(token)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--axolotl", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--original", type=Path)
    given = parser.parse_args()
    keep = given.keep
    if given.axolotl is not None:
        sys.path.insert(0, str(given.axolotl))
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer = make_tokenizer(folder / "model")
        make_model(tokenizer, folder / "model")
        groups = make_groups(tokenizer)
        tools = tool_group(tokenizer)
        everything = [*groups, tools]
        (folder / "groups.jsonl").write_text("".join(json.dumps(group) + "\n" for group in everything))
        # Text of every turn that was sampled, and of all that came behind the prompt where there were several turns.
        written = set()
        for group in everything:
            for tokens, masks in zip(group["tokens"], group["masks"]):
                start = next(index for index, label in enumerate(masks) if label != -100)
                written.add(tokenizer.decode(tokens[start:]))
                turn = []
                for token, label in zip([*tokens, -1], [*masks, -100]):
                    if label != -100:
                        turn.append(token)
                    elif turn:
                        written.add(tokenizer.decode(turn))
                        turn = []
        if given.original is not None:
            compare_with_original(folder, given.original)
        figures = []
        for command, formats in (("sft-gen", ("original", "trl", "trl-messages", "axolotl")), ("dpo-gen", ("original", "trl", "axolotl"))):
            for layout in formats:
                for form in ("text", "template", "messages"):
                    name = f"{command}-{layout}-{form}"
                    words = {
                        "text": ["--tokenizer", str(folder / "model")],
                        "template": ["--tokenizer", str(folder / "model"), "--text-from", "messages"],
                        "messages": ["--save-messages"],
                    }[form]
                    for container in ("jsonl", "parquet"):
                        atropos(command, str(folder / f"{name}.{container}"), "--from", str(folder / "groups.jsonl"), "--format", layout,
                                "--num-seqs-to-save", "1000", *words)
                    dataset = rows_of(folder, name)
                    if layout == "original":
                        rows = len(dataset)
                        done = "read"
                    elif layout == "axolotl":
                        rows = check_axolotl(tokenizer, dataset, name, written)
                        done = "held against what its strategies read"
                        if given.axolotl is not None:
                            rows = run_axolotl(tokenizer, dataset, name, written)
                            done = "read by Axolotl's strategies"
                    elif command == "sft-gen":
                        rows = check_sft(folder, tokenizer, dataset, name, written)
                        done = "trained by SFTTrainer"
                    else:
                        rows = check_dpo(folder, tokenizer, dataset, name, written)
                        done = "trained by DPOTrainer"
                    figures.append((name, rows, done, ", ".join(dataset.column_names)))
        print()
        for name, rows, done, columns in figures:
            print(f"{name:32} {rows:4} rows  {done:38}  {columns}")


main()

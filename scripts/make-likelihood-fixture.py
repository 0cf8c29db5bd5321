"""What lm-evaluation-harness makes of multiple choice with the bundled model: contexts, continuations, logprobs, verdicts.

Makes packages/cli/test/long/evaluate/likelihood.json, by which `Likelihood.test.ts` holds the suites `*-likelihood` to it, without Python.
Rows are generated here (seeded), in the published layouts; none is of a data set. The harness's own tasks read them: only
where rows come from is put in its place.

    python3.11 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.13.0
    /tmp/venv/bin/pip install lm_eval==0.4.13 transformers accelerate
    /tmp/venv/bin/python scripts/make-likelihood-fixture.py
"""

import json
import random
from importlib.metadata import version
from pathlib import Path

import datasets
import torch

ROOT = Path(__file__).resolve().parent.parent
ROWS = 12
WORDS = "river copper lantern meadow signal orbit harbor cedar violet engine marble winter thunder canyon falcon ember".split()
ODD = ["", " ", "ü", " «x»", "  ", ".", "?", "\n", " 12", " 日本"]


def texts(r, n, count):
    return [" ".join(r.choice(WORDS) for _ in range(r.randint(1, n))) + r.choice(ODD) + f" {i}" for i in range(count)]


def sentence(r, n):
    return " ".join(r.choice(WORDS) for _ in range(r.randint(2, n)))


def hellaswag(r, i):
    ctx_a = sentence(r, 8) + r.choice([".", " [header] and.", " [title] " + sentence(r, 3), "  two."])
    ctx_b = r.choice(["", "he McLean", "the " + sentence(r, 2), "ägyptian"])
    endings = [text + r.choice(["", " [step] then", " [title] so", "  x"]) for text in texts(r, 6, 4)]
    return {"ind": i, "activity_label": r.choice(["Rowing ", "Cooking"]), "ctx_a": ctx_a, "ctx_b": ctx_b, "ctx": f"{ctx_a} {ctx_b}", "endings": endings, "source_id": f"s{i}", "label": str(r.randrange(4))}


def arc(r, i):
    count = r.choice([3, 4, 4, 5])
    labels = list("ABCDE"[:count]) if r.random() < 0.7 else list("12345"[:count])
    return {"id": f"Q_{i}", "question": "Which " + sentence(r, 6) + r.choice(["?", "? ", ":"]), "choices": {"text": texts(r, 5, count), "label": labels}, "answerKey": r.choice(labels)}


def mmlu(r, i, short=True):
    subject = r.choice(["abstract_algebra", "world_religions"])
    return {"question": r.choice(["", " "]) + sentence(r, 3) + r.choice(["?", "?\n"]), "subject": subject, "choices": texts(r, 1, 4), "answer": r.randrange(4)}


LAYOUTS = {
    "hellaswag": (["hellaswag"], hellaswag),
    "arc-easy": (["arc_easy"], arc),
    "arc-challenge": (["arc_challenge"], arc),
    "openbookqa": (["openbookqa"], lambda r, i: {**{k: v for k, v in arc(r, i).items() if k != "question"}, "question_stem": sentence(r, 6)}),
    "piqa": (["piqa"], lambda r, i: {"goal": "How to " + sentence(r, 4) + "?", "sol1": texts(r, 5, 1)[0], "sol2": texts(r, 7, 1)[0], "label": r.randrange(2)}),
    "siqa": (["social_iqa"], lambda r, i: {"context": sentence(r, 8) + ".", "question": "Why " + sentence(r, 3) + "?", **dict(zip(["answerA", "answerB", "answerC"], texts(r, 5, 3))), "label": str(r.randint(1, 3))}),
    "winogrande": (["winogrande"], lambda r, i: {"sentence": f"The {sentence(r, 4)} because _{r.choice([' was ', ', being '])}{sentence(r, 3)}.{r.choice(['', ' '])}", "option1": r.choice(WORDS), "option2": "the " + r.choice(WORDS), "answer": r.choice("12")}),
    "boolq": (["boolq"], lambda r, i: {"question": "is " + sentence(r, 4), "passage": sentence(r, 20) + r.choice(["", "\n"]), "answer": r.random() < 0.5}),
    "sciq": (["sciq"], lambda r, i: {"question": "What " + sentence(r, 4) + "?", **dict(zip(["distractor1", "distractor2", "distractor3", "correct_answer"], texts(r, 3, 4))), "support": r.choice([" ", ""]) + sentence(r, 12)}),
    "commonsense-qa": (["commonsense_qa"], lambda r, i: {"id": f"c{i}", "question": sentence(r, 6) + r.choice(["?", "? "]), "question_concept": "x", "choices": {"label": list("ABCDE"), "text": texts(r, 2, 5)}, "answerKey": r.choice("ABCDE")}),
    "truthfulqa-mc1": (["truthfulqa_mc1"], lambda r, i: {"question": "Is " + sentence(r, 2) + "?", "mc1_targets": {"choices": texts(r, 3, r.randint(2, 5)), "labels": []}, "mc2_targets": {"choices": [], "labels": []}}),
    "mmlu": (["mmlu_abstract_algebra", "mmlu_world_religions"], mmlu),
}

rows, examples = {}, []
r = random.Random("likelihood-fixture")
for suite, (tasks, make) in LAYOUTS.items():
    rows[suite] = [make(r, i) for i in range(ROWS)]
    if suite == "truthfulqa-mc1":
        for row in rows[suite]:
            row["mc1_targets"]["labels"] = [1] + [0] * (len(row["mc1_targets"]["choices"]) - 1)
examples = [mmlu(r, i) for i in range(30)]

current = None


def load(path=None, name=None, **_):
    """Rows of ours in every split, in the columns the task's own data set has."""
    given = rows[current]
    if current == "boolq":  # SuperGLUE's: a label
        given = [{**row, "label": int(row["answer"])} for row in given]
    if current == "mmlu":
        given = [row for row in given if row["subject"] == name]
        shots = [row for row in examples if row["subject"] == name]
    else:
        shots = given
    return datasets.DatasetDict({split: datasets.Dataset.from_list(given) for split in ("train", "validation", "test")} | {"dev": datasets.Dataset.from_list(shots)})


datasets.load_dataset = load

from lm_eval import simple_evaluate  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

model = HFLM(pretrained=str(ROOT / "packages/cli/models/bundled"), dtype=torch.float32, device="cpu", batch_size=1)
manager = TaskManager()
suites = []
for suite, (tasks, _) in LAYOUTS.items():
    current = suite
    results = simple_evaluate(model=model, tasks=tasks, num_fewshot=5 if suite == "mmlu" else 0, log_samples=True, bootstrap_iters=0, task_manager=manager)
    cases = []
    for task in tasks:
        given = [row for row in rows[suite] if suite != "mmlu" or f"mmlu_{row['subject']}" == task]
        for sample in results["samples"][task]:
            asked = [(one["arg_0"], one["arg_1"]) for one in sample["arguments"].values()] if isinstance(sample["arguments"], dict) else sample["arguments"]
            cases.append(
                {
                    "row": given[sample["doc_id"]],
                    "choices": [{"context": context, "text": text, "logprob": round(float(response[0]), 5)} for (context, text), response in zip(asked, sample["filtered_resps"])],
                    "values": {ours: float(sample[theirs]) for theirs, ours in (("acc", "accuracy"), ("acc_norm", "accuracy_norm")) if theirs in sample},
                }
            )
    suites.append({"suite": f"{suite}-likelihood", "cases": cases})
    print(suite, len(cases), {key: sum(case["values"][key] for case in cases) / len(cases) for key in cases[0]["values"]})

path = ROOT / "packages/cli/test/long/evaluate/likelihood.json"
shots = [row for row in examples]
text = json.dumps({"reference": f"lm_eval {version('lm_eval')}", "examples": shots, "suites": suites}, ensure_ascii=False, separators=(",", ":"))
path.write_text(text.replace('{"row":', '\n{"row":') + "\n")

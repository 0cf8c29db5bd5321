"""Writes packages/core/test/fixtures/templates.json: chat templates in the manner of several families of models, and the prompts that
transformers makes of chats with them, with and without tools, system prompt and calls.

    python scripts/make-template-fixture.py

The templates are our own; each uses what its family's does: namespaces, slices, macros, filters over lists, `{% generation %}`.
Needs transformers (recorded with 5.23.0).
"""

import itertools
import json
from pathlib import Path

from transformers.utils.chat_template_utils import render_jinja_template

TO = Path(__file__).resolve().parent.parent / "packages" / "core" / "test" / "fixtures" / "templates.json"

TEMPLATES = {
    "mistral": """\
{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}
{%- else %}{%- set loop_messages = messages %}{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set user_messages = loop_messages | selectattr('role', 'equalto', 'user') | list %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if not (message.role == 'tool' or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message['role'] == 'user') != (ns.index % 2 == 0) %}{{- raise_exception('user and assistant must alternate') }}{%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message['role'] == 'user' %}
        {%- if tools is not none and (message == user_messages[-1]) %}{{- '[AVAILABLE_TOOLS]' + (tools | map(attribute='function') | list | tojson) + '[/AVAILABLE_TOOLS]' }}{%- endif %}
        {%- if loop.first and system_message is defined %}{{- '[INST]' + system_message + '\\n\\n' + message['content'] + '[/INST]' }}
        {%- else %}{{- '[INST]' + message['content'] + '[/INST]' }}{%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- '[TOOL_CALLS][' }}
        {%- for call in message.tool_calls %}
            {%- set out = call.function | tojson %}{{- out[:-1] }}
            {%- if not call.id is defined or call.id | length != 9 %}{{- raise_exception('ids have 9 characters') }}{%- endif %}
            {{- ', "id": "' + call.id + '"}' }}{{- ', ' if not loop.last else ']' + eos_token }}
        {%- endfor %}
    {%- elif message['role'] == 'assistant' %}{{- ' ' + message['content'] | trim + eos_token }}
    {%- elif message['role'] == 'tool' %}{{- '[TOOL_RESULTS]{"content": ' + message.content | string + ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
    {%- endif %}
{%- endfor %}
""",
    "gemma3": """\
{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}{%- set first = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}{%- set first = messages[0]['content'][0]['text'] + '\\n\\n' -%}{%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}{%- set first = '' -%}{%- set loop_messages = messages -%}{%- endif -%}
{%- for message in loop_messages -%}
    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
    {{ '<start_of_turn>' + role + '\\n' + (first if loop.first else '') }}
    {%- if message['content'] is string -%}{{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}{%- if item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}{%- endfor -%}
    {%- elif message.tool_calls -%}{{ '```tool_code\\n' + (message.tool_calls | map(attribute='function.name') | join(', ')) + '\\n```' }}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if tools -%}{{ tools | map(attribute='function') | map('tojson', indent=2) | join('\\n') }}{%- endif -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\\n' }}{%- endif -%}
""",
    "phi4": """\
{%- for message in messages -%}
    {%- if message['role'] == 'system' -%}{{ '<|system|>' + message['content'] }}
        {%- if tools -%}{{ '<|tool|>' + tools | map('tojson') | join(', ') + '<|/tool|>' }}{%- endif -%}{{ '<|end|>' }}
    {%- elif message.tool_calls -%}{{ '<|assistant|><|tool_call|>' + message.tool_calls | map(attribute='function') | map('tojson') | join('|') + '<|/tool_call|><|end|>' }}
    {%- else -%}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- else -%}{{ eos_token }}{%- endif -%}
""",
    "granite": """\
{%- macro part(role, text) -%}<|start_of_role|>{{ role }}<|end_of_role|>{{ text }}<|end_of_text|>
{% endmacro -%}
{%- set year = strftime_now('%Y') | int > 2000 -%}
{%- if messages[0]['role'] == 'system' -%}{%- set system = messages[0]['content'] -%}{%- set rest = messages[1:] -%}
{%- else -%}{%- set system = 'Known until April 2024.' + (' It is later.' if year else '') -%}{%- set rest = messages -%}{%- endif -%}
{{ part('system', system + ('\\nUse tools.' if tools else '')) }}
{%- if tools -%}{{ part('available_tools', tools | tojson(indent=4)) }}{%- endif -%}
{%- for message in rest -%}
    {%- if message.tool_calls -%}
        {%- set calls = namespace(all=[]) -%}
        {%- for call in message.tool_calls -%}{%- set calls.all = calls.all + [{'name': call.function.name, 'arguments': call.function.arguments}] -%}{%- endfor -%}
        {{ part('assistant', '<|tool_call|>' + calls.all | tojson) }}
    {%- else -%}{{ part(message['role'], message['content']) }}{%- endif -%}
    {%- if loop.last and add_generation_prompt -%}{{ '<|start_of_role|>assistant<|end_of_role|>' }}{%- endif -%}
{%- endfor -%}
""",
    "smollm3": """\
{%- set think = enable_thinking if enable_thinking is defined else true -%}
{%- set given = messages[0].content if messages[0].role == 'system' else '' -%}
{%- if '/no_think' in given -%}{%- set think = false -%}{%- set given = given.replace('/no_think', '').rstrip() -%}{%- endif -%}
{{ '<|im_start|>system\\n## Metadata\\n\\nReasoning Mode: ' + ('/think' if think else '/no_think') + '\\n\\n' }}
{%- if given -%}{{ '## Custom Instructions\\n\\n' + given.strip() + '\\n\\n' }}{%- endif -%}
{%- if tools -%}{{ '### Tools\\n\\n<tools>\\n' }}{%- for tool in tools -%}{{ tool | string | length > 0 and tool.function | tojson ~ '\\n' }}{%- endfor -%}{{ '</tools>\\n\\n' }}{%- endif -%}
{{ '<|im_end|>\\n' }}
{%- for message in messages if message.role != 'system' -%}
    {%- set content = message.content if message.content is string else '' -%}
    {%- if message.role == 'assistant' -%}
        {%- generation -%}{{ '<|im_start|>assistant\\n' + content.split('</think>')[-1].lstrip('\\n') }}
        {%- for call in message.tool_calls or [] -%}{{ '\\n<tool_call>' + {'name': call.function.name, 'arguments': call.function.arguments} | tojson + '</tool_call>' }}{%- endfor -%}
        {{ '<|im_end|>\\n' }}{%- endgeneration -%}
    {%- elif message.role == 'tool' -%}{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n' }}
    {%- else -%}{{ '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' + ('' if think else '<think>\\n\\n</think>\\n') }}{%- endif -%}
""",
    "olmo3": """\
{%- set has_system = messages | selectattr('role', 'equalto', 'system') | list | length > 0 -%}
{%- if not has_system -%}{{ '<|im_start|>system\\nYou are a helpful function-calling AI assistant. ' }}
    {%- if tools is none -%}{{ 'You do not currently have access to any functions. <functions></functions><|im_end|>\\n' }}
    {%- else -%}{{ '<functions>' + (tools | map('tojson') | map('replace', ': ', ':') | join('\\n')) + '</functions><|im_end|>\\n' }}{%- endif -%}
{%- endif -%}
{%- for message in messages -%}
    {%- if message['role'] == 'system' -%}{{ '<|im_start|>system\\n' + message['content'] }}
        {%- if tools is not none -%}{{ '<functions>' + (tools | map(attribute='function') | map('tojson') | unique | join('\\n')) + '</functions>' }}{%- endif -%}{{ '<|im_end|>\\n' }}
    {%- elif message['role'] == 'assistant' -%}{{ '<|im_start|>assistant\\n' }}
        {%- if message.get('content', none) is not none -%}{{ message['content'] }}{%- endif -%}
        {%- if message.get('tool_calls', none) is not none -%}{{ '<function_calls>' }}
            {%- for call in message['tool_calls'] -%}{{ call['function']['name'] + '(' }}
                {%- for name, value in call['function']['arguments'].items() -%}{{ name + '=' + value | tojson + (', ' if not loop.last else '') }}{%- endfor -%}{{ ')' }}
            {%- endfor -%}{{ '</function_calls>' }}
        {%- endif -%}
        {{ '<|im_end|>\\n' if not loop.last else eos_token }}
    {%- else -%}{{ '<|im_start|>' + ('environment' if message['role'] == 'tool' else message['role']) + '\\n' + message['content'] + '<|im_end|>\\n' }}{%- endif -%}
    {%- if loop.last and add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}
{%- endfor -%}
""",
}

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name, "description": text,
            "parameters": {"type": "object", "properties": {"at": {"type": "number", "minimum": 0.5}, "über": {"type": ["string", "null"]}}, "required": ["at"]},
        },
    }
    for name, text in [("look_up", "Looks up: <things> & \"more\"."), ("add", "It's a sum, nothing else.")]
]
SYSTEM = {"role": "system", "content": "Be brief.\n"}
TALK = [{"role": "user", "content": "  2 + 2?  "}, {"role": "assistant", "content": "<think>\neasy\n</think>\n\n 4 "}, {"role": "user", "content": "Why?"}]
CALLS = [
    {"role": "user", "content": "Look it up."},
    {
        "role": "assistant", "content": None,
        "tool_calls": [
            {"id": f"abcdefgh{at}", "type": "function", "function": {"name": "look_up", "arguments": {"at": at + 1, "über": "it's <one> & \"two\""}}}
            for at in range(2)
        ],
    },
    {"role": "tool", "tool_call_id": "abcdefgh0", "content": "found"},
    {"role": "assistant", "content": "There."},
    {"role": "user", "content": "Thanks."},
]
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}

VALUES = [
    [], {}, [1, -2.5, 1e-05, 1.5e-07, 1.25e300, True, False, None], {"a": {"b": ["c", "d e"]}, "e-f": 1},
    ["it's", 'say "a"', "it's \"both\"", "a\\b\n\t\r", "über 你好 🙂", "\x00\x7f\xa0\u200b\u2028 ", "</tool> & <b>"],
]
EXPRESSIONS = [
    *[("{{ value | string }}", value) for value in VALUES],
    # JavaScript writes numbers below 0.0001 with fewer zeros in the exponent, and so does the library's tojson.
    *[("{{ value | map('tojson') | join(';') }}", value) for value in VALUES if isinstance(value, list) and 1e-05 not in value],
    *[
        (f"[{{{{ value.{ends}({given}) }}}}]", text)
        for ends in ["strip", "lstrip", "rstrip"] for given in ["", "'\\n'", "'ab '"] for text in ["\n\n a b\n \n", "", "\n", "abba", "b🙂a", " "]
    ],
]
expressions = []
for template, value in EXPRESSIONS:
    [text], _ = render_jinja_template([[]], chat_template=template, value=value)
    expressions.append([template, value, text])

found = {}
for name, template in TEMPLATES.items():
    prompts = []
    for system, talk, tools in itertools.product([[], [SYSTEM]], [TALK, CALLS], [None, TOOLS]):
        messages = [*system, *talk]
        [prompt], _ = render_jinja_template(
            [messages], tools=tools, chat_template=template, add_generation_prompt=True, documents=None, **SPECIAL
        )
        prompts.append({"messages": messages, "tools": tools, "prompt": prompt})
    found[name] = {"template": template, "prompts": prompts}
TO.write_text(json.dumps({"families": found, "expressions": expressions}, ensure_ascii=False) + "\n", encoding="utf-8")
print(f"{TO}: {sum(len(each['prompts']) for each in found.values())} prompts, {TO.stat().st_size} bytes")

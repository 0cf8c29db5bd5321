import { assert, describe, it } from "@effect/vitest"
import { OutputFormats, type OutputFormat } from "@atropos/core"

const tool = (name: string, properties: object) => ({
  type: "function",
  function: { name, parameters: { type: "object", properties } }
})
const tools = [
  tool("get", {
    city: { type: "string" },
    days: { type: "integer" },
    exact: { type: "boolean" },
    where: { type: "object" },
    tags: { type: "array", items: { type: "string" } },
    either: { anyOf: [{ type: "string" }, { type: "null" }] },
    level: { enum: ["low", "high"] },
    any: { description: "whatever" }
  })
]

type Read = Omit<OutputFormat.Reading, "beforeCalls" | "calls"> & {
  readonly calls?: ReadonlyArray<readonly [string, unknown]>
}

const readingOf = (name: OutputFormat.FormatName, text: string, context?: OutputFormat.ReadContext): Read => {
  const { calls, content, reasoning } = OutputFormats.byName(name).read(text, { tools, ...context })
  return {
    content,
    ...(reasoning !== undefined && { reasoning }),
    ...(calls.length > 0 && { calls: calls.map((call) => [call.name, call.arguments] as const) })
  }
}

/** What the documentation of each model shows, or a model that was asked wrote. */
const examples: { readonly [name in OutputFormat.FormatName]: ReadonlyArray<readonly [text: string, read: Read]> } = {
  hermes: [
    [
      '<think>\nHm.\n</think>\n\nSure.\n<tool_call>\n{"name": "get", "arguments": {"city": "Bern"}}\n</tool_call>\n<tool_call>{"name":"get","arguments":{}}</tool_call><|im_end|>',
      {
        reasoning: "Hm.",
        content: "Sure.",
        calls: [
          ["get", { city: "Bern" }],
          ["get", {}]
        ]
      }
    ],
    [
      '<tool_call>{"name": "get", "arguments": {"city": "</tool_call><tool_call>"}}</tool_call>',
      { content: null, calls: [["get", { city: "</tool_call><tool_call>" }]] }
    ]
  ],
  "deepseek-v32": [
    [
      '<think>Hm.</think>Sure.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="get">\n<｜DSML｜parameter name="city" string="true">12</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">12</｜DSML｜parameter>\n<｜DSML｜parameter name="where" string="false">{"a": [1]}</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name="get">\n</｜DSML｜invoke>\n</｜DSML｜function_calls><｜end▁of▁sentence｜>',
      {
        reasoning: "Hm.",
        content: "Sure.",
        calls: [
          ["get", { city: "12", days: 12, where: { a: [1] } }],
          ["get", {}]
        ]
      }
    ],
    [
      '<｜DSML｜function_calls><｜DSML｜invoke name="get"><｜DSML｜parameter name="any" string="false">2512292042121000001</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>',
      { content: null, calls: [["get", { any: 2512292042121000001n }]] }
    ]
  ],
  gemma4: [
    [
      'Sure.<|tool_call>call:get{city:<|"|>San {Fr},\n<|"|>,days:42,exact:true,where:{inner:<|"|>val<|"|>,n:null},tags:[<|"|>a<|"|>,<|"|>b<|"|>]}<tool_call|><|tool_call>call:get{}<tool_call|><turn|>',
      {
        content: "Sure.",
        calls: [
          ["get", { city: "San {Fr},\n", days: 42, exact: true, where: { inner: "val", n: null }, tags: ["a", "b"] }],
          ["get", {}]
        ]
      }
    ],
    [
      '<|channel>thought\nHm.\n<channel|><|tool_call>call:mod.f-1{ <|"|>k<|"|>: bare text, x: -1.50, y: [[1],{}] }<tool_call|>',
      { reasoning: "Hm.", content: null, calls: [["mod.f-1", { k: "bare text", x: -1.5, y: [[1], {}] }]] }
    ]
  ],
  "kimi-k2": [
    [
      'Sure.<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>{"city": "<|tool_call_end|>"}<|tool_call_end|><|tool_call_begin|> functions.get:1 <|tool_call_argument_begin|> {} <|tool_call_end|><|tool_calls_section_end|><|im_end|>',
      {
        content: "Sure.",
        calls: [
          ["get", { city: "<|tool_call_end|>" }],
          ["get", {}]
        ]
      }
    ]
  ],
  "llama4-pythonic": [
    [
      "[get(city='San Francisco', days=3, exact=True, either=None), get()]<|eot|>",
      {
        content: null,
        calls: [
          ["get", { city: "San Francisco", days: 3, exact: true, either: null }],
          ["get", {}]
        ]
      }
    ],
    [
      "<|python_start|>[a.b(where={'a': [1, (2, 3)], 2: \"it's\"}, tags=['x' 'y', \"]\"], any=-1.5e3)]<|python_end|>",
      { content: null, calls: [["a.b", { where: { a: [1, [2, 3]], "2": "it's" }, tags: ["xy", "]"], any: -1500 }]] }
    ],
    ["[1, 2, 3]", { content: "[1, 2, 3]" }],
    ["[get(1)]", { content: "[get(1)]" }],
    ["[get()] is what I do.", { content: "[get()] is what I do." }]
  ],
  "minimax-m2": [
    [
      '<think>\nHm.\n</think>\n\nSure.\n<minimax:tool_call>\n<invoke name="get">\n<parameter name="city">12</parameter>\n<parameter name="days">12</parameter>\n<parameter name="tags">["a", "b"]</parameter>\n</invoke>\n<invoke name="get">\n</invoke>\n</minimax:tool_call>[e~[',
      {
        reasoning: "Hm.",
        content: "Sure.",
        calls: [
          ["get", { city: "12", days: 12, tags: ["a", "b"] }],
          ["get", {}]
        ]
      }
    ]
  ],
  phi4: [
    [
      '<|tool_call|>[{"name": "get", "arguments": {"city": "]"}}, {"name": "get", "arguments": {}}]<|/tool_call|><|end|>',
      {
        content: null,
        calls: [
          ["get", { city: "]" }],
          ["get", {}]
        ]
      }
    ],
    ['functools[{"name": "get", "parameters": {"days": 1}}]', { content: null, calls: [["get", { days: 1 }]] }]
  ],
  "qwen3-coder": [
    [
      "Sure.\n\n<tool_call>\n<function=get>\n<parameter=city>\n12\n</parameter>\n<parameter=days>\n12\n</parameter>\n</function>\n</tool_call>",
      { content: "Sure.", calls: [["get", { city: "12", days: 12 }]] }
    ],
    [
      '<tool_call><function=get><parameter=city>two\nlines</parameter><parameter=exact>True</parameter><parameter=either>null</parameter><parameter=where>{"a": [1]}</parameter></function></tool_call>\n<tool_call>\n<function=get>\n</function>\n</tool_call>',
      {
        content: null,
        calls: [
          ["get", { city: "two\nlines", exact: true, either: null, where: { a: [1] } }],
          ["get", {}]
        ]
      }
    ],
    [
      "<tool_call>\n<function=get>\n<parameter=city>\n<b></parameter></b>\n</parameter>\n<parameter=any>\n1\n</parameter>\n<parameter=days>\nmany\n</parameter>\n<parameter=level>\nlow\n</parameter>\n</function>\n</tool_call>",
      { content: null, calls: [["get", { city: "<b></parameter></b>", any: "1", days: "many", level: "low" }]] }
    ]
  ],
  "llama3-json": [
    [
      '{"name": "get", "parameters": {"city": "Bern"}}<|eot_id|>',
      { content: null, calls: [["get", { city: "Bern" }]] }
    ],
    [
      '<|python_tag|>{"name": "get", "parameters": {"city": "a;b"}}; {"name": "get", "arguments": {}}<|eom_id|>',
      {
        content: null,
        calls: [
          ["get", { city: "a;b" }],
          ["get", {}]
        ]
      }
    ],
    ['Sure.<|python_tag|>{"name": "get", "parameters": {}}', { content: "Sure.", calls: [["get", {}]] }],
    ['<|python_tag|>get.call(city="Bern")', { content: '<|python_tag|>get.call(city="Bern")' }],
    ['{"name": "Ann", "age": 3}', { content: '{"name": "Ann", "age": 3}' }],
    ['{"name": "get", "parameters": {}} is what I do.', { content: '{"name": "get", "parameters": {}} is what I do.' }]
  ],
  mistral: [
    [
      '[TOOL_CALLS][{"name": "get", "arguments": {"city": "]"}}, {"name": "get", "arguments": {}}]</s>',
      {
        content: null,
        calls: [
          ["get", { city: "]" }],
          ["get", {}]
        ]
      }
    ],
    [' [TOOL_CALLS] [{"name": "get", "arguments": {}, "id": "abcdefghi"}]', { content: null, calls: [["get", {}]] }],
    [
      'Sure.[TOOL_CALLS]get[ARGS]{"city": "[TOOL_CALLS]"}[TOOL_CALLS]get[CALL_ID]abcdefghi[ARGS]{}',
      {
        content: "Sure.",
        calls: [
          ["get", { city: "[TOOL_CALLS]" }],
          ["get", {}]
        ]
      }
    ],
    [
      '[THINK]Hm.[/THINK]Sure.[TOOL_CALLS]get{"days": 1}',
      { reasoning: "Hm.", content: "Sure.", calls: [["get", { days: 1 }]] }
    ]
  ],
  deepseek: [
    [
      '<think>\nHm.\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get\n```json\n{"city": "```"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
      {
        reasoning: "Hm.",
        content: null,
        calls: [
          ["get", { city: "```" }],
          ["get", {}]
        ]
      }
    ],
    [
      'Sure.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get<｜tool▁sep｜>{"city": "Bern"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>get<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      {
        content: "Sure.",
        calls: [
          ["get", { city: "Bern" }],
          ["get", {}]
        ]
      }
    ]
  ],
  glm: [
    [
      "\n<think>Hm.</think>\nSure.\n<tool_call>get\n<arg_key>city</arg_key>\n<arg_value>12</arg_value>\n<arg_key>days</arg_key>\n<arg_value>12</arg_value>\n</tool_call>\n<tool_call>get\n</tool_call><|observation|>",
      {
        reasoning: "Hm.",
        content: "Sure.",
        calls: [
          ["get", { city: "12", days: 12 }],
          ["get", {}]
        ]
      }
    ],
    [
      '</think><tool_call>get<arg_key>tags</arg_key><arg_value>["a"]</arg_value><arg_key>any</arg_key><arg_value>1</arg_value></tool_call>',
      { content: null, calls: [["get", { tags: ["a"], any: 1 }]] }
    ],
    ['<tool_call>{"name": "get"}</tool_call>', { content: '<tool_call>{"name": "get"}</tool_call>' }]
  ],
  harmony: [
    [
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>",
      { reasoning: "Hm.", content: "Hi." }
    ],
    [
      '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.get <|constrain|>json<|message|>{"city":"<|call|>"}<|call|>',
      { reasoning: "Hm.", content: null, calls: [["get", { city: "<|call|>" }]] }
    ],
    [
      '<|channel|>commentary<|message|>First I look.<|end|><|start|>assistant to=functions.get<|channel|>commentary json<|message|>{"days": 1}<|call|><|start|>assistant<|channel|>commentary to=functions.get<|message|>{}',
      {
        content: "First I look.",
        calls: [
          ["get", { days: 1 }],
          ["get", {}]
        ]
      }
    ],
    ["<|channel|>analysis<|message|>Hm", { reasoning: "Hm", content: null }]
  ]
}

const closing: { readonly [name: string]: string } = {
  "qwen3-coder": "</tool_call>",
  glm: "</tool_call>",
  "deepseek-v32": "</｜DSML｜function_calls>",
  "llama4-pythonic": ")",
  "minimax-m2": "</minimax:tool_call>"
}

for (const name of Object.keys(examples) as ReadonlyArray<OutputFormat.FormatName>) {
  describe(`the format ${name}`, () => {
    for (const [text, read] of examples[name]) {
      it(`reads ${JSON.stringify(text).slice(0, 70)}`, () => assert.deepStrictEqual(readingOf(name, text), read))
    }

    it("reads no calls where none were asked for, and what is cut off as text", () => {
      const [text] = examples[name].find(([, { calls }]) => calls !== undefined)!
      assert.isUndefined(readingOf(name, text, { areCalled: false }).calls)
      const { calls = [] } = readingOf(name, text)
      // The last closing brace or tag, whatever it is of.
      const cut = text.slice(0, text.lastIndexOf(closing[name] ?? "}") - 1)
      const read = readingOf(name, cut, { finishReason: "length" })
      assert.isAbove(calls.length, 0)
      assert.isUndefined(read.calls, cut)
      assert.isTrue(cut.endsWith(read.content ?? "nothing"))
    })
  })
}

describe("thinking", () => {
  const read = (text: string, prompt?: string) => readingOf("hermes", text, prompt === undefined ? {} : { prompt })

  it("may be opened by the prompt", () => {
    const expected = { reasoning: "Hm.", content: "Hi." }
    assert.deepStrictEqual(read("Hm.\n</think>\n\nHi.", "<|im_start|>assistant\n<think>\n"), expected)
    assert.deepStrictEqual(read("<think>\nHm.\n</think>\n\nHi.", "<|im_start|>assistant\n<think>\n"), expected)
    // Without the prompt the tag that closes says it.
    assert.deepStrictEqual(read("Hm.\n</think>\n\nHi."), expected)
    assert.deepStrictEqual(read("Hm.</think>Hi.", "<|im_start|>assistant\n"), { content: "Hm.</think>Hi." })
  })

  it("is all there is where it does not end", () => {
    assert.deepStrictEqual(read("Hm", "<think>\n"), { reasoning: "Hm", content: null })
    assert.deepStrictEqual(read("<think>\nHm"), { reasoning: "Hm", content: null })
  })

  it("calls nothing, and is nothing where it is empty", () => {
    const call = '<tool_call>{"name": "get", "arguments": {}}</tool_call>'
    assert.deepStrictEqual(read(`<think>${call}</think>Hi.`), { reasoning: call, content: "Hi." })
    assert.deepStrictEqual(read("<think>\n\n</think>\n\nHi."), { content: "Hi." })
  })

  it("stands at the beginning", () =>
    assert.deepStrictEqual(read("Write <think> first", ""), { content: "Write <think> first" }))
})

describe("arguments", () => {
  const json = (name: OutputFormat.FormatName, text: string) =>
    OutputFormats.byName(name).read(text, { tools }).calls[0]?.json

  it("keep numbers that are too large for a number", () => {
    const id = "12345678901234567890"
    assert.strictEqual(
      json("hermes", `<tool_call>{"name": "get", "arguments": {"id":${id}}}</tool_call>`),
      `{"id": ${id}}`
    )
    assert.strictEqual(
      json("glm", `<tool_call>get<arg_key>days</arg_key><arg_value>${id}</arg_value></tool_call>`),
      `{"days": ${id}}`
    )
  })

  const parameters = {
    type: "object",
    $defs: {
      P: { type: "object", properties: { a: { type: "integer" } } },
      N: { anyOf: [{ $ref: "#/$defs/P" }, { type: "null" }] },
      "a/b": { enum: [1, 2] }
    },
    allOf: [{ properties: { inherited: { type: "integer" } } }],
    properties: {
      point: { $ref: "#/$defs/P" },
      maybe: { $ref: "#/$defs/N" },
      escaped: { $ref: "#/$defs/a~1b" },
      both: { allOf: [{ $ref: "#/$defs/P" }, { description: "a point" }] },
      few: { allOf: [{ type: ["string", "integer"] }, { type: "integer" }] },
      list: { anyOf: [{ type: "array" }, { type: "null" }] },
      text: { anyOf: [{ type: "string" }, { type: "null" }] },
      endless: { $ref: "#/properties/endless" }
    }
  }
  const written: ReadonlyArray<readonly [key: string, text: string, json: string]> = [
    ["point", '{"a": 1}', '{"a": 1}'],
    ["point", "{'a': 1, 'b': [True, None, 'it\\'s']}", '{"a": 1, "b": [true, null, "it\'s"]}'],
    ["maybe", '{"a": 1}', '{"a": 1}'],
    ["maybe", "None", "null"],
    ["maybe", "{not json}", '"{not json}"'],
    ["escaped", "2", "2"],
    ["both", '{"a": 1}', '{"a": 1}'],
    ["few", "12", "12"],
    ["inherited", "12", "12"],
    ["list", "['a', \"b\", (1, 2.0)]", '["a", "b", [1, 2.0]]'],
    ["list", "null", "null"],
    ["text", "{'a': 1}", "\"{'a': 1}\""],
    ["text", "null", "null"],
    ["endless", "1", '"1"'],
    ["unknown", "2512292042121000001", '"2512292042121000001"']
  ]
  it.each(written)("are what the schema of %s says %s is", (key, text, expected) => {
    const { calls } = OutputFormats.byName("qwen3-coder").read(
      `<tool_call>\n<function=f>\n<parameter=${key}>\n${text}\n</parameter>\n</function>\n</tool_call>`,
      { tools: [{ type: "function", function: { name: "f", parameters } }] }
    )
    assert.deepStrictEqual(
      calls.map((call) => call.json),
      [`{"${key}": ${expected}}`]
    )
  })

  it("may be left out where a call is between tags, and nowhere else", () => {
    assert.strictEqual(json("hermes", '<tool_call>\n{"name": "get"}\n</tool_call>'), "{}")
    assert.isUndefined(json("hermes", '<tool_call>{"name": "get", "city": "Bern"}</tool_call>'))
    assert.isUndefined(json("llama3-json", '{"name": "Ann"}'))
  })

  it("say one thing: a key given twice is no call", () => {
    assert.isUndefined(json("hermes", '<tool_call>{"name": "get", "arguments": {"a": 1, "a": 2}}</tool_call>'))
    assert.isUndefined(
      json(
        "qwen3-coder",
        "<tool_call><function=get><parameter=a>1</parameter><parameter=a>2</parameter></function></tool_call>"
      )
    )
  })
})

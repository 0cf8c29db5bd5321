import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Laws, Message, ServerManager, Tokenizer } from "@atropos/core"
import { PythonTests, Sandbox } from "@atropos/envs"
import { Effect, Layer } from "effect"
import { bank } from "../src/code/Bank.ts"
import * as Problem from "../src/code/Problem.ts"
import { claimed, firstScores, heldOutLabels, labels } from "./TestItems.ts"

/** As HumanEval has them. */
const humanEval = [
  {
    task_id: "Own/0",
    prompt:
      'from typing import List\n\n\ndef helper(x: int) -> int:\n    return x + 1\n\n\ndef shift(xs: List[int]) -> List[int]:\n    """Every number and one."""\n',
    canonical_solution: "    return [helper(x) for x in xs]\n",
    test: "METADATA = {}\n\ndef check(candidate):\n    assert candidate([1, 2]) == [helper(1), 3]\n    assert candidate([]) == []\n    assert True\n",
    entry_point: "shift"
  }
]
/** As MBPP has them, in full and sanitized. */
const mbpp = [
  {
    text: "Write a function to find the area of a circle.",
    code: "def area(r):\n    return PI * r ** 2\nPI = 3.5",
    test_list: ["assert area(2) == 14.0", "assert math.isclose(area(0.1), 0.035)"],
    test_setup_code: "import math"
  },
  {
    prompt: "Write a function to double.",
    code: "def double(x):\n    return 2 * x",
    test_list: ["assert double(2) == 4", "assert double('a') == 'aa'", "assert double([]) == []"],
    test_imports: ["import math"]
  },
  {
    prompt: "Write a function to count the letters, and one that is named as the library's.",
    code: "from collections import Counter\ndef letters(text):\n    return dict(Counter(text))\ndef gcd(a):\n    return 2 * a",
    test_list: ["assert letters('ab') == Counter('ab')", "assert isclose(sqrt(gcd(2)), 2)"]
  }
]

const environment = (settings: Parameters<typeof PythonTests.layer>[0], script: ServerManager.Script = ["?"]) =>
  PythonTests.layer(settings).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([
      Tokenizer.layerBytes,
      Dataset.layerMemory({
        humanEval,
        mbpp,
        double: [mbpp[1]],
        broken: [{ ...mbpp[1], test_list: ["assert double(2 =="] }],
        assertless: [{ ...mbpp[1], test_list: ["double(2)"] }],
        neither: [{ question: "Double!", code: "def double(x): ..." }],
        mixed: [{ text: "Nothing else." }, ...mbpp]
      })
    ])
  )

const fenced = (code: string) => `Here it is:\n\n\`\`\`python\n${code}\n\`\`\`\nThat is all.`

const sandbox = Sandbox.layerWasi({ workers: 2, timeMillis: 30_000 })

layer(sandbox, { excludeTestServices: true })("PythonTests", (it) => {
  for (const [name, settings, count] of [
    // All of it: `long/Bank.test.ts`.
    ["its own bank, of the first ones", {}, 2],
    ["rows as of HumanEval", { source: "humanEval" }, 1],
    ["rows as of MBPP", { source: "mbpp" }, 1]
  ] as const) {
    it.effect(`passes every solution of ${name}, and none that is changed at its last return`, () =>
      Effect.gen(function* () {
        const items = yield* claimed(count)
        assert.strictEqual(new Set(items.map(({ label }) => label)).size, count)
        yield* Effect.forEach(items, ({ gold, score, wrong }) => Laws.goldOnTop(score, gold, wrong, [0, 1]), {
          concurrency: 2
        })
      }).pipe(Effect.provide(environment({ seconds: 30, testSource: "humanEval", ...settings })))
    )
  }

  const replies = [
    fenced("def double(x):\n    return 2 * x"),
    fenced("def double(x):\n    return x + x if x else 0"),
    fenced("def double(x):\n    return 2 * x if isinstance(x, int) else None"),
    fenced("def double(x):\n    while True:\n        pass"),
    "two times x"
  ]
  // One of them ends with its time, which it spends on the processor, and in which the others have to end anywhere.
  const own = { source: "double", groupSize: replies.length, ensureScoresAreNotSame: false, seconds: 5 }

  it.effect("scores all or nothing", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* firstScores, [1, 0, 0])
    }).pipe(Effect.provide(environment({ ...own, groupSize: 3 }, replies.slice(0, 3))))
  )

  it.effect("scores the share of the assertions that hold", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* firstScores, [1, 2 / 3, 1 / 3, 0, 0])
    }).pipe(Effect.provide(environment({ ...own, score: "share" }, replies)))
  )

  it.effect("holds a tenth of the problems out, and asks for the others in an order of the seed", () =>
    Effect.gen(function* () {
      const heldOut = yield* heldOutLabels
      const trained = yield* labels(0, bank.length - heldOut.length)
      assert.isAbove(heldOut.length, 0)
      assert.strictEqual(new Set([...heldOut, ...trained]).size, bank.length)
      assert.deepStrictEqual(yield* labels(3, 2), trained.slice(3, 5))
    }).pipe(Effect.provide(environment({})))
  )

  it.effect("does not judge by tests that do not parse", () =>
    Effect.gen(function* () {
      const [item] = yield* claimed(1)
      const error = yield* Effect.flip(Laws.goldOnTop(item!.score, item!.gold, item!.wrong, [0, 1]))
      assert.match(error.message, /cannot run the tests: SyntaxError/)
    }).pipe(Effect.provide(environment({ source: "broken" })))
  )

  it.effect("takes no rows whose tests every program would pass, or that are of another shape, and says why", () =>
    Effect.gen(function* () {
      const refused = (source: string) => Effect.flip(Effect.provide(claimed(1), environment({ source })))
      assert.match((yield* refused("assertless")).message, /assertless, row 1: its tests assert nothing/)
      assert.match(
        (yield* refused("neither")).message,
        /neither, row 1: it must have prompt, .* or question_content and public_test_cases or .* has them; of these it has code$/
      )
      const items = yield* Effect.provide(claimed(3), environment({ source: "mixed", testSource: "humanEval" }))
      assert.sameMembers(
        items.map(({ label }) => label),
        mbpp.map(({ prompt, text }) => text ?? prompt)
      )
    })
  )

  it.effect("asks with the head of the function, or shows a test where only that says what it is called", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const script: ServerManager.Script = (request) => {
        if ("messages" in request) asked.push(...request.messages.map(Message.text))
        return "?"
      }
      yield* Effect.provide(firstScores, environment({ source: "humanEval", ensureScoresAreNotSame: false }, script))
      assert.match(asked[1]!, /^Complete this function\.\n\n```python\nfrom typing[^]*one\."""\n```$/)
      asked.length = 0
      yield* Effect.provide(firstScores, environment({ source: "double", ensureScoresAreNotSame: false }, script))
      assert.strictEqual(
        asked[1],
        "Write a function to double.\n\nIt is tested like this:\n\n```python\nassert double(2) == 4\n```"
      )
    })
  )
})

const three = "```"
const add = "def add(a, b):\n    return a + b"
const documented = 'def f():\n    """Like so:\n\n    ```\n    f()\n```\n    """\n    return 1  # not """'

describe("Problem.programOf", () => {
  const cases: ReadonlyArray<readonly [string, string, string | undefined]> = [
    ["takes the last block of Python", "```python\na = 1\n```\nor\n```py\na = 2\n```", "a = 2"],
    ["prefers Python to other languages", "```python\na = 1\n```\n```bash\nls\n```", "a = 1"],
    ["takes a block of no language", "```\na = 1\n```", "a = 1"],
    ["takes a block that was cut off", "```python\na = 1\nb = 2", "a = 1\nb = 2"],
    ["does not look into the thinking", "<think>```python\na = 1\n```</think>no", undefined],
    ["takes a reply that is a program", "def f():\n    return 1", "def f():\n    return 1"],
    ["takes no other language for Python", "```javascript\nlet a\n```", undefined],
    ["takes no words for a program", "The answer is 7.", undefined],
    ["takes a block behind words", "Here: ```python\na = 1\n```", "a = 1"],
    ["takes a block in a longer fence", "````python\na = 1\n````", "a = 1"],
    ["takes no code within a line for a block", "Call ```f()``` then:\n```python\na = 1\n```", "a = 1"],
    ["takes a block that ends behind code", "```python\na = 1``` \nThat is all.", "a = 1"],
    ["leaves a fence within a line of the program in it", "```python\na = '```'\nb = 2\n```", "a = '```'\nb = 2"],
    ["does not look into thinking that was cut off", "<think>```python\na = 1\n```", undefined],
    ["takes no indented words for a program", "    a = 1", undefined],
    ["takes bare code with a closing fence", `${add}\n${three}`, add],
    ["takes bare code with a closing fence and words", `${add}\n${three}\nThis adds two numbers.`, add],
    ["takes bare code behind words", `Sure:\n\n${add}\n${three}\nThis adds two numbers.`, add],
    ["takes bare code before an example", `${add}\n${three}\nUse it:\n${three}python\nadd(1, 2)\n${three}`, add],
    [
      "takes bare code before its output",
      `import os\n${add}\n${three}\n\nOutput:\n${three}\n3\n${three}`,
      `import os\n${add}`
    ],
    ["takes a block after words that name a function", `Call def add(a, b):\n${three}\n${add}\n${three}`, add],
    ["takes a block in tildes", `~~~python\n${add}\n~~~\nThat is all.`, add],
    ["takes a block in tildes that holds backticks", `~~~\na = """\n${three}\n"""\n~~~`, `a = """\n${three}\n"""`],
    ["takes no struck-out words for a block", `~~x~~\n${three}python\n${add}\n${three}`, add],
    ["takes a fence of four around fences of three", `${three}\`python\n${documented}\n${three}\``, documented],
    ["leaves a fence in a comment in it", `${three}python\n# ${three}\n${add}\n${three}\nDone.`, `# ${three}\n${add}`],
    ["leaves a fence in a docstring in it", `${three}python\n${documented}\n${three}\nDone.`, documented],
    ["leaves a fence in the docstring of bare code in it", `${documented}\n${three}\nDone.`, documented],
    ["ends at a fence behind a string without an end", `${three}python\na = '''\n${three}\nThat is all.`, "a = '''"],
    [
      "takes an indented block of a list",
      `1. Do:\n   ${three}python\n   def f():\n       return 1\n   ${three}`,
      "def f():\n    return 1"
    ],
    ["takes the later block where one has no end", `${three}python\na = 1\n${three}python\n${add}\n${three}`, add],
    ["takes attributes of a fence for none of the code", `${three}{.python}\n${add}\n${three}`, add],
    ["takes a block of a quotation", `> Here:\n> ${three}python\n${add.replaceAll(/^/gm, "> ")}\n> ${three}`, add],
    ["takes a quoted block that was cut off", `> ${three}python\n${add.replaceAll(/^/gm, "> ")}\n\nDone.`, add],
    ["takes a block of a quotation in another", `> > ${three}py\n${add.replaceAll(/^/gm, "> > ")}\n> > ${three}`, add],
    ["leaves prompts of a quoted block in it", `> ${three}\n> a = 1\n> # >>> a\n> ${three}`, "a = 1\n# >>> a"],
    ["takes a block behind a list's mark", `1. ${three}python\n   ${add.replace("\n", "\n   ")}\n   ${three}`, add],
    ["takes a block with a title", `${three}python title="a.py" {1,2}\n${add}\n${three}`, add],
    ["takes a block with attributes", `${three}{ .python .numberLines }\n${add}\n${three}`, add],
    ["takes a block of the language's long name", `${three}language-python\n${add}\n${three}`, add],
    ["takes code between tags", `<pre><code class="language-python">${add}\n</code></pre>`, add],
    ["takes code with entities between tags", "<code>\na = 1 &lt; 2 &amp;&amp; 3\n</code>", "a = 1 < 2 && 3"],
    ["takes no other language between tags", '<code class="language-js">\nlet a\n</code>', undefined],
    ["takes no code between tags in a line", "Call <code>f()</code>.", undefined],
    [
      "takes tags of a program for a part of it",
      `${three}python\na = "<code>"\nb = "</code>"\n${three}`,
      'a = "<code>"\nb = "</code>"'
    ],
    ["takes a program before a transcript", `${three}py\na = 1\n${three}\n${three}py\n>>> a\n1\n${three}`, "a = 1"],
    [
      "takes a block of no language before its output",
      `${three}\n${add}\n${three}\nOutput:\n${three}\n5\n${three}`,
      add
    ],
    [
      "takes a program that reads before its input",
      `${three}\nn = int(input())\nprint(n)\n${three}\nFor example:\n${three}\n3\n${three}`,
      "n = int(input())\nprint(n)"
    ],
    [
      "takes a block within a block of Markdown",
      `${three}\`markdown\n${three}python\n${add}\n${three}\n${three}\``,
      add
    ],
    ["takes the later of two programs", `${three}py\n${add} + 1\n${three}\n${three}py\n${add}\n${three}`, add],
    [
      "is not stalled by strings without end",
      `${three}python\n${`'''\n${three}\n`.repeat(20_000)}`,
      `'''\n${three}\n'''`
    ],
    ["is not stalled by fences without end", `${"```".repeat(50_000)}x`, undefined],
    ["is not stalled by code within lines", "`def f(".repeat(50_000), undefined],
    ["takes a block of an unknown language", `${three}jupyter\n${add}\n${three}`, add],
    ["takes a block of text", `${three}text\n${add}\n${three}\nIt prints:\n${three}\n3\n${three}`, add],
    ["prefers a block without a language", `${three}code\n${add} + 1\n${three}\n${three}\n${add}\n${three}`, add],
    ["takes no text for a program", `${three}text\n3\n${three}`, undefined],
    ["takes no Ruby for a program", `${three}ruby\nimport x\n${three}`, undefined],
    ["takes a program within a line", "Use `def add(a, b): return a + b`.", "def add(a, b): return a + b"],
    ["takes a lambda within a line", "```add = lambda a, b: a + b```", "add = lambda a, b: a + b"],
    ["takes a fence of one line", "```python def add(a, b): return a + b ```", "def add(a, b): return a + b"],
    ["takes no other code within a line", "Call `add(1, 2)`.", undefined],
    ["takes a program before an empty block", `${three}python\n${add}\n${three}\n${three}python\n${three}`, add],
    ["takes a program before a comment", `${three}python\n${add}\n${three}\n${three}py\n# Done.\n${three}`, add],
    [
      "takes a program before what it prints, which is called Python",
      `${three}python\n${add}\n${three}\nOutput:\n${three}python\n[3, 'a']\nTrue\n${three}`,
      add
    ],
    ["takes no Elixir for a program", `${three}elixir\ndef add(a, b) do\n  a + b\nend\n${three}`, undefined],
    ["takes a program without an end behind words", `Sure!\n${three}Python3\n${add}`, add],
    ["takes a program of a numbered version", `${three}python3.11\n${add}\n${three}`, add],
    ["leaves out a language above the program", `${three}\npython\n${add}\n${three}`, add],
    ["leaves out a language above code without fences", `python\n${add}`, add]
  ]
  const helper = "def helper(a, b):\n    return a + b"
  const using = "def add(a, b):\n    return helper(a, b)"
  const unfenced: ReadonlyArray<readonly [string, string, string | undefined]> = [
    ["between words", `Sure! Here it is:\n\n${add}\n\nThis adds two numbers.`, add],
    ["between words of another language", `Hier ist die Funktion:\n${add}\nSie addiert zwei Zahlen.`, add],
    ["before a list", `${add}\n\n**Why**\n- It adds a and b.\n1. Done.`, add],
    ["between tags", `<answer>\n${add}\n</answer>`, add],
    ["between marks", `[PYTHON]\n${add}\n[/PYTHON]`, add],
    ["indented as Markdown does", `Here:\n\n${add.replaceAll(/^/gm, "    ")}\n\nDone.`, add],
    ["in parts", `A helper:\n${helper}\nNow the function itself:\n${using}`, `${helper}\n\n${using}`],
    ["with words in a string", `def f():\n    """Adds\n\nNot two words, many more.\n"""\n    return 1`, undefined],
    ["with an assertion's words", `assert x, "no words here"\nx, y = 1, 2\ndel x\nn: int = 1\n${add}`, undefined],
    ["with an exception", `try:\n    pass\nexcept Exception as e:\n    raise\nnot None\n${add}`, undefined]
  ]
  it.each(unfenced)("takes code without fences %s", (_, reply, program = reply) =>
    assert.strictEqual(Problem.programOf(reply, none)?.trim(), program)
  )

  it("is not stalled by long words without fences", () => {
    const words = `${"word ".repeat(50_000)}\n${"a, ".repeat(50_000)}\n${"import a\n".repeat(20_000)}${add}`
    assert.include(Problem.programOf(words, none), add)
  })

  it("takes earlier blocks along that define what it uses, and no others", () => {
    const program = (...blocks: ReadonlyArray<string>) =>
      Problem.programOf(blocks.map((code) => `${three}python\n${code}\n${three}\n`).join("Then:\n"), {
        preamble: "",
        asks: ["add"]
      })
    assert.strictEqual(program(helper, using), `${helper}\n\n${using}`)
    const imported = "from operator import (\n    add as plus\n)"
    const through = "def helper(a, b):\n    return plus(a, b)"
    assert.strictEqual(program(imported, through, using), `${imported}\n\n${through}\n\n${using}`)
    assert.strictEqual(
      program("import os.path as p, math", "def add(a, b):\n    return math.fsum([a, b])"),
      "import os.path as p, math\n\ndef add(a, b):\n    return math.fsum([a, b])"
    )
    // A draft, an import that is not used, and what runs more than definitions.
    assert.strictEqual(program(`${add} + 1`, add), add)
    assert.strictEqual(program("import numpy as np", add), add)
    assert.strictEqual(program(`${helper}\nprint(helper(1, 2))`, using), using)
  })

  const none = { preamble: "" }
  it.each(cases)("%s", (_, reply, program) => assert.strictEqual(Problem.programOf(reply, none), program))

  it("takes the last block that defines what is asked for", () => {
    const asked = { preamble: "", asks: ["add"] }
    const block = (code: string, language = "python") => `${three}${language}\n${code}\n${three}\n`
    const helper = "def helper():\n    return add(1, 2)"
    assert.strictEqual(Problem.programOf(block(add) + block(helper), asked), add)
    assert.strictEqual(Problem.programOf(block(add, "") + block("add(1, 2)"), asked), add)
    assert.strictEqual(Problem.programOf(block(`${add} + 1`) + block(add), asked), add)
    assert.strictEqual(
      Problem.programOf(block("add = lambda a, b: a + b") + block(helper), asked),
      "add = lambda a, b: a + b"
    )
    // A block about something else replaces the program.
    assert.strictEqual(
      Problem.programOf(block(add) + block("def nothing():\n    pass"), asked),
      "def nothing():\n    pass"
    )
    // Without a definition, the last block is run, and fails.
    assert.strictEqual(Problem.programOf(block("a = 1") + block("b = 2"), asked), "b = 2")
  })

  it("takes what goes on from a head, where there is one", () => {
    const head = { preamble: "def f():\n" }
    assert.strictEqual(Problem.programOf("\n    return 1\n", head), "\n    return 1\n")
    assert.strictEqual(Problem.programOf("I cannot.", head), undefined)
    assert.strictEqual(Problem.programOf("    return 1\n\nThis is it.", head), "    return 1\n")
    assert.strictEqual(Problem.programOf("It is:\n    return 1\nDone.", head), "    return 1")
    const body = `${three}python\nif True:\n    return 1\nreturn 2\n${three}`
    assert.strictEqual(Problem.programOf(body, head), "    if True:\n        return 1\n    return 2")
  })
})

describe("Problem.withChangedReturn", () => {
  it("changes the last return alone, over all its lines", () => {
    assert.strictEqual(
      Problem.withChangedReturn("def f(x):\n    if x:\n        return 1\n    return g(\n        ')')\nx = 1\n"),
      "def f(x):\n    if x:\n        return 1\n" +
        "    return (lambda value: None if value else \"changed\")((g(\n        ')')\n))\nx = 1\n"
    )
  })
})

import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Laws, Message, ServerManager, Tokenizer } from "@atropos/core"
import { PythonTests, Sandbox } from "@atropos/envs"
import { Effect, Layer, Result, Schema } from "effect"
import * as Contest from "../../src/code/Contest.ts"
import * as Output from "../../src/code/Output.ts"
import { claimed, firstScores } from "../TestItems.ts"

/** Two cases, packed by Python: `base64(zlib.compress(pickle.dumps(json.dumps(cases), protocol)))`. */
const packed = {
  2: "eJxrYIooZWBgiK5WyswrKC1RslJQMlIwjslT0lFQyi8tgQqZQgRKUotLSioLUkFCxSUpmXlKtToKSDp1DRUM0bUa4NQaW8igBwATfiUq",
  4: "eJxrYJlayQABPaXR1UqZeQWlJUpWCkpGCsYxeUo6Ckr5pSVQIVOIQElqcUlJZUEqSKi4JCUzT6lWRwFJp66hgiG6VgOcWmOn6AEAkbAmkQ==",
  /** Of `print`: a pickle that would run something. */
  function: "eJxrYJkqxgABPRxJpZk5JZl5xVN6WAuKMvNKpkyeogcAjFMKaQ=="
}
const unpacked = [
  { input: "2 3\n", output: "5\n", testtype: "stdin" },
  { input: "-1 1\n", output: "0\n", testtype: "stdin" }
]

const sum = {
  question_content: "Print the sum of two numbers.",
  starter_code: "",
  public_test_cases: JSON.stringify([{ input: "1 2\n", output: "3\n", testtype: "stdin" }]),
  private_test_cases: packed[4],
  metadata: "{}"
}
const pairs = {
  question_content: "Give the number, the text and its length.",
  starter_code: "class Solution:\n    def pair(self, n: int, text: str) -> list:\n        ",
  public_test_cases: JSON.stringify([
    { input: '1\n"a\\"\\n"', output: '[1, "a\\"\\n", 3]', testtype: "functional" },
    { input: '2\n"é😀"', output: '[2, "é😀", 2]', testtype: "functional" }
  ]),
  private_test_cases: "",
  metadata: '{"func_name": "pair"}'
}

const ofRow = ({ metadata, private_test_cases, public_test_cases }: Record<keyof typeof sum, unknown>) =>
  Contest.ofRow({ publicTestCases: public_test_cases, privateTestCases: private_test_cases, metadata })

describe("Output.isRight", () => {
  const cases: ReadonlyArray<readonly [string, string, string, boolean]> = [
    ["takes blanks around lines and the end", "1 2\n3", "  1 2 \r\n3\t\n\n", true],
    ["takes any blanks between numbers", "1 2 3", "1   2\t3", true],
    ["takes no other blanks between words", "a b", "a  b", false],
    ["tells an empty line within", "1\n\n2", "1\n2", false],
    ["takes an empty line within", "1\n\n2", "1\n  \n2", true],
    ["takes nothing for nothing", "", "\n \n", true],
    ["tells something from nothing", "", "0", false],
    ["tells a missing line", "1\n2", "1", false],
    ["tells one too many", "1", "1\n1", false],
    ["tells numbers on lines of their own", "1 2", "1\n2", false],
    ["takes decimals of the same value", "1.5 -2 100 0.5", "1.50 -2.0 1e2 .5", true],
    ["takes zero in any form", "0", "-0.000", true],
    ["takes no number that is nearly equal", "0.3", "0.30000000000000004", false],
    ["tells long numbers apart", "12345678901234567890", "12345678901234567891", false],
    ["takes no number of another base", "16", "0x10", false],
    ["takes no number beside a word", "case 1.0", "case 1", false],
    ["tells letters of another case", "YES", "Yes", false],
    ["takes no number that is none", "nan x", "NaN x", false],
    ["takes infinity by any name", "inf", "Infinity", true],
    ["is not stalled by zeros", `1${"0".repeat(50_000)}`, `1${"0".repeat(50_000)}1`, false],
    ["is not stalled by lines", "1\n".repeat(20_000), "1 ".repeat(20_000), false]
  ]
  it.each(cases)("%s", (_, expected, printed, is) => assert.strictEqual(Output.isRight(expected, printed), is))

  it.prop("takes what is printed as it should be, and not with a line more", [Schema.String], ([text]) => {
    assert.isTrue(Output.isRight(text, text))
    assert.isFalse(Output.isRight(text, `${text}|\n.|`))
  })
})

const functional = (input: string, output: string) => [{ input, output, testtype: "functional" }]

describe("Contest.ofRow", () => {
  it("reads cases that Python packed, after the public ones", () => {
    for (const protocol of [2, 4] as const) {
      const contest = Result.getOrThrow(ofRow({ ...sum, private_test_cases: packed[protocol] }))
      assert.isUndefined(contest.call)
      assert.deepStrictEqual(contest.cases(), [{ input: "1 2\n", output: "3\n", testtype: "stdin" }, ...unpacked])
    }
  })

  it("reads cases as lists, and private ones as JSON", () => {
    const plain = { ...sum, public_test_cases: unpacked, private_test_cases: JSON.stringify(unpacked), metadata: {} }
    assert.deepStrictEqual(Result.getOrThrow(ofRow(plain)).cases(), [...unpacked, ...unpacked])
  })

  const refused: ReadonlyArray<readonly [string, object, RegExp]> = [
    ["has no cases", { public_test_cases: "[]", private_test_cases: "" }, /^it has no test cases$/],
    [
      "has another layout",
      { public_test_cases: '[{"in": "1"}]' },
      /^its public_test_cases are not a list of input and/
    ],
    ["is neither JSON nor packed", { private_test_cases: "eJx!" }, /^its private_test_cases are neither JSON nor/],
    ["is cut off", { private_test_cases: packed[4].slice(0, 60) }, /^its private_test_cases are neither JSON nor/],
    ["packs a program", { private_test_cases: packed.function }, /packed JSON: it holds more than a text: instruction/],
    ["names no function", { ...pairs, metadata: "{}" }, /functional, and its metadata has no func_name$/],
    [
      "names one that is none",
      { ...pairs, metadata: { func_name: 'a"]' } },
      /its func_name "a\\"\]" is not a function name/
    ],
    [
      "mixes the kinds",
      { ...pairs, private_test_cases: packed[4] },
      /some of its tests are functional and some are not/
    ],
    ["has an argument that is no JSON", { ...pairs, public_test_cases: functional("[1", "1") }, /test 1, arguments or/],
    ["has a value that is no JSON", { ...pairs, public_test_cases: functional("1", "yes") }, /test 1, arguments or/],
    [
      "prints more than can be compared",
      { public_test_cases: [{ input: "", output: "é".repeat(30_001) }], private_test_cases: "" },
      /^the outputs of all its test cases exceed 60000 bytes$/
    ]
  ]
  it.each(refused)("says why it takes no row that %s", (_, change, reason) => {
    const contest = ofRow({ ...sum, ...change })
    assert.match(Result.isFailure(contest) ? contest.failure : "taken", reason)
  })
})

const environment = (settings: Parameters<typeof PythonTests.layer>[0], script: ServerManager.Script = ["?"]) =>
  PythonTests.layer({ ensureScoresAreNotSame: false, ...settings }).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([
      Tokenizer.layerBytes,
      Dataset.layerMemory({
        sum: [sum],
        pairs: [pairs],
        empty: [{ ...sum, public_test_cases: [], private_test_cases: "" }]
      })
    ])
  )

const fenced = (code: string) => `Here it is:\n\n\`\`\`python\n${code}\n\`\`\`\nThat is all.`

layer(Sandbox.layerWasi({ workers: 2, timeMillis: 20_000 }), { excludeTestServices: true })("contests", (it) => {
  const programs = [
    "def main():\n    print(float(sum(map(int, stdin.read().split()))), end='')\nif __name__ == '__main__':\n    main()\n    sys.exit()",
    "print(3)",
    "print(3)\nraise ValueError",
    "import os\nprint(3, flush=True)\nos._exit(1)",
    "while True:\n    print('3' * 1000)"
  ]
  const own = { source: "sum", groupSize: programs.length + 1, seconds: 20 }

  it.effect("run a program for each case", () =>
    Effect.gen(function* () {
      const script = [...programs.map(fenced), "three"]
      const shares = yield* Effect.provide(firstScores, environment({ ...own, maxCases: 2, score: "share" }, script))
      assert.deepStrictEqual(shares, [1, 1 / 2, 0, 0, 0, 0])
    })
  )

  it.effect("count all or nothing, of as many cases as are asked for, each with a time limit of its own", () =>
    Effect.gen(function* () {
      const replies = [
        "a, b = map(int, input().split())\nprint(abs(a) + b)",
        "a, b = map(int, input().split())\nprint(a + b)\nwhile a == 2:\n    pass"
      ].map(fenced)
      const all = yield* Effect.provide(
        firstScores,
        environment({ ...own, groupSize: 2, maxCases: 2, seconds: 5 }, replies)
      )
      assert.deepStrictEqual(all, [1, 0])
    })
  )

  it.effect("call a function with an argument a line, of a class or of none; nothing it redefines counts", () =>
    Effect.gen(function* () {
      const solution = "class Solution:\n    def pair(self, n: int, text: str) -> List[int]:\n        "
      const functions = [
        `${solution}return [n, text, len(text)]`,
        "def pair(n, text):\n    print('any')\n    return n, text, len(text)",
        `${solution}return [n, text, 2]`,
        "class Same(list):\n    def __eq__(self, other):\n        return True\ndef pair(n, text):\n    return Same()",
        "json.loads = lambda text: 0\ndef pair(n, text):\n    return 0"
      ]
      const settings = { source: "pairs", groupSize: functions.length, score: "share" as const, seconds: 20 }
      const shares = yield* Effect.provide(firstScores, environment(settings, functions.map(fenced)))
      assert.deepStrictEqual(shares, [1, 1, 1 / 2, 0, 0])
    })
  )

  it.effect("tell what kind of program is asked for", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const script: ServerManager.Script = (request) => {
        if ("messages" in request) asked.push(...request.messages.map(Message.text))
        return "?"
      }
      yield* Effect.provide(firstScores, environment({ source: "sum" }, script))
      assert.match(asked[0]!, /reads its input from standard input/)
      assert.strictEqual(asked[1], sum.question_content)
      asked.length = 0
      yield* Effect.provide(firstScores, environment({ source: "pairs" }, script))
      assert.match(asked[0]!, /called with arguments/)
      assert.strictEqual(
        asked[1],
        `${pairs.question_content}\n\nComplete this code.\n\n\`\`\`python\n${pairs.starter_code.trimEnd()}\n\`\`\``
      )
    })
  )

  it.effect("say which row is none", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.provide(claimed(1), environment({ source: "empty" })))
      assert.match(error.message, /empty, row 1: it has no test cases/)
    })
  )

  it.effect("of its own are solved by their solutions, and not with a line more", () =>
    Effect.gen(function* () {
      for (const { gold, score, wrong } of yield* claimed(1)) yield* Laws.goldOnTop(score, gold, wrong, [0, 1])
    }).pipe(Effect.provide(environment({ source: "contests", seconds: 20 })))
  )
})

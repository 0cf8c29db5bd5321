import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Schema, Stream } from "effect"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import * as Suites from "../../src/config/Suites.ts"
import * as Samples from "../../src/evaluate/Samples.ts"
import * as InProcess from "../InProcess.ts"

/** A server whose model says what `say` makes of the last words of a chat, and of which answer of several it is. */
const model = (say: (asked: string, index: number) => string) =>
  TestServer.make(({ body, path }) => {
    if (!path.endsWith("/chat/completions")) return { json: { data: [] } }
    const messages = body["messages"] as ReadonlyArray<{ readonly content: string }>
    const asked = messages.at(-1)?.content ?? ""
    return TestServer.chatReply(Array.from({ length: Number(body["n"] ?? 1) }, (_, index) => say(asked, index)))
  })

const rowsFile = Effect.fnUntraced(function* (name: string, rows: ReadonlyArray<unknown>) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.writeFileString(name, rows.map((row) => `${JSON.stringify(row)}\n`).join(""))
})

const evaluate = Effect.fnUntraced(function* (suite: string, url: string, ...words: ReadonlyArray<string>) {
  const fixed = ["--openai.base_url", `${url}/v1`, "--openai.model_name", "m", "--openai.health_check", "false"]
  return yield* InProcess.run(["evaluate", "--suite", suite, ...fixed, ...words])
})

const samplesOf = (suite: string) => Stream.runCollect(Samples.read(`data/${suite}-evaluation/samples.jsonl`))

const Metrics = Schema.fromJsonString(
  Schema.Struct({
    suite: Schema.Struct({
      scores: Schema.Record(Schema.String, Schema.Struct({ value: Schema.Finite, count: Schema.Finite })),
      derived: Schema.Record(Schema.String, Schema.Struct({ value: Schema.Finite })),
      categories: Schema.Record(Schema.String, Schema.Struct({ value: Schema.Finite, count: Schema.Finite }))
    })
  })
)
const metricsOf = (suite: string) =>
  FileSystem.FileSystem.use((fs) => fs.readFileString(`data/${suite}-evaluation/metrics.json`)).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Metrics)),
    Effect.map(({ suite }) => suite)
  )

const questions = [
  { question: "Two and two?", choices: ["3", "4", "5", "6"], answer: 1, subject: "sums" },
  { question: "Three and three?", choices: ["3", "4", "5", "6"], answer: 3, subject: "sums" },
  { question: "Capital of France?", choices: ["Rome", "Bonn", "Paris", "Oslo"], answer: 2, subject: "places" }
]

describe("atropos evaluate --suite", () => {
  it.live("ships suites that say where they come from, and lists them", () =>
    Effect.gen(function* () {
      const all = yield* Suites.all
      assert.isAtLeast(all.length, 37)
      for (const { suite, word } of all) {
        assert.strictEqual(suite.name, word)
        for (const text of [suite.origin, suite.licence, suite.about]) assert.isAbove(text.length, 2, word)
      }
      const { code, stdout } = yield* InProcess.run(["evaluate", "suites"])
      assert.strictEqual(code, 0)
      for (const { word } of all) assert.include(stdout, word)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("tells scores and categories, with the reference and the answer of every sample", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      yield* rowsFile("rows.jsonl", questions)
      const { url } = yield* model((asked) => (asked.includes("Two") ? "It is so.\n\nANSWER: B" : "ANSWER: C"))
      const { code, stderr, stdout } = yield* evaluate("mmlu", url, "--data", "rows.jsonl")
      assert.strictEqual(code, 0, stderr)
      // Of a server without tokens and logprobs: nobody trains here.
      assert.notInclude(stderr, "trains")
      assert.match(stdout, /accuracy +0\.6667 +0\.\d+ to 0\.\d+ +3/)
      assert.match(stdout, /places +1 .*\n *sums +0\.5000/)
      const samples = yield* samplesOf("mmlu")
      assert.deepStrictEqual(
        samples.map(({ category, gold, parsed }) => [category, gold, parsed]),
        [
          ["sums", ["B"], "B"],
          ["sums", ["D"], "C"],
          ["places", ["C"], "C"]
        ]
      )
      const fs = yield* FileSystem.FileSystem
      const log = (yield* fs.readDirectory("data/mmlu-evaluation")).find((name) => name.endsWith("_mmlu.json"))
      const { samples: logged } = JSON.parse(yield* fs.readFileString(`data/mmlu-evaluation/${log}`)) as {
        readonly samples: ReadonlyArray<{ readonly scores: { readonly accuracy: unknown } }>
      }
      assert.deepInclude(logged[1]?.scores.accuracy, { value: 0, answer: "C" })
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("samples several answers for pass@k and maj@k, and limits rows to those that a seed draws", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      yield* rowsFile("rows.jsonl", questions)
      // Two and two: right 3 of 4; three and three: right 1 of 4; Paris: never.
      const { asked, url } = yield* model((question, index) => {
        if (question.includes("Two")) return index < 3 ? "ANSWER: B" : "ANSWER: A"
        return question.includes("Three") ? ["ANSWER: D", "ANSWER: A", "ANSWER: A", "?"][index]! : "ANSWER: A"
      })
      const { code, stderr } = yield* evaluate("mmlu", url, "--data", "rows.jsonl", "--samples", "4")
      assert.strictEqual(code, 0, stderr)
      const { derived, scores } = yield* metricsOf("mmlu")
      assert.approximately(scores["accuracy"]?.value ?? 0, (0.75 + 0.25) / 3, 1e-9)
      assert.approximately(derived["pass@2"]?.value ?? 0, (1 + 0.5) / 3, 1e-9)
      assert.approximately(derived["pass@4"]?.value ?? 0, 2 / 3, 1e-9)
      assert.approximately(derived["maj@4"]?.value ?? 0, 1 / 3, 1e-9)
      const before = asked.length
      yield* evaluate("mmlu", url, "--data", "rows.jsonl", "--limit", "1")
      assert.strictEqual(asked.filter(({ path }) => path.endsWith("/chat/completions")).length, 4, String(before))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("asks again for what failed, and for nothing else", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      yield* rowsFile("rows.jsonl", questions)
      let isBroken = true
      const { asked, url } = yield* TestServer.make(({ body, path }) => {
        if (!path.endsWith("/chat/completions")) return { json: { data: [] } }
        const isThree = JSON.stringify(body["messages"]).includes("Three")
        return isBroken && isThree
          ? { status: 400, json: { error: { message: "not today" } } }
          : TestServer.chatReply(["ANSWER: D"])
      })
      const failed = yield* evaluate("mmlu", url, "--data", "rows.jsonl")
      assert.strictEqual(failed.code, 0, failed.stderr)
      assert.match(failed.stdout, /failed +1: .*not today/)
      assert.include(failed.stdout, "run the same command again")
      const before = asked.length
      isBroken = false
      const again = yield* evaluate("mmlu", url, "--data", "rows.jsonl")
      assert.strictEqual(again.code, 0, again.stderr)
      assert.strictEqual(asked.slice(before).filter(({ path }) => path.endsWith("/chat/completions")).length, 1)
      assert.strictEqual((yield* samplesOf("mmlu")).length, questions.length)
      assert.strictEqual((yield* metricsOf("mmlu")).scores["accuracy"]?.count, questions.length)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("reads a label by the labels of its row, counts as the suite says, and refuses what is ambiguous", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      yield* InProcess.folder
      const choices = { text: ["ice", "fire", "salt", "sand"], label: ["1", "2", "3", "4"] }
      yield* rowsFile("arc.jsonl", [{ id: "q1", question: "What is hot?", choices, answerKey: "2" }])
      const { url } = yield* model(() => "ANSWER: B")
      assert.strictEqual((yield* evaluate("arc-challenge", url, "--data", "arc.jsonl")).code, 0)
      const [arc] = yield* samplesOf("arc-challenge")
      assert.deepStrictEqual([arc?.gold, arc?.correct], [["B"], true])

      yield* rowsFile("siqa.jsonl", [
        { context: "Ana ran.", question: "Why?", answerA: "a", answerB: "b", answerC: "c", label: "2" }
      ])
      assert.strictEqual((yield* evaluate("siqa", url, "--data", "siqa.jsonl")).code, 0)
      assert.isTrue((yield* samplesOf("siqa"))[0]?.correct)

      const suite = [
        "name: mine",
        "title: Mine",
        "about: choices without labels",
        "layout: question, options, answer",
        "licence: mine",
        "origin: mine",
        "choices: { from: options, answer: answer }",
        'prompt: "{question} {choices}"',
        "score: { accuracy: { by: choice, read: announced } }"
      ]
      yield* fs.writeFileString("mine.yaml", suite.join("\n"))
      yield* rowsFile("mine.jsonl", [{ question: "?", options: ["a", "b", "c", "d"], answer: "2" }])
      const refused = yield* evaluate("./mine.yaml", url, "--data", "mine.jsonl")
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stderr, 'it is not clear which of the 4 choices the answer "2" is')
      assert.include(refused.stderr, "choices.answer_is")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("says what is wrong with a suite, its name or its rows", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      yield* InProcess.folder
      const { url } = yield* model(() => "")
      const unknown = yield* evaluate("gsm-8k", url)
      assert.include(unknown.stderr, "unknown suite")
      assert.include(unknown.stderr, "gsm8k")
      yield* fs.writeFileString(
        "bad.yaml",
        'name: bad\ntitle: B\nabout: b\nlicence: b\norigin: b\nlayout: b\nprompt: "?"\nscore:\n  a: { by: choise }\n'
      )
      const misspelt = yield* evaluate("./bad.yaml", url)
      assert.match(misspelt.stderr, /bad\.yaml:9/)
      yield* fs.writeFileString(
        "key.yaml",
        'name: bad\ntitle: B\nabout: b\nlicence: b\norigin: b\nlayout: b\nprompts: "?"\nscore: { a: { by: grid } }\n'
      )
      const key = yield* evaluate("./key.yaml", url)
      assert.include(key.stderr, "prompts")
      yield* rowsFile("rows.jsonl", [{ problem: "?", answer: "#### 4" }])
      const column = yield* evaluate("gsm8k", url, "--data", "rows.jsonl")
      assert.include(column.stderr, 'missing column "question" (prompt of the suite); columns: problem, answer')
      const none = yield* evaluate("refusalbench", url)
      assert.include(none.stderr, "judge")
      const judged = yield* evaluate("refusalbench", url, "--judge.base_url", `${url}/v1`, "--judge.model_name", "j")
      assert.include(judged.stderr, "refusalbench needs rows, --data FILE: prompt")
      const both = yield* evaluate("gsm8k", url, "--env", "gsm8k")
      assert.include(both.stderr, "--suite and --env cannot be combined")
      for (const { code } of [unknown, misspelt, key, column, none, judged, both]) assert.notStrictEqual(code, 0)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("asks a judge in both orders, and in chats of two turns", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      yield* rowsFile("arena.jsonl", [
        { uid: "1", prompt: "Say hello.", baseline: "Hi!" },
        { uid: "2", prompt: "Say goodbye.", baseline: "No." }
      ])
      const policy = yield* model((asked) => (asked.includes("hello") ? "Hello there." : "Goodbye."))
      // For hello it always takes the first, for goodbye the better one.
      const judge = yield* model((asked) => {
        if (asked.includes("hello.")) return "[[A>B]]"
        return asked.indexOf("Goodbye.") < asked.indexOf("No.") ? "So: [[A>>B]]" : "So: [[B>A]]"
      })
      const judging = [
        "--judge.base_url",
        `${judge.url}/v1`,
        "--judge.model_name",
        "j",
        "--judge.health_check",
        "false"
      ]
      const arena = yield* evaluate("arena-hard", policy.url, "--data", "arena.jsonl", ...judging)
      assert.strictEqual(arena.code, 0, arena.stderr)
      const { scores } = yield* metricsOf("arena-hard")
      assert.strictEqual(scores["win_rate"]?.value, 0.75)
      assert.strictEqual(scores["win_rate_orders_agree"]?.value, 0.5)

      yield* rowsFile("mt.jsonl", [
        { question_id: 81, category: "writing", turns: ["Write a line.", "Make it rhyme."], reference: [] }
      ])
      const grader = yield* model((asked) => (asked.includes("Make it rhyme.") ? "Fine. [[6]]" : "Good. [[9]]"))
      const grading = [
        "--judge.base_url",
        `${grader.url}/v1`,
        "--judge.model_name",
        "j",
        "--judge.health_check",
        "false"
      ]
      const bench = yield* evaluate("mt-bench", policy.url, "--data", "mt.jsonl", ...grading)
      assert.strictEqual(bench.code, 0, bench.stderr)
      const [sample] = yield* samplesOf("mt-bench")
      assert.deepInclude(sample?.rewards, { turn_1: 9, turn_2: 6, mt_bench: 7.5 })
      assert.deepStrictEqual(
        sample?.messages?.map(({ role }) => role),
        ["user", "assistant", "user", "assistant"]
      )
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("lets a model judge pairs in both orders, and counts rows without a mistake", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      yield* rowsFile("pairs.jsonl", [
        { id: "1", prompt: "One?", chosen: ["good"], rejected: ["bad", "worse"], subset: "Math" },
        { id: "2", prompt: "Two?", chosen: ["good"], rejected: ["bad"], subset: "Focus" }
      ])
      const { url } = yield* model((asked) =>
        asked.includes("Two?")
          ? "[[A]]"
          : asked.indexOf("\ngood\n") < asked.search(/\n(?:bad|worse)\n/)
            ? "[[A]]"
            : "[[B]]"
      )
      const { code, stderr } = yield* evaluate("rewardbench-2", url, "--data", "pairs.jsonl")
      assert.strictEqual(code, 0, stderr)
      const { categories, derived, scores } = yield* metricsOf("rewardbench-2")
      assert.strictEqual(scores["accuracy"]?.count, 6)
      assert.approximately(scores["accuracy"]?.value ?? 0, 5 / 6, 1e-9)
      assert.strictEqual(derived["whole_rows"]?.value, 0.5)
      assert.strictEqual(categories["Focus"]?.value, 0.5)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("compares two evaluations by item, whatever the order of their rows", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      yield* rowsFile("rows.jsonl", questions)
      yield* rowsFile("turned.jsonl", questions.toReversed())
      const [before, after] = [
        yield* model(() => "ANSWER: C"),
        yield* model((asked) => (asked.includes("Two") ? "ANSWER: B" : "ANSWER: C"))
      ]
      yield* evaluate("mmlu", before.url, "--data", "rows.jsonl", "--env.data_dir_to_save_evals", "before")
      yield* evaluate("mmlu", after.url, "--data", "turned.jsonl", "--env.data_dir_to_save_evals", "after")
      const { code, stdout } = yield* InProcess.run(["evaluate", "diff", "before", "after", "--json"])
      assert.strictEqual(code, 0)
      const diff = JSON.parse(stdout) as { readonly [name: string]: unknown }
      assert.deepInclude(diff, { items: 3, unchanged: 2, broken: [] })
      const shown = yield* InProcess.run(["evaluate", "diff", "before", "after/samples.jsonl"])
      assert.match(shown.stdout, /correct +0\.3333 +0\.6667 +\+0\.3333/)
      assert.match(shown.stdout, /fixed: *\n.*C → B/)
      const wrong = yield* InProcess.run(["evaluate", "diff", "before", "rows.jsonl"])
      assert.include(wrong.stderr, "rows.jsonl, line 1: not a sample of an evaluation")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

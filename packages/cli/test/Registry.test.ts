/**
 * Every built-in environment is held to its own claims by `atropos validate`, as a user would. What needs a download
 * reads rows of `fixtures/rows`; judges, reward models and teachers are servers of this test.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { registry, type RegistryEntry } from "@atropos/envs"
import { Effect, Exit, FileSystem, Layer, Logger } from "effect"
import { TestConsole } from "effect/testing"
import { fileURLToPath } from "node:url"
import * as TestServer from "../../core/test/inference/TestServer.ts"
import * as Presentation from "../src/help/Presentation.ts"
import * as Progress from "../src/base/Progress.ts"
import * as Root from "../src/Root.ts"

const layer = Layer.mergeAll(
  NodeServices.layer,
  Presentation.layer,
  Layer.succeed(Progress.Presenter, "lines"),
  TestConsole.layer
)

const rows = (file: string): string => fileURLToPath(new URL(`fixtures/rows/${file}`, import.meta.url))

/** What an environment is told so that it needs nothing from the network. */
const local: { readonly [name: string]: ReadonlyArray<string> } = {
  command: ["--env.command", "true", "--env.items", rows("questions.jsonl")],
  dataset: ["--env.source", rows("questions.jsonl"), "--env.answer_after", "####"],
  distill: ["--env.source", rows("questions.jsonl")],
  harbor: ["--env.tasks", rows("../../../../envs/test/harbor/tasks")],
  gsm8k: ["--env.train_split", rows("questions.jsonl"), "--env.test_split", rows("questions.jsonl")],
  preference: [
    "--env.source",
    rows("preferences.jsonl"),
    "--env.test_source",
    "None",
    "--env.chosen_column",
    "chosen",
    "--env.rejected_column",
    "rejected"
  ],
  inspect: ["--env.task", "inspect_evals/gsm8k"],
  verifiers: ["--env.taskset", "reverse_text"],
  "reward-model": ["--env.source", rows("preferences.jsonl"), "--env.test_source", "None"],
  "sft-loader": ["--env.source", rows("questions.jsonl")],
  "vqa-dataset": [
    "--env.source",
    rows("../../../../envs/test/fixtures/pictures.parquet"),
    "--env.answer_column",
    "answers"
  ]
}

/**
 * Fewer than by default, so that the suite stays fast, but where properties are tried more often (`test:explore`);
 * fewer still where every text is a run of the sandbox or a request.
 */
const fewer = ({ needs }: RegistryEntry): ReadonlyArray<string> => {
  if (needs.includes("sandbox")) return ["--items", "1", "--texts", "4"]
  if (process.env["PROPERTY_RUNS"] !== undefined) return ["--items", "6", "--texts", "100"]
  const asks = needs.some((need) => need === "judge" || need === "reward-model" || need === "teacher")
  return ["--items", "3", "--texts", asks ? "8" : "40"]
}

/** Environments whose scores have several parts, by a rule of their own. */
const hasParts: ReadonlySet<string> = new Set([
  "answer-format",
  "dataset",
  "fundamentals",
  "gsm8k",
  "instructions",
  "json-schema",
  "letter-counting",
  "math",
  "mcp",
  "mcqa",
  "ocr",
  "pointing",
  "python-tests",
  "regex",
  "scenes",
  "service-desk",
  "taxi",
  "text-reversal",
  "text-to-sql",
  "tool-calling",
  "tool-use",
  "travel-planning",
  "vqa-dataset",
  "wordle"
])

interface Asked {
  readonly messages?: ReadonlyArray<{ readonly content: string }>
  readonly query?: ReadonlyArray<string>
}

/** What an OpenEnv server says of itself. */
const openEnvSchema = {
  action: { properties: { answer: { type: "string" } }, required: ["answer"] },
  observation: { properties: { question: { type: "string" } } }
}

/** A judge that prefers the answer that shares more words with the request, and a reward model that counts them. */
const helper = TestServer.make(({ body, path }) => {
  const { messages = [], query = [] }: Asked = body
  if (path === "/reward") return { json: { rewards: query.map(({ length }) => length) } }
  if (path === "/schema") return { json: openEnvSchema }
  const text = messages.at(-1)?.content ?? ""
  const part = (name: string) =>
    new RegExp(`--- ${name} (\\w+) ---\\n([^]*?)\\n--- end of ${name} \\1 ---`).exec(text)?.[2] ?? ""
  const wanted = new Set(part("request").toLowerCase().match(/\w+/g))
  const shared = (answer: string) =>
    new Set((answer.toLowerCase().match(/\w+/g) ?? []).filter((one) => wanted.has(one))).size
  const [a, b] = [shared(part("answer A")), shared(part("answer B"))]
  return TestServer.chatReply([a === b ? "[[tie]]" : a > b ? "[[A]]" : "[[B]]"])
})

const wordsFor = ({ family, needs }: RegistryEntry, url: string): ReadonlyArray<string> => [
  ...(needs.includes("judge") ? ["--judge.base_url", `${url}/v1`] : []),
  ...(needs.includes("teacher") ? ["--teacher.base_url", `${url}/v1`, "--teacher.tokenizer_name", "bytes"] : []),
  ...(needs.includes("opponent") ? ["--opponent.base_url", `${url}/v1`] : []),
  ...(needs.includes("reward-model") ? ["--env.reward_url", `${url}/reward`] : []),
  ...(family === "servers" ? ["--env.url", url] : [])
]

/** What the command came to, and all that it printed. */
const run = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const exit = yield* Effect.exit(Root.run(words))
  const lines = [...(yield* TestConsole.logLines), ...(yield* TestConsole.errorLines)]
  return { succeeded: Exit.isSuccess(exit), printed: lines.map(String).join("\n") }
})

describe("atropos validate", () => {
  it.live.each(Object.entries<RegistryEntry>(registry))("%s keeps what it claims", ([name, entry]) =>
    Effect.gen(function* () {
      const own = local[name]
      if (entry.needs.includes("download") && own === undefined) {
        return assert.fail(`${name} needs rows: name a file of fixtures/rows in \`local\` of this test`)
      }
      const { url } = yield* helper
      const { printed, succeeded } = yield* run(
        "validate",
        "--env",
        name,
        ...fewer(entry),
        ...(own ?? []),
        ...wordsFor(entry, url)
      )
      // Python and its packages are the user's: without them the one command that installs them is named.
      const isAbsent =
        (entry.needs.includes("python") && /-m pip install|there is no python3/.test(printed)) ||
        // So is bubblewrap.
        (entry.needs.includes("tasks") && /install bubblewrap/.test(printed))
      assert.isTrue(succeeded || isAbsent, printed)
      if (!isAbsent) assert.strictEqual(printed.includes("match their components"), hasParts.has(name), printed)
    }).pipe(Effect.provide(layer))
  )

  it.live("names the flag of a judge, a teacher or a reward model that is missing", () =>
    Effect.gen(function* () {
      for (const [name, flag] of [
        ["preference", "--judge.base_url"],
        ["distill", "--teacher.base_url"],
        ["reward-model", "--env.reward_url"]
      ] as const) {
        const { printed, succeeded } = yield* run("validate", "--env", name, ...(local[name] ?? []))
        assert.isFalse(succeeded)
        assert.include(printed, flag)
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("says of a flag of a judge or teacher that the environment asks none, and names no other flag for it", () =>
    Effect.gen(function* () {
      for (const [name, other] of [
        ["taxi", "judge"],
        ["preference", "teacher"]
      ] as const) {
        const { printed, succeeded } = yield* run(
          "validate",
          "--env",
          name,
          `--${other}.base_url`,
          "http://127.0.0.1:1/v1"
        )
        assert.isFalse(succeeded)
        assert.include(printed, `unknown flag --${other}.base_url: this environment uses no ${other}`)
        assert.notInclude(printed, "did you mean")
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("warns of a judge in the file that the environment does not ask", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* fs.makeTempDirectoryScoped()}/run.yaml`
      yield* fs.writeFileString(file, "judge:\n  base_url: http://127.0.0.1:1/v1\n")
      const logged: Array<string> = []
      const remember = Logger.make(({ message }) => void logged.push(String(message)))
      const words = ["validate", "--env", "taxi", "--items", "1", "--texts", "2", "--config", file]
      assert.isTrue((yield* Effect.provide(run(...words), Logger.layer([remember]))).succeeded)
      assert.include(logged.join("\n"), "the environment uses no judge; ignoring that section of the file")
    }).pipe(Effect.provide(layer))
  )

  it.live("shows the form of a list that was not written as JSON", () =>
    Effect.gen(function* () {
      for (const [words, expected] of [
        [
          ["math", "--env.areas", "algebra"],
          `--env.areas: expected JSON, for example '["algebra","numbers","calculus"]'`
        ],
        [["mcp", "--env.args", "fast"], `--env.args: expected JSON, for example '["…"]', got "fast"`]
      ] as const) {
        const { printed, succeeded } = yield* run("validate", "--env", ...words)
        assert.isFalse(succeeded)
        assert.include(printed, expected)
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("takes a judge from a file, flags over it, and says which key it does not know", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { asked, url } = yield* helper
      const file = `${yield* fs.makeTempDirectoryScoped()}/run.yaml`
      yield* fs.writeFileString(file, `judge:\n  base_url: ${url}/v1\n  model_name: of the file\n`)
      const words = ["validate", "--env", "preference", ...(local["preference"] ?? []), "--items", "1", "--texts", "2"]
      assert.isTrue((yield* run(...words, "--config", file)).succeeded)
      assert.isTrue((yield* run(...words, "--config", file, "--judge.model_name", "of the flag")).succeeded)
      assert.deepStrictEqual(new Set(asked.map(({ body }) => body["model"])), new Set(["of the file", "of the flag"]))
      yield* fs.writeFileString(file, `judge:\n  base_ulr: ${url}/v1\n`)
      const { printed, succeeded } = yield* run(...words, "--config", file)
      assert.isFalse(succeeded)
      assert.match(printed, /run\.yaml:2: unknown setting "judge\.base_ulr".*base_url/)
    }).pipe(Effect.provide(layer))
  )
})

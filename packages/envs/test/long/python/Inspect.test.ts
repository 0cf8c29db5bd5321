/** Evaluations of inspect_ai through the bridge, against the package's own scores. */
import { assert, describe, it } from "@effect/vitest"
import { Environment, Message, ServerManager } from "@atropos/core"
import { Effect, Layer, Option, References, Schema, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as Inspect from "../../../src/connected/Inspect.ts"
import { having, interpreter } from "../../../../core/test/Python.ts"
import { run } from "./Python.ts"

const { absence, isPresent } = having("inspect_ai")

const file = fileURLToPath(new URL("packages/capitals.py", import.meta.url))
const identified = fileURLToPath(new URL("packages/identified.py", import.meta.url))
const answers: { readonly [end: string]: string } = {
  "France?": "Paris",
  "Italy?": "It is Rome, I think.",
  "Norway?": "Bergen",
  "Peru?": "Lima and not Oslo.",
  "Ghana?": "",
  "Japan?": "Tokyo"
}

const said = (request: ServerManager.ScriptedRequest): string => {
  const asked = "messages" in request ? Message.text(request.messages.at(-1)!) : ""
  return Object.entries(answers).find(([end]) => asked.endsWith(end))?.[1] ?? "I do not know."
}

const Scores = Schema.Array(Schema.Array(Schema.Record(Schema.String, Schema.Finite)))

/** Of each task, from one interpreter: inspect takes seconds to load. */
const scoresOf = (tasks: ReadonlyArray<string>) =>
  Schema.decodeUnknownSync(Scores)(
    run(
      fileURLToPath(new URL("inspect_scores.py", import.meta.url)),
      JSON.stringify(answers),
      ...tasks.map((task) => `${file}@${task}`)
    )
  )

const inspect = (task: string, policy: ServerManager.Script = said, path = file) =>
  Inspect.layer({ task: `${path}@${task}`, python: interpreter, groupSize: 2, maxTokenLength: 512 }).pipe(
    Layer.provide(ServerManager.layerScripted(policy))
  )

const evaluated = Effect.flatMap(Environment.Environment, ({ evaluation }) =>
  Option.getOrThrow(evaluation).pipe(
    Stream.mapEffect(({ evaluate }) => evaluate, { concurrency: "unbounded" }),
    Stream.runCollect
  )
)

const quiet = Effect.provideService(References.MinimumLogLevel, "Error")

describe.runIf(isPresent)(`inspect_ai${absence}`, () => {
  it.live("an evaluation's scores are inspect's own, item by item", () =>
    Effect.gen(function* () {
      const tasks = ["capitals", "twice"]
      for (const [at, theirs] of scoresOf(tasks).entries()) {
        const task = tasks[at]!
        const ours = yield* Effect.provide(evaluated, inspect(task))
        assert.strictEqual(theirs.length, Object.keys(answers).length)
        assert.deepStrictEqual(
          ours.flat().map(({ rewards }) => rewards),
          Array.from(theirs)
        )
        assert.deepStrictEqual(
          ours.flat().map(({ score }) => score),
          theirs.map((scores) => Object.values(scores).reduce((sum, score) => sum + score, 0))
        )
      }
    }).pipe(quiet)
  )

  it.live("a sample keeps its own id, scores of like names all count, and a reducer of epochs has no part in it", () =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const items = yield* Stream.runCollect(Stream.take(work(0), 3))
      for (const { rollOut } of items) {
        const { groups } = yield* rollOut
        assert.deepStrictEqual(
          groups.map(({ scores }) => Array.from(scores)),
          [[31, 31]]
        )
        const { "by_id.a_b": plain, "by_id.own": own } = groups[0]!.rewards![0]!
        assert.deepStrictEqual([own, plain], [1, 4])
      }
    }).pipe(Effect.provide(inspect("identified", said, identified)), quiet)
  )

  it.live("what a grader is asked is not trained on", () =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const [item] = yield* Stream.runCollect(Stream.take(work(0), 1))
      const { groups } = yield* item!.rollOut
      const chats = groups.flatMap(({ messages = [] }) => messages)
      assert.strictEqual(chats.length, 2)
      for (const chat of chats) assert.match(Message.text(chat[0]!), /^The capital of \w+\?$/)
      assert.deepStrictEqual(
        groups.flatMap(({ scores }) => Array.from(scores)),
        [1, 1]
      )
    }).pipe(
      Effect.provide(
        inspect("graded", (request) =>
          "messages" in request && /GRADE/.test(request.messages.map(Message.text).join(""))
            ? "GRADE: C"
            : said(request)
        )
      ),
      quiet
    )
  )

  it.live("a task that is not there, and one without a name among several, are refused in words", () =>
    Effect.gen(function* () {
      const failed = (task: string, args = {}) =>
        Effect.flip(
          Effect.provide(
            Effect.flatMap(Environment.Environment, ({ work }) => Stream.runHead(work(0))),
            Inspect.layer({ task, args, python: interpreter }).pipe(Layer.provide(ServerManager.layerScripted(said)))
          )
        )
      assert.match((yield* failed("no/such.py")).message, /no such file: no\/such\.py/)
      assert.match((yield* failed(`${file}@capitls`)).message, /'capitls' not found. .* has capitals, graded, twice$/)
      assert.match(
        (yield* failed(`${identified}@identified`, { lnd: "Peru" })).message,
        /identified has no argument lnd; it has land/
      )
      assert.match((yield* failed(file)).message, /has 3 tasks \(capitals, .*name one/)
      assert.match((yield* failed("no_such_evals/task")).message, /pip install "no-such-evals"/)
    }).pipe(quiet)
  )
})

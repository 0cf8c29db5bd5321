import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, References } from "effect"
import * as Judge from "../../src/kit/Judge.ts"
import * as Message from "@atropos/core/trajectory/Message"
import * as TestServer from "../../../core/test/inference/TestServer.ts"

const quiet = Layer.mergeAll(NodeServices.layer, Layer.succeed(References.MinimumLogLevel, "None"))

const about = (text: string, more: object = {}) => ({ messages: [Message.user(text)], temperature: 0, ...more })

const ask = (text: string, more: object = {}) =>
  Effect.flatMap(Judge.Judge, (judge) =>
    Effect.map(judge.ask(about(text, more)), (choices) => choices.map((choice) => choice.text))
  )
const usage = Effect.flatMap(Judge.Judge, ({ usage }) => usage)

/** A judge's server that numbers its answers. */
const numbering = TestServer.make(({ body }, count) =>
  TestServer.chatReply(Array.from({ length: Number(body["n"] ?? 1) }, (_, index) => `answer ${count}.${index}`))
)

const settings = (url: string, more: Partial<Judge.Settings> = {}) => [
  { baseUrl: `${url}/v1`, modelName: "judge-1", promptPrice: 2, completionPrice: 10, ...more }
]

describe("Judge", () => {
  it.live("asks once for what it was asked before, and counts calls, tokens and cost", () =>
    Effect.gen(function* () {
      const server = yield* numbering
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* ask("a", { n: 2 }), ["answer 1.0", "answer 1.1"])
        assert.deepStrictEqual(yield* ask("a", { n: 2 }), ["answer 1.0", "answer 1.1"])
        // Another order of keys is the same request; another number of answers is not.
        const judge = yield* Judge.required
        const turned = { temperature: 0, n: 2, messages: [{ content: "a", role: "user" }] }
        assert.strictEqual((yield* judge.ask(turned)).length, 2)
        assert.deepStrictEqual(yield* ask("a"), ["answer 2.0"])
        // Seven prompt tokens and three for each answer.
        assert.deepStrictEqual(yield* usage, {
          questions: 4,
          calls: 2,
          promptTokens: 14,
          completionTokens: 9,
          cost: (14 * 2 + 9 * 10) / 1e6
        })
        assert.strictEqual((yield* judge.metrics)["judge/calls"], 2)
      }).pipe(Effect.provide(Judge.layer(settings(server.url))))
      assert.deepStrictEqual(
        server.asked.map(({ body }) => [body["model"], body["n"]]),
        [
          ["judge-1", 2],
          ["judge-1", undefined]
        ]
      )
    }).pipe(Effect.provide(quiet))
  )

  it.live("asks once for what is asked at the same time, and again after a failure", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make((_, count) =>
        count === 1 ? { status: 400, text: "no" } : TestServer.chatReply(["yes"])
      )
      yield* Effect.gen(function* () {
        const refused = yield* Effect.flip(ask("a"))
        assert.strictEqual(refused._tag, "InferenceError")
        const answers = yield* Effect.all(
          Array.from({ length: 20 }, () => ask("a")),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(new Set(answers.flat()), new Set(["yes"]))
        assert.strictEqual(server.asked.length, 2)
      }).pipe(Effect.provide(Judge.layer(settings(server.url))))
    }).pipe(Effect.provide(quiet))
  )

  it.live("has a limit of its own on requests at once", () =>
    Effect.gen(function* () {
      const server = yield* numbering
      yield* Effect.forEach(Array.from({ length: 12 }).keys(), (index) => ask(`question ${index}`), {
        concurrency: "unbounded"
      }).pipe(Effect.provide(Judge.layer(settings(server.url, { numMaxRequestsAtOnce: 3 }))))
      assert.strictEqual(server.asked.length, 12)
      assert.isAtMost(server.max(), 3)
    }).pipe(Effect.provide(quiet))
  )

  it.live("forgets the oldest answers when it remembers enough, and remembers none where told so", () =>
    Effect.gen(function* () {
      const server = yield* numbering
      yield* Effect.gen(function* () {
        for (const text of ["a", "b", "c", "a"]) yield* ask(text)
        assert.strictEqual((yield* usage).calls, 4)
        yield* ask("a")
        assert.strictEqual((yield* usage).calls, 4)
      }).pipe(Effect.provide(Judge.layer(settings(server.url, { cacheSize: 2 }))))
      yield* Effect.gen(function* () {
        yield* Effect.all([ask("a"), ask("a")])
        assert.strictEqual((yield* usage).calls, 2)
      }).pipe(Effect.provide(Judge.layer(settings(server.url, { cacheSize: 0 }))))
    }).pipe(Effect.provide(quiet))
  )

  it.live("keeps answers in a file: a restart pays for none of them, a broken line costs that one alone", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cacheFile = `${yield* fs.makeTempDirectoryScoped()}/deep/answers.jsonl`
      const server = yield* numbering
      const run = <A, E>(effect: Effect.Effect<A, E, Judge.Judge>, more: Partial<Judge.Settings> = {}) =>
        Effect.provide(effect, Judge.layer(settings(server.url, { cacheFile, ...more })), { local: true })
      const all = Effect.forEach(["a", "b", "c"], (text) => ask(text))
      const first = yield* run(all)
      assert.deepStrictEqual(yield* run(all), first)
      assert.strictEqual(server.asked.length, 3)
      const [a, , c] = (yield* fs.readFileString(cacheFile)).trim().split("\n")
      // The process died while it wrote.
      yield* fs.writeFileString(cacheFile, `${a}\n${c}\n{"key": "x`)
      assert.deepStrictEqual((yield* run(all)).toSpliced(1, 1), first.toSpliced(1, 1))
      assert.strictEqual(server.asked.length, 4)
      assert.strictEqual((yield* run(all), server.asked.length), 4)
      // Another model gives other answers.
      yield* run(ask("a"), { modelName: "judge-2" })
      assert.strictEqual(server.asked.length, 5)
      yield* run(Effect.void, { cacheSize: 1 })
      assert.strictEqual((yield* fs.readFileString(cacheFile)).trim().split("\n").length, 1)
      const folder = yield* Effect.flip(run(Effect.void, { cacheFile: cacheFile.slice(0, -"/answers.jsonl".length) }))
      assert.match(String(folder), /file of answers .*deep cannot be read/)
    }).pipe(Effect.provide(quiet))
  )

  it.effect("where none is configured says so by name of the flag, and fails whoever asks it all the same", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Judge.required)
      assert.strictEqual(error._tag, "NotConfigured")
      assert.match(error.message, /needs a judge, but none is configured: set --judge\.base_url/)
      assert.include((yield* Effect.flip(ask("a"))).message, "--judge.base_url")
    }).pipe(Effect.provide(Judge.layer([{ modelName: "no address" }])))
  )

  it.effect("can say what a script says", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* ask("a"), ["first"])
      assert.deepStrictEqual(yield* ask("b"), ["second"])
      assert.deepStrictEqual(yield* ask("a"), ["first"])
    }).pipe(Effect.provide(Judge.layerScripted(["first", "second"])))
  )
})

import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, References, Schema } from "effect"
import { TestClock } from "effect/testing"
import { fileURLToPath } from "node:url"
import type { ServerMetrics } from "../../../src/inference/wire/Inference.ts"
import * as MemoryTrajectoryClient from "../../../src/service/memory/MemoryTrajectoryClient.ts"
import * as GroupFilter from "../../../src/rollout/submit/GroupFilter.ts"
import * as Reports from "../../../src/rollout/submit/Reports.ts"
import * as TokenPieces from "../../../src/rollout/submit/TokenPieces.ts"
import { ServerManager } from "../../../src/inference/ServerManager.ts"
import * as Tokenizer from "../../../src/inference/tokenizer/Tokenizer.ts"
import type { Telemetry } from "../../../src/service/TelemetryClient.ts"
import type { EnvironmentReport, Registration } from "../../../src/service/TrajectoryApi.ts"
import { TrajectoryError } from "../../../src/service/TrajectoryError.ts"
import { drain, finish, folder, group, layerParts, numbers, pass, settle, start, trajectory } from "../RolloutTest.ts"

/** Tokens are named by their numbers. */
const naming = { decode: (ids: ArrayLike<number>) => Array.from(ids, (id) => `<${id}>`).join("") }

const registration = (envId: number): Registration => ({
  envId,
  name: "a_0",
  startingStep: 0,
  numSteps: 1,
  checkpointDir: "",
  checkpointInterval: 0
})

class Mishap extends Schema.TaggedError<Mishap>()("Mishap", { message: Schema.String }) {}

const refused = new TrajectoryError({ reason: "unreachable", message: "away" })
const quiet = Effect.provide(Layer.succeed(References.MinimumLogLevel, "None"))

describe("TokenPieces.pieceOf", () => {
  it.each([
    ["bytes one after the other", naming.decode, 7, "<7>"],
    // As sentence pieces are decoded: the blank before the first word is taken off.
    [
      "a blank that a text's beginning loses",
      (ids: ArrayLike<number>) => Array.from(ids, () => "the").join(" "),
      1,
      " the"
    ],
    ["nothing", () => "", 1, ""],
    ["what is longer than is kept", (ids: ArrayLike<number>) => "x".repeat(5000 * ids.length), 1, "x".repeat(1024)]
  ])("gives %s", (_, decode, id, piece) => {
    assert.strictEqual(TokenPieces.pieceOf({ decode }, id), piece)
  })
})

layer(Tokenizer.layerHuggingFace(fileURLToPath(new URL("../../fixtures/tiny-tokenizer", import.meta.url))))(
  "TokenPieces of a tokenizer",
  (it) => {
    it.effect("are the text, written one after the other", () =>
      Effect.gen(function* () {
        const tokenizer = yield* Tokenizer.Tokenizer
        const text = "Hello world, what is 2 + 2?\n\n  Four."
        const ids = tokenizer.encode(text, { addSpecialTokens: false })
        assert.strictEqual(ids.map((id) => TokenPieces.pieceOf(tokenizer, id)).join(""), tokenizer.decode(ids))
      })
    )
  }
)

describe("TokenPieces.tell", () => {
  const telling = (recordPieces: Telemetry["recordPieces"]) => {
    let current = registration(0)
    const pieces = TokenPieces.make({ telemetry: { recordPieces }, tokenizer: naming, registration: () => current })
    return { ...pieces, replace: () => (current = registration(1)) }
  }

  it.effect("tells each id once, and all again to another run", () =>
    Effect.gen(function* () {
      const told: Array<ReadonlyArray<readonly [number, string]>> = []
      const { failures, replace, report: tell } = telling((pieces) => Effect.sync(() => void told.push([...pieces])))
      yield* tell([group(7), group(8)])
      yield* tell([group(7), group(9)])
      yield* tell([group(7), group(9)])
      replace()
      yield* tell([group(9)])
      assert.deepStrictEqual(
        told.map((pieces) => pieces.map(([id]) => id)),
        [[7, 1, 2, 3, 8], [9], [9, 1, 2, 3]]
      )
      assert.deepStrictEqual(told[1], [[9, "<9>"]])
      assert.strictEqual(failures(), 0)
    })
  )

  it.effect("tells many in portions", () =>
    Effect.gen(function* () {
      const sizes: Array<number> = []
      const { report: tell } = telling((pieces) => Effect.sync(() => void sizes.push(pieces.size)))
      const tokens = [Int32Array.from({ length: 10_000 }, (_, id) => id)]
      yield* tell([{ tokens, masks: [Uint8Array.of(1)], scores: Float64Array.of(1) }])
      assert.deepStrictEqual(sizes, [4096, 4096, 1808])
    })
  )

  it.effect.each([
    ["fails", Effect.fail(refused)],
    ["dies", Effect.die("broken")],
    ["never answers", Effect.never]
  ] as const)("goes on where the service %s, and tells it with the next groups", ([, outcome]) =>
    Effect.gen(function* () {
      let answer: Effect.Effect<void, TrajectoryError> = outcome
      const told: Array<number> = []
      const { failures, report: tell } = telling((pieces) =>
        Effect.andThen(
          Effect.suspend(() => answer),
          Effect.sync(() => void told.push(...pieces.keys()))
        )
      )
      const first = yield* Effect.forkChild(tell([group(7)]), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(first)
      assert.deepStrictEqual([told, failures()], [[], 1])
      answer = Effect.void
      yield* tell([group(7)])
      assert.deepStrictEqual(told, [7, 1, 2, 3])
    }).pipe(quiet)
  )
})

describe("Reports", () => {
  const server: ServerMetrics = {
    server: "http://a",
    healthy: true,
    split: "train",
    inFlight: 2,
    limit: 512,
    count: 3,
    failures: 1,
    retries: 0,
    latencyMean: 0.5,
    latencyStd: 0.5,
    latencyMax: 2,
    latencyP95: 1,
    latencyP99: 2,
    tokensPerSecond: Number.POSITIVE_INFINITY
  }

  const reporting = (send: (report: EnvironmentReport) => Effect.Effect<void, TrajectoryError>) => {
    const state = { running: 1, unsent: 0, finished: 0 }
    const load = { running: () => state.running, unsent: () => state.unsent, finished: () => state.finished }
    return {
      state,
      load,
      reports: Reports.make({
        send,
        servers: Effect.succeed([server, { ...server, split: "eval", count: 0 }])
      })
    }
  }

  it.effect("come every five seconds, and sooner after a failure, but not more than one a second", () =>
    Effect.gen(function* () {
      const sent: Array<EnvironmentReport> = []
      const { load, reports } = reporting((report) => Effect.sync(() => void sent.push(report)))
      yield* Effect.forkChild(reports.run(load), { startImmediately: true })
      yield* TestClock.adjust("0 seconds")
      assert.strictEqual(sent.length, 1)
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual(sent.length, 2)
      yield* TestClock.adjust("2 seconds")
      for (let i = 0; i < 10; i++) yield* reports.failed(`reason ${i}`)
      yield* TestClock.adjust("0 seconds")
      assert.strictEqual(sent.length, 3)
      assert.deepStrictEqual(
        [sent[2]!.failures, sent[2]!.lastError?.message, sent[2]!.lastError?.at],
        [10, "reason 9", 8000]
      )
      yield* reports.failed("again")
      yield* TestClock.adjust("900 millis")
      assert.strictEqual(sent.length, 3)
      yield* TestClock.adjust("100 millis")
      assert.strictEqual(sent.length, 4)
    })
  )

  it.effect("say what runs, how fast, and how the servers do", () =>
    Effect.gen(function* () {
      const sent: Array<EnvironmentReport> = []
      const { load, reports, state } = reporting((report) => Effect.sync(() => void sent.push(report)))
      yield* reports.send(load)
      for (let i = 0; i < 30; i++) {
        state.finished += 2
        yield* TestClock.adjust("5 seconds")
        yield* reports.send(load)
      }
      const { itemsPerMinute, servers, ...rest } = sent.at(-1)!
      assert.strictEqual(itemsPerMinute, 24)
      assert.strictEqual(sent[0]!.itemsPerMinute, 0)
      assert.deepStrictEqual(rest, { running: 1, unsent: 0, failures: 0, lastError: null })
      assert.deepStrictEqual(servers[0], {
        server: "http://a",
        split: "train",
        healthy: true,
        inFlight: 2,
        limit: 512,
        latencyMean: 0.5,
        latencyP95: 1,
        tokensPerSecond: null,
        failures: 1
      })
      assert.deepInclude(servers[1]!, { split: "eval", latencyMean: null, latencyP95: null })
      // The figures of one minute alone.
      yield* TestClock.adjust("2 minutes")
      yield* reports.send(load)
      yield* TestClock.adjust("1 minute")
      yield* reports.send(load)
      assert.strictEqual(sent.at(-1)!.itemsPerMinute, 0)
    })
  )

  it.effect("that cannot be sent are counted, and logged once", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const { load, reports } = reporting(() => Effect.fail(refused))
      yield* Effect.all([reports.send(load), reports.send(load), reports.send(load)]).pipe(
        Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(message))]))
      )
      assert.strictEqual(reports.unsent(), 3)
      assert.strictEqual(logged.length, 1)
    })
  )
})

const chat = (content: string) => [[{ role: "user", content }], [{ role: "user", content }]]

describe("GroupFilter, chats for people", () => {
  const options = { groupSize: 2, ensureScoresAreNotSame: false, includeMessages: false, maxTokenLength: -1 }
  const kept = (messages: ReturnType<typeof chat>, keepMessages: boolean) => {
    const verdict = GroupFilter.filter({ ...group(1), messages }, { ...options, keepMessages })
    return verdict._tag === "Success" && verdict.success.messages !== undefined
  }

  it("are kept where they are there and somebody may look, and are not made", () => {
    assert.isTrue(kept(chat("a"), true))
    assert.isFalse(kept(chat("a"), false))
    assert.isFalse(kept([[], []], true))
  })

  it("are left out where they are very large", () => {
    assert.isTrue(kept(chat("x".repeat(1_900_000)), true))
    assert.isFalse(kept(chat("x".repeat(2_100_000)), true))
  })

  it("count text, images and calls", () => {
    const url = "data:image/png;base64,AAAA"
    const message = {
      role: "assistant",
      content: [
        { type: "text", text: "four" },
        { type: "image_url", image_url: { url } },
        { type: "image_url", image_url: url }
      ],
      reasoning_content: "hm",
      tool_calls: [{ function: { name: "f", arguments: "{}" } }]
    }
    assert.strictEqual(GroupFilter.charactersOf([[message], [{ role: "user", content: null }]]), 4 + 2 * url.length + 4)
  })
})

describe("Rollout before an audience", () => {
  const parts = Layer.mergeAll(
    layerParts,
    Layer.mock(ServerManager, {
      serverCount: 1,
      modelName: "scripted",
      tokenizer: { ...Tokenizer.bytes, ...naming },
      metrics: Effect.succeed([]),
      setWeight: () => Effect.void,
      refresh: () => Effect.void
    })
  )

  it.effect("sends chats with every group, their tokens' text before them, and reports until the end", () =>
    Effect.gen(function* () {
      const memory = MemoryTrajectoryClient.make({ batchSize: 2 })
      const calls: Array<string> = []
      const reports: Array<EnvironmentReport> = []
      const environment = yield* numbers({
        settings: { totalSteps: 3 },
        collectTrajectories: (item) =>
          item === 1 ? new Mishap({ message: "no such number" }) : Effect.succeed([trajectory(item), trajectory(item)])
      })
      const running = yield* start(
        environment,
        {
          ...memory,
          submit: (envId, groups) => {
            calls.push(`groups ${groups.map(({ group }) => group.tokens[0]![0]).join()}`)
            return memory.submit(envId, groups)
          },
          telemetry: Effect.succeedSome({
            recordMetrics: () => Effect.void,
            recordPieces: (pieces) => Effect.sync(() => void calls.push(`pieces ${[...pieces.keys()].join()}`)),
            recordReport: (_envId, report) => Effect.sync(() => void reports.push(report)),
            recordEvaluation: () => Effect.void,
            recordLogprobs: () => Effect.void,
            recordSettings: () => Effect.void
          })
        },
        { spoolDirectory: yield* folder, maxItemAttempts: 1 }
      )
      yield* pass(2)
      const groups = yield* drain(memory, 3)
      yield* settle
      yield* finish(running)
      assert.isAbove(groups.length, 0)
      for (const { messages } of groups) assert.deepStrictEqual(messages?.[0]?.[0]?.role, "user")
      const known = new Set<string>()
      for (const call of calls) {
        const [kind, list = ""] = call.split(" ")
        if (kind === "pieces") for (const id of list.split(",")) known.add(id)
        else for (const item of list.split(",")) assert.isTrue(known.has(item), call)
      }
      assert.isTrue(["1", "2", "3"].every((id) => known.has(id)))
      const last = reports.at(-1)!
      assert.deepStrictEqual([last.running, last.failures], [0, 1])
      assert.include(last.lastError?.message, "no such number")
    }).pipe(Effect.provide(parts))
  )

  it.effect("loses nothing to a service whose ears are shut", () =>
    Effect.gen(function* () {
      const memory = MemoryTrajectoryClient.make({ batchSize: 2 })
      const environment = yield* numbers({ settings: { totalSteps: 2 } })
      const running = yield* start(
        environment,
        {
          ...memory,
          telemetry: Effect.succeedSome({
            recordMetrics: () => Effect.void,
            recordPieces: () => Effect.die("pieces"),
            recordReport: () => Effect.die("reports"),
            recordEvaluation: () => Effect.void,
            recordLogprobs: () => Effect.void,
            recordSettings: () => Effect.void
          })
        },
        { spoolDirectory: yield* folder }
      )
      yield* pass(2)
      assert.isAbove((yield* drain(memory, 2)).length, 0)
      yield* settle
      const summary = yield* finish(running)
      assert.isAbove(summary.groupsSent, 0)
    }).pipe(Effect.provide(parts))
  )

  it.effect("keeps to what trainers ask for where nobody can look", () =>
    Effect.gen(function* () {
      const memory = MemoryTrajectoryClient.make({ batchSize: 2 })
      const environment = yield* numbers({ settings: { totalSteps: 1 } })
      const running = yield* start(environment, memory, { spoolDirectory: yield* folder })
      yield* pass(2)
      const [first] = yield* drain(memory, 1)
      assert.isUndefined(first!.messages)
      yield* settle
      yield* finish(running)
    }).pipe(Effect.provide(parts))
  )
})

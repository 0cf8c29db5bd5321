/**
 * The requests and answers recorded from the original, replayed. Each difference that is meant is listed here and in
 * docs/protocol.md, where the Q numbers are.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as HttpServer from "../../src/http/HttpServer.ts"
import * as V0 from "../../src/v0/V0.ts"
import transcripts from "./fixtures/api-transcripts.json" with { type: "json" }
import { Comparison, send, type Transcript } from "./Replay.ts"
import { layer as store } from "../TestStore.ts"
import { port } from "./V0Server.ts"

/** Where a sequence leaves the recorded one, and why: from that step on, only the kinds of answers are compared. */
const departures: { readonly [name: string]: { readonly step: number; readonly reason: string } } = {
  "unknown and missing env ids bypass the size check": {
    step: 7,
    reason: "Q 8: a batch fits exactly, so it is formed"
  },
  "reset keeps max_token_len and the latest example": {
    step: 5,
    reason: "Q 15: a reset run is not reported as current"
  },
  "quirk: scored data before register leaves the server unregistered until reset": {
    step: 2,
    reason: "Q 1: early data waits, and the trainer registers"
  },
  "minimum allocations in status and batch": { step: 43, reason: "Q 10: a silent environment does not stop batches" },
  "fuzz 5": { step: 16, reason: "Q 9: the oldest groups go first, whatever the largest size" },
  "fuzz 8": { step: 30, reason: "Q 9: the oldest groups go first, whatever the largest size" },
  "fuzz 26": { step: 39, reason: "Q 8: a batch fits exactly, so it is formed" },
  "fuzz 50": { step: 31, reason: "Q 10: a silent environment does not stop batches" },
  "fuzz 51": { step: 10, reason: "Q 10: a silent environment does not stop batches" },
  "fuzz 56": { step: 25, reason: "Q 10: a silent environment does not stop batches" }
}

const all: ReadonlyArray<Transcript> = transcripts
const [first, ...others] = all.map(({ name }, index) => V0.layer({ prefix: `/${index}`, run: name }))
const server = HttpServer.layer(Layer.mergeAll(first!, ...others), { host: "127.0.0.1", port: 0 }).pipe(
  Layer.provide(store)
)

layer(server, { excludeTestServices: true })("a recorded sequence", (it) => {
  it.effect.each(all.map((transcript, index) => [transcript.name, transcript.steps, index] as const))(
    "%s",
    ([name, steps, index]) =>
      Effect.gen(function* () {
        const to = yield* port
        const comparison = new Comparison()
        const departure = departures[name]
        const statuses: Array<readonly [number, number]> = []
        for (const [at, step] of steps.entries()) {
          const answer = yield* Effect.promise(() => send(to, `/${index}`, step))
          if (departure === undefined || at <= departure.step) comparison.step(at, step, answer)
          else statuses.push([answer.status, step.status])
        }
        const expected = departure === undefined ? [] : [`step ${departure.step}`]
        assert.deepStrictEqual(
          comparison.differences.map((difference) => /^step \d+/.exec(difference)?.[0]),
          expected,
          comparison.differences.join("\n")
        )
        for (const [ours, recorded] of statuses) if (recorded !== 500) assert.strictEqual(ours, recorded)
      })
  )
})

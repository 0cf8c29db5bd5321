/** The bridge to reasoning-gym against the package itself: the same items, and the same scores. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as Bridge from "../../../src/python/Bridge.ts"
import { having, interpreter } from "../../../../core/test/Python.ts"
import * as Sample from "../../../../core/test/Sample.ts"
import { run } from "./Python.ts"

const { absence, isPresent } = having("reasoning_gym")
const seed = 5
/** Of every data set; 20 where somebody asks for all (`ATROPOS_TEST_ITEMS=20`). */
const count = Number(process.env["ATROPOS_TEST_ITEMS"] ?? 1)
const nth = Sample.isWhole ? 1 : 4

const Info = Schema.Struct({ shape: Schema.Literal("single") })
const Question = Schema.Struct({ question: Schema.String })
const Scores = Schema.Struct({
  scores: Schema.Array(Schema.Finite),
  raised: Schema.Array(Schema.Struct({ answer: Schema.Int }))
})
const Reference = Schema.Record(
  Schema.String,
  Schema.Union([
    // Why the package itself cannot make it.
    Schema.String,
    Schema.Array(
      Schema.Struct({
        question: Schema.String,
        answers: Schema.Array(Schema.String),
        // None where the scorer raises an exception.
        scores: Schema.Array(Schema.NullOr(Schema.Finite))
      })
    )
  ])
)

const open = (names: ReadonlyArray<string>) =>
  Bridge.make({
    words: [interpreter],
    kind: "reasoning-gym",
    packageName: "reasoning-gym",
    name: names.join(","),
    config: { seed, size: 10_000, parts: names.map((name) => ({ name, level: 0, config: {} })) },
    info: Info
  })

describe.runIf(isPresent)(`reasoning-gym${absence}`, () => {
  it.live("data sets give the package's own items, and its own scores of right and wrong answers", () =>
    Effect.gen(function* () {
      const script = fileURLToPath(new URL("bridge_scores.py", import.meta.url))
      const reference = Schema.decodeUnknownSync(Reference)(run(script, String(seed), String(count), String(nth)))
      const names = Object.keys(reference)
      assert.isAbove(names.length, 100 / nth)
      const sound = names.flatMap((name) => {
        const items = reference[name]
        return typeof items === "string" || items === undefined ? [] : [{ name, items }]
      })
      // It needs data sets of its own to be made of.
      assert.includeMembers(
        ["composite"],
        names.filter((name) => typeof reference[name] === "string")
      )
      const differing: Array<string> = []
      const bridge = yield* open(sound.map(({ name }) => name))
      for (const [part, { items, name }] of sound.entries()) {
        for (const [index, { answers, question, scores }] of items.entries()) {
          const item = yield* bridge.call("item", { part, index, heldOut: false }, Question)
          const values = { part, index, heldOut: false, completions: answers, extracted: true }
          const scored = yield* bridge.call("score", values, Scores)
          // Some answers hold the path of a temporary file.
          const isOther = item.question !== question || (name === "codeio" && scored.scores[0] !== scores[0])
          if (isOther) differing.push(`${name} ${index}`)
          else {
            const raised = new Set(scored.raised.map(({ answer }) => answer))
            const ours = scored.scores.map((score, at) => (raised.has(at) ? null : score))
            assert.deepStrictEqual(ours, scores, `${name} ${index}`)
            // The gold answer is never one that cannot be read.
            assert.isFalse(raised.has(0), `${name} ${index}`)
          }
        }
      }
      // Not deterministic in the package: it draws from Python's own generator.
      assert.isTrue(
        differing.every((one) => /^(?:list_functions|codeio) /.test(one)),
        differing.join(", ")
      )
    }).pipe(Effect.scoped)
  )

  it.live("an interpreter that is killed fails what waits for it, and the next question starts another", () =>
    Effect.gen(function* () {
      const bridge = yield* open(["chain_sum"])
      const first = yield* bridge.opened
      const values = { part: 0, index: 0, heldOut: false }
      const { question } = yield* bridge.call("item", values, Question)
      process.kill(first.pid, "SIGKILL")
      const failed = yield* Effect.flip(Effect.forever(bridge.call("item", values, Question)))
      assert.strictEqual(failed.reason, "ended")
      const second = yield* bridge.opened
      assert.notStrictEqual(second.pid, first.pid)
      assert.deepStrictEqual(yield* bridge.call("item", values, Question), { question })
    }).pipe(Effect.scoped)
  )

  it.live("scores many answers at once as it does one after the other", () =>
    Effect.gen(function* () {
      const bridge = yield* open(["leg_counting"])
      const score = (index: number) =>
        bridge.call(
          "score",
          { part: 0, index: index % 500, heldOut: false, completions: Array.from({ length: 8 }, () => "4") },
          Scores
        )
      const all = yield* Effect.forEach(Array.from({ length: 100 }).keys(), score, { concurrency: 32 })
      assert.deepStrictEqual(all, yield* Effect.forEach(Array.from({ length: 100 }).keys(), score))
    }).pipe(Effect.scoped)
  )

  it.live("a data set there is not is refused with the names that come near, before the first item", () =>
    Effect.gen(function* () {
      const bridge = yield* open(["chain_sm"])
      const items = yield* Effect.flip(Stream.runDrain(bridge.items(Stream.range(0, 9))))
      for (const error of [items, yield* Effect.flip(bridge.info)]) {
        assert.include(error.message, "did you mean chain_sum")
      }
    }).pipe(Effect.scoped)
  )
})

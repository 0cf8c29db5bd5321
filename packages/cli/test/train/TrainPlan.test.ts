/** What `train` says of a run before its first step, and of its first batch; what training takes is given. */
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import type { Batch } from "@atropos/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestConsole } from "effect/testing"
import { availableParallelism } from "node:os"
import type { Probe } from "../../../trainer/src/learn/TimingProbe.ts"
import * as TrainPlan from "../../src/train/TrainPlan.ts"

const model = TinyModel.make({ characters: "abc", seed: 1, maxPositions: 512 })
const settings = TrainerSettings.complete({
  trainer: { batchSize: 8, seqLen: 101, updatesPerBatch: 2, memory: 4, tokenBudget: 512 }
})
const given = { settings, steps: 30, describe: TrainPlan.local({ model, settings, device: "cpu" }) }

/** A batch of sequences of so many tokens each, of which the last ones are trained. */
const batch = (step: number, tokens: number, trained: number): Batch.Batch => ({
  id: `batch-${step}`,
  step,
  leaseToken: "lease",
  leaseUntil: 0,
  deliveries: 1,
  groups: [0, 1].map(() => ({
    tokens: Array.from({ length: 4 }, () => new Int32Array(tokens)),
    masks: Array.from({ length: 4 }, () => new Uint8Array(tokens).fill(1, tokens - trained)),
    scores: Float64Array.of(0, 1, 0, 1)
  }))
})

/** A trainer that takes so long for a token, has settled some batches, and writes down what it was asked. */
const trainer = (secondsPerToken: number, settled: ReadonlyArray<string> = []) => {
  const asked: Array<Probe> = []
  return {
    asked,
    isSettled: ({ id }: { readonly id: string }) => settled.includes(id),
    measure: (rehearsed: Probe) =>
      Effect.sync(() => {
        asked.push(rehearsed)
        return rehearsed.tokens * rehearsed.sequences * secondsPerToken
      })
  }
}

const said = Effect.map(TestConsole.logLines, (lines) => lines.map(String).join("\n"))

describe("the plan of train", () => {
  it.effect(
    "says before the first step how it computes, and what steps take whose sequences are as long as may be",
    () =>
      Effect.gen(function* () {
        yield* TrainPlan.make({ ...given, trainer: trainer(1 / 1000) })
        const text = yield* said
        assert.match(text, /model {6,}\S+, [\d,]+ parameters/)
        assert.match(text, /trained +all weights: [\d,]+ parameters, learning rate 0.0001/)
        assert.match(text, /memory +\d+\.\d GB of 4\.3 GB used, \d+\.\d GB at the peak/)
        const threads = availableParallelism()
        assert.include(text, `up to 512 tokens (token_budget), no recomputation (remat), ${threads} `)
        assert.include(text, "training 1,000 tokens/s")
        // 8 sequences of 100 positions, twice.
        assert.include(text, "8 sequences: 1.6 s if all have the max length of 101 tokens (seq_len)")
        assert.match(text, /30 steps +48\.0 s then/)
      })
  )

  it.effect(
    "says once what steps like the first batch take, at its lengths, and not of one that was trained on before",
    () =>
      Effect.gen(function* () {
        const measured = trainer(1 / 1000, ["batch-1"])
        const tell = yield* TrainPlan.make({ ...given, trainer: measured })
        const before = measured.asked.length
        yield* tell(batch(1, 81, 20))
        assert.lengthOf(measured.asked, before)
        yield* tell(batch(2, 51, 20))
        // Half a second of 400 positions, two fifths of them trained; twice.
        assert.deepInclude(measured.asked.at(-1), { tokens: 50, trained: 20, sequences: 8 })
        const text = yield* said
        assert.include(text, "the first batch has 8 sequences of 51 tokens on average, 20 of them trained: 0.8 s")
        assert.include(text, "24.0 s for the 30 left")
        const after = measured.asked.length
        yield* tell(batch(3, 61, 20))
        assert.lengthOf(measured.asked, after)
        assert.strictEqual((yield* said).split("the first batch has").length, 2)
      })
  )

  it.effect("tries a slow model once, and reckons with that", () =>
    Effect.gen(function* () {
      const slow = trainer(1 / 20)
      const tell = yield* TrainPlan.make({ ...given, steps: 1, trainer: slow })
      yield* tell(batch(1, 51, 20))
      assert.lengthOf(slow.asked, 1)
      // 400 positions, twice, at 20 a second.
      assert.include(yield* said, "40.0 s to train such a step, 40.0 s for the one left")
    })
  )

  const sizes = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 400 }))
  it.prop("counts no more of a sequence than seq_len", { tokens: sizes, seqLen: sizes }, ({ seqLen, tokens }) => {
    const lengths = TrainPlan.lengthsOf(batch(1, tokens, 1), seqLen)
    assert.deepStrictEqual(lengths, {
      sequences: 8,
      tokens: Math.min(tokens, seqLen),
      trained: tokens <= seqLen ? 1 : 0
    })
  })
})

/** The gradient of a batch: its loss and figures, and that it changes nothing by itself. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Batches from "./Batches.ts"
import type { WeightedBatch } from "../../../src/learn/WeightedBatch.ts"
import { type Bench, distance, type Logprobs, load } from "./Subject.ts"

const ofTrained = ({ items, sequences }: WeightedBatch, logprobs: Logprobs): Logprobs =>
  logprobs.map((ofItem, item) => ofItem.filter((_, t) => sequences[items[item]!.sequence]!.mask[t + 1] === 1))

export const tests = ({ first, isSame, rate, test, tolerance }: Bench) => {
  test(
    "forwardBackward leaves the weights alone, and shows the logprobs of what is trained, every item once",
    Effect.gen(function* () {
      const learner = yield* load()
      const before = yield* learner.forward(first)
      const shown: Array<Float32Array> = []
      yield* learner.forwardBackward(first, (item, logprobs) => {
        assert.isUndefined(shown[item])
        shown[item] = logprobs.slice()
      })
      assert.isAtMost(distance(ofTrained(first, shown), ofTrained(first, before)), Math.max(tolerance, 1e-5))
      isSame(yield* learner.forward(first), before, "after a gradient")
      yield* learner.discard
      isSame(yield* learner.forward(first), before, "after it was discarded")
    })
  )

  test(
    "has a loss and figures that add up over the parts of a batch",
    Effect.gen(function* () {
      const learner = yield* load()
      const { items } = first
      const parts = [items.slice(0, 2), items.slice(2)].map((items) => ({ ...first, items }))
      const whole = yield* learner.forwardBackward(first)
      const [a, b] = [yield* learner.forwardBackward(parts[0]!), yield* learner.forwardBackward(parts[1]!)]
      yield* learner.discard
      const near = Math.max(100 * tolerance, 1e-4)
      assert.closeTo(a.loss + b.loss, whole.loss, near)
      for (const figure of ["tokens", "token_loss", "logprob", "ratio", "mismatch_tokens"]) {
        const sum = a.figures.get(figure)! + b.figures.get(figure)!
        assert.closeTo(sum, whole.figures.get(figure)!, near * Math.max(1, Math.abs(sum)), figure)
      }
      assert.strictEqual(
        whole.figures.get("tokens"),
        items.reduce((sum, { trained }) => sum + trained, 0)
      )
      assert.isAtLeast(whole.microBatches, 1)
      assert.isAtLeast(
        whole.positions,
        items.reduce((sum, { length }) => sum + length, 0)
      )
    })
  )

  test(
    "tells figures that agree with forward",
    Effect.gen(function* () {
      const learner = yield* load()
      const logprobs = yield* learner.forward(first)
      const { figures } = yield* learner.forwardBackward(first)
      const sums = { logprob: 0, ratio: 0 }
      for (const [item, { length, sequence }] of first.items.entries()) {
        const { engineLogprobs, mask } = first.sequences[sequence]!
        for (let t = 0; t < length; t++) {
          if (mask[t + 1] === 0) continue
          sums.logprob += logprobs[item]![t]!
          sums.ratio += Math.exp(logprobs[item]![t]! - engineLogprobs![t + 1]!)
        }
      }
      const near = Math.max(100 * tolerance, 1e-3)
      assert.closeTo(figures.get("logprob")!, sums.logprob, near)
      assert.closeTo(figures.get("ratio")!, sums.ratio, near * Math.max(1, sums.ratio))
    })
  )

  test(
    "takes the ratio against the trainer's own logprobs of before, where the batch brings them",
    Effect.gen(function* () {
      const objective = Batches.objectiveOf("grpo", { oldPolicy: "trainer" })
      const learner = yield* load({ objective })
      const before = yield* learner.forward(first)
      const initial = yield* learner.forwardBackward(first)
      const tokens = initial.figures.get("tokens")!
      assert.closeTo(initial.figures.get("ratio")! / tokens, 1, 1e-4)
      yield* learner.optimizerStep(rate)
      const after = yield* learner.forward(first)
      const { figures } = yield* learner.forwardBackward({ ...first, oldLogprobs: before })
      yield* learner.discard
      let ratio = 0
      for (const [item, { length, sequence }] of first.items.entries()) {
        for (let t = 0; t < length; t++) {
          ratio += first.sequences[sequence]!.mask[t + 1]! * Math.exp(after[item]![t]! - before[item]![t]!)
        }
      }
      assert.closeTo(figures.get("ratio")!, ratio, Math.max(100 * tolerance, 1e-3) * tokens)
    })
  )
}

/**
 * Objectives that ask more of the engine than a graph over one micro-batch, on the engine of this machine: pairs, and
 * what is known of the whole batch's entropies.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import type { ScoredGroup } from "@atropos/core"
import { Effect, Layer, Result } from "effect"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as TrainingSequence from "../../src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import type { LossSettings, PresetName } from "../../src/loss/LossSettings.ts"
import * as Preset from "../../src/loss/Preset.ts"
import { vocabulary } from "../loss/ToyPolicy.ts"
import { group, model } from "../run/ToyTraining.ts"

const layer = Layer.mergeAll(SharedOrt.layer, NodeServices.layer)

const steps = 12

/** Figures of every step on one batch of groups, per trained token. */
const train = Effect.fnUntraced(function* (
  groups: ReadonlyArray<ScoredGroup.ScoredGroup>,
  settings: Partial<LossSettings> & { readonly preset: PresetName }
) {
  const objective = Result.getOrThrow(Preset.resolve(settings))
  const engine = yield* LocalLearner.make({ model })
  const learner = yield* engine.load({ objective, from: undefined, maxLength: 16, tokenBudget: 32 })
  const { sequences } = TrainingSequence.ofGroups(groups, objective)
  const { batch } = WeightedBatch.choose(sequences, objective, { maxLength: 16, vocabSize: vocabulary })
  return yield* Effect.forEach(Array.from({ length: steps }), () =>
    Effect.gen(function* () {
      const { figures, loss, microBatches } = yield* learner.forwardBackward(batch)
      yield* learner.optimizerStep(0.02)
      const share = (name: string) => figures.get(name)! / figures.get("tokens")!
      return { loss, microBatches, share, tokens: figures.get("tokens")! }
    })
  )
})

const groups = Array.from({ length: 6 }, (_, seed) => group(seed))

/** The teacher's logprob of every token and of one more, far from the policy's. */
const taught = groups.map((one): ScoredGroup.ScoredGroup => ({
  ...one,
  distillTokenIds: one.tokens.map((tokens) =>
    Array.from(tokens, (token) => Int32Array.of((token + 1) % vocabulary, token))
  ),
  distillLogprobs: one.tokens.map((tokens) =>
    Array.from(tokens, (token) => Float32Array.of(-3, token % 2 === 0 ? -0.5 : -8))
  )
}))

describe("the engine of this machine", () => {
  it.effect("learns preferences: the better sequence of each pair becomes likelier than the worse", () =>
    Effect.gen(function* () {
      const course = yield* train(groups, { preset: "dpo", dpoBeta: 0.5 })
      const [first, last] = [course[0]!, course.at(-1)!]
      assert.isAbove(first.microBatches, 1)
      // Nothing has moved from the reference yet: -log σ(0).
      assert.closeTo(first.loss, Math.LN2, 1e-5)
      assert.isBelow(last.loss, 0.3)
      // Over pairs: both sequences of each of the six.
      assert.closeTo(last.share("compared") * last.tokens, 12, 1e-3)
      assert.closeTo(last.share("preferred") / last.share("compared"), 1, 1e-5)
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("trains on the share of tokens with the highest entropies, over all micro-batches", () =>
    Effect.gen(function* () {
      const course = yield* train(groups, { preset: "grpo", oldPolicy: "trainer", entropyShare: 0.3 })
      assert.isAbove(course[0]!.microBatches, 1)
      for (const { share } of course) assert.closeTo(share("entropy_masked"), 0.7, 0.01)
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("keeps entropies up by a bonus", () =>
    Effect.gen(function* () {
      const plain = yield* train(groups, { preset: "grpo", oldPolicy: "trainer" })
      const bonus = yield* train(groups, { preset: "grpo", oldPolicy: "trainer", entropyCoef: 1 })
      assert.isAbove(bonus.at(-1)!.share("entropy"), plain.at(-1)!.share("entropy"))
      assert.isAbove(bonus.at(-1)!.share("entropy"), bonus[0]!.share("entropy"))
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("comes closer to a teacher on its own samples", () =>
    Effect.gen(function* () {
      const course = yield* train(taught, { preset: "on-policy-distill", oldPolicy: "trainer" })
      const [first, last] = [course[0]!, course.at(-1)!]
      assert.strictEqual(first.share("teacher_tokens"), 1)
      assert.isBelow(Math.abs(last.share("teacher")), Math.abs(first.share("teacher")))
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})

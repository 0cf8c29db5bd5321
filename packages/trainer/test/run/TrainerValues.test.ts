/** Values in place of settings, and several updates with a batch. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import type { Batch, ScoredGroup } from "@atropos/core"
import { Effect, FileSystem, Layer, Logger, References, Stream, Struct } from "effect"
import * as TrainerState from "../../src/checkpoint/TrainerState.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as Objective from "../../src/loss/Objective.ts"
import type * as TrainerSettings from "../../src/run/TrainerSettings.ts"
import { vocabulary } from "../loss/ToyPolicy.ts"
import * as Toy from "./ToyTraining.ts"

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

interface Asked {
  readonly trainer?: Partial<TrainerSettings.TrainerFields>
  readonly loss?: Parameters<typeof Toy.settings>[2]
  readonly more?: Toy.More
  readonly batches?: ReadonlyArray<Batch.Batch>
}

const batches = Array.from({ length: 4 }, (_, step) => Toy.batch(step))

/** A run, and what its trainer came to. */
const run = Effect.fnUntraced(function* ({ batches: given = batches, loss, more, trainer: fields }: Asked) {
  const trainer = yield* Toy.trainer(Toy.settings(yield* folder, { trainingSteps: 100, ...fields }, loss), more)
  const metrics = yield* Stream.runCollect(trainer.steps(Stream.fromIterable(given)))
  return { metrics, parameters: yield* trainer.parameters, version: yield* trainer.policyVersion, trainer }
})

const layerTest = Layer.mergeAll(SharedOrt.layer, NodeServices.layer, Layer.succeed(References.MinimumLogLevel, "None"))

layer(layerTest, { excludeTestServices: true })("several updates with a batch", (it) => {
  for (const oldPolicy of ["engine", "trainer"] as const) {
    it.effect(`are those of as many steps with it, where the ratio is against the ${oldPolicy}'s policy`, () =>
      Effect.gen(function* () {
        const updates = 3
        // Against the trainer's: a batch comes anew as if the trainer of before had sampled it.
        const sampled = yield* run({ loss: { oldPolicy: "trainer" }, batches: [] })
        assert.deepStrictEqual(sampled.metrics, [])
        const together = yield* run({ trainer: { updatesPerBatch: updates }, loss: { oldPolicy } })
        const repeated = batches.flatMap((batch) =>
          Array.from({ length: updates }, (_, again) => ({ ...batch, id: `${batch.id}-${again}` }))
        )
        const apart = yield* run({ loss: { oldPolicy }, batches: repeated })
        if (oldPolicy === "engine") assert.deepStrictEqual(together.parameters, apart.parameters)
        // There a step begins with ratio 1 each time, and nothing is ever clipped.
        else assert.notDeepEqual(together.parameters, apart.parameters)
        assert.strictEqual(together.version, batches.length)
        assert.deepStrictEqual(
          together.metrics.map((step) => [step.step, step.policyVersion, step.updates]),
          [1, 2, 3, 4].map((step) => [step, step, updates])
        )
        for (const [step, { gradNorm, loss }] of together.metrics.entries()) {
          if (oldPolicy === "trainer" && step > 0) continue
          const first = apart.metrics[step * updates]!
          assert.deepStrictEqual({ gradNorm, loss }, { gradNorm: first.gradNorm, loss: first.loss })
        }
      })
    )
  }

  it.effect("of one are what a batch always made, to the bit", () =>
    Effect.gen(function* () {
      const [one, usual] = [yield* run({ trainer: { updatesPerBatch: 1 } }), yield* run({})]
      assert.deepStrictEqual(one.parameters, usual.parameters)
    })
  )

  it.effect(
    "take the ratio against the trainer's logprobs before the first: 1 there, and moving from the second on",
    () =>
      Effect.gen(function* () {
        const ratios = Effect.fnUntraced(function* (updatesPerBatch: number) {
          const { metrics } = yield* run({ trainer: { updatesPerBatch, lr: 0.05 }, batches: batches.slice(0, 1) })
          return metrics[0]!
        })
        const [one, three] = [yield* ratios(1), yield* ratios(3)]
        assert.strictEqual(one.ratioMax, 1)
        assert.strictEqual(one.clippedFraction, 0)
        assert.isAbove(three.ratioMax!, 1.1)
        assert.isAbove(three.clippedFraction!, 0)
        // All else is of the first update.
        for (const figure of ["loss", "entropy", "gradNorm", "mismatchMean"] as const) {
          assert.strictEqual(three[figure], one[figure], figure)
        }
      })
  )

  it.effect("take tokens of unknown sampling logprobs as sampled by the trainer before the first", () =>
    Effect.gen(function* () {
      const unknown = batches.map((batch) => ({
        ...batch,
        groups: batch.groups.map((group): ScoredGroup.ScoredGroup => Struct.omit(group, ["inferenceLogprobs"]))
      }))
      const fields = { updatesPerBatch: 3 }
      const engine = yield* run({ trainer: fields, loss: { oldPolicy: "engine" }, batches: unknown })
      const trainer = yield* run({ trainer: fields, loss: { oldPolicy: "trainer" }, batches: unknown })
      assert.deepStrictEqual(engine.parameters, trainer.parameters)
    })
  )

  it.effect("go on after a stop with the same bits, moments and their count too", () =>
    Effect.gen(function* () {
      const fields = { updatesPerBatch: 2, trainingSteps: 4, checkpointInterval: 2 }
      const whole = yield* run({ trainer: fields })
      const target = yield* folder
      yield* Effect.scoped(
        Effect.gen(function* () {
          const first = yield* Toy.trainer(Toy.settings(target, fields))
          yield* Stream.runDrain(first.steps(Stream.fromIterable(batches.slice(0, 2))))
        })
      )
      const second = yield* Toy.trainer(Toy.settings(target, fields))
      yield* Stream.runDrain(second.steps(Stream.fromIterable(batches.slice(2))))
      assert.deepStrictEqual(yield* second.parameters, whole.parameters)
    })
  )
})

layer(layerTest, { excludeTestServices: true })("a loss's own figures", (it) => {
  const one = batches.slice(0, 1)
  const ofStep = (asked: Asked) => Effect.map(run(asked), ({ metrics }) => metrics[0]!)

  it.effect("are means over what they are figures of, and absent where the loss has none", () =>
    Effect.gen(function* () {
      const same = batches.map((batch) => ({ ...batch, groups: batches[0]!.groups }))
      const dpo = yield* run({ loss: { preset: "dpo", oldPolicy: null }, batches: same })
      const [first, last] = [dpo.metrics[0]!, dpo.metrics.at(-1)!]
      // Nothing has moved from the reference yet.
      assert.strictEqual(first.marginMean, 0)
      assert.strictEqual(first.preferredFraction, 0)
      assert.isAbove(last.marginMean!, 0)
      // One pair of each of the two groups.
      assert.include([0.5, 1], last.preferredFraction)
      const corrected = yield* ofStep({
        loss: { preset: "grpo", importanceSampling: "truncated", importanceCap: 1 },
        batches: one
      })
      assert.isBelow(corrected.importanceMean!, 1)
      assert.isAbove(corrected.importanceCappedFraction!, 0)
      const chosen = yield* ofStep({ loss: { preset: "grpo", entropyShare: 0.5 }, batches: one })
      assert.closeTo(chosen.entropyMaskedFraction!, 0.5, 0.1)
      const drifted = yield* ofStep({ loss: { preset: "grpo", offPolicyBound: 0 }, batches: one })
      assert.isAtLeast(drifted.offPolicyMaskedFraction!, 0)
      const plain = yield* ofStep({ batches: one })
      for (const name of ["marginMean", "teacherDiff", "importanceMean", "crossEntropy"] as const) {
        assert.notProperty(plain, name)
      }
    })
  )

  it.effect("tell of a teacher over the tokens that it gave a logprob for", () =>
    Effect.gen(function* () {
      const taught = one.map((batch) => ({
        ...batch,
        groups: batch.groups.map((group): ScoredGroup.ScoredGroup => ({
          ...group,
          // Every other token is among the candidates.
          distillTokenIds: group.tokens.map((tokens) =>
            Array.from(tokens, (token, t) => Int32Array.of(t % 2 === 0 ? token : (token + 1) % vocabulary))
          ),
          distillLogprobs: group.tokens.map((tokens) => Array.from(tokens, () => Float32Array.of(-0.5)))
        }))
      }))
      const own = yield* ofStep({ loss: { preset: "on-policy-distill" }, batches: taught })
      assert.isAbove(own.teacherFraction!, 0.3)
      assert.isBelow(own.teacherFraction!, 0.7)
      assert.isAbove(own.teacherDiff!, 0)
      const theirs = yield* ofStep({ loss: { preset: "distill", oldPolicy: null }, batches: taught })
      assert.isAbove(theirs.crossEntropy!, 0)
    })
  )
})

const warnings: Array<string> = []
const layerWarnings = Layer.mergeAll(
  SharedOrt.layer,
  NodeServices.layer,
  Logger.layer([Logger.make(({ message }) => void warnings.push(JSON.stringify(message)))]),
  Layer.succeed(References.MinimumLogLevel, "Warn")
)

/** REINFORCE: no ratio at all. */
const reinforce = Objective.make({
  name: "reinforce",
  tokenLoss: (graph, { advantages, logprobs }) => graph.neg(graph.mul(advantages, logprobs))
})
const byLength = ({ tokens }: ScoredGroup.ScoredGroup) => tokens.map(({ length }) => 1 / length)
const zero = ({ tokens }: ScoredGroup.ScoredGroup) => tokens.map(({ length }) => new Float32Array(length))
const tooFew = () => [1]
const halving = (step: number) => 0.02 / 2 ** step

layer(layerWarnings, { excludeTestServices: true })("values given to the trainer", (it) => {
  it.effect("are trained with, and told of by name when the run goes on with others", () =>
    Effect.gen(function* () {
      const target = yield* folder
      const fs = yield* FileSystem.FileSystem
      const values = { objective: reinforce, advantages: byLength, schedule: halving, optimizer: { beta2: 0.9 } }
      const settings = Toy.settings(target, { trainingSteps: 4, checkpointInterval: 2 })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const trainer = yield* Toy.trainer(settings, values)
          assert.deepStrictEqual(trainer.advantages, {
            loss: "reinforce",
            baseline: "group",
            advantageScale: "sample-std",
            isUsed: true,
            computedBy: "byLength"
          })
          const metrics = yield* Stream.runCollect(trainer.steps(Stream.fromIterable(batches.slice(0, 2))))
          assert.deepStrictEqual(
            metrics.map(({ lr }) => lr),
            [0.02, 0.01]
          )
          assert.isUndefined(metrics[0]!.ratioMean)
        })
      )
      const state = yield* Effect.flatMap(fs.readFileString(`${target}/step_2/trainer.json`), TrainerState.decode)
      assert.deepStrictEqual(state.settings["values"], {
        objective: "reinforce",
        advantages: "byLength",
        schedule: "halving",
        optimizer: { beta2: 0.9 }
      })
      warnings.length = 0
      yield* Effect.scoped(Toy.trainer(settings, values))
      assert.deepStrictEqual(warnings, [])
      yield* Effect.scoped(
        Toy.trainer(settings, { ...values, advantages: { baseline: "none", advantageScale: "none" } })
      )
      assert.strictEqual(warnings.length, 1)
      assert.include(warnings[0], "values.advantages")
      assert.include(warnings[0], "byLength")
    })
  )

  it.effect("that are rules or objectives of a preset train as the settings do", () =>
    Effect.gen(function* () {
      const named = yield* run({ loss: { baseline: "leave-one-out", advantageScale: "none" } })
      const rule = yield* run({ more: { advantages: { baseline: "leave-one-out", advantageScale: "none" } } })
      assert.deepStrictEqual(rule.parameters, named.parameters)
      assert.deepStrictEqual(rule.trainer.advantages, named.trainer.advantages)
    })
  )

  it.effect("of advantages weigh sequences and tokens as they say", () =>
    Effect.gen(function* () {
      const { metrics, parameters } = yield* run({ more: { advantages: zero }, batches: batches.slice(0, 1) })
      assert.strictEqual(metrics[0]!.skipped, "nothingToTrain")
      assert.deepStrictEqual(parameters, Toy.model.initial)
    })
  )

  it.effect("are refused where they give no advantage for each sequence, or no learning rate", () =>
    Effect.gen(function* () {
      const refusal = (more: Toy.More) =>
        Effect.map(Effect.flip(run({ more })), ({ message, reason }) => ({ message, reason }))
      const few = yield* refusal({
        advantages: tooFew
      })
      assert.deepStrictEqual(few, {
        reason: "settings",
        message: "advantages: the function tooFew returned 1 advantages for a group of 4 sequences"
      })
      const nan = yield* refusal({ advantages: ({ tokens }) => tokens.map(() => Number.NaN) })
      assert.match(nan.message, /returned NaN for sequence 0/)
      const rate = yield* refusal({ schedule: () => Number.NaN })
      assert.match(rate.message, /the schedule returned the learning rate NaN for step 1/)
    })
  )
})

/**
 * The contract of an engine that learns (`learn/LearnerEngine`), as tests that every implementation has to pass: the
 * one of this machine, and those that speak to a server.
 *
 * The engine's model knows at least 16 tokens and 16 positions, and has the same weights whenever it is loaded anew.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem, type Layer, type Path, Result, type Scope } from "effect"
import { type Learner, LearnerEngine, type LoadOptions } from "../../src/learn/LearnerEngine.ts"
import type { TrainingSequence } from "../../src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import type { LossSettings, PresetName } from "../../src/loss/LossSettings.ts"
import type { Objective } from "../../src/loss/Objective.ts"
import * as Preset from "../../src/loss/Preset.ts"
import { uniforms } from "../loss/ToyPolicy.ts"

export interface Subject {
  /** Built anew for each test, with weights as if nothing had been trained. */
  readonly layer: Layer.Layer<LearnerEngine, unknown, FileSystem.FileSystem | Path.Path>
  /** Largest difference between logprobs of equal weights, nats; 0 where equal work gives equal bits. */
  readonly tolerance: number
  /** A learning rate at which one step is seen in the logprobs, and ten spoil nothing. */
  readonly learningRate: number
  /** Versions that samplers were given since the test began, where that can be known. */
  readonly published?: Effect.Effect<ReadonlyArray<number>>
  /** An objective that the engine cannot do, where there is one. */
  readonly refused?: Objective
  /** Makes the engine lose the weights of its learners, as a restart does, where that can be done. */
  readonly lose?: Effect.Effect<void, unknown, LearnerEngine>
  /** Milliseconds for each test. Default: vitest's. */
  readonly timeout?: number
}

const vocabulary = 16

const objectiveOf = (preset: PresetName, more: Partial<LossSettings> = {}): Objective =>
  Result.getOrThrow(Preset.resolve({ preset, ...more }))
const grpo = objectiveOf("grpo")

/** Six sequences of 5 to 10 tokens: prompts of two tokens, rewarded and punished by turns, at temperature 1 and 0.7. */
const sequencesOf = (seed: number): ReadonlyArray<TrainingSequence> => {
  const uniform = uniforms(seed * 7919 + 1)
  for (let i = 0; i < 8; i++) uniform()
  return Array.from({ length: 6 }, (_, i): TrainingSequence => {
    const length = 5 + i
    return {
      tokens: Int32Array.from({ length }, () => Math.floor(uniform() * vocabulary)),
      mask: Uint8Array.from({ length }, (_, t) => (t < 2 || t === 4 ? 0 : 1)),
      advantages: new Float32Array(length).fill(i % 2 === 0 ? 1 : -1),
      engineLogprobs: Float32Array.from({ length }, (_, t) => (t < 2 ? Number.NaN : -2 - uniform())),
      temperature: i < 3 ? 1 : 0.7,
      score: i % 2,
      policyVersion: 0,
      group: 0
    }
  })
}

const batchOf = (sequences: ReadonlyArray<TrainingSequence>, objective = grpo): WeightedBatch.WeightedBatch =>
  WeightedBatch.choose(sequences, objective, { maxLength: 15, vocabSize: vocabulary }).batch

const [first, second, third] = [1, 2, 3].map((seed) => batchOf(sequencesOf(seed)))

const load = (options: Partial<LoadOptions> = {}) =>
  Effect.flatMap(LearnerEngine, ({ load }) => load({ objective: grpo, maxLength: 15, ...options }))

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const learn = Effect.fnUntraced(function* (learner: Learner, batch: WeightedBatch.WeightedBatch, rate: number) {
  const computed = yield* learner.forwardBackward(batch)
  const updated = yield* learner.optimizerStep(rate)
  assert.isTrue(computed.isFinite && updated.isApplied)
  return { computed, updated }
})

/** Of a distribution: 1. */
const mass = (logprobs: ReadonlyArray<number>) => logprobs.reduce((sum, value) => sum + Math.exp(value), 0)

type Logprobs = ReadonlyArray<Float32Array>

const distance = (a: Logprobs, b: Logprobs): number =>
  Math.max(...a.flatMap((row, i) => Array.from(row, (value, t) => Math.abs(value - b[i]![t]!))))

export const suite = (name: string, subject: Subject) => {
  const { learningRate: rate, lose, published, refused, timeout, tolerance } = subject
  const isSame = (a: Logprobs, b: Logprobs, what: string) => {
    if (tolerance === 0) assert.deepStrictEqual(a, b, what)
    else assert.isAtMost(distance(a, b), tolerance, what)
  }
  const isOther = (a: Logprobs, b: Logprobs, what: string) => assert.isAbove(distance(a, b), 4 * tolerance, what)
  const test = (
    title: string,
    effect: Effect.Effect<void, unknown, LearnerEngine | FileSystem.FileSystem | Path.Path | Scope.Scope>
  ) =>
    it.live(
      title,
      () => effect.pipe(Effect.scoped, Effect.provide(subject.layer), Effect.provide(NodeServices.layer)),
      timeout
    )

  describe(`${name}, an engine that learns`, () => {
    test(
      "forward tells a distribution over the next token, at the temperature of the sequence",
      Effect.gen(function* () {
        const learner = yield* load()
        const { model } = yield* LearnerEngine
        const all = Array.from({ length: model.vocabSize }, (_, token) => token)
        const at = (temperature: number) =>
          Effect.map(
            learner.forward(
              WeightedBatch.choose(
                all.map((token) => ({ ...sequencesOf(1)[0]!, tokens: Int32Array.of(3, 1, 2, 7, token), temperature })),
                grpo,
                { maxLength: 15, vocabSize: model.vocabSize }
              ).batch
            ),
            (rows) => rows.map((row) => row[3]!)
          )
        const [plain, flat] = [yield* at(1), yield* at(2)]
        assert.closeTo(mass(plain), 1, 1e-3)
        const normalizer = Math.log(mass(plain.map((value) => value / 2)))
        for (const [token, value] of flat.entries()) assert.closeTo(value, plain[token]! / 2 - normalizer, 1e-3)
      })
    )

    test(
      "forward tells every item's positions, whatever other items there are",
      Effect.gen(function* () {
        const learner = yield* load()
        const whole = yield* learner.forward(first!)
        assert.deepStrictEqual(
          whole.map(({ length }) => length),
          first!.items.map(({ length }) => length)
        )
        const one = yield* learner.forward({ ...first!, items: first!.items.slice(2, 3) })
        assert.isAtMost(distance(one, whole.slice(2, 3)), Math.max(tolerance, 1e-5))
      })
    )

    test(
      "forwardBackward leaves the weights alone, and shows the logprobs of every item once",
      Effect.gen(function* () {
        const learner = yield* load()
        const before = yield* learner.forward(first!)
        const shown: Array<Float32Array> = []
        yield* learner.forwardBackward(first!, (item, logprobs) => {
          assert.isUndefined(shown[item])
          shown[item] = logprobs.slice()
        })
        assert.isAtMost(distance(shown, before), Math.max(tolerance, 1e-5))
        isSame(yield* learner.forward(first!), before, "after a gradient")
        yield* learner.discard
        isSame(yield* learner.forward(first!), before, "after it was discarded")
      })
    )

    test(
      "has a loss and figures that add up over the parts of a batch",
      Effect.gen(function* () {
        const learner = yield* load()
        const { items } = first!
        const parts = [items.slice(0, 2), items.slice(2)].map((items) => ({ ...first!, items }))
        const whole = yield* learner.forwardBackward(first!)
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
        assert.isAtLeast(whole.pieces, 1)
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
        const logprobs = yield* learner.forward(first!)
        const { figures } = yield* learner.forwardBackward(first!)
        const sums = { logprob: 0, ratio: 0 }
        for (const [item, { length, sequence }] of first!.items.entries()) {
          const { engineLogprobs, mask } = first!.sequences[sequence]!
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
        const objective = objectiveOf("grpo", { oldPolicy: "trainer" })
        const learner = yield* load({ objective })
        const before = yield* learner.forward(first!)
        const initial = yield* learner.forwardBackward(first!)
        const tokens = initial.figures.get("tokens")!
        assert.closeTo(initial.figures.get("ratio")! / tokens, 1, 1e-4)
        yield* learner.optimizerStep(rate)
        const after = yield* learner.forward(first!)
        const { figures } = yield* learner.forwardBackward({ ...first!, oldLogprobs: before })
        yield* learner.discard
        let ratio = 0
        for (const [item, { length, sequence }] of first!.items.entries()) {
          for (let t = 0; t < length; t++) {
            ratio += first!.sequences[sequence]!.mask[t + 1]! * Math.exp(after[item]![t]! - before[item]![t]!)
          }
        }
        assert.closeTo(figures.get("ratio")!, ratio, Math.max(100 * tolerance, 1e-3) * tokens)
      })
    )

    test(
      "learns: what is rewarded becomes likelier, what is punished less",
      Effect.gen(function* () {
        const learner = yield* load()
        const mean = (logprobs: Logprobs, isRewarded: boolean) =>
          first!.items.reduce((sum, { sequence }, item) => {
            const { advantages, mask } = first!.sequences[sequence]!
            if (advantages[0]! > 0 !== isRewarded) return sum
            return sum + logprobs[item]!.reduce((a, value, t) => a + mask[t + 1]! * value, 0)
          }, 0)
        const before = yield* learner.forward(first!)
        const { updated } = yield* learn(learner, first!, rate)
        if (updated.norm !== undefined) assert.isAbove(updated.norm, 0)
        for (let step = 0; step < 4; step++) yield* learn(learner, first!, rate)
        const after = yield* learner.forward(first!)
        const gained = mean(after, true) - mean(before, true) - (mean(after, false) - mean(before, false))
        assert.isAbove(gained, 0)
        isOther(after, before, "after five steps")
      })
    )

    test(
      "steps with the last gradient alone: not with one that was replaced, interrupted or discarded",
      Effect.gen(function* () {
        const clean = yield* load()
        yield* learn(clean, second!, rate)
        const expected = yield* clean.forward(third!)

        const learner = yield* load()
        yield* learner.forwardBackward(first!)
        const running = yield* Effect.forkChild(learner.forwardBackward(first!), { startImmediately: true })
        yield* Fiber.interrupt(running)
        yield* learner.forwardBackward(third!)
        yield* learner.discard
        yield* learn(learner, second!, rate)
        isSame(yield* learner.forward(third!), expected, "after a step with the second batch")
      })
    )

    test(
      "leaves the weights alone where the loss is not a number, and goes on",
      Effect.gen(function* () {
        const learner = yield* load()
        const before = yield* learner.forward(first!)
        const [sequence, ...rest] = first!.sequences
        const broken = { ...sequence!, advantages: new Float32Array(sequence!.tokens.length).fill(Number.NaN) }
        const computed = yield* learner.forwardBackward({ ...first!, sequences: [broken, ...rest] })
        // The gradient is looked at in the update; where the loss says it already, nobody asks for one.
        if (computed.isFinite) assert.isFalse((yield* learner.optimizerStep(rate)).isApplied)
        else yield* learner.discard
        isSame(yield* learner.forward(first!), before, "after a loss that is no number")
        yield* learn(learner, first!, rate)
      })
    )

    test(
      "goes on from a saved copy as if there had been no stop, moments and all",
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const root = yield* folder
        yield* fs.makeDirectory(`${root}/partial`)
        const learner = yield* load()
        yield* learn(learner, first!, rate)
        const reference = yield* learner.save(`${root}/partial`, 1)
        // What it becomes once all is in it.
        yield* fs.rename(`${root}/partial`, `${root}/step_1`)
        const kept = { reference, folder: `${root}/step_1` }
        const saved = yield* learner.forward(third!)
        yield* learn(learner, second!, rate)
        const expected = yield* learner.forward(third!)

        const resumed = yield* load({ from: { ...kept, version: 1 } })
        isSame(yield* resumed.forward(third!), saved, "as it was saved")
        yield* learn(resumed, second!, rate)
        isSame(yield* resumed.forward(third!), expected, "a step later")

        const begun = yield* load({ initial: kept })
        isSame(yield* begun.forward(third!), saved, "what training begins with")
        yield* learn(begun, second!, rate)
        isOther(yield* begun.forward(third!), expected, "a step later without moments")
      })
    )

    test(
      "says of a copy that is not there, or of another engine, that it cannot be restored",
      Effect.gen(function* () {
        const { name } = yield* LearnerEngine
        const from = { folder: yield* folder, version: 1 }
        const gone = yield* Effect.flip(load({ from: { ...from, reference: { engine: name, path: "not-there" } } }))
        assert.strictEqual(gone.reason, "checkpoint")
        const reference = { engine: "some-other-engine", path: "weights" }
        const foreign = yield* Effect.flip(load({ from: { ...from, reference } }))
        assert.strictEqual(foreign.reason, "settings")
        assert.include(foreign.message, "some-other-engine")
      })
    )

    if (published !== undefined) {
      test(
        "has handed weights to the samplers when publishing is done, in the order of their versions",
        Effect.gen(function* () {
          const learner = yield* load()
          for (const version of [0, 1, 2]) {
            yield* learner.publish(version)
            assert.strictEqual((yield* published).at(-1), version)
            yield* learn(learner, first!, rate)
          }
          assert.deepStrictEqual((yield* published).slice(-3), [0, 1, 2])
        })
      )
    }

    if (refused !== undefined) {
      test(
        "refuses an objective that it cannot do, by its name",
        Effect.gen(function* () {
          const error = yield* Effect.flip(load({ objective: refused }))
          assert.strictEqual(error.reason, "settings")
          assert.include(error.message, refused.name)
        })
      )
    }

    if (lose !== undefined) {
      test(
        "says that the weights are lost, and restores them from a copy",
        Effect.gen(function* () {
          const target = yield* folder
          const learner = yield* load()
          yield* learn(learner, first!, rate)
          const reference = yield* learner.save(target, 1)
          const saved = yield* learner.forward(third!)
          yield* lose
          const error = yield* Effect.flip(learner.forwardBackward(first!))
          assert.strictEqual(error.reason, "engineLost")
          const resumed = yield* load({ from: { reference, folder: target, version: 1 } })
          isSame(yield* resumed.forward(third!), saved, "restored")
        })
      )
    }
  })
}

/** What the trainer knows of how its sequences were sampled, and what it does where that is not how they were. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import {
  type Batch,
  Environment,
  MemoryTrajectoryClient,
  Sampling,
  type ScoredGroup,
  ServerManager,
  Trajectory
} from "@atropos/core"
import { Effect, FileSystem, Layer, Logger, References, Result, Schema, Stream, Struct } from "effect"
import * as ClosedLoop from "../../src/run/ClosedLoop.ts"
import * as MismatchGuard from "../../src/run/MismatchGuard.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as Mismatch from "../../src/learn/Mismatch.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as PolicyLayers from "../../src/server/PolicyLayers.ts"
import * as TrainerSettings from "../../src/run/TrainerSettings.ts"
import * as TrainingSequence from "../../src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"

const letters = "abcdefgh"
// Embeddings this large make some letters much likelier than others: temperatures can be told apart.
const model = TinyModel.make({ characters: letters, seed: 1, maxPositions: 16, embeddingDeviation: 0.25 })

interface Asked {
  /** One for each group, in turns. */
  readonly samplings: ReadonlyArray<ServerManager.SamplingOptions>
  /** What becomes of a trajectory on its way. */
  readonly change?: (trajectory: Trajectory.Trajectory) => Trajectory.Trajectory
}

const environment = ({ change = (same) => same, samplings }: Asked) =>
  Environment.layer("letters", Environment.settings({}), ({ groupSize }) =>
    Effect.map(ServerManager.ServerManager, (servers) => ({
      items: (cursor: number) => Stream.iterate(cursor, (index) => index + 1),
      collectTrajectories: (index: number) =>
        Effect.map(
          servers.complete({
            prompt: letters[index % 8]!,
            n: groupSize,
            maxTokens: 8,
            seed: index,
            ...samplings[index % samplings.length]
          }),
          (all) => all.map(change)
        ),
      score: (index: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(
          group.map(({ completion }) =>
            Array.from(completion, (c) => letters.indexOf(c)).reduce((a, b) => a + b, index)
          )
        )
    }))
  )({ groupSize: 8, ensureScoresAreNotSame: false })

/** Four steps of training on what is sampled so. */
const run = (asked: Asked) =>
  Effect.gen(function* () {
    const savePath = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
    const settings = TrainerSettings.complete({
      trainer: { savePath, trainingSteps: 4, batchSize: 32, seqLen: 16, lr: 1e-3, checkpointInterval: 0 },
      // Groups of equal scores are trained on too.
      loss: { preset: "dr-grpo", baseline: "none" }
    })
    const { steps, trainer } = yield* ClosedLoop.make({ settings })
    const metrics = yield* Effect.result(Stream.runCollect(steps))
    return { metrics, done: yield* trainer.step }
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.mergeAll(environment(asked), MemoryTrajectoryClient.layer(), LocalLearner.layerInProcess({ model })).pipe(
        Layer.provide(SharedOrt.layer),
        Layer.provideMerge(Layer.mergeAll(PolicyLayers.layerInProcess(model, { device: "cpu" }), NodeServices.layer)),
        Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None"))
      )
    )
  )

const withoutRecord = (trajectory: Trajectory.Trajectory): Trajectory.Trajectory =>
  Struct.omit(trajectory, ["sampling"])

/** Logprobs as a server reports them that leaves the temperature out. */
const raw = (trajectory: Trajectory.Trajectory): Trajectory.Trajectory => ({
  ...trajectory,
  sampling: { ...trajectory.sampling!, logprobs: "raw" }
})

/** Logprobs as a server reports them that takes them of what is left to draw from. */
const processed = (trajectory: Trajectory.Trajectory): Trajectory.Trajectory => ({
  ...trajectory,
  sampling: { ...trajectory.sampling!, logprobs: "processed" }
})

describe("the record of sampling in the trainer", () => {
  const samplings: Asked["samplings"] = [
    { temperature: 0.5 },
    { temperature: 1.7 },
    { temperature: 0.7, topP: 0.8 },
    { topK: 2, temperature: 1.2 },
    { minP: 0.3 },
    {
      temperature: 0.8,
      repetitionPenalty: 1.3,
      presencePenalty: 0.4,
      frequencyPenalty: 0.2,
      logitBias: { "3": 1, "5": -100 }
    }
  ]
  it.live("makes trainer and sampler agree, however each group of a batch is sampled", () =>
    Effect.gen(function* () {
      const { metrics } = yield* run({ samplings })
      assert.strictEqual(metrics._tag, "Success")
      if (metrics._tag !== "Success") return
      assert.strictEqual(metrics.success.length, 4)
      // Sixteen groups in four steps: every way of sampling is there at least twice.
      for (const { clippedFraction, mismatchOnPolicy, unknownLogprobs } of metrics.success) {
        assert.isBelow(mismatchOnPolicy!, 5e-5)
        assert.deepStrictEqual([clippedFraction, unknownLogprobs], [0, 0])
      }
    })
  )

  it.live(
    "removed on the way, the run is stopped within three steps, before it learns, and temperature is named first",
    () =>
      Effect.gen(function* () {
        const { done, metrics } = yield* run({ samplings: [{ temperature: 0.5 }], change: withoutRecord })
        assert.strictEqual(done, 0)
        assert.strictEqual(metrics._tag, "Failure")
        if (metrics._tag !== "Failure" || metrics.failure._tag !== "TrainerError") return assert.fail("no TrainerError")
        assert.strictEqual(metrics.failure.reason, "mismatch")
        assert.match(
          metrics.failure.message,
          /max_mismatch: 0\.02[^]*1\. temperature[^]*no record[^]*2\. logprobs mode/
        )
      })
  )

  const unusable: ReadonlyArray<readonly [what: string, asked: Asked]> = [
    ["raw logprobs at another temperature", { samplings: [{ temperature: 0.5 }], change: raw }],
    ["logprobs of what penalties left", { samplings: [{ repetitionPenalty: 1.3 }], change: processed }]
  ]
  it.live.each(unusable)("of %s: they are counted as unknown and not compared", ([, asked]) =>
    Effect.gen(function* () {
      const { metrics } = yield* run(asked)
      if (metrics._tag !== "Success") return assert.fail("stopped")
      for (const one of metrics.success) {
        assert.strictEqual(one.unknownLogprobs, one.trainedTokens)
        assert.isUndefined(one.mismatchOnPolicy)
        assert.closeTo(one.ratioMean!, 1, 1e-5)
      }
    })
  )
})

const length = 6
const sequenceOf = (engine: number, more: Partial<TrainingSequence.TrainingSequence>) => ({
  tokens: Int32Array.from({ length }, (_, t) => t),
  mask: Uint8Array.from({ length }, (_, t) => (t < 2 ? 0 : 1)),
  advantages: new Float32Array(length).fill(1),
  engineLogprobs: Float32Array.from({ length }, (_, t) => (t < 2 ? 1 : engine)),
  temperature: 1,
  score: 1,
  policyVersion: 3,
  group: 0,
  ...more
})

/** What is compared where the trainer finds -1 everywhere. */
const compared = (sequences: ReadonlyArray<TrainingSequence.TrainingSequence>, version: number) => {
  const { batch } = WeightedBatch.choose(
    sequences,
    { aggregation: "token-mean", divisorTokens: 1 },
    { maxLength: 16, vocabSize: 50 }
  )
  const meter = Mismatch.meter(batch, version)
  for (const [item, one] of batch.items.entries()) meter.add(item, new Float32Array(one.length).fill(-1))
  return meter.sum()
}

const Logprob = Schema.Finite.check(Schema.isBetween({ minimum: -20, maximum: -0.01 }))

describe("Mismatch.meter", () => {
  it.prop("is the mean distance over trained tokens of the present weights alone", [Logprob, Logprob], ([a, b]) => {
    const fresh = [sequenceOf(a, {}), sequenceOf(b, {}), sequenceOf(-9, { policyVersion: 2 }), sequenceOf(-9, {})]
    const unknown = { ...fresh[3]!, engineLogprobs: new Float32Array(length).fill(1) }
    const sum = compared([...fresh.slice(0, 3), unknown], 3)
    assert.strictEqual(sum.tokens, 8)
    assert.closeTo(Mismatch.mean(sum)!, (Math.abs(a + 1) + Math.abs(b + 1)) / 2, 1e-5)
  })

  it("takes what nobody knows the version of for fresh before the first update only", () => {
    assert.strictEqual(compared([sequenceOf(-1, { policyVersion: null })], 0).tokens, 4)
    assert.strictEqual(compared([sequenceOf(-1, { policyVersion: null })], 1).tokens, 0)
  })

  it("allows logprobs of what top-p left to be above, by what it took; after top-k nothing is known", () => {
    const sampling = Sampling.ofRequest({ topP: 0.5 }, "processed")
    assert.closeTo(compared([sequenceOf(-1 + Math.log(2), { sampling })], 3).difference, 0, 1e-5)
    assert.closeTo(compared([sequenceOf(-1 + Math.log(2) + 0.5, { sampling })], 3).difference, 4 * 0.5, 1e-5)
    assert.closeTo(compared([sequenceOf(-1.5, { sampling })], 3).difference, 4 * 0.5, 1e-5)
    assert.strictEqual(compared([sequenceOf(-3, { sampling: { ...sampling, topK: 5 } })], 3).tokens, 0)
  })
})

const step = (difference: number, tokens = 10): Mismatch.Compared => ({ tokens, difference: difference * tokens })

/** A group of an environment that was sampled at a temperature. */
const groupOf = (envId: number, temperature: number): ScoredGroup.ScoredGroup => ({
  tokens: [Int32Array.of(1)],
  masks: [Uint8Array.of(1)],
  scores: Float64Array.of(1),
  envId,
  generationParams: { temperature }
})

describe("MismatchGuard", () => {
  it.effect("judges each environment by itself: one with few tokens does not hide behind the others", () =>
    Effect.gen(function* () {
      const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
      const { judge } = MismatchGuard.make(TrainerSettings.complete({}).trainer, objective, {
        name: "tiny",
        vocabSize: 8,
        maxPositions: 8
      })
      const groups = [groupOf(1, 1), groupOf(2, 0.7)]
      const batch: Batch.Batch = { id: "b", step: 0, leaseToken: "l", leaseUntil: 0, deliveries: 1, groups }
      const parts = new Map([
        [1, step(0.0001, 9000)],
        [2, step(0.15, 100)]
      ])
      // Together they would be 0.0017.
      const error = yield* Effect.flip(judge(batch, parts))
      assert.match(error.message, /0\.150 nats on average over 100 tokens[^]*temperature 0\.7/)
      assert.notInclude(error.message, "temperature 1,")
    })
  )
})

describe("the bound of a run", () => {
  const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
  const batch: Batch.Batch = { id: "b", step: 0, leaseToken: "l", leaseUntil: 0, deliveries: 1, groups: [] }
  const boundsOf = (settings: Parameters<typeof TrainerSettings.complete>[0], ...steps: ReadonlyArray<number>) => {
    const model = { name: "tiny", vocabSize: 8, maxPositions: 8 }
    const { judge } = MismatchGuard.make(TrainerSettings.complete(settings).trainer, objective, model)
    return Effect.forEach(steps, (difference) => judge(batch, new Map([[1, step(difference)]])))
  }

  it.effect("is explained where 8 bits measured it, at the level that every command prints", () => {
    const logged: Array<string> = []
    const recording = Logger.make(({ message }) => void logged.push(JSON.stringify(message)))
    return boundsOf({ trainer: { quantize: "int8" } }, 0.07).pipe(
      Effect.andThen(Effect.sync(() => assert.include(logged.join(), "the sampler rounds activations to 8 bits"))),
      Effect.provideService(References.MinimumLogLevel, "Warn"),
      Effect.provide(Logger.layer([recording]))
    )
  })

  it.effect("is recorded with each step: what was set, or what 8 bits measured", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* boundsOf({}, 0.001, 0.002), [0.02, 0.02])
      const trainer = { quantize: "int8" } as const
      assert.deepStrictEqual(yield* boundsOf({ trainer }, 0.07, 0.1), [0.14, 0.14])
      assert.deepStrictEqual(yield* boundsOf({ trainer: { ...trainer, maxMismatch: 0.3 } }, 0.07), [0.3])
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )
})

describe("a tokenizer that is not the model's", () => {
  const mine = { name: "tiny", digest: "0123456789abcdef" }
  const { checkTokenizer } = MismatchGuard.make(
    TrainerSettings.complete({}).trainer,
    Result.getOrThrow(Preset.resolve({ preset: "grpo" })),
    { name: "models/tiny", tokenizer: mine, vocabSize: 8, maxPositions: 8 }
  )
  const batchOf = (...tokenizers: ReadonlyArray<unknown>): Batch.Batch => ({
    id: "b",
    step: 0,
    leaseToken: "l",
    leaseUntil: 0,
    deliveries: 1,
    groups: tokenizers.map((tokenizer) => ({
      ...groupOf(1, 1),
      ...(tokenizer !== undefined && { groupOverrides: { tokenizer } })
    }))
  })

  it.effect("stops training with both names, whichever group has it", () =>
    Effect.gen(function* () {
      const other = { name: "bytes", digest: "fedcba9876543210" }
      for (const batch of [batchOf(other), batchOf(mine, undefined, other)]) {
        const error = yield* Effect.flip(checkTokenizer(batch))
        assert.strictEqual(error.reason, "mismatch")
        assert.match(
          error.message,
          /tokenizer bytes, but the model models\/tiny uses tiny[^]*--env\.tokenizer_name tiny/
        )
      }
    })
  )

  it.effect("is none where groups say the same, whatever it is called, or say nothing", () =>
    checkTokenizer(batchOf(mine, { ...mine, name: "/elsewhere/tiny" }, undefined, "tiny"))
  )
})

/** A guard after a first step of 0.046 nats. */
const measured = () => {
  const guard = Mismatch.measuringGuard(0.02)
  assert.strictEqual(guard.judge({ tokens: 300, difference: 300 * 0.046 }), "measured")
  return guard
}

describe("Mismatch.measuringGuard", () => {
  it("takes the first step for what rounding costs, and holds later ones to twice that", () => {
    const guard = Mismatch.measuringGuard(0.02)
    assert.deepStrictEqual([Mismatch.nothing, step(0.07)].map(guard.judge), ["agree", "measured"])
    assert.strictEqual(guard.bound(), 0.14)
    assert.deepStrictEqual(
      [0.1, 0.13].map((one) => guard.judge(step(one))),
      ["agree", "agree"]
    )
    assert.strictEqual(guard.judge(step(0.5)), "disagree")
    // A few tokens may be further off; many may not.
    assert.strictEqual(measured().judge({ tokens: 79, difference: 79 * 0.095 }), "agree")
    assert.strictEqual(measured().judge({ tokens: 1000, difference: 1000 * 0.12 }), "disagree")
    // So large a difference is another distribution.
    assert.strictEqual(Mismatch.measuringGuard(0.02).judge(step(0.3)), "disagree")
    // Where rounding costs next to nothing the usual bound stays.
    const small = Mismatch.measuringGuard(0.02)
    assert.strictEqual(small.judge(step(0.002)), "measured")
    assert.strictEqual(small.bound(), 0.02)
  })

  it("names precision first where the weights are rounded", () => {
    const causes = Mismatch.explain(step(0.3), 0.2, [], 1, "int8").split("\n")
    assert.match(
      causes[1]!,
      /1\. precision: quantize is int8; the sampler must have the same \(atropos policy --quantize int8\)/
    )
    assert.match(Mismatch.explain(step(0.3), 0.02, [], 1), /1\. temperature.*\n[^]*5\. precision/)
  })
})

describe("Mismatch.guard", () => {
  it("judges the first steps together, and says of later ones once that they have drifted", () => {
    const judge = Mismatch.guard(0.02)
    const steps = [step(0.01), Mismatch.nothing, step(0.025), step(0.001), step(0.5), step(0.5), step(0.01), step(0.5)]
    assert.deepStrictEqual(steps.map(judge), [
      "agree",
      "agree",
      "agree",
      "agree",
      "drifted",
      "agree",
      "agree",
      "drifted"
    ])
    assert.strictEqual(Mismatch.guard(0.02)(step(0.03)), "disagree")
    const broken = Mismatch.guard(0.02)
    assert.deepStrictEqual([step(Number.NaN), step(10)].map(broken), ["agree", "disagree"])
  })
})

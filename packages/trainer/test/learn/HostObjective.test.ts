/** The objective over logprobs that came from elsewhere: equal to the training graph at these logprobs. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as HostObjective from "../../src/learn/HostObjective.ts"
import type * as MicroBatch from "../../src/local/MicroBatch.ts"
import * as TrainFeeds from "../../src/local/TrainFeeds.ts"
import * as TrainGraph from "../../src/local/TrainGraph.ts"
import type { TrainingSequence } from "../../src/learn/TrainingSequence.ts"
import type { WeightedBatch } from "../../src/learn/WeightedBatch.ts"
import * as Aggregation from "../../src/loss/Aggregation.ts"
import type { Objective } from "../../src/loss/Objective.ts"
import * as Packed from "../local/Packed.ts"
import { objectiveOf, objectives, sequencesOf } from "../loss/LossExamples.ts"
import { load, type Numbers, toyPolicy, toyTheta, vocabulary } from "../loss/ToyPolicy.ts"

const lengths = [9, 14, 7, 11, 8, 10]
const policy = toyPolicy("adapter")
const theta = { dtype: "float64", shape: [policy.layout.size], data: toyTheta(policy) } as const
const options: TrainGraph.TrainGraphOptions = {
  remat: false,
  attention: "rows",
  chunks: 1,
  entropy: false,
  real: "float64"
}

const batchOf = (sequences: ReadonlyArray<TrainingSequence>, objective: Objective): WeightedBatch => {
  const trained = sequences.map(({ mask }) => mask.subarray(1).reduce((sum, one) => sum + one, 0))
  const weights = Aggregation.weights(trained, objective)
  return {
    sequences,
    items: sequences.map(({ tokens }, sequence) => ({
      sequence,
      length: tokens.length - 1,
      trained: trained[sequence]!,
      weight: weights[sequence]!
    }))
  }
}

/** Rows of a micro-batch's grid as values of each sequence's positions. */
const ofSequences = (
  { length, placements }: MicroBatch.MicroBatch,
  values: Numbers,
  sequences: number
): ReadonlyArray<Float32Array> => {
  const result: Array<Float32Array> = Array.from({ length: sequences })
  for (const place of placements) {
    const at = place.row * length + place.start
    result[place.item] = Float32Array.from(values.subarray(at, at + place.length))
  }
  return result
}

/** Minimises Σ weight · log π, whatever the weights: the backward pass of a server that knows no other loss. */
const linear: Objective = {
  ...objectiveOf("sft"),
  name: "linear",
  tokenLoss: (_, { logprobs }) => ({ loss: logprobs, metrics: [] })
}

const distance = (a: Numbers, b: Numbers) => Math.hypot(...a.map((x, i) => x - b[i]!)) / Math.hypot(...b)

/** Loss, gradient and figures of the training graph, and its logprobs by sequence. */
const trainedLocally = async (objective: Objective, microBatch: MicroBatch.MicroBatch) => {
  const { graph, metrics } = TrainGraph.build(policy, objective, options)
  const run = await load(graph)
  const out = await run({ ...TrainFeeds.feeds(microBatch, objective, "float64"), theta })
  return {
    loss: out["loss"]![0]!,
    grad: out["grad"]!,
    figures: new Map(metrics.map(({ name }, i) => [name, out["metrics"]![i]!])),
    logprobs: ofSequences(microBatch, out["logprobs"]!, lengths.length)
  }
}

const onlyOne = (sequences: ReadonlyArray<TrainingSequence>, objective: Objective) => {
  const { microBatches } = Packed.of(sequences, objective, {
    vocabSize: vocabulary,
    tokenBudget: 128,
    maxLength: 128,
    shapes: 1
  })
  assert.strictEqual(microBatches.length, 1)
  return microBatches[0]!
}

describe("HostObjective", () => {
  for (const objective of objectives.filter((one) => HostObjective.problem(one) === undefined)) {
    it.effect(`has the training graph's loss, figures and gradient: ${objective.name}`, () =>
      Effect.gen(function* () {
        const sequences = sequencesOf(lengths)
        const microBatch = onlyOne(sequences, objective)
        const local = yield* Effect.promise(() => trainedLocally(objective, microBatch))
        const host = yield* HostObjective.make(objective, "float64")
        const { figures, loss, slopes } = yield* host.evaluate(batchOf(sequences, objective), local.logprobs)
        assert.closeTo(loss, local.loss, 1e-6 * Math.max(1, Math.abs(local.loss)))
        assert.deepStrictEqual([...figures.keys()], [...local.figures.keys()])
        for (const [name, figure] of figures) {
          assert.closeTo(figure, local.figures.get(name)!, 1e-5 * Math.max(1, Math.abs(figure)), name)
        }
        const weights = new Float64Array(microBatch.tokenWeights.length)
        for (const { item, length, row, start } of microBatch.placements) {
          assert.strictEqual(slopes[item]!.length, length)
          weights.set(slopes[item]!, row * microBatch.length + start)
        }
        const chained = yield* Effect.promise(() => trainedLocally(linear, { ...microBatch, tokenWeights: weights }))
        assert.isBelow(distance(chained.grad, local.grad), 1e-6)
      }).pipe(Effect.scoped, Effect.provide(SharedOrt.layer))
    )
  }

  it.effect("has slopes of 0 where nothing is trained, and none for a batch without sequences", () =>
    Effect.gen(function* () {
      const objective = objectiveOf("grpo")
      const sequences = sequencesOf(lengths)
      const batch = batchOf(sequences, objective)
      const host = yield* HostObjective.make(objective)
      const { slopes } = yield* host.evaluate(
        batch,
        batch.items.map(({ length }) => new Float32Array(length).fill(-3))
      )
      for (const [i, { mask }] of sequences.entries()) {
        assert.isTrue(slopes[i]!.every((slope, t) => mask[t + 1] === 1 || slope === 0))
        assert.isTrue(slopes[i]!.some((slope) => slope !== 0))
      }
      const empty = yield* host.evaluate({ sequences, items: [] }, [])
      assert.deepStrictEqual([empty.loss, empty.slopes], [0, []])
    }).pipe(Effect.scoped, Effect.provide(SharedOrt.layer))
  )

  it.effect("says what is wrong with an answer, and which loss it cannot compute", () =>
    Effect.gen(function* () {
      const objective = objectiveOf("grpo", { klCoef: 0.1 })
      const sequences = sequencesOf(lengths).map(({ refLogprobs, ...sequence }) => {
        assert.isDefined(refLogprobs)
        return sequence
      })
      const batch = batchOf(sequences, objective)
      const host = yield* HostObjective.make(objective)
      const logprobs = batch.items.map(({ length }) => new Float32Array(length))
      const messageOf = (given: ReadonlyArray<Float32Array>, reference?: ReadonlyArray<Float32Array>) =>
        Effect.map(Effect.flip(host.evaluate(batch, given, reference)), ({ message }) => message)
      assert.strictEqual(yield* messageOf(logprobs.slice(1)), "5 logprobs for 6 sequences")
      assert.strictEqual(
        yield* messageOf(logprobs.with(1, new Float32Array(3))),
        "logprobs of sequence 1: 3 values for 13 positions"
      )
      assert.strictEqual(yield* messageOf(logprobs), "loss grpo needs reference logprobs, and sequence 0 has none")
      assert.include(
        yield* messageOf(logprobs, logprobs.with(0, new Float32Array(1))),
        "reference logprobs of sequence 0"
      )
      const { message, reason } = yield* Effect.flip(HostObjective.make(objectiveOf("distill")))
      assert.strictEqual(reason, "settings")
      assert.include(message, "loss distill compares whole distributions")
    }).pipe(Effect.scoped, Effect.provide(SharedOrt.layer))
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { presetNames, type LossSettings, type PresetName } from "../../src/loss/LossSettings.ts"
import type { Objective } from "../../src/loss/Objective.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as LossNodes from "../../src/learn/LossNodes.ts"
import type * as MicroBatch from "../../src/local/MicroBatch.ts"
import * as TrainFeeds from "../../src/local/TrainFeeds.ts"
import * as TrainGraph from "../../src/local/TrainGraph.ts"
import type { TrainingSequence } from "../../src/learn/TrainingSequence.ts"
import * as Packed from "../local/Packed.ts"
import { objectiveOf, objectives, reversed, sequencesOf } from "./LossExamples.ts"
import { load, type Numbers, toyPolicy, toyTheta, vocabulary } from "./ToyPolicy.ts"

const packed = (sequences: ReadonlyArray<TrainingSequence>, objective: Objective, settings = {}) =>
  Packed.of(sequences, objective, { vocabSize: vocabulary, multiple: 4, ...settings }).microBatches

interface Step {
  readonly loss: number
  readonly grad: Numbers
  readonly metrics: Float64Array
}

/** The sum over micro-batches. */
const stepOf = (graph: TrainGraph.TrainGraph) => {
  const program = load(graph.graph)
  const { objective, options } = graph
  return async (batches: ReadonlyArray<MicroBatch.MicroBatch>, theta: Numbers): Promise<Step> => {
    const run = await program
    let loss = 0
    const grad = new Float64Array(theta.length)
    let metrics: Float64Array = new Float64Array(graph.metrics.length)
    for (const batch of batches) {
      const out = await run({
        ...TrainFeeds.feeds({ ...batch, entropyThreshold: 2.85 }, objective, options.real),
        theta: {
          dtype: options.real,
          shape: [theta.length],
          data: options.real === "float64" ? Float64Array.from(theta) : Float32Array.from(theta)
        }
      })
      loss += out["loss"]![0]!
      out["grad"]!.forEach((slope, i) => (grad[i]! += slope))
      metrics = LossNodes.combine(graph.metrics, metrics, out["metrics"]!)
    }
    return { loss, grad, metrics }
  }
}

const norm = (numbers: Numbers) => Math.hypot(...numbers)
const distance = (a: Numbers, b: Numbers) =>
  Math.hypot(...a.map((x, i) => x - b[i]!)) / Math.max(norm(a), norm(b), 1e-30)

/** Values that no loss must see at masked positions. */
const disturb = (values: Float32Array, mask: Uint8Array) => values.map((value, t) => (mask[t] === 1 ? value : -37))

const total = (numbers: ReadonlyArray<number>) => numbers.reduce((a, b) => a + b, 0)

/** Why these settings are refused, "" if they are not. */
const reason = (given: Partial<LossSettings> & { readonly preset: PresetName }) =>
  Result.match(Preset.resolve(given), { onFailure: ({ message }) => message, onSuccess: () => "" })

const exact: TrainGraph.TrainGraphOptions = {
  remat: false,
  attention: "rows",
  chunks: 1,
  entropy: true,
  real: "float64"
}
const lengths = [9, 14, 7, 11, 8]

/** Ways to compute the same numbers. */
const ways: ReadonlyArray<Partial<TrainGraph.TrainGraphOptions>> = [
  { remat: true, chunks: 4 },
  { headRows: 7 },
  { remat: true, headRows: 1000 },
  { chunks: 2, headGradient: "recompute" },
  { headGradient: "keep" }
]

const adapterSteps = new Map<Objective, ReturnType<typeof stepOf>>()
/** The step of the adapter in float64, built once for all tests. */
const adapterStep = (objective: Objective) => {
  const built = adapterSteps.get(objective) ?? stepOf(TrainGraph.build(toyPolicy("adapter"), objective, exact))
  adapterSteps.set(objective, built)
  return built
}

describe("TrainGraph", () => {
  for (const trains of ["adapter", "all"] as const) {
    it(`has the gradient of its loss in float64, training ${trains}, with and without remat, chunks and packing`, async () => {
      const policy = toyPolicy(trains)
      const theta = toyTheta(policy)
      const sequences = sequencesOf(lengths)
      for (const [turn, objective] of objectives.entries()) {
        const plain = trains === "adapter" ? adapterStep(objective) : stepOf(TrainGraph.build(policy, objective, exact))
        // Two of the ways for each objective, so that every way meets several.
        const others = [turn, turn + 1].map((at) =>
          stepOf(TrainGraph.build(policy, objective, { ...exact, ...ways[at % ways.length] }))
        )
        const batches = packed(sequences, objective, { tokenBudget: 32 })
        const ours = await plain(batches, theta)
        assert.isAbove(norm(ours.grad), 1e-4, objective.name)
        for (const other of others) {
          const same = await other(batches, theta)
          assert.closeTo(same.loss, ours.loss, 1e-12, objective.name)
          assert.isBelow(distance(same.grad, ours.grad), 1e-11, objective.name)
        }
        // Weights without gradient, so that the loss is no antiderivative: held to GRPO's in another test, or to TRL's.
        if (
          ["cispo", "dppo", "vespo", "on-policy-distill"].includes(objective.name) ||
          objective.oldPolicy === "trainer"
        )
          continue
        const h = 1e-5
        const numeric = ours.grad.slice()
        // A share of the parameters, of each objective other ones.
        const every = trains === "all" ? 203 : 61
        for (let i = turn % every; i < theta.length; i += every) {
          const at = async (step: number) => (await plain(batches, theta.with(i, theta[i]! + step))).loss
          numeric[i] = ((await at(h)) - (await at(-h))) / (2 * h)
        }
        assert.isBelow(distance(numeric, ours.grad), 1e-7, objective.name)
      }
    })
  }

  it("gives the same loss, gradient and metrics however a batch is split, packed or padded", async () => {
    const policy = toyPolicy("adapter")
    const theta = toyTheta(policy)
    const sequences = sequencesOf([9, 14, 7, 11, 8, 20, 5])
    for (const objective of objectives) {
      const step = stepOf(TrainGraph.build(policy, objective, { ...exact, real: "float32", chunks: 4, remat: true }))
      const whole = await step(packed(sequences, objective, { tokenBudget: 400, maxLength: 80, shapes: 1 }), theta)
      const ways = {
        "one sequence a row": { tokenBudget: 100, maxLength: 20, shapes: 1, attentionLength: 1e-6 },
        "micro-batches of one row": { tokenBudget: 24, maxLength: 24, shapes: 1 },
        "several lengths": { tokenBudget: 64, maxLength: 20, shapes: 5 }
      }
      for (const [way, settings] of Object.entries(ways)) {
        const other = await step(packed(sequences, objective, settings), theta)
        const scale = Math.max(Math.abs(whole.loss), 0.1)
        assert.closeTo(other.loss / scale, whole.loss / scale, 1e-6, `${objective.name}, ${way}`)
        assert.isBelow(distance(other.grad, whole.grad), 1e-6, `${objective.name}, ${way}`)
        assert.isBelow(distance(other.metrics, whole.metrics), 1e-6, `${objective.name}, ${way}`)
      }
    }
  })

  it("does not care for the order of sequences", async () => {
    const policy = toyPolicy("adapter")
    const theta = toyTheta(policy)
    const sequences = sequencesOf(lengths)
    for (const objective of objectives) {
      const step = adapterStep(objective)
      const forward = await step(packed(sequences, objective), theta)
      const backward = await step(packed(reversed(sequences), objective), theta)
      assert.closeTo(backward.loss, forward.loss, 1e-12)
      assert.isBelow(distance(backward.grad, forward.grad), 1e-11)
    }
  })

  it("is not moved by anything given at masked tokens", async () => {
    const policy = toyPolicy("adapter")
    const theta = toyTheta(policy)
    const sequences = sequencesOf(lengths)
    const disturbed = sequences.map((sequence) => ({
      ...sequence,
      advantages: disturb(sequence.advantages, sequence.mask),
      engineLogprobs: disturb(sequence.engineLogprobs!, sequence.mask),
      refLogprobs: disturb(sequence.refLogprobs!, sequence.mask)
    }))
    for (const objective of objectives) {
      const step = adapterStep(objective)
      const before = await step(packed(sequences, objective), theta)
      const after = await step(packed(disturbed, objective), theta)
      assert.strictEqual(after.loss, before.loss, objective.name)
      assert.deepStrictEqual(after, before, objective.name)
    }
  })

  it("takes tokens whose sampling logprob is unknown as sampled by the present policy", async () => {
    const policy = toyPolicy("adapter")
    const theta = toyTheta(policy)
    const sequences = sequencesOf(lengths)
    const unknown = sequences.map((sequence) => ({
      ...sequence,
      engineLogprobs: sequence.engineLogprobs!.map(() => 1)
    }))
    const engine = await stepOf(TrainGraph.build(policy, objectiveOf("grpo"), exact))(
      packed(unknown, objectiveOf("grpo")),
      theta
    )
    const objective = objectiveOf("grpo", { oldPolicy: "trainer" })
    const current = await stepOf(TrainGraph.build(policy, objective, exact))(packed(sequences, objective), theta)
    assert.strictEqual(engine.loss, current.loss)
    assert.deepStrictEqual(engine.grad, current.grad)
  })

  it("has one policy gradient under every surrogate where the ratio is 1", async () => {
    const policy = toyPolicy("adapter")
    const theta = toyTheta(policy)
    const sequences = sequencesOf(lengths)
    const gradients: Array<Numbers> = []
    for (const preset of ["grpo", "dr-grpo", "dapo", "cispo", "dppo"] as const) {
      const objective = objectiveOf(preset, { oldPolicy: "trainer", aggregation: "token-mean" })
      const { grad } = await stepOf(TrainGraph.build(policy, objective, exact))(packed(sequences, objective), theta)
      gradients.push(grad)
    }
    for (const gradient of gradients) assert.isBelow(distance(gradient, gradients[0]!), 1e-12)
  })

  it("stays finite when logprobs have drifted apart beyond all measure", async () => {
    const policy = toyPolicy("adapter")
    const theta = toyTheta(policy)
    const sequences = sequencesOf(lengths).map((sequence) => ({
      ...sequence,
      engineLogprobs: sequence.engineLogprobs!.map((logprob, t) => (t % 2 === 0 ? -1e4 : logprob)),
      refLogprobs: sequence.refLogprobs!.map(() => -1e4)
    }))
    for (const objective of objectives) {
      const step = stepOf(TrainGraph.build(policy, objective, { ...exact, real: "float32" }))
      const { grad, loss, metrics } = await step(packed(sequences, objective), theta)
      assert.isTrue([loss, ...grad, ...metrics].every(Number.isFinite), objective.name)
    }
  })

  it("reports tokens, entropy, ratios and clipping as the logprobs say", async () => {
    const policy = toyPolicy("adapter")
    const theta = toyTheta(policy)
    const sequences = sequencesOf(lengths)
    const objective = objectiveOf("grpo", { clipLow: 0.1, clipHigh: 0.3 })
    const graph = TrainGraph.build(policy, objective, exact)
    const [batch, ...rest] = packed(sequences, objective)
    assert.deepStrictEqual(rest, [])
    const run = await load(TrainGraph.buildLogprobs(policy, { ...exact, headRows: 5 }))
    const feeds = TrainFeeds.idFeeds(batch!, "all", "float64")
    const { logprobs } = await run({ ...feeds, theta: { dtype: "float64", shape: [theta.length], data: theta } })
    const { metrics } = await stepOf(graph)([batch!], theta)
    const metric = (name: string) => metrics[graph.metrics.findIndex((figure) => figure.name === name)]!
    const trained = [...batch!.lossMask.keys()].filter((at) => batch!.lossMask[at] === 1)
    const differences = trained.map((at) => logprobs![at]! - batch!.engineLogprobs[at]!)
    const ratios = differences.map(Math.exp)
    assert.strictEqual(metric("tokens"), trained.length)
    assert.closeTo(metric("ratio"), total(ratios), 1e-9)
    assert.closeTo(metric("ratio_max"), Math.max(...ratios), 1e-9)
    assert.closeTo(metric("mismatch"), total(differences), 1e-9)
    assert.closeTo(metric("mismatch_abs_max"), Math.max(...differences.map(Math.abs)), 1e-9)
    assert.closeTo(metric("logprob"), total(trained.map((at) => logprobs![at]!)), 1e-9)
    const high = trained.filter((at, i) => ratios[i]! > 1.3 && batch!.advantages[at]! > 0)
    const low = trained.filter((at, i) => ratios[i]! < 0.9 && batch!.advantages[at]! < 0)
    assert.isAbove(high.length * low.length, 0)
    assert.strictEqual(metric("clipped_high"), high.length)
    assert.strictEqual(metric("clipped_low"), low.length)
    assert.isBelow(metric("entropy") / trained.length, Math.log(vocabulary))
    assert.isAbove(metric("entropy") / trained.length, 0)
  })

  it("finds the reference policy under the adapter", async () => {
    const { layout } = toyPolicy("adapter")
    const theta = Float32Array.from({ length: layout.size }, (_, i) => i + 1)
    const reference = TrainGraph.withoutAdapter(layout, theta)!
    const [a, b] = layout.slots
    assert.deepStrictEqual(
      reference.subarray(a!.offset, a!.offset + a!.size),
      theta.subarray(a!.offset, a!.offset + a!.size)
    )
    assert.isTrue(reference.subarray(b!.offset, b!.offset + b!.size).every((x) => x === 0))
    assert.isUndefined(TrainGraph.withoutAdapter(toyPolicy("all").layout, theta))
  })
})

describe("Preset", () => {
  it("refuses settings that would have no effect", () => {
    assert.include(reason({ preset: "grpo", importanceSampling: "truncated" }), "oldPolicy must be")
    for (const oldPolicy of ["engine", "trainer"] as const) {
      const given = { preset: "vespo", importanceSampling: "truncated", oldPolicy } as const
      assert.include(
        reason(given),
        "truncated importance sampling would correct twice: its weight W is that correction"
      )
    }
    assert.include(reason({ preset: "sft", clipLow: 0.1 }), "has no clipLow")
    const idle = {
      ratioCap: { preset: "grpo", ratioCap: 3 },
      clipHigh: { preset: "sapo", clipHigh: 0.1 },
      importanceCap: { preset: "grpo", importanceCap: 3 },
      klImportance: { preset: "grpo", klImportance: true },
      divisorTokens: { preset: "grpo", divisorTokens: 8 },
      dpoBeta: { preset: "grpo", dpoBeta: 0.1 },
      baseline: { preset: "on-policy-distill", baseline: "none" }
    } as const
    for (const [name, given] of Object.entries(idle)) {
      assert.include(reason(given), `${name} would have no effect`)
    }
    assert.include(reason({ preset: "dpo", baseline: "none" }), "has no baseline")
    assert.include(reason({ preset: "dpo", aggregation: "constant" }), "has no aggregation")
    assert.include(reason({ preset: "reinforce++", advantageScale: "sample-std" }), "compares across groups")
    assert.include(reason({ preset: "icepop", importanceFloor: 7 }), "is above importanceCap")
    assert.include(reason({ preset: "grpo", kl: "k1", klCoef: 0.1 }), "no gradient on average")
    for (const preset of presetNames) assert.strictEqual(reason({ preset }), "")
  })
})

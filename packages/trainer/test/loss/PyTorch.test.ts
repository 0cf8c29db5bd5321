/** Losses and LoRA gradients against PyTorch, PEFT and TRL: fixtures of scripts/make-loss-fixtures.py. */
import { assert, describe, it } from "@effect/vitest"
import { WireGroup } from "@atropos/core"
import { Result, Schema } from "effect"
import { LossSettings } from "../../src/loss/LossSettings.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as MicroBatch from "../../src/MicroBatch.ts"
import * as TrainFeeds from "../../src/TrainFeeds.ts"
import * as TrainGraph from "../../src/TrainGraph.ts"
import * as TrainingSequence from "../../src/TrainingSequence.ts"
import fixtures from "../fixtures/losses.json" with { type: "json" }
import { layoutOf, tinyQwen2 } from "./TinyQwen2.ts"
import { load, type Numbers } from "./ToyPolicy.ts"

const floats = (base64: string) => new Float32Array(Uint8Array.from(Buffer.from(base64, "base64")).buffer)

const { alpha, r } = fixtures.lora
const layout = layoutOf(fixtures.names, r)
const policy = tinyQwen2(layout, alpha / r)
const theta = new Float32Array(layout.size)
const given: Readonly<Record<string, string>> = fixtures.theta
for (const { name, offset } of layout.slots) theta.set(floats(given[name]!), offset)
const reference = TrainGraph.withoutAdapter(layout, theta)!

interface WireGroupWithOld {
  readonly old_logprobs: ReadonlyArray<ReadonlyArray<number>>
}
const batches: Readonly<Record<string, ReadonlyArray<WireGroupWithOld>>> = fixtures.batches

const logprobsProgram = load(TrainGraph.buildLogprobs(policy))

const feed = (data: Float32Array) => ({ dtype: "float32" as const, shape: [data.length], data })
const norm = (numbers: Numbers) => Math.hypot(...numbers)

/** Puts logprobs given per sequence where the sequences lie. */
const placed = (batch: MicroBatch.MicroBatch, old: ReadonlyArray<ReadonlyArray<number>>) => {
  const oldLogprobs = new Float32Array(batch.oldLogprobs.length).fill(1)
  for (const { length, row, sequence, start } of batch.placements) {
    oldLogprobs.set(old[sequence]!.slice(1, length + 1), row * batch.length + start)
  }
  return oldLogprobs
}

describe("losses of PyTorch, PEFT and TRL", () => {
  for (const { batch: name, gradient, loss, settings, trl } of fixtures.cases) {
    it(`${name}: ${Object.entries(settings)
      .map(([key, value]) => `${key} ${value}`)
      .join(", ")}`, async () => {
      const objective = Result.getOrThrow(Preset.resolve(Schema.decodeUnknownSync(LossSettings)(settings)))
      const wire = batches[name]!
      const groups = wire.map((group) => Result.getOrThrow(WireGroup.decode(group)))
      const { sequences } = TrainingSequence.ofGroups(groups, objective)
      const kept = [...new Set(sequences.map(({ group }) => group))].flatMap((group) => wire[group]!.old_logprobs)
      const { microBatches, report } = MicroBatch.pack(sequences, objective, {
        ...MicroBatch.defaults,
        vocabSize: 64,
        maxLength: 32,
        tokenBudget: 64,
        multiple: 2
      })
      assert.deepStrictEqual(
        report.dropped.filter(({ reason }) => reason !== "nothing to train"),
        []
      )
      const logprobs = await logprobsProgram
      const run = await load(TrainGraph.build(policy, objective, { ...TrainGraph.defaults, chunks: 2 }).graph)
      const ours = { loss: 0, gradient: new Float64Array(layout.size) }
      for (const batch of microBatches) {
        const { logprobs: refLogprobs } = await logprobs({ ...TrainFeeds.idFeeds(batch), theta: feed(reference) })
        const full = TrainFeeds.withLogprobs(batch, {
          refLogprobs: Float32Array.from(refLogprobs!),
          ...(objective.oldPolicy === "trainer" && { oldLogprobs: placed(batch, kept) })
        })
        const out = await run({ ...TrainFeeds.feeds(full, objective), theta: feed(theta) })
        ours.loss += out["loss"]![0]!
        out["grad"]!.forEach((slope, i) => (ours.gradient[i]! += slope))
      }
      const expected = floats(gradient)
      assert.closeTo(ours.loss, loss, 1e-4 * Math.max(Math.abs(loss), 0.1))
      assert.closeTo(ours.loss, trl ?? loss, 1e-4 * Math.max(Math.abs(loss), 0.1))
      for (const { name, offset, size } of layout.slots) {
        const part = expected.subarray(offset, offset + size)
        const difference = part.map((slope, i) => slope - ours.gradient[offset + i]!)
        assert.isBelow(norm(difference), 1e-3 * norm(part), name)
      }
      assert.isBelow(norm(expected.map((slope, i) => slope - ours.gradient[i]!)), 1e-4 * norm(expected))
    })
  }
})

describe("a training step of a transformer in float64", () => {
  const settings = [
    { preset: "grpo", klCoef: 0.1 },
    { preset: "gspo", clipLow: 0.05, clipHigh: 0.05 }
  ] as const
  const ways = {
    "plain rows": {
      remat: false,
      chunks: 1,
      pack: { maxLength: 16, tokenBudget: 1000, shapes: 1, attentionLength: 1e-6 }
    },
    "recomputed, in chunks, packed": {
      remat: true,
      chunks: 4,
      pack: { maxLength: 64, tokenBudget: 128, shapes: 1, multiple: 4 }
    }
  }
  for (const [way, { chunks, pack, remat }] of Object.entries(ways)) {
    it(`has the gradient of central differences: ${way}`, async () => {
      for (const given of settings) {
        const objective = Result.getOrThrow(Preset.resolve(given))
        const groups = fixtures.batches.plain.map((group) => Result.getOrThrow(WireGroup.decode(group)))
        const { sequences } = TrainingSequence.ofGroups(groups, objective)
        const packed = MicroBatch.pack(
          sequences.map((sequence) => ({ ...sequence, refLogprobs: sequence.engineLogprobs! })),
          objective,
          { ...MicroBatch.defaults, vocabSize: 64, ...pack }
        )
        const run = await load(
          TrainGraph.build(policy, objective, { remat, chunks, entropy: true, real: "float64" }).graph
        )
        const at = async (parameters: Float64Array) => {
          const total = { loss: 0, gradient: new Float64Array(layout.size) }
          for (const batch of packed.microBatches) {
            const out = await run({
              ...TrainFeeds.feeds(batch, objective, "float64"),
              theta: { dtype: "float64", shape: [layout.size], data: parameters }
            })
            total.loss += out["loss"]![0]!
            out["grad"]!.forEach((slope, i) => (total.gradient[i]! += slope))
          }
          return total
        }
        const here = Float64Array.from(theta)
        const { gradient } = await at(here)
        const h = 1e-6
        const checked = Array.from({ length: 60 }, (_, i) => (i * 37) % layout.size)
        const differences = new Float64Array(checked.length)
        for (const [k, i] of checked.entries()) {
          const above = await at(here.with(i, here[i]! + h))
          const below = await at(here.with(i, here[i]! - h))
          differences[k] = (above.loss - below.loss) / (2 * h) - gradient[i]!
        }
        assert.isBelow(norm(differences), 1e-6 * norm(Float64Array.from(checked, (i) => gradient[i]!)))
      }
    })
  }
})

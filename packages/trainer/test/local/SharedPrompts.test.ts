/** Prompts that a row holds once, against the same sequences apart: the packing, and what the graphs compute. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Preset from "@atropos/trainer/loss/Preset"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"
import * as Sample from "../../../core/test/Sample.ts"
import { Executor } from "../../src/exec/Executor.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import type { TrainingSequence } from "../../src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as MicroBatch from "../../src/local/MicroBatch.ts"
import * as TrainFeeds from "../../src/local/TrainFeeds.ts"
import * as TrainGraph from "../../src/local/TrainGraph.ts"
import * as Model from "../../src/model/Model.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import type { AttentionKind } from "../../src/model/TrainableModel.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as Architectures from "../model/Architectures.ts"

interface Shape {
  readonly prompt: number
  readonly answers: ReadonlyArray<number>
}

const vocabSize = 50

/** Sequences of a group have one prompt; answers differ, and a part of each is not trained. */
const sequencesOf = (groups: ReadonlyArray<Shape>): ReadonlyArray<TrainingSequence> =>
  groups.flatMap(({ answers, prompt }, group) =>
    answers.map((answer, index): TrainingSequence => {
      const size = prompt + answer
      const isAnswer = (t: number) => t >= prompt
      return {
        tokens: Int32Array.from({ length: size }, (_, t) => (t * 7 + group * 11 + (isAnswer(t) ? index * 5 : 0)) % 50),
        mask: Uint8Array.from({ length: size }, (_, t) => (isAnswer(t) && (t - prompt) % 5 !== 3 ? 1 : 0)),
        advantages: new Float32Array(size).fill(index % 2 === 0 ? 1 : -0.5),
        engineLogprobs: Float32Array.from({ length: size }, (_, t) => (isAnswer(t) ? -2 - (t % 3) : NaN)),
        temperature: 1,
        score: 0,
        policyVersion: null,
        group
      }
    })
  )

const chosen = (groups: ReadonlyArray<Shape>, objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))) =>
  WeightedBatch.choose(sequencesOf(groups), objective, { maxLength: 4096, vocabSize }).batch

const packed = (batch: WeightedBatch.WeightedBatch, sharesPrompts: boolean, tokenBudget = 512) =>
  MicroBatch.pack(batch, { ...MicroBatch.defaults, maxLength: 512, tokenBudget, sharesPrompts })

const atMost = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const shapes = Schema.Array(
  Schema.Struct({
    prompt: atMost(1, 60),
    answers: Schema.NonEmptyArray(atMost(1, 40)).check(Schema.isMaxLength(9))
  })
).check(Schema.isMinLength(1), Schema.isMaxLength(5))

/** The index of position t of a placement in its micro-batch. */
const indexOf = ({ length }: MicroBatch.MicroBatch, place: MicroBatch.MicroBatch["placements"][number], t: number) =>
  place.row * length + (t < place.shared ? place.sharedStart + t : place.start + t - place.shared)

describe("rows that hold prompts once", () => {
  it.prop(
    "have every position of every sequence, and each trained one once",
    { shapes, tokenBudget: atMost(16, 600) },
    ({ shapes, tokenBudget }) => {
      const batch = chosen(shapes)
      const microBatches = packed(batch, true, tokenBudget)
      const trained = microBatches.reduce((sum, { lossMask }) => sum + lossMask.reduce((a, b) => a + b, 0), 0)
      assert.strictEqual(
        trained,
        batch.items.reduce((sum, item) => sum + item.trained, 0)
      )
      for (const microBatch of microBatches) {
        const { begins } = microBatch.shared!
        for (const place of microBatch.placements) {
          const { sequence } = batch.items[place.item]!
          const { tokens } = batch.sequences[sequence]!
          for (let t = 0; t < place.length; t++) {
            const at = indexOf(microBatch, place, t)
            assert.strictEqual(microBatch.inputIds[at], tokens[t])
            assert.strictEqual(microBatch.targetIds[at], tokens[t + 1])
            assert.strictEqual(microBatch.positionIds[at], t)
            assert.strictEqual(microBatch.lossMask[at], batch.sequences[sequence]!.mask[t + 1])
            assert.strictEqual(begins[at], place.shared > 0 ? place.sharedStart : place.start)
          }
        }
      }
    }
  )

  it("take the positions of the prompt and of the answers, where whole sequences take both for each", () => {
    const batch = chosen([{ prompt: 101, answers: Array<number>(8).fill(20) }])
    const [apart, shared] = [false, true].map((shares) => packed(batch, shares))
    assert.strictEqual(MicroBatch.saved(apart!), 0)
    assert.strictEqual(MicroBatch.saved(shared!), 7 * 100)
    // 100 of the prompt and eight times 20, in steps of a 16th of the longest row.
    assert.strictEqual(MicroBatch.positions(shared!), 288)
    assert.strictEqual(MicroBatch.positions(apart!), 8 * 120)
  })

  it("hold a prompt again where the answers do not fit into one row", () => {
    const batch = chosen([{ prompt: 400, answers: [100, 100, 100] }])
    const shared = packed(batch, true, 64)
    assert.strictEqual(MicroBatch.saved(shared), 0)
    assert.lengthOf(shared, 3)
  })

  it("do not share a prompt between groups, at two temperatures, or of which a part is trained", () => {
    const sequences = sequencesOf([{ prompt: 30, answers: [5, 5] }])
    const change = (more: Partial<TrainingSequence>) => [sequences[0]!, { ...sequences[1]!, ...more }]
    const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
    const saved = (some: ReadonlyArray<TrainingSequence>) =>
      MicroBatch.saved(packed(WeightedBatch.choose(some, objective, { maxLength: 4096, vocabSize }).batch, true))
    assert.strictEqual(saved(sequences), 29)
    assert.strictEqual(saved(change({ group: 1 })), 0)
    assert.strictEqual(saved(change({ temperature: 0.5 })), 0)
    assert.strictEqual(saved(change({ mask: new Uint8Array(35).fill(1) })), 0)
    assert.strictEqual(saved(change({ tokens: sequences[1]!.tokens.with(10, 49) })), 0)
  })

  it.prop(
    "train all tokens of sequences with the same tokens whose masks begin at different places",
    { starts: Schema.NonEmptyArray(atMost(1, 34)).check(Schema.isMaxLength(6)) },
    ({ starts }) => {
      const [{ tokens, ...one }] = sequencesOf([{ prompt: 30, answers: [5] }]) as [TrainingSequence]
      const sequences = starts.map((start) => ({ ...one, tokens, mask: new Uint8Array(35).fill(1, start) }))
      const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
      const { batch } = WeightedBatch.choose(sequences, objective, { maxLength: 4096, vocabSize })
      const trained = packed(batch, true)
        .flatMap(({ lossMask }) => [...lossMask])
        .filter((mask) => mask === 1)
      assert.lengthOf(
        trained,
        batch.items.reduce((sum, item) => sum + item.trained, 0)
      )
    }
  )
})

const groups = [
  { prompt: 70, answers: [40, 25, 50, 33] },
  { prompt: 3, answers: [9, 30] },
  { prompt: 20, answers: [12] }
]

type Loss = "grpo" | "gspo"

/** Loss, gradient and logprobs of trained tokens, by item. */
const computed = Effect.fnUntraced(function* (
  { model, parameters }: Effect.Success<ReturnType<typeof Architectures.load>>,
  preset: Loss,
  { attention, sharesPrompts }: { readonly attention: AttentionKind; readonly sharesPrompts: boolean }
) {
  const objective = Result.getOrThrow(Preset.resolve({ preset }))
  const batch = chosen(groups, objective)
  const options = { ...TrainGraph.defaults, attention, sharesPrompts }
  const { graph } = TrainGraph.build(Model.policy(model), objective, options)
  const program = yield* (yield* Executor).load(toOnnx(graph))
  const theta = { dtype: "float32" as const, shape: [parameters.length], data: parameters }
  const gradient = new Float64Array(parameters.length)
  const logprobs: Array<Float32Array> = []
  const microBatches = packed(batch, sharesPrompts)
  assert.strictEqual(MicroBatch.saved(microBatches) > 0, sharesPrompts)
  let loss = 0
  for (const microBatch of microBatches) {
    const { host } = yield* program.run({ ...TrainFeeds.feeds(microBatch, objective), theta })
    loss += (host["loss"]!.data as Float32Array)[0]!
    host["grad"]!.data.forEach((value, i) => (gradient[i]! += Number(value)))
    for (const place of microBatch.placements) {
      const { mask } = batch.sequences[batch.items[place.item]!.sequence]!
      logprobs[place.item] = Float32Array.from({ length: place.length }, (_, t) =>
        mask[t + 1] === 1 ? Number(host["logprobs"]!.data[indexOf(microBatch, place, t)]) : 0
      )
    }
  }
  return { loss, gradient, logprobs }
})

/** qwen3-5 has recurrent layers, which take whole sequences; phi4-mini is used for 64 positions. */
const others = ["qwen3-5", "phi4-mini"]
const names = Architectures.names.filter((name) => !others.includes(name))
const cases = Sample.every(4, names).flatMap((name) =>
  (["rows", "blocks"] as const).map((attention) => ({ name, attention, preset: "grpo" as Loss }))
)

layer(Layer.merge(SharedOrt.layer, NodeServices.layer), { excludeTestServices: true })("prompts held once", (it) => {
  it.effect.each([...cases, { name: "llama", attention: "rows" as const, preset: "gspo" as Loss }])(
    "leave loss, gradient and logprobs as they are: $name, $attention, $preset",
    ({ attention, name, preset }) =>
      Effect.gen(function* () {
        const loaded = yield* Architectures.load(Architectures.folder(name))
        const [apart, shared] = yield* Effect.forEach([false, true], (sharesPrompts) =>
          computed(loaded, preset, { attention, sharesPrompts })
        )
        const largest = apart!.gradient.reduce((max, value) => Math.max(max, Math.abs(value)), 0)
        assert.isAbove(largest, 0)
        assert.approximately(shared!.loss, apart!.loss, 1e-4)
        apart!.logprobs.forEach((own, item) =>
          own.forEach((logprob, t) => assert.approximately(shared!.logprobs[item]![t]!, logprob, 1e-4))
        )
        apart!.gradient.forEach((value, i) => assert.isBelow(Math.abs(value - shared!.gradient[i]!) / largest, 1e-3))
      }).pipe(Effect.scoped)
  )

  it.effect("leave a learner's logprobs and its second update with a batch as they are", () =>
    Effect.gen(function* () {
      const model = Model.trainable(TinyModel.make({ characters: "abcdefghij", seed: 1, maxPositions: 128 }))
      const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
      const sequences = sequencesOf(groups).map((one) => ({ ...one, tokens: one.tokens.map((token) => token % 10) }))
      const { batch } = WeightedBatch.choose(sequences, objective, { maxLength: 128, vocabSize: 10 })
      const course = Effect.fnUntraced(function* (sharesPrompts: boolean) {
        const engine = yield* LocalLearner.make({ model: { ...model, policy: { ...model.policy, sharesPrompts } } })
        const learner = yield* engine.load({ objective, maxLength: 128 })
        const looked: Array<Float32Array> = []
        const { saved = 0 } = yield* learner.forwardBackward(batch, (item, row) => (looked[item] = row.slice()))
        assert.strictEqual(saved > 0, sharesPrompts)
        yield* learner.optimizerStep(0.01)
        const { loss } = yield* learner.forwardBackward({ ...batch, oldLogprobs: looked })
        return { loss, looked, all: yield* learner.forward(batch) }
      })
      const [apart, shared] = [yield* course(false), yield* course(true)]
      assert.approximately(shared.loss, apart.loss, 1e-4)
      for (const [item, { length }] of batch.items.entries()) {
        assert.lengthOf(shared.all[item]!, length)
        apart.all[item]!.forEach((logprob, t) => assert.approximately(shared.all[item]![t]!, logprob, 1e-4))
        const { mask } = batch.sequences[item]!
        apart.looked[item]!.forEach((logprob, t) => {
          if (mask[t + 1] === 1) assert.approximately(shared.looked[item]![t]!, logprob, 1e-4)
        })
      }
    }).pipe(Effect.scoped)
  )
})

/** PyTorch's engine against the local one: the same losses, norms and logprobs, step by step. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import type { LearnerEngineShape, LoadOptions } from "../../src/learn/LearnerEngine.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import type { Objective } from "../../src/loss/Objective.ts"
import * as Model from "../../src/model/Model.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as TorchEngine from "../../src/torch/TorchEngine.ts"
import * as TorchProcess from "../../src/torch/TorchProcess.ts"
import * as Sample from "../../../core/test/Sample.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import { folder, type Name } from "../model/Fixtures.ts"
import { course, near, objectives } from "../tinker/RemoteEngine.ts"
import * as SameBatch from "../tinker/SameBatch.ts"
import * as Torch from "./Torch.ts"

/** Of the smallest vocabulary of the models. */
const shape = { vocabSize: 80, maxLength: 40, shortest: 8, count: 6 }
const steps = 10

const process = Torch.processOf()
const child = Torch.sharedChild(process)
const services = Layer.mergeAll(NodeServices.layer, NodeHttpClient.layerUndici, SharedOrt.layer)

const live = <A, E>(effect: Effect.Effect<A, E, Layer.Success<typeof services> | Scope.Scope>) =>
  effect.pipe(Effect.scoped, Effect.provide(services))

const local = Effect.fnUntraced(function* (name: Name, trains: TorchEngine.Options["trains"]) {
  const model = yield* PretrainedModel.load(folder(name), { trains, seed: Torch.seed })
  return yield* LocalLearner.make({ model: Model.trainable(model) })
})

const courseOf = (
  engine: LearnerEngineShape,
  objective: Objective,
  { count = steps, of = shape, ...more }: Partial<LoadOptions> & { count?: number; of?: SameBatch.Shape } = {}
) =>
  Effect.scoped(
    Effect.flatMap(engine.load({ objective, maxLength: of.maxLength, ...more }), (learner) =>
      course(learner, SameBatch.batchOf(objective, of), count)
    )
  )

const same = Effect.fnUntraced(function* (
  here: LearnerEngineShape,
  there: LearnerEngineShape,
  objective: Objective,
  more: Partial<LoadOptions> = {}
) {
  const ours = yield* courseOf(here, objective)
  const theirs = yield* courseOf(there, objective, more)
  const scale = Math.max(1, ...ours.losses.map(Math.abs))
  near(theirs.losses, ours.losses, 1e-4 * scale, `${objective.name}: loss of step`)
  const largest = Math.max(1, ...ours.norms)
  near(theirs.norms, ours.norms, 1e-3 * largest, `${objective.name}: norm of step`)
  for (const [item, row] of theirs.logprobs.entries()) {
    near(row, ours.logprobs[item]!, 1e-3, `${objective.name}: logprob of item ${item}`)
  }
  assert.notStrictEqual(theirs.losses[0], theirs.losses[steps - 1])
})

const grpo = objectives(true).find(({ name }) => name === "grpo")!

describe.skipIf(!Torch.isPresent)(`PyTorch's engine and the local one${Torch.absence}`, () => {
  for (const objective of Sample.every(6, objectives(true))) {
    it.live(`learn the same numbers: ${objective.name}`, () =>
      live(
        Effect.gen(function* () {
          const there = yield* TorchEngine.make(Torch.optionsOf(process), child)
          yield* same(yield* local("qwen3", Torch.lora), there, objective)
        })
      )
    )
  }

  for (const name of ["llama", "qwen2"] as const) {
    it.live(`learn the same numbers on ${name}, a sequence at a time, with activations computed again`, () =>
      live(
        Effect.gen(function* () {
          const there = yield* TorchEngine.make(Torch.optionsOf(process, name), child)
          yield* same(yield* local(name, Torch.lora), there, grpo, { tokenBudget: 1, maxLength: 40, remat: "parts" })
        })
      )
    )
  }

  it.live("learn the same numbers without padding, where sequences in one row do not see each other", () =>
    live(
      Effect.gen(function* () {
        const packing = yield* TorchProcess.make(Torch.processOf({ variables: { ATROPOS_TORCH_PACKS: "1" } }))
        for (const name of ["qwen3", "llama"] as const) {
          const there = yield* TorchEngine.make(Torch.optionsOf(process, name), Effect.succeed(packing))
          yield* same(yield* local(name, Torch.lora), there, grpo)
          assert.isTrue((yield* there.usage).loaded?.isPacked)
          const learner = yield* there.load({ objective: grpo, maxLength: shape.maxLength })
          const batch = SameBatch.batchOf(grpo, shape)
          const { positions } = yield* learner.forwardBackward(batch)
          assert.strictEqual(
            positions,
            batch.items.reduce((sum, { length }) => sum + length, 0)
          )
        }
      })
    )
  )

  it.live("compute 1,024 sequences in a step, of which at most a 20th is padding, as the same loss", () =>
    live(
      Effect.gen(function* () {
        const some = SameBatch.sequences({ ...shape, count: 32 })
        const sequences = Array.from({ length: 1024 }, (_, i) => ({ ...some[(i * 7) % 32]!, group: i }))
        const { batch } = WeightedBatch.choose(sequences, grpo, { vocabSize: shape.vocabSize, maxLength: 128 })
        const tokens = batch.items.reduce((sum, { length }) => sum + length, 0)
        const losses = yield* Effect.forEach(
          [yield* local("qwen3", Torch.lora), yield* TorchEngine.make(Torch.optionsOf(process), child)],
          Effect.fnUntraced(function* (engine) {
            const learner = yield* engine.load({ objective: grpo, maxLength: 128, tokenBudget: 1024 })
            const { loss, microBatches, positions } = yield* learner.forwardBackward(batch)
            assert.isAtLeast(tokens / positions, 0.95)
            assert.isAbove(microBatches, 1)
            return loss
          })
        )
        near([losses[1]!], [losses[0]!], 1e-4, "loss of the step")
      })
    )
  )

  it.live("learn the same numbers with all weights, and with the norm of rows", () =>
    live(
      Effect.gen(function* () {
        for (const trains of ["all", { ...Torch.lora, dora: true }] as const) {
          const there = yield* TorchEngine.make(Torch.optionsOf(process, "qwen3", { trains }), child)
          yield* same(yield* local("qwen3", trains), there, grpo)
        }
      })
    )
  )

  it.live("learn the same numbers where memory is full: micro-batches are halved", () =>
    live(
      Effect.gen(function* () {
        // Six sequences of up to 22 positions are two rounds of at most 64.
        const small = yield* TorchProcess.make(Torch.processOf({ variables: { ATROPOS_TORCH_MAX_POSITIONS: "64" } }))
        const there = yield* TorchEngine.make(Torch.optionsOf(process), Effect.succeed(small))
        yield* same(yield* local("qwen3", Torch.lora), there, grpo, { tokenBudget: 256 })
        const long = { ...shape, shortest: 70, maxLength: 100 }
        const { message, reason } = yield* Effect.flip(courseOf(there, grpo, { of: long }))
        assert.strictEqual(reason, "settings")
        assert.match(message, /does not fit into memory .* the longest sequence has 84: set --remat/)
      })
    )
  )

  it.live("report what they took, and refuse a model that cannot fit before it is read", () =>
    live(
      Effect.gen(function* () {
        const there = yield* TorchEngine.make(Torch.optionsOf(process), child)
        yield* courseOf(there, grpo, { count: 1, tokenBudget: 512 })
        const { device, loaded, peaks, positions } = yield* there.usage
        assert.deepStrictEqual([device, positions, peaks.length], ["cpu", 512, 1])
        assert.strictEqual(loaded?.dtype, "float32")
        // At least what the libraries take, and less than this machine could have.
        assert.isTrue(peaks[0]! > 50e6 && peaks[0]! < 1e12)
        const sizes = { parameters: 1e15, hiddenSize: 64, layers: 2, intermediateSize: 128, vocabSize: 128 }
        const large = yield* TorchEngine.make(Torch.optionsOf(process, "qwen3", { sizes, trains: "all" }), child)
        const { message, reason } = yield* Effect.flip(courseOf(large, grpo))
        assert.strictEqual(reason, "settings")
        assert.match(message, /weights, gradients and moments take \d+\.\d GB, .*: --trains adapter, --dtype bfloat16,/)
      })
    )
  )

  it.live("differ in bfloat16 by its rounding only", () =>
    live(
      Effect.gen(function* () {
        const half = yield* TorchEngine.make(Torch.optionsOf(process, "qwen3", { dtype: "bfloat16" }), child)
        const ours = yield* courseOf(yield* local("qwen3", Torch.lora), grpo, { count: 3 })
        const theirs = yield* courseOf(half, grpo, { count: 3 })
        near(theirs.losses, ours.losses, 0.05, "loss of step")
      })
    )
  )
})

/** Several updates with one batch against PyTorch: fixtures of scripts/make-update-fixtures.py. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Tokenizer, WireGroup } from "@atropos/core"
import { Effect, Layer, Result } from "effect"
import { fileURLToPath } from "node:url"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as TrainingSequence from "../../src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as Lora from "../../src/model/Lora.ts"
import * as Model from "../../src/model/Model.ts"
import * as ModelFolder from "../../src/model/ModelFolder.ts"
import * as Tensors from "../../src/model/Tensors.ts"
import * as BatchUpdates from "../../src/run/BatchUpdates.ts"
import * as StepClock from "../../src/run/StepClock.ts"
import losses from "../fixtures/losses.json" with { type: "json" }
import fixtures from "../fixtures/updates.json" with { type: "json" }

const floats = (base64: string) => new Float32Array(Uint8Array.from(Buffer.from(base64, "base64")).buffer)

/** The fixtures' model under its adapter. */
const model = Effect.gen(function* () {
  const folder = fileURLToPath(new URL("../fixtures/loss-model", import.meta.url))
  const config = yield* ModelFolder.readConfig(folder)
  const adapter = { ...losses.lora, targetModules: Tensors.projectionNames, rslora: false }
  const layout = Lora.layout(config, adapter)
  const theta: Readonly<Record<string, string>> = losses.theta
  const initial = new Float32Array(layout.size)
  for (const { name, offset } of layout.slots) initial.set(floats(theta[name]!), offset)
  return Model.trainable({
    name: folder,
    config,
    tokenizer: Tokenizer.bytes,
    weights: ModelFolder.weights(config, yield* ModelFolder.readEntries(folder, config)),
    layout,
    initial,
    adapter,
    write: () => Effect.die("nothing is saved here")
  })
})

const { lr, betas, eps: epsilon, weight_decay: weightDecay } = fixtures.optimizer
const [beta1, beta2] = betas as [number, number]
const optimizer = { beta1, beta2, epsilon, weightDecay, maxNorm: fixtures.max_norm }

describe("several updates with one batch", () => {
  for (const oldPolicy of ["engine", "trainer"] as const) {
    it.live(`are PyTorch's, where the ratio is against the ${oldPolicy}'s policy`, () =>
      Effect.gen(function* () {
        const { logprobs, steps } = fixtures[oldPolicy]
        const objective = Result.getOrThrow(
          Preset.resolve({ preset: "grpo", oldPolicy, clipLow: fixtures.clip, clipHigh: fixtures.clip })
        )
        const { load } = yield* LocalLearner.make({ model: yield* model })
        const learner = yield* load({ objective, optimizer, maxLength: 32 })
        const groups = losses.batches.plain.map((group) => Result.getOrThrow(WireGroup.decode(group)))
        const { sequences } = TrainingSequence.ofGroups(groups, objective)
        const { batch } = WeightedBatch.choose(sequences, objective, { maxLength: 32, vocabSize: 64 })
        const updating = BatchUpdates.make(learner, steps.length)
        const clock = StepClock.make(0n)
        const first = yield* updating.first(batch, clock, undefined)
        const made = yield* updating.rest(batch, first, lr, clock)

        assert.strictEqual(made.updates, steps.length)
        assert.closeTo(made.computed.loss, steps[0]!.loss, 1e-5)
        assert.closeTo(made.norm!, steps[0]!.norm, 1e-4)
        const mean = steps.reduce((sum, { ratio }) => sum + ratio, 0) / steps.length
        assert.closeTo(made.computed.figures.get("ratio")! / made.computed.figures.get("tokens")!, mean, 1e-3)
        const after = yield* learner.forward(batch)
        for (const [item, row] of after.entries()) {
          for (const [t, value] of row.entries()) assert.closeTo(value, logprobs[item]![t]!, 2e-3, `${item}, ${t}`)
        }
      }).pipe(Effect.scoped, Effect.provide(Layer.merge(SharedOrt.layer, NodeServices.layer)))
    )
  }
})

/** PyTorch's engine with two processes: the contract, one process's numbers, and copies that pass between them. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, type Scope } from "effect"
import type { LearnerEngineShape, LoadOptions } from "../../src/learn/LearnerEngine.ts"
import * as TorchEngine from "../../src/torch/TorchEngine.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import { course, near, objectives } from "../tinker/RemoteEngine.ts"
import * as SameBatch from "../tinker/SameBatch.ts"
import * as Torch from "../torch/Torch.ts"
import * as TorchSubject from "../torch/TorchSubject.ts"

const shape = { vocabSize: 80, maxLength: 40, shortest: 8, count: 7 }
const grpo = objectives().find(({ name }) => name === "grpo")!
const batch = SameBatch.batchOf(grpo, shape)

const one = Torch.sharedChild(Torch.processOf())
const two = Torch.sharedChild(Torch.processOf({ ranks: 2 }))
const services = Layer.merge(NodeServices.layer, SharedOrt.layer)

const live = <A, E>(effect: Effect.Effect<A, E, Layer.Success<typeof services> | Scope.Scope>) =>
  effect.pipe(Effect.scoped, Effect.provide(services))

const steps = Effect.fnUntraced(function* (engine: LearnerEngineShape, more: Partial<LoadOptions> = {}) {
  const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  const learner = yield* engine.load({ objective: grpo, maxLength: shape.maxLength, tokenBudget: 64, ...more })
  const found = yield* course(learner, batch, 3)
  return { ...found, from: { folder, reference: yield* learner.save(folder, 3), version: 3 } }
})

describe.skipIf(!Torch.isPresent)(`PyTorch with two processes${Torch.absence}`, () => {
  for (const parallel of ["ddp", "fsdp"] as const) {
    TorchSubject.suite(`torch, two processes (${parallel})`, 2, parallel)

    for (const trains of [Torch.lora, "all"] as const) {
      const what = trains === "all" ? "all weights" : "an adapter"
      it.live(`has one process's numbers, and passes copies to and from it: ${parallel}, ${what}`, () =>
        live(
          Effect.gen(function* () {
            const options = Torch.optionsOf(Torch.processOf(), "qwen3", { parallel, trains })
            const alone = yield* TorchEngine.make(options, one)
            const together = yield* TorchEngine.make(options, two)
            const [a, b] = [yield* steps(alone), yield* steps(together)]
            near(b.losses, a.losses, 1e-6, "loss of step")
            near(b.norms, a.norms, 1e-5, "norm of step")
            const [next, other] = [yield* steps(together, { from: a.from }), yield* steps(alone, { from: b.from })]
            near(next.losses, other.losses, 1e-5, "loss of step after the copy")
            assert.notStrictEqual(next.losses[0], a.losses[0])
          })
        )
      )
    }
  }
})

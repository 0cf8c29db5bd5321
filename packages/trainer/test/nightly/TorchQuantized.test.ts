/** Frozen weights in 8 and 4 bits through bitsandbytes, where the interpreter has it. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Effect, FileSystem, Layer } from "effect"
import * as Python from "../../../core/test/Python.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import * as TorchEngine from "../../src/torch/TorchEngine.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import { folder } from "../model/Fixtures.ts"
import { course, objectives } from "../tinker/RemoteEngine.ts"
import * as SameBatch from "../tinker/SameBatch.ts"
import * as Torch from "../torch/Torch.ts"

const { absence, isPresent } = Python.having("torch", "transformers", "peft", "bitsandbytes")
const shape = { vocabSize: 80, maxLength: 24, shortest: 8, count: 4 }
const sft = objectives(true).find(({ name }) => name === "sft")!
const tokens = Array.from({ length: 20 }, (_, at) => (7 * at + 5) % 80)
const child = Torch.sharedChild(Torch.processOf())

const program = fileURLToPath(new URL("../torch/make_models.py", import.meta.url))

const load = (quantize: "none" | "int8" | "int4", model = folder("qwen3")) =>
  Effect.flatMap(TorchEngine.make({ ...Torch.optionsOf(Torch.processOf()), model, quantize }, child), ({ load }) =>
    load({ objective: sft, maxLength: 32 })
  )

describe.skipIf(!isPresent)(`PyTorch on quantized weights${absence}`, () => {
  it.live("learns on them, and is off by rounding only", () =>
    Effect.gen(function* () {
      const made = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      yield* Effect.sync(() => execFileSync(Torch.interpreter, [program, made, "llama"], { stdio: "pipe" }))
      const model = `${made}/llama`
      const of = WeightedBatch.ofTokens(tokens)
      const [exact] = yield* Effect.scoped(Effect.flatMap(load("none", model), ({ forward }) => forward(of)))
      for (const [quantize, near] of [
        ["int8", 0.1],
        ["int4", 1]
      ] as const) {
        yield* Effect.gen(function* () {
          const learner = yield* load(quantize, model)
          const [rounded] = yield* learner.forward(of)
          const difference = Math.max(...rounded!.map((value, at) => Math.abs(value - exact![at]!)))
          assert.isBelow(difference, near)
          // It is not the exact model.
          assert.isAbove(difference, 0)
          const { losses } = yield* course(learner, SameBatch.batchOf(sft, shape), 3)
          assert.isBelow(losses[2]!, losses[0]!)
        }).pipe(Effect.scoped)
      }
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, SharedOrt.layer)))
  )
})

describe.skipIf(!Torch.isPresent || isPresent)(`PyTorch without bitsandbytes${Torch.absence}`, () => {
  it.live("refuses quantized weights by name", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(load("int8"))
      assert.strictEqual(reason, "settings")
      assert.include(message, "--quantize int8 needs bitsandbytes")
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, SharedOrt.layer)))
  )
})

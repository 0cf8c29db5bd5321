/** The contract of engines, on PyTorch's with one process. Its child is shared by the tests: its start takes seconds. */
import { NodeServices } from "@effect/platform-node"
import { describe } from "@effect/vitest"
import { Effect, Layer, Result, Scope } from "effect"
import * as Python from "../../../core/test/Python.ts"
import { LearnerEngine } from "../../src/learn/LearnerEngine.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as TorchEngine from "../../src/torch/TorchEngine.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as LearnerContract from "../learn/LearnerContract.ts"
import { folder } from "../model/Fixtures.ts"

const { absence, isPresent } = Python.having("torch", "transformers", "peft")

const process = { python: Python.interpreter, ranks: 1, threads: 1 }

/** It ends with the worker process, whose end closes the child's socket. */
const child = Effect.runSync(
  TorchEngine.child(process).pipe(Scope.provide(Scope.makeUnsafe()), Effect.provide(NodeServices.layer))
)

let published: Array<number> = []

const layer = Layer.effect(
  LearnerEngine,
  Effect.suspend(() => {
    published = []
    return TorchEngine.make(
      {
        ...process,
        name: "qwen3",
        model: folder("qwen3"),
        trains: { r: 4, alpha: 32, targetModules: ["all-linear"], rslora: false },
        seed: 5,
        dtype: "float32",
        parallel: "ddp",
        vocabSize: 128,
        maxPositions: 256,
        publish: (version) => Effect.sync(() => void published.push(version))
      },
      child
    )
  })
).pipe(Layer.provide(SharedOrt.layer))

describe.skipIf(!isPresent)(`PyTorch${absence}`, () => {
  LearnerContract.suite("torch", {
    layer,
    tolerance: 0,
    learningRate: 0.01,
    published: Effect.sync(() => published),
    refused: Result.getOrThrow(Preset.resolve({ preset: "distill" })),
    lose: Effect.flatMap(child, ({ kill }) => kill)
  })
})

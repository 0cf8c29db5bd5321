/** Engines on the interpreter of the tests, over the models of `fixtures/models`. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Scope } from "effect"
import * as Python from "../../../core/test/Python.ts"
import * as TorchEngine from "../../src/torch/TorchEngine.ts"
import type * as TorchProcess from "../../src/torch/TorchProcess.ts"
import { folder, type Name } from "../model/Fixtures.ts"

export const { interpreter } = Python
export const { absence, isPresent } = Python.having("torch", "transformers", "peft")

export const lora = { r: 4, alpha: 32, targetModules: ["all-linear"], rslora: false }
export const seed = 5

export const processOf = (more: Partial<TorchProcess.Options> = {}): TorchProcess.Options => ({
  python: Python.interpreter,
  ranks: 1,
  threads: 1,
  ...more
})

/** A child for all tests of a file, since its start takes seconds. It ends with the worker process. */
export const sharedChild = (options: TorchProcess.Options) =>
  Effect.runSync(TorchEngine.child(options).pipe(Scope.provide(Scope.makeUnsafe()), Effect.provide(NodeServices.layer)))

export const optionsOf = (
  process: TorchProcess.Options,
  model: Name = "qwen3",
  more: Partial<TorchEngine.Options> = {}
): TorchEngine.Options => ({
  ...process,
  name: model,
  model: folder(model),
  trains: lora,
  seed,
  dtype: "float32",
  quantize: "none",
  parallel: "ddp",
  vocabSize: 128,
  maxPositions: 256,
  ...more
})

/** Reads what an interpreter has for the engine (`python/atropos_torch/report.py`). */
import { fileURLToPath } from "node:url"
import { Effect, Option, Schema } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

const Version = Schema.NullOr(Schema.String)

const Report = Schema.Struct({
  python: Schema.String,
  /** The version of each package; null if it is not installed. */
  packages: Schema.Record(Schema.String, Version),
  /** CUDA's version of the PyTorch build; null: a CPU build. */
  cuda: Version,
  gpus: Schema.Array(Schema.Struct({ name: Schema.String, bytes: Schema.Finite })),
  attention: Schema.optionalKey(Schema.Array(Schema.String)),
  bfloat16: Schema.optionalKey(Schema.Boolean)
})
export interface TorchReport extends Schema.Schema.Type<typeof Report> {}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Report))

const root = fileURLToPath(new URL("../../python", import.meta.url))

export const needed = ["torch", "transformers", "peft", "safetensors"]

/** None if the interpreter cannot be started or prints something else. */
export const read = Effect.fn("TorchReport.read")(function* (python: string) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const command = ChildProcess.make(python, ["-m", "atropos_torch.report"], {
    env: { PYTHONPATH: root },
    extendEnv: true
  })
  const printed = yield* Effect.option(spawner.string(command))
  // Libraries may print before it.
  return Option.flatMap(printed, (text) => decode(text.trim().split("\n").at(-1)))
})

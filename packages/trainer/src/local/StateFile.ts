/**
 * Reads and writes the optimizer's state: a float32 safetensors file with `<slot>`, the unrounded parameter, and
 * AdamW's moments `exp_avg.<slot>` and `exp_avg_sq.<slot>` (PyTorch's names); `updates` in the header's metadata counts
 * updates. Lossless. Reading fails with the tensor's name if the layout differs or a parameter is not finite.
 */
import { Effect } from "effect"
import { type Layout, view } from "../model/Parameters.ts"
import * as Safetensors from "../model/file/Safetensors.ts"
import type { Snapshot } from "./OptimizerThread.ts"
import * as CheckpointError from "../checkpoint/CheckpointError.ts"

type Vectors = Omit<Snapshot, "updates">

/** A snapshot; files of earlier versions lack the number of updates. */
export interface Read extends Vectors {
  readonly updates?: number
}

const prefixes = {
  parameters: "",
  firstMoment: "exp_avg.",
  secondMoment: "exp_avg_sq."
} as const satisfies { readonly [K in keyof Vectors]: string }

const kinds = Object.keys(prefixes) as ReadonlyArray<keyof Vectors>

export const write = Effect.fn("StateFile.write")((path: string, { slots }: Layout, vectors: Snapshot) => {
  const tensors = kinds.flatMap((kind) =>
    slots.map((slot) => ({
      name: `${prefixes[kind]}${slot.name}`,
      shape: slot.shape,
      values: view(vectors[kind], slot)
    }))
  )
  const metadata = { updates: String(vectors.updates) }
  return Effect.mapError(Safetensors.write(path, tensors, "F32", metadata), CheckpointError.at(path))
})

/** Describes how a tensor of the file differs from the layout's; undefined if it does not. */
const mismatch = (entry: Safetensors.Entry | undefined, shape: ReadonlyArray<number>): string | undefined => {
  if (entry === undefined) return "is missing"
  if (entry.dtype !== "F32") return `is ${entry.dtype}, not F32`
  return entry.shape.join() === shape.join()
    ? undefined
    : `has shape [${entry.shape.join()}], the model's is [${shape.join()}]`
}

export const read = Effect.fn("StateFile.read")(
  function* (path: string, { size, slots }: Layout) {
    const fail = (reason: string) => new CheckpointError.CheckpointError({ path, reason })
    const { metadata, tensors } = yield* Safetensors.head(path)
    const vectors: Vectors = {
      parameters: new Float32Array(size),
      firstMoment: new Float32Array(size),
      secondMoment: new Float32Array(size)
    }
    const names = new Set<string>()
    for (const kind of kinds) {
      for (const slot of slots) {
        const name = `${prefixes[kind]}${slot.name}`
        const entry = tensors.get(name)
        const wrong = mismatch(entry, slot.shape)
        if (entry === undefined || wrong !== undefined) return yield* fail(`tensor ${name} ${wrong}`)
        const at = kind === "parameters" ? yield* Safetensors.firstNotFinite(entry) : undefined
        if (at !== undefined) {
          return yield* fail(`tensor ${name} is NaN or infinite at element ${at}: weights of a diverged run`)
        }
        view(vectors[kind], slot).set(yield* Safetensors.floats(entry))
        names.add(name)
      }
    }
    const extra = tensors.keys().find((name) => !names.has(name))
    if (extra !== undefined) return yield* fail(`tensor ${extra} is not part of the model`)
    const read: Read = vectors
    if (metadata["updates"] === undefined) return read
    const updates = Number(metadata["updates"])
    return Number.isSafeInteger(updates) && updates >= 0
      ? { ...read, updates }
      : yield* fail(`its number of updates is ${JSON.stringify(metadata["updates"])}`)
  },
  (result, path) =>
    Effect.mapError(result, (error) =>
      error instanceof CheckpointError.CheckpointError ? error : CheckpointError.at(path)(error)
    )
)

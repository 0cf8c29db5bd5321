/**
 * Joins and splits expert tensors, which are one tensor in a graph and several in files.
 *
 * Frozen ones are joined and converted to float32 once, into a file of the cache (`base/CacheFile`, kind `experts`)
 * that every graph and process maps; small ones are joined in memory.
 */
import { Effect } from "effect"
import * as CacheFile from "../base/CacheFile.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import * as Safetensors from "./file/Safetensors.ts"
import * as Tensors from "./Tensors.ts"
import type { Tensor } from "./Weights.ts"

type Entries = ReadonlyMap<string, Safetensors.Entry>

/** Bytes below which a private copy is cheaper than a file. */
const min = 64 * 2 ** 20

const sizeOf = ({ shape }: Tensors.TensorShape): number => shape.reduce((product, size) => product * size, 1)

export const floats = Effect.fnUntraced(function* (stack: Tensors.ExpertStack, entries: Entries) {
  const values = new Float32Array(sizeOf(stack))
  let at = 0
  for (const name of stack.parts) {
    // Loading has checked that all exist, and their shapes.
    const part = yield* Safetensors.floats(entries.get(name)!)
    values.set(part, at)
    at += part.length
  }
  return values
})

const write = (path: string, stacks: ReadonlyArray<Tensors.ExpertStack>, entries: Entries) =>
  Safetensors.writeParts(
    path,
    stacks.map(({ name, shape }) => ({ name, shape, dtype: "F32" })),
    Effect.fnUntraced(function* (write) {
      for (const name of stacks.flatMap(({ parts }) => parts)) {
        yield* write(new Uint8Array((yield* Safetensors.floats(entries.get(name)!)).buffer))
      }
    })
  )

const inMemory = (stacks: ReadonlyArray<Tensors.ExpertStack>, entries: Entries) =>
  Effect.map(
    Effect.forEach(stacks, (stack) =>
      Effect.map(floats(stack, entries), (data) => {
        const tensor: Tensor = { dtype: "float32", shape: stack.shape, data }
        return [stack.name, tensor] as const
      })
    ),
    (tensors) => new Map(tensors)
  )

/** Stacks of a model as graph constants. `from`: min bytes for a cache file. */
export const cached = Effect.fn("Stacks.cached")(function* (
  stacks: ReadonlyArray<Tensors.ExpertStack>,
  entries: Entries,
  from = min
) {
  const bytes = stacks.reduce((sum, stack) => sum + 4 * sizeOf(stack), 0)
  if (bytes < from) return yield* inMemory(stacks, entries)
  return yield* Effect.gen(function* () {
    const parts = stacks.flatMap((stack) => stack.parts.map((name) => entries.get(name)!))
    const files = parts.map(({ file }) => file)
    const path = yield* CacheFile.path("experts", `${yield* CacheFile.nameOf(files, [stacks, parts])}.safetensors`)
    yield* CacheFile.ensure(path, (partial) =>
      Effect.andThen(
        Effect.logInfo("joining expert weights (once)", { file: path, megabytes: Math.round(bytes / 1e6) }),
        write(partial, stacks, entries)
      )
    )
    const { tensors } = yield* Safetensors.head(path)
    return new Map(
      stacks.map(({ name, shape }): readonly [string, Tensor] => {
        // Written above.
        const { file, offset } = tensors.get(name)!
        return [name, { dtype: "float32", shape, data: { file, offset } }]
      })
    )
  }).pipe(
    Effect.catch((cause) =>
      Effect.andThen(
        Effect.logWarning("expert weights are not cached: every graph keeps its own copy", {
          megabytes: Math.round(bytes / 1e6),
          because: cause.message
        }),
        inMemory(stacks, entries)
      )
    )
  )
})

export const apart = (config: ModelConfig, tensors: ReadonlyMap<string, Tensor>): ReadonlyMap<string, Tensor> => {
  const stacks = new Map(Tensors.stacks(config).map((stack) => [stack.name, stack]))
  return new Map(
    [...tensors].flatMap(([name, tensor]): ReadonlyArray<readonly [string, Tensor]> => {
      const parts = stacks.get(name)?.parts
      const { data, dtype, shape } = tensor
      if (parts === undefined || !(data instanceof Float32Array)) return [[name, tensor]]
      const size = data.length / parts.length
      return parts.map((part, i) => [
        part,
        { dtype, shape: shape.slice(1), data: data.subarray(i * size, (i + 1) * size) }
      ])
    })
  )
}

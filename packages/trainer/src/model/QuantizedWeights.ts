/**
 * Quantizes frozen linear layers to 8 or 4 bits, once, into a file of the cache (`base/CacheFile`, kind `quantized`)
 * that every graph and process maps. Embeddings, the output matrix, norms and biases are not quantized, as in QLoRA
 * (Dettmers et al. 2023, 2305.14314); nor are matrices whose rows are not whole blocks.
 *
 * In each row, `blockSize` inputs share a scale: w ≈ scale · (code - zero), with zero 8 or 128. The block's value of
 * largest magnitude gets code 0, and the scale is then fitted to the rounded codes by least squares. Two 4-bit codes
 * share a byte, the first in its lower half: the layout of ONNX's `uint4` and ONNX Runtime's `MatMulNBits`.
 */
import { Effect, type FileSystem, type Path } from "effect"
import * as CacheFile from "../base/CacheFile.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import { ModelError } from "./file/ModelError.ts"
import * as Safetensors from "./file/Safetensors.ts"
import * as Tensors from "./Tensors.ts"
import type { Matrix } from "./Weights.ts"

export const kinds = ["int8", "int4"] as const
export type Kind = (typeof kinds)[number]

export const blockSize = 32

export const scalesOf = (name: string): string => `${name}.scales`

export const bitsOf = (kind: Kind): 4 | 8 => (kind === "int4" ? 4 : 8)

/** Bytes of a matrix: its codes, and a float per block. */
export const bytesOf = (elements: number, kind: Kind): number =>
  (elements * bitsOf(kind)) / 8 + (4 * elements) / blockSize

/** A tensor from one entry of a file, or from several consecutive ones. */
export interface Source {
  readonly shape: ReadonlyArray<number>
  readonly parts: ReadonlyArray<Safetensors.Entry>
}

type Sources = ReadonlyMap<string, Source>

/** The tensors of a model's graphs, from the entries of its files. */
export const sources = (config: ModelConfig, entries: ReadonlyMap<string, Safetensors.Entry>): Sources =>
  new Map(
    Tensors.inGraph(config).map(({ name, shape, ...stack }) => {
      const parts = "parts" in stack ? (stack as Tensors.ExpertStack).parts : [name]
      // Loading has checked that all exist.
      return [name, { shape, parts: parts.map((part) => entries.get(part)!) }]
    })
  )

/** Consists of whole blocks. */
export interface Rounded {
  readonly codes: Uint8Array<ArrayBuffer>
  readonly scales: Float32Array<ArrayBuffer>
}

export const round = (values: Float32Array, kind: Kind): Rounded => {
  const bits = bitsOf(kind)
  const zero = 2 ** (bits - 1)
  const scales = new Float32Array(values.length / blockSize)
  const codes = new Uint8Array((values.length * bits) / 8)
  for (let block = 0; block < scales.length; block++) {
    const from = block * blockSize
    let furthest = 0
    for (let at = from; at < from + blockSize; at++) {
      if (Math.abs(values[at]!) > Math.abs(furthest)) furthest = values[at]!
    }
    const inverse = furthest === 0 ? 0 : -zero / furthest
    let products = 0
    let squares = 0
    for (let at = from; at < from + blockSize; at++) {
      const value = values[at]!
      const step = Math.min(zero - 1, Math.max(-zero, Math.round(value * inverse)))
      products += value * step
      squares += step * step
      if (bits === 8) codes[at] = step + zero
      else codes[at >> 1]! |= (step + zero) << (4 * (at & 1))
    }
    scales[block] = squares === 0 ? 0 : products / squares
  }
  return { codes, scales }
}

export const widened = ({ codes, scales }: Rounded, kind: Kind): Float32Array => {
  const zero = 2 ** (bitsOf(kind) - 1)
  return Float32Array.from({ length: scales.length * blockSize }, (_, at) => {
    const code = kind === "int8" ? codes[at]! : (codes[at >> 1]! >> (4 * (at & 1))) & 15
    return (code - zero) * scales[Math.floor(at / blockSize)]!
  })
}

/** True if a matrix is quantized: a linear layer's, with rows of whole blocks. */
export const isRounded = (name: string, shape: ReadonlyArray<number>): boolean =>
  name.endsWith("_proj.weight") && shape.length >= 2 && shape.at(-1)! % blockSize === 0

/** Number of rows and inputs; matrices of experts are stacked. */
const flat = (shape: ReadonlyArray<number>): readonly [number, number] => [
  shape.slice(0, -1).reduce((product, size) => product * size, 1),
  shape.at(-1)!
]

/** Elements rounded before yielding to the event loop: a few milliseconds. */
const stretch = 2 ** 20

const write = (path: string, matrices: Sources, kind: Kind) =>
  Safetensors.writeParts(
    path,
    matrices.entries().flatMap(([name, { shape }]) => {
      const [rows, width] = flat(shape)
      return [
        { name, dtype: "U8" as const, shape: [rows, (width * bitsOf(kind)) / 8] },
        { name: scalesOf(name), dtype: "F32" as const, shape: [rows, width / blockSize] }
      ]
    }),
    Effect.fnUntraced(function* (write) {
      for (const { parts } of matrices.values()) {
        const scales: Array<Float32Array<ArrayBuffer>> = []
        for (const part of parts) {
          const values = yield* Safetensors.floats(part)
          for (let at = 0; at < values.length; at += stretch) {
            const rounded = round(values.subarray(at, at + stretch), kind)
            scales.push(rounded.scales)
            yield* write(rounded.codes)
          }
        }
        for (const part of scales) yield* write(new Uint8Array(part.buffer))
      }
    })
  )

export const cached = Effect.fn("QuantizedWeights.cached")(function* (
  model: string,
  all: Sources,
  kind: Kind
): Effect.fn.Return<ReadonlyMap<string, Matrix>, ModelError, FileSystem.FileSystem | Path.Path> {
  const matrices: Sources = new Map([...all].filter(([name, { shape }]) => isRounded(name, shape)))
  if (matrices.size === 0) {
    return yield* new ModelError({
      reason: "settings",
      model,
      message: `${model} has no linear layer that can be quantized to ${kind}: the number of inputs must be a multiple of ${blockSize}`
    })
  }
  return yield* Effect.gen(function* () {
    const files = matrices.values().flatMap(({ parts }) => parts.map(({ file }) => file))
    const name = `${yield* CacheFile.nameOf(files, [kind, blockSize, ...matrices])}.safetensors`
    const path = yield* CacheFile.path("quantized", name)
    yield* CacheFile.ensure(path, (partial) =>
      Effect.andThen(
        Effect.logInfo(`quantizing weights to ${kind} (once)`, { file: path, matrices: matrices.size }),
        write(partial, matrices, kind)
      )
    )
    const { tensors } = yield* Safetensors.head(path)
    return new Map(
      [...matrices].map(([name, { shape }]): readonly [string, Matrix] => {
        const place = (name: string) => {
          // Written above.
          const { file, offset } = tensors.get(name)!
          return { file, offset }
        }
        const places = { codes: place(name), scales: place(scalesOf(name)) }
        const experts = shape.length === 3 ? { experts: shape[0]! } : {}
        return [name, { shape: flat(shape), bits: bitsOf(kind), blockSize, ...places, ...experts }]
      })
    )
  }).pipe(
    Effect.mapError(
      (cause) =>
        new ModelError({
          reason: "disk",
          model,
          message: `the ${kind} weights of ${model} cannot be cached: ${cause.message}; set ATROPOS_CACHE_DIR to another folder`,
          cause
        })
    )
  )
})

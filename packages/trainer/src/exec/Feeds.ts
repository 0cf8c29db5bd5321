/**
 * Checks a model's feeds and requested outputs against its declarations: names, types, shapes with their symbols,
 * lengths.
 */
import { type HostTensor, isDeviceTensor, type DeviceTensor, type TensorType } from "./Executor.ts"

/** An input as declared by a model; text is a dimension of any size, consistent over its occurrences. */
export interface Declared {
  readonly type: string
  readonly shape: ReadonlyArray<number | string>
}

type Metadata = ReadonlyArray<
  | { readonly name: string; readonly isTensor: false }
  | {
      readonly name: string
      readonly isTensor: true
      readonly type: string
      readonly shape: ReadonlyArray<number | string>
    }
>

export const declared = (metadata: Metadata): ReadonlyMap<string, Declared> =>
  new Map(metadata.flatMap((input) => (input.isTensor ? [[input.name, { type: input.type, shape: input.shape }]] : [])))

const arrays = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  int64: BigInt64Array,
  bool: Uint8Array
} as const satisfies { readonly [Type in TensorType]: unknown }

const show = (shape: ReadonlyArray<number | string>): string => `[${shape.join(", ")}]`

/** Describes a tensor that is inconsistent in itself. */
export const lengthProblem = ({ data, dtype, shape }: HostTensor): string | undefined => {
  if (!(data instanceof arrays[dtype])) return `is ${dtype}, but its values are a ${data.constructor.name}`
  const count = shape.reduce((product, size) => product * size, 1)
  return data.length === count ? undefined : `of shape ${show(shape)} needs ${count} values, got ${data.length}`
}

/** Describes why values cannot be written into a tensor from element `offset` on. */
export const updateProblem = (tensor: HostTensor, offset: number, values: HostTensor["data"]): string | undefined => {
  if (values.constructor !== tensor.data.constructor) {
    return `update: the device tensor is ${tensor.dtype}, the values are a ${values.constructor.name}`
  }
  const end = offset + values.length
  return Number.isInteger(offset) && offset >= 0 && end <= tensor.data.length
    ? undefined
    : `update: elements ${offset} to ${end} of a device tensor of ${tensor.data.length}`
}

export const outputProblem = (
  outputs: ReadonlyArray<string>,
  request: {
    readonly fetch: ReadonlyArray<string> | undefined
    readonly kept: ReadonlyArray<string>
    readonly into: { readonly [output: string]: DeviceTensor }
  }
): string | undefined => {
  const places = [...new Set(request.fetch), ...new Set(request.kept), ...Object.keys(request.into)]
  const unknown = places.find((name) => !outputs.includes(name))
  if (unknown !== undefined) return `the model has no output ${unknown}; it has ${outputs.join(", ")}`
  const twice = places.find((name, index) => places.indexOf(name) !== index)
  return twice === undefined
    ? undefined
    : `the output ${twice} can be fetched, kept, or written to a device tensor: only one of the three`
}

/** A single symbol; products are checked by the runtime. */
const isSymbol = (dimension: number | string): dimension is string =>
  typeof dimension === "string" && /^[A-Za-z]\w*$/.test(dimension)

export const problem = (
  inputs: ReadonlyMap<string, Declared>,
  feeds: { readonly [input: string]: HostTensor | DeviceTensor }
): string | undefined => {
  const sizes = new Map<string, { readonly size: number; readonly input: string }>()
  for (const [name, { shape, type }] of inputs) {
    const feed = feeds[name]
    if (feed === undefined) return `the input ${name} is missing: ${type} ${show(shape)}`
    if (feed.dtype !== type) return `the input ${name} must be ${type}, got ${feed.dtype}`
    const wrong = isDeviceTensor(feed) ? undefined : lengthProblem(feed)
    if (wrong !== undefined) return `the input ${name} ${wrong}`
    if (feed.shape.length !== shape.length) return `the input ${name} must be ${show(shape)}, got ${show(feed.shape)}`
    for (const [axis, target] of shape.entries()) {
      const size = feed.shape[axis]!
      if (typeof target === "number") {
        if (target >= 0 && target !== size) {
          return `the input ${name} must be ${show(shape)}, got ${show(feed.shape)}: axis ${axis} differs`
        }
      } else if (isSymbol(target)) {
        const before = sizes.get(target)
        if (before !== undefined && before.size !== size) {
          return `the input ${name} is ${show(feed.shape)}, so ${target} is ${size}, but ${before.input} has ${before.size}`
        }
        sizes.set(target, { size, input: name })
      }
    }
  }
  const unknown = Object.keys(feeds).find((name) => !inputs.has(name))
  return unknown === undefined
    ? undefined
    : `the model has no input ${unknown}; it has ${[...inputs.keys()].join(", ")}`
}

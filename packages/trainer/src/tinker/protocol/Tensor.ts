/**
 * Encodes and decodes arrays of numbers in binary messages: row-major elements, little endian.
 *
 * Decoding copies, because a message's bytes may be unaligned. Lengths are checked against shapes first.
 */
import { create } from "@bufbuild/protobuf"
import { Effect } from "effect"
import { ElementType, type Tensor as Message, TensorSchema } from "./gen/tinker_pb.ts"
import { WireError } from "./WireError.ts"

/** Integers (token ids) or floating-point numbers. */
export type Numbers = Int32Array | Float32Array

export interface Tensor {
  readonly values: Numbers
  readonly shape: ReadonlyArray<number>
}

/** Max elements of a tensor in one message. */
const maxElements = 0x4000_0000

const fail = (message: string) => Effect.fail(new WireError({ message }))

const names: { readonly [Type in number]: string } = { 1: "float32", 2: "int64", 3: "int32", 4: "bfloat16" }

const sizes: { readonly [Type in number]: number } = { 1: 4, 2: 8, 3: 4, 4: 2 }

/** A copy of `bytes` in its own buffer; `slice` of Node's buffers does not copy. */
const copyOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** Elements of a type: int64 as int32 (they are ids), bfloat16 as float32. */
export const readNumbers = Effect.fnUntraced(function* (bytes: Uint8Array, type: ElementType, what: string) {
  const size = sizes[type]
  if (size === undefined) return yield* fail(`${what} has elements of an unknown type (${type})`)
  if (bytes.length % size !== 0) {
    return yield* fail(`${what} has ${bytes.length} bytes, not a whole number of ${names[type]} elements`)
  }
  const buffer = copyOf(bytes)
  switch (type) {
    case ElementType.FLOAT32:
      return new Float32Array(buffer)
    case ElementType.INT32:
      return new Int32Array(buffer)
    case ElementType.BFLOAT16: {
      // A bfloat16 is the upper half of a float32.
      const upper = Uint32Array.from(new Uint16Array(buffer), (half) => half << 16)
      return new Float32Array(upper.buffer)
    }
    default: {
      const halves = new Int32Array(buffer)
      const values = Int32Array.from({ length: halves.length / 2 }, (_, at) => halves[2 * at]!)
      const overflow = values.findIndex((value, at) => halves[2 * at + 1] !== value >> 31)
      if (overflow !== -1) return yield* fail(`element ${overflow} of ${what} does not fit 32 bits`)
      return values
    }
  }
})

const sizeOf = (shape: ReadonlyArray<number>): number => shape.reduce((product, length) => product * length, 1)

/** Remaining element budget of one message's expanded compressed tensors. */
export interface ElementBudget {
  left: number
}

/** Expands rows of a compressed matrix; unlisted elements are `pad`. */
const expand = Effect.fnUntraced(function* (
  { shape, values }: Tensor,
  starts: Numbers,
  columns: Numbers,
  pad: number,
  what: string,
  budget: ElementBudget
) {
  const [rows = 0, width = 0] = shape
  if (shape.length !== 2 || starts.length !== rows + 1 || columns.length !== values.length) {
    return yield* fail(`${what} is a compressed matrix whose row starts and columns do not fit its shape`)
  }
  budget.left -= rows * width
  if (budget.left < 0)
    return yield* fail(`${what} expands to ${rows * width} elements, more than the limit of a message`)
  const dense = (values instanceof Int32Array ? new Int32Array(rows * width) : new Float32Array(rows * width)).fill(pad)
  for (let row = 0; row < rows; row++) {
    const end = starts[row + 1]!
    if (starts[row]! < 0 || end < starts[row]! || end > values.length) {
      return yield* fail(`row ${row} of ${what} ends before its start`)
    }
    for (let at = starts[row]!; at < end; at++) {
      const column = columns[at]!
      if (column < 0 || column >= width) return yield* fail(`row ${row} of ${what} has a value in column ${column}`)
      dense[row * width + column] = values[at]!
    }
  }
  return { values: dense, shape } satisfies Tensor
})

/** A tensor of a message; one without a shape is a row. `pad` fills unlisted elements of a compressed one. */
export const read = Effect.fnUntraced(function* (
  message: Message,
  what: string,
  pad = 0,
  budget: ElementBudget = { left: maxElements }
) {
  const { dtype, encoding } = message
  const shape = message.shape.map(Number)
  if (shape.some((length) => length < 0) || sizeOf(shape) > maxElements) {
    return yield* fail(`${what} has the shape (${shape.join(", ")})`)
  }
  switch (encoding.case) {
    case "dense": {
      const values = yield* readNumbers(encoding.value, dtype, what)
      if (shape.length === 0) return { values, shape: [values.length] } satisfies Tensor
      if (sizeOf(shape) !== values.length) {
        return yield* fail(`${what} has ${values.length} elements, but the shape (${shape.join(", ")})`)
      }
      return { values, shape } satisfies Tensor
    }
    case "sparseCsr": {
      const { colIndices, crowIndices, values } = encoding.value
      const starts = yield* readNumbers(crowIndices, ElementType.INT64, `row starts of ${what}`)
      const columns = yield* readNumbers(colIndices, ElementType.INT64, `columns of ${what}`)
      return yield* expand(
        { values: yield* readNumbers(values, dtype, what), shape },
        starts,
        columns,
        pad,
        what,
        budget
      )
    }
    default:
      return yield* fail(`${what} is empty`)
  }
})

/** The bytes of an array, sharing its memory. */
export const bytesOf = ({ buffer, byteLength, byteOffset }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)

/** Widens to int64: the lower half, and the sign extended over the upper one. */
const toInt64 = (values: Int32Array): Int32Array => {
  const halves = new Int32Array(2 * values.length)
  for (let at = 0; at < values.length; at++) {
    halves[2 * at] = values[at]!
    halves[2 * at + 1] = values[at]! >> 31
  }
  return halves
}

/** Integers as int64, as clients send token ids; floating-point numbers as float32. */
export const write = ({ shape, values }: Tensor): Message =>
  create(TensorSchema, {
    encoding: { case: "dense", value: bytesOf(values instanceof Int32Array ? toInt64(values) : values) },
    dtype: values instanceof Int32Array ? ElementType.INT64 : ElementType.FLOAT32,
    shape: shape.map(BigInt)
  })

export const row = (values: Numbers): Tensor => ({ values, shape: [values.length] })

export const byteLength = ({ values }: Tensor): number => values.length * (values instanceof Int32Array ? 8 : 4)

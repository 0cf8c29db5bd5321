/**
 * The response of forward_backward: rows by name per datum (including `logprobs` and `elementwise_loss`), and metrics,
 * whose name suffix states how those of several requests are combined (`loss:sum`).
 */
import { create } from "@bufbuild/protobuf"
import { Effect } from "effect"
import * as Binary from "./Binary.ts"
import {
  type ArrayRecord,
  ElementType,
  type ForwardBackwardOutput,
  ForwardBackwardOutputSchema
} from "./gen/tinker_pb.ts"
import * as Tensor from "./Tensor.ts"
import { WireError } from "./WireError.ts"

export interface Result {
  /** The server's type of its outputs; default `scalar`. */
  readonly kind: string
  /** One per datum, rows by name. */
  readonly outputs: ReadonlyArray<ReadonlyMap<string, Tensor.Tensor>>
  readonly metrics: ReadonlyMap<string, number>
}

type Rows = Array<Map<string, Tensor.Tensor>>

const joined = (tensors: ReadonlyArray<Tensor.Tensor>): Uint8Array => {
  const parts = tensors.map(({ values }) => Tensor.bytesOf(values))
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Start of each row in a batched tensor, bytes; the last entry is the end. */
const offsetsOf = (tensors: ReadonlyArray<Tensor.Tensor>): Uint8Array => {
  const offsets = new BigInt64Array(tensors.length + 1)
  let at = 0
  for (const [index, { values }] of tensors.entries()) {
    at += values.byteLength
    offsets[index + 1] = BigInt(at)
  }
  return Tensor.bytesOf(offsets)
}

type Outputs = Result["outputs"]

/** Data in a record must have the same fields, with the same types and trailing shapes. */
const formOf = (output: Outputs[number]): string =>
  Array.from(output, ([name, { shape, values }]) => `${name} ${values.constructor.name} ${shape.slice(1).join(",")}`)
    .toSorted()
    .join("; ")

const groupByForm = (outputs: Outputs): ReadonlyArray<Outputs> => {
  const runs: Array<Array<Outputs[number]>> = []
  let lastForm: string | undefined
  for (const output of outputs) {
    const own = formOf(output)
    if (own !== lastForm) runs.push([])
    runs.at(-1)!.push(output)
    lastForm = own
  }
  return runs
}

const recordOf = (outputs: Outputs) => {
  const fields = Array.from(outputs[0]!.keys(), (name) => {
    const tensors = outputs.map((output) => output.get(name)!)
    return [
      name,
      {
        data: joined(tensors),
        offsets: offsetsOf(tensors),
        dtype: tensors[0]!.values instanceof Int32Array ? ElementType.INT32 : ElementType.FLOAT32,
        trailingShape: tensors[0]!.shape.slice(1).map(BigInt)
      }
    ] as const
  })
  return { fields: Object.fromEntries(fields), numDatums: BigInt(outputs.length) }
}

const toMessage = ({ kind, metrics, outputs }: Result): ForwardBackwardOutput =>
  create(ForwardBackwardOutputSchema, {
    lossFnOutputType: kind,
    lossFnOutputs: groupByForm(outputs).map(recordOf),
    metrics: Object.fromEntries(metrics)
  })

export const encode = (result: Result): Uint8Array => Binary.encode(ForwardBackwardOutputSchema, toMessage(result))

/** The rows of a record's data, split at its offsets. */
const readRecord = Effect.fnUntraced(function* ({ fields, numDatums }: ArrayRecord) {
  const named = Object.entries(fields)
  const count = Number(numDatums) || Math.max(0, (named[0]?.[1].offsets.length ?? 8) / 8 - 1)
  if (!Number.isSafeInteger(count) || count > 1_000_000) {
    return yield* new WireError({ message: `a record of ${numDatums} data` })
  }
  const rows: Rows = Array.from({ length: count }, () => new Map())
  for (const [name, { data, dtype, offsets, trailingShape }] of named) {
    const at = yield* Tensor.readNumbers(offsets, ElementType.INT64, `offsets of ${name}`)
    const trailing = trailingShape.map(Number)
    const width = trailing.reduce((product, length) => product * length, 1)
    if (at.length !== count + 1) {
      return yield* new WireError({ message: `${name} has ${at.length - 1} rows for ${count} data` })
    }
    for (let index = 0; index < count; index++) {
      if (at[index]! < 0 || at[index + 1]! < at[index]! || at[index + 1]! > data.length) {
        return yield* new WireError({ message: `row ${index} of ${name} lies outside its ${data.length} bytes` })
      }
      const part = data.subarray(at[index], at[index + 1])
      const values = yield* Tensor.readNumbers(part, dtype, `row ${index} of ${name}`)
      rows[index]!.set(name, { values, shape: [width === 0 ? 0 : values.length / width, ...trailing] })
    }
  }
  return rows
})

export const decode = Effect.fnUntraced(function* (bytes: Uint8Array) {
  const message = yield* Binary.decode(ForwardBackwardOutputSchema, bytes, "a result of forward_backward")
  const outputs: Rows = []
  for (const record of message.lossFnOutputs) outputs.push(...(yield* readRecord(record)))
  return {
    kind: message.lossFnOutputType,
    outputs,
    metrics: new Map(Object.entries(message.metrics))
  } satisfies Result
})

/**
 * The request of forward_backward, and of forward: data with the inputs of their loss.
 *
 * Aligned by prediction: position t of a datum holds token t; its target and weight are those of token t + 1.
 * `cross_entropy` is -Σ weight · log π(target), with inputs `target_tokens` and `weights`; policy losses have inputs
 * `target_tokens`, `logprobs` and `advantages`.
 */
import { create } from "@bufbuild/protobuf"
import { Effect } from "effect"
import * as Binary from "./Binary.ts"
import { type Chunk, ElementType, type ForwardBackwardRequest, ForwardBackwardRequestSchema } from "./gen/tinker_pb.ts"
import * as Tensor from "./Tensor.ts"
import { WireError } from "./WireError.ts"

export interface Datum {
  /** (T) */
  readonly tokens: Int32Array
  /** By name, in sending order. */
  readonly inputs: ReadonlyMap<string, Tensor.Tensor>
}

export type LossConfig = ReadonlyMap<string, number | string>

export interface Request {
  readonly modelId: string
  readonly seqId: number
  readonly data: ReadonlyArray<Datum>
  readonly lossFn: string
  readonly lossConfig: LossConfig
  readonly forwardOnly: boolean
}

/** Numbers are in both maps: older servers only know the first one. */
const config = (settings: LossConfig) => ({
  lossFnConfig: Object.fromEntries([...settings].filter((entry): entry is [string, number] => isNumber(entry[1]))),
  lossFnConfigV2: Object.fromEntries(
    [...settings].map(([name, value]) => [
      name,
      { value: isNumber(value) ? ({ case: "number", value } as const) : ({ case: "text", value } as const) }
    ])
  )
})

const isNumber = (value: number | string): value is number => typeof value === "number"

export const toMessage = (request: Request): ForwardBackwardRequest =>
  create(ForwardBackwardRequestSchema, {
    modelId: request.modelId,
    seqId: request.seqId,
    data: request.data.map(({ inputs, tokens }) => ({
      modelInput: [{ chunk: { case: "encodedText" as const, value: { tokens: Tensor.bytesOf(tokens) } } }],
      lossFnInputs: Object.fromEntries([...inputs].map(([name, tensor]) => [name, Tensor.write(tensor)]))
    })),
    lossFn: request.lossFn,
    ...config(request.lossConfig),
    forwardOnly: request.forwardOnly
  })

export const encode = (request: Request): Uint8Array => Binary.encode(ForwardBackwardRequestSchema, toMessage(request))

/** Bytes of a datum's numbers, by which requests are split. */
export const byteLength = ({ inputs, tokens }: Datum): number =>
  tokens.byteLength + [...inputs.values()].reduce((sum, tensor) => sum + Tensor.byteLength(tensor), 0)

/** Bytes of a request's numbers while it is queued. */
export const requestBytes = ({ data }: Pick<Request, "data">): number =>
  data.reduce((sum, datum) => sum + byteLength(datum), 0)

const tokensOf = Effect.fnUntraced(function* (chunks: ReadonlyArray<Chunk>, what: string) {
  const parts: Array<Int32Array> = []
  for (const { chunk } of chunks) {
    if (chunk.case !== "encodedText") {
      return yield* new WireError({ message: `the model input of ${what} has a part that is not text: ${chunk.case}` })
    }
    const ids = yield* Tensor.readNumbers(chunk.value.tokens, ElementType.INT32, `model input of ${what}`)
    if (ids instanceof Int32Array) parts.push(ids)
  }
  if (parts.length === 1) return parts[0]!
  const tokens = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    tokens.set(part, at)
    at += part.length
  }
  return tokens
})

const configOf = ({ lossFnConfig, lossFnConfigV2 }: ForwardBackwardRequest): LossConfig =>
  new Map<string, number | string>([
    ...Object.entries(lossFnConfig),
    ...Object.entries(lossFnConfigV2).flatMap(([name, { value }]): Array<[string, number | string]> =>
      value.case === undefined ? [] : [[name, value.value]]
    )
  ])

/** Max total elements of a request's expanded compressed tensors: 64 MiB. */
const maxExpanded = 2 ** 24

export const fromMessage = Effect.fnUntraced(function* (message: ForwardBackwardRequest) {
  const data: Array<Datum> = []
  const room: Tensor.ElementBudget = { left: maxExpanded }
  for (const [index, datum] of message.data.entries()) {
    const inputs = new Map<string, Tensor.Tensor>()
    for (const [name, tensor] of Object.entries(datum.lossFnInputs)) {
      inputs.set(name, yield* Tensor.read(tensor, `${name} of datum ${index}`, 0, room))
    }
    data.push({ tokens: yield* tokensOf(datum.modelInput, `datum ${index}`), inputs })
  }
  const { forwardOnly, lossFn, modelId, seqId } = message
  return { modelId, seqId, data, lossFn, lossConfig: configOf(message), forwardOnly } satisfies Request
})

/** The operation that a request is for, also if the rest of it cannot be read. */
export const nameOf = (bytes: Uint8Array) =>
  Effect.map(Binary.scalars(ForwardBackwardRequestSchema, bytes), ({ forwardOnly, modelId, seqId }) => ({
    modelId: modelId instanceof Uint8Array ? new TextDecoder().decode(modelId) : undefined,
    number: seqId,
    isForwardOnly: forwardOnly === 1
  }))

/** Max messages and numbers in a request besides its tensors: about fifteen per datum, for a thousand data. */
const maxParts = 2 ** 18

export const decode = Effect.fnUntraced(function* (bytes: Uint8Array) {
  const what = "a request of forward_backward"
  yield* Binary.check(ForwardBackwardRequestSchema, bytes, what, maxParts)
  return yield* fromMessage(yield* Binary.decode(ForwardBackwardRequestSchema, bytes, what))
})

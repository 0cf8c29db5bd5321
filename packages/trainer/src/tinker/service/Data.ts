/**
 * Validates the data of a forward_backward; rejects by name everything that would silently give wrong results.
 *
 * Position t predicts `targets[t]` from the tokens up to t. `weights` are for cross-entropy, default 1; `logprobs` (of
 * the sampling policy) and `advantages` are for the policy losses.
 */
import { Effect } from "effect"
import type { Datum } from "../protocol/ForwardBackward.ts"
import type { Tensor } from "../protocol/Tensor.ts"
import { type OperationFailed, wrong } from "./Failures.ts"
import type { Loss } from "./Losses.ts"
import * as Targets from "./Targets.ts"

/** (T) each. */
export interface Item {
  readonly tokens: Int32Array
  readonly targets: Int32Array
  readonly weights: Float32Array
  readonly oldLogprobs: Float32Array
  readonly advantages: Float32Array
}

export interface Limits {
  readonly vocabSize: number
  /** Max datum length, tokens. */
  readonly maxPositions: number
}

const shapeText = (shape: ReadonlyArray<number>) => `[${shape.join(", ")}]`

/** Reads an input as a row of `length` numbers. */
const rowOf = Effect.fnUntraced(function* (tensor: Tensor, length: number, name: string, at: number) {
  const [rows = 0, ...rest] = tensor.shape
  if (rows !== length || rest.some((width) => width !== 1)) {
    const several = rest.length > 0 ? "; only cross_entropy supports several targets per position" : ""
    return yield* wrong(
      `${name} of datum ${at} has the shape ${shapeText(tensor.shape)}, its model input ${length} tokens: it must be [${length}]${several}`
    )
  }
  return tensor.values
})

const realsOf = Effect.fnUntraced(function* (tensor: Tensor, length: number, name: string, at: number) {
  const values = yield* rowOf(tensor, length, name, at)
  const reals = values instanceof Float32Array ? values : Float32Array.from(values)
  const wrongAt = reals.findIndex((value) => !Number.isFinite(value))
  if (wrongAt !== -1)
    return yield* wrong(`${name} of datum ${at} is ${reals[wrongAt]} at ${wrongAt}: it must be finite`)
  return reals
})

const idsOf = Effect.fnUntraced(function* (
  ids: Int32Array,
  name: string,
  at: number,
  { vocabSize }: Limits
): Effect.fn.Return<Int32Array, OperationFailed> {
  const wrongAt = ids.findIndex((id) => id < 0 || id >= vocabSize)
  if (wrongAt === -1) return ids
  return yield* wrong(
    `${name} of datum ${at} has the token ${ids[wrongAt]} at ${wrongAt}: the model's are 0 to ${vocabSize - 1}`
  )
})

const inputsOf = ({ isPolicyGradient }: Loss): ReadonlyArray<string> =>
  isPolicyGradient ? ["target_tokens", "logprobs", "advantages"] : ["target_tokens", "weights"]

const readOne = Effect.fnUntraced(function* (datum: Datum, at: number, loss: Loss, limits: Limits) {
  const { inputs, tokens } = datum
  const { length } = tokens
  if (length === 0) return yield* wrong(`the model input of datum ${at} is empty`)
  if (length > limits.maxPositions) {
    return yield* wrong(`datum ${at} has ${length} tokens; the model takes at most ${limits.maxPositions}`)
  }
  const known = inputsOf(loss)
  const unknown = [...inputs.keys()].find((name) => !known.includes(name))
  if (unknown !== undefined) {
    return yield* wrong(`datum ${at} has the loss_fn_input ${unknown}; ${loss.name} uses only ${known.join(", ")}`)
  }
  const needed = loss.isPolicyGradient ? known : ["target_tokens"]
  const missing = needed.find((name) => !inputs.has(name))
  if (missing !== undefined) return yield* wrong(`datum ${at} has no ${missing}, which ${loss.name} needs`)
  const targets = yield* rowOf(inputs.get("target_tokens")!, length, "target_tokens", at)
  if (!(targets instanceof Int32Array)) {
    return yield* wrong(`target_tokens of datum ${at} are real numbers: send token ids, int64`)
  }
  const real = (name: string, otherwise: number) => {
    const tensor = inputs.get(name)
    return tensor === undefined
      ? Effect.succeed(new Float32Array(length).fill(otherwise))
      : realsOf(tensor, length, name, at)
  }
  const oldLogprobs = yield* real("logprobs", 0)
  const above = oldLogprobs.findIndex((logprob) => logprob > 1e-3)
  if (above !== -1) {
    return yield* wrong(`logprobs of datum ${at} is ${oldLogprobs[above]} at ${above}: no logprob is above 0`)
  }
  return {
    tokens: yield* idsOf(tokens, "the model input", at, limits),
    targets: yield* idsOf(targets, "target_tokens", at, limits),
    weights: yield* real("weights", 1),
    oldLogprobs,
    advantages: yield* real("advantages", 0)
  } satisfies Item
})

export interface Read {
  readonly items: ReadonlyArray<Item>
  /** Per datum, the number of items it is split into (`Targets`). */
  readonly widths: ReadonlyArray<Targets.Width>
}

export const read = Effect.fnUntraced(function* (
  data: ReadonlyArray<Datum>,
  loss: Loss,
  limits: Limits
): Effect.fn.Return<Read, OperationFailed> {
  if (data.length === 0) return yield* wrong("no data: at least one datum is needed")
  const items: Array<Item> = []
  const widths: Array<Targets.Width> = []
  for (const [at, datum] of data.entries()) {
    const { parts, width } = loss.isPolicyGradient
      ? { parts: [datum], width: undefined }
      : yield* Targets.split(datum, at)
    for (const part of parts) items.push(yield* readOne(part, at, loss, limits))
    widths.push(width)
  }
  return { items, widths }
})

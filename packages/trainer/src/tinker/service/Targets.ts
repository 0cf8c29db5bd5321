/**
 * Handles several targets per position: cross-entropy inputs of shape [T, K], as in distillation from a teacher's top K
 * tokens. The loss is -Σ_t Σ_k weight_tk · log π(target_tk), and the logprobs are [T, K].
 *
 * Such a datum is computed as K data with one target per position: the sum is the same, at K times the cost.
 */
import { Effect } from "effect"
import type { Datum } from "../protocol/ForwardBackward.ts"
import type * as FBResult from "../protocol/ForwardBackwardResult.ts"
import type { Numbers, Tensor } from "../protocol/Tensor.ts"
import * as Tensors from "../protocol/Tensor.ts"
import { type OperationFailed, wrong } from "./Failures.ts"

/** Targets per position of a datum; undefined if they are a row. */
export type Width = number | undefined

const columnOf = ({ shape: [rows = 0, width = 0], values }: Tensor, column: number): Tensor => {
  const of = <A extends Numbers>(target: A): A => {
    for (let t = 0; t < rows; t++) target[t] = values[t * width + column]!
    return target
  }
  return Tensors.row(values instanceof Int32Array ? of(new Int32Array(rows)) : of(new Float32Array(rows)))
}

const textOf = (shape: ReadonlyArray<number>) => `[${shape.join(", ")}]`

/** Splits a datum into data with one target per position; returns them with the number of targets. */
export const split = Effect.fnUntraced(function* (
  { inputs, tokens }: Datum,
  at: number
): Effect.fn.Return<{ readonly parts: ReadonlyArray<Datum>; readonly width: Width }, OperationFailed> {
  const shape = inputs.get("target_tokens")?.shape ?? []
  if (shape.length !== 2) return { parts: [{ inputs, tokens }], width: undefined }
  const [rows, width = 0] = shape
  if (rows !== tokens.length || width === 0) {
    return yield* wrong(
      `target_tokens of datum ${at} has the shape ${textOf(shape)}, its model input ${tokens.length} tokens: ` +
        `it must be [${tokens.length}] or [${tokens.length}, K] with K at least 1`
    )
  }
  for (const [name, tensor] of inputs) {
    if (tensor.shape.length === 2 && tensor.shape[0] === rows && tensor.shape[1] === width) continue
    return yield* wrong(
      `${name} of datum ${at} has the shape ${textOf(tensor.shape)}, target_tokens ${textOf(shape)}: they must be the same`
    )
  }
  const parts = Array.from({ length: width }, (_, k): Datum => ({
    tokens,
    inputs: new Map(Array.from(inputs, ([name, tensor]) => [name, columnOf(tensor, k)]))
  }))
  return { parts, width }
})

type Output = FBResult.Result["outputs"][number]

const together = (parts: ReadonlyArray<Output>): Output =>
  new Map(
    Array.from(parts[0]!, ([name, { values: first }]) => {
      const [rows, width] = [first.length, parts.length]
      const values = new Float32Array(rows * width)
      for (const [k, part] of parts.entries()) {
        const column = part.get(name)!.values
        for (let t = 0; t < rows; t++) values[t * width + k] = column[t]!
      }
      return [name, { values, shape: [rows, width] }]
    })
  )

/** Joins the outputs of split data into those of the original data. */
export const join = (result: FBResult.Result, widths: ReadonlyArray<Width>): FBResult.Result => {
  let at = 0
  const outputs = widths.map((width) => {
    const parts = result.outputs.slice(at, (at += width ?? 1))
    return width === undefined ? parts[0]! : together(parts)
  })
  return { ...result, outputs }
}

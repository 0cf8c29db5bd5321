/**
 * The generation engine next to `generate` of transformers, on the CPU: a batch of prompts of 32 tokens, by default 32
 * sampled tokens each, with a KV cache. Goal: 1.2 times as many tokens per second.
 */
import type { Row } from "../internal/Report.ts"
import * as Checkpoint from "./internal/Checkpoint.ts"
import * as Child from "./internal/Child.ts"

export interface Options extends Child.Turns, Checkpoint.Cut {
  readonly tokens?: number
  /** Greedy decoding. */
  readonly isGreedy?: boolean
  /** Of our frozen weights; the reference has float32. */
  readonly quantize?: string | undefined
}

const goal = 1.2

export const measure = async (
  shape: Checkpoint.ShapeName,
  batch: number,
  options: Options = {}
): Promise<ReadonlyArray<Row>> => {
  const { isGreedy = false, quantize, tokens = 32 } = options
  const folder = await Checkpoint.folderOf(shape, options)
  const args = ["generate", folder, String(batch), String(tokens), ...(isGreedy ? ["greedy"] : [])]
  const { ours, reference } = await Child.besides(
    [...args, ...(quantize === undefined ? [] : [quantize])],
    args,
    options
  )
  return [
    {
      what: `decoding, ${Checkpoint.described(shape, options)}, ${batch} at once`,
      ours: ours.tokensPerSecond,
      reference: reference?.tokensPerSecond,
      unit: "tok/s",
      better: "larger",
      goal
    },
    {
      what: `  processor time of ${tokens} tokens each`,
      ours: ours.processorSeconds!,
      reference: reference?.processorSeconds,
      unit: "s",
      better: "smaller",
      goal
    },
    {
      what: "  peak memory",
      ours: ours.peakBytes / 2 ** 20,
      reference: reference && reference.peakBytes / 2 ** 20,
      unit: "MiB",
      better: "smaller",
      goal: 1
    }
  ]
}

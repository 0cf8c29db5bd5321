/**
 * The generation engine beside `generate` of transformers, on the CPU: a batch of prompts of 32 tokens, 32 sampled
 * tokens each, with a cache of keys and values. Goal: as many tokens a second.
 */
import type { Row } from "../internal/Report.ts"
import * as Checkpoint from "./internal/Checkpoint.ts"
import * as Child from "./internal/Child.ts"

const sampledTokens = 32

export const measure = async (shape: Checkpoint.ShapeName, batch: number): Promise<ReadonlyArray<Row>> => {
  const args = ["generate", await Checkpoint.folderOf(shape), String(batch), String(sampledTokens)]
  const { ours, reference } = await Child.besides(args, args)
  return [
    {
      what: `decoding, ${shape}, ${batch} at once`,
      ours: ours.tokensPerSecond,
      reference: reference?.tokensPerSecond,
      unit: "tok/s",
      better: "larger",
      goal: 1
    }
  ]
}

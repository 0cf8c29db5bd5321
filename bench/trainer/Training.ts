/**
 * Steps of GRPO on a LoRA adapter (r = 16, all linear layers) in batches of 4 x 256 tokens, on the CPU: ours beside
 * PyTorch and PEFT. Goals: as many tokens a second, and at most 0.8 of the memory (of the whole process, at its peak).
 */
import type { Row } from "../internal/Report.ts"
import * as Checkpoint from "./internal/Checkpoint.ts"
import * as Child from "./internal/Child.ts"

const steps = { "9M": 12, "100M": 4, "0.5B": 2, "1.5B": 1, MoE: 2 } as const

export const measure = async (shape: Checkpoint.ShapeName): Promise<ReadonlyArray<Row>> => {
  const args = ["train", await Checkpoint.folderOf(shape), String(steps[shape])]
  const { ours, reference } = await Child.besides(args, args)
  return [
    {
      what: `training, ${shape}, 4 x 256`,
      ours: ours.tokensPerSecond,
      reference: reference?.tokensPerSecond,
      unit: "tok/s",
      better: "larger",
      goal: 1
    },
    {
      what: "  its peak memory",
      ours: ours.peakBytes / 2 ** 20,
      reference: reference && reference.peakBytes / 2 ** 20,
      unit: "MiB",
      better: "smaller",
      goal: 1.25
    }
  ]
}

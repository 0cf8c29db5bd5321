/**
 * Steps of GRPO on a LoRA adapter (r = 16, all linear layers) on the CPU, ours next to PyTorch and PEFT; by default in
 * batches of 4 x 256 tokens. Goals: as many tokens per second, and at most 0.7 of the memory (peak of the whole
 * process).
 */
import type { Row } from "../internal/Report.ts"
import * as Checkpoint from "./internal/Checkpoint.ts"
import * as Child from "./internal/Child.ts"

const usualSteps = { "9M": 12, "100M": 4, "0.5B": 2, "1.5B": 1, MoE: 2 } as const

export interface Options extends Child.Turns, Checkpoint.Cut {
  readonly rows?: number
  readonly length?: number
  /** Measured after a first one; 0: only that one. */
  readonly steps?: number
  /** Of our frozen weights; the reference has float32. */
  readonly quantize?: string | undefined
  /** Recomputes whole parts, regardless of available memory. */
  readonly isSparing?: boolean
}

export const measure = async (shape: Checkpoint.ShapeName, options: Options = {}): Promise<ReadonlyArray<Row>> => {
  const { isSparing = false, length = 256, quantize, rows = 4, steps = usualSteps[shape] } = options
  const folder = await Checkpoint.folderOf(shape, options)
  const args = ["train", folder, String(steps), "cpu", String(rows), String(length)]
  const isCut = (options.layers ?? options.vocabulary) !== undefined
  const own = [quantize, isCut && `planned=${shape}`, isSparing && "parts"].filter((word) => typeof word === "string")
  const { ours, reference } = await Child.besides([...args, ...own], args, options)
  return [
    {
      what: `training, ${Checkpoint.described(shape, options)}, ${rows} x ${length}`,
      ours: ours.tokensPerSecond,
      reference: reference?.tokensPerSecond,
      unit: "tok/s",
      better: "larger",
      goal: 1
    },
    {
      what: "  processor time of a step",
      ours: ours.processorSeconds!,
      reference: reference?.processorSeconds,
      unit: "s",
      better: "smaller",
      goal: 1
    },
    {
      what: "  its peak memory",
      ours: ours.peakBytes / 2 ** 20,
      reference: reference && reference.peakBytes / 2 ** 20,
      unit: "MiB",
      better: "smaller",
      goal: 1 / 0.7
    }
  ]
}

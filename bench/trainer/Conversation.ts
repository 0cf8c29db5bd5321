/**
 * Conversations of ten turns at the engine: with its prefix cache, and with every prompt computed again. Goal: a
 * quarter of the prompt tokens.
 */
import type { Row } from "../internal/Report.ts"
import * as Checkpoint from "./internal/Checkpoint.ts"
import * as Child from "./internal/Child.ts"

const turns = 10
const cacheMegabytes = 512

export const measure = async (shape: Checkpoint.ShapeName): Promise<ReadonlyArray<Row>> => {
  const folder = await Checkpoint.folderOf(shape)
  const run = (megabytes: number) => Child.run("ours", ["converse", folder, String(turns), String(megabytes)])
  const ours = await run(cacheMegabytes)
  const reference = await run(0)
  return [
    {
      what: `conversations of ${turns} turns, ${shape}: prompt tokens computed for a token sampled`,
      ours: ours.promptTokensPerToken!,
      reference: reference.promptTokensPerToken!,
      unit: "",
      better: "smaller",
      goal: 4
    },
    {
      what: `the same, sampled`,
      ours: ours.tokensPerSecond,
      reference: reference.tokensPerSecond,
      unit: "tok/s",
      better: "larger",
      goal: 1
    }
  ]
}

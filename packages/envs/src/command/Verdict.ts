/**
 * Parses a program's reward: a JSON number, or numbers by name (`{"correct": 1, "format": 0.5}`), from a reward file or
 * a scorer's output.
 */
import { RewardComponents } from "@atropos/core"
import { Result, Schema } from "effect"

export type Verdict = number | RewardComponents.Rewards

const parse = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Unknown))

const shown = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

/** The verdict of a text, or what is wrong with it. */
export const read = (text: string): Result.Result<Verdict, string> => {
  const trimmed = text.trim()
  if (trimmed === "") return Result.fail("it is empty")
  const parsed = parse(trimmed)
  const wanted = 'expected a JSON number, or numbers by name, such as {"correct": 1, "format": 0.5}'
  if (Result.isFailure(parsed)) return Result.fail(`${shown(trimmed)} is not JSON; ${wanted}`)
  const value = parsed.success
  if (typeof value === "number") return Result.succeed(value)
  const fault = RewardComponents.faultOfScore(value)
  if (fault === undefined && RewardComponents.isRewards(value)) return Result.succeed(value)
  return Result.fail(`${shown(trimmed)}: ${fault ?? "a component is not finite"}; ${wanted}`)
}

/** The verdict of a scorer's output: its last line, so that it may print more before. */
export const readPrinted = (printed: string): Result.Result<Verdict, string> =>
  Result.mapError(read(printed.trimEnd().split("\n").at(-1) ?? ""), (fault) => `its last line: ${fault}`)

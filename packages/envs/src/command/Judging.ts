/**
 * Determines a rollout's reward by the setting `reward`: the scorer's output, the reward file, posted rewards, or the
 * exit code. `auto` tries them in this order; the exit code counts only if no other source has a reward and the program
 * ended by itself: a stopped program has none, so that a limit never becomes a made-up zero.
 */
import { Effect, FileSystem, Option, Result, Schema } from "effect"
import * as Outcome from "../agent/Outcome.ts"
import type { Judged } from "../agent/SessionGroup.ts"
import type { RewardFrom } from "./CommandSettings.ts"
import type * as Program from "./Program.ts"
import type { ProgramError } from "./ProcessSupervisor.ts"
import { RewardComponents } from "@atropos/core"

/**
 * Parses a program's reward: a JSON number, or numbers by name (`{"correct": 1, "format": 0.5}`), from a reward file or
 * a scorer's output.
 */
type Verdict = number | RewardComponents.Rewards

const parse = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Unknown))

const format = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

/** The verdict of a text, or what is wrong with it. */
const readVerdict = (text: string): Result.Result<Verdict, string> => {
  const trimmed = text.trim()
  if (trimmed === "") return Result.fail("it is empty")
  const parsed = parse(trimmed)
  const usage = 'expected a JSON number, or numbers by name, such as {"correct": 1, "format": 0.5}'
  if (Result.isFailure(parsed)) return Result.fail(`${format(trimmed)} is not JSON; ${usage}`)
  const value = parsed.success
  if (typeof value === "number") return Result.succeed(value)
  const fault = RewardComponents.faultOfScore(value)
  if (fault === undefined && RewardComponents.isRewards(value)) return Result.succeed(value)
  return Result.fail(`${format(trimmed)}: ${fault ?? "a component is not finite"}; ${usage}`)
}

/** The verdict of a scorer's output: its last line, so that it may print more before. */
const readPrinted = (printed: string): Result.Result<Verdict, string> =>
  Result.mapError(readVerdict(printed.trimEnd().split("\n").at(-1) ?? ""), (fault) => `its last line: ${fault}`)

export interface Options<R> {
  readonly reward: RewardFrom
  readonly outcome: Outcome.Outcome<unknown>
  /** The end of the program; undefined if it timed out. */
  readonly ending: Program.Ending | undefined
  readonly rewardFile: string
  /** Absent: no scorer. */
  readonly scorer: Effect.Effect<Program.Printed, ProgramError, R> | undefined
}

type Said = Result.Result<Option.Option<Verdict>, string>

const nothing: Said = Result.succeed(Option.none())

/** The judgement, or the reason if none. */
export const judge = Effect.fn("Judging.judge")(function* <R>(
  options: Options<R>
): Effect.fn.Return<Judged | Outcome.Failed, ProgramError, R | FileSystem.FileSystem> {
  const { ending, outcome, reward, rewardFile, scorer } = options
  // Nothing was sampled, so a verdict could not train anything.
  if (outcome.trajectories.length === 0) return failedOf(outcome, silent(ending))
  const asks = (one: RewardFrom): boolean => reward === one || reward === "auto"
  const sources: ReadonlyArray<Effect.Effect<Said, ProgramError, R | FileSystem.FileSystem>> = [
    ...(asks("scorer") && scorer !== undefined ? [Effect.map(scorer, ofScorer)] : []),
    ...(asks("file") ? [ofFile(rewardFile)] : []),
    ...(asks("post") ? [Effect.succeed(Result.succeed(Option.fromUndefinedOr(outcome.reported)))] : []),
    ...(asks("exit") ? [Effect.succeed(ofExit(ending))] : [])
  ]
  for (const source of sources) {
    const answer = yield* source
    // An unreadable source is an error: the next one may mean something else.
    if (Result.isFailure(answer)) return failedOf(outcome, answer.failure)
    if (Option.isSome(answer.success)) return answer.success.value
  }
  return failedOf(outcome, unsaid[reward])
})

/** A rollout that failed before keeps its reason. */
const failedOf = (outcome: Outcome.Outcome<unknown>, reason: string): Outcome.Failed =>
  outcome._tag === "Failed" ? outcome : Outcome.failed(outcome, "unrewarded", reason)

const silent = (ending: Program.Ending | undefined): string =>
  `the program made no request to the model (it ${ending?._tag === "Exited" ? `exited with ${ending.code}` : "was stopped"}): its SDK must take its base URL from OPENAI_BASE_URL or ANTHROPIC_BASE_URL`

const ofScorer = ({ complaint, ending, stdout }: Program.Printed): Said => {
  const detail = complaint === "" ? "" : `; its output: ${complaint.slice(-500)}`
  if (ending === undefined) return Result.fail(`the scorer timed out (scorer_timeout)${detail}`)
  if (ending._tag === "Stopped") return Result.fail(`the scorer ${ending.why}${detail}`)
  if (ending.code !== 0) return Result.fail(`the scorer exited with ${ending.code}${detail}`)
  return Result.mapBoth(readPrinted(stdout), {
    onSuccess: Option.some,
    onFailure: (fault) => `the scorer's output is not a reward; ${fault}`
  })
}

/** In bytes; a larger file is invalid. A program may leave anything there, even a device of endless zeros. */
const maxFileLength = 64 * 1024

const ofFile = Effect.fnUntraced(
  function* (path: string) {
    const fs = yield* FileSystem.FileSystem
    const { size, type } = yield* fs.stat(path)
    if (type !== "File" || size > maxFileLength) {
      return Result.fail(`REWARD_FILE is not a file of up to ${maxFileLength} bytes (${type}, ${size} bytes)`)
    }
    return Result.mapBoth(readVerdict(yield* fs.readFileString(path)), {
      onSuccess: Option.some,
      onFailure: (fault) => `the reward file does not contain a reward; ${fault}`
    })
  },
  Effect.catchTag("PlatformError", ({ message, reason }) =>
    Effect.succeed<Said>(reason._tag === "NotFound" ? nothing : Result.fail(`cannot read the reward file: ${message}`))
  )
) satisfies (path: string) => Effect.Effect<Said, never, FileSystem.FileSystem>

const ofExit = (ending: Program.Ending | undefined): Said =>
  ending?._tag === "Exited" ? Result.succeed(Option.some(ending.code === 0 ? 1 : 0)) : nothing

const unsaid: { readonly [K in RewardFrom]: string } = {
  auto: "the program was stopped before the rollout had a reward",
  scorer: "no scorer is set",
  file: "the program wrote no reward to REWARD_FILE",
  post: "the program posted no reward to REWARD_URL",
  exit: "the program was stopped, so it has no exit code"
}

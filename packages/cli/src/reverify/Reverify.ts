/**
 * Re-scores stored rollouts with the current scoring code of the environment, without sampling. The file is read twice:
 * to collect the items it needs, and to score its rollouts in order; memory holds those items and the rollouts being
 * scored.
 */
import { Environment, JsonLines, SavedGroup } from "@atropos/core"
import * as Reason from "@atropos/core/base/Reason"
import { Duration, Effect, Option, Result, Stream } from "effect"
import { UsageError } from "../base/Failure.ts"
import * as Corrected from "./Corrected.ts"
import * as Items from "./Items.ts"
import * as Outcome from "./Outcome.ts"
import * as Stored from "./Stored.ts"

export interface Options {
  readonly file: string
  readonly write: Option.Option<string>
  /** Max items of the environment to scan, in addition to those of its evaluation. */
  readonly items: number
  /** Rollouts scored concurrently. */
  readonly workers: number
  readonly onOutcome: (outcome: Outcome.Outcome) => Effect.Effect<void>
  readonly onFault: (fault: string) => Effect.Effect<void>
}

export interface Reverified {
  readonly environment: string
  readonly items: number
  /** Rollouts whose item was found by its prompt. */
  readonly byQuestion: number
  /** Rollouts without tokens: length-based scores see none. */
  readonly withoutTokens: number
  readonly faults: number
}

interface Scored {
  readonly stored: Stored.Stored
  readonly outcome: Outcome.Outcome
  readonly judged?: ReadonlyArray<Environment.Judged>
}

const unreadable = ({ message }: JsonLines.JsonLinesError) => new UsageError({ message })

const keyOf = (entry: SavedGroup.Entry): string =>
  entry._tag === "Fault" ? `fault ${entry.line}` : Stored.together(entry)

type Unit = Stored.Stored | SavedGroup.Fault

const unitsOf = (entries: ReadonlyArray<SavedGroup.Entry>): ReadonlyArray<Unit> => {
  const saved = entries.filter((entry) => entry._tag === "Saved")
  return saved.length === 0 ? entries.filter((entry) => entry._tag === "Fault") : [Stored.make(saved)]
}

/** Groups lines that were scored together, in file order; includes invalid lines. */
const read = (file: string): Stream.Stream<Unit, JsonLines.JsonLinesError> =>
  Stream.map(JsonLines.read(file), (line) => SavedGroup.ofLine(line)).pipe(
    Stream.groupAdjacentBy(keyOf),
    Stream.map(([, entries]) => unitsOf(entries)),
    Stream.flattenIterable
  )

const wantedOf = Effect.fnUntraced(function* (file: string) {
  const ids = new Set<string>()
  const beginnings = new Set<string>()
  let samples = 0
  let groups = 0
  yield* Stream.runForEach(read(file), (one) =>
    Effect.sync(() => {
      if (!("entries" in one)) return
      if (one.entries[0]!.isEvaluation) samples++
      else groups++
      if (one.itemId !== undefined) ids.add(one.itemId)
      else if (Result.isSuccess(one.trajectories)) for (const beginning of one.beginnings) beginnings.add(beginning)
    })
  )
  return { ids, beginnings, evaluationFirst: samples > groups }
})

export const run = Effect.fn("Reverify.run")(function* (options: Options, listener: Items.PromptCapture) {
  const { file, items: max, onFault, onOutcome, workers, write } = options
  const environment = yield* Environment.Environment
  yield* Effect.mapError(JsonLines.inspect(file, SavedGroup.expected), unreadable)
  const output = Option.isSome(write) ? yield* Corrected.open(file, write.value) : undefined
  const { evaluationFirst, ...criteria } = yield* Effect.mapError(wantedOf(file), unreadable)
  const found = yield* Items.find(environment, criteria, { max, evaluationFirst }, listener)
  let byQuestion = 0
  let withoutTokens = 0
  let faults = 0

  const absent = `its item is not among the ${found.seen.toLocaleString("en-US")} of the environment with these settings${found.isCut ? " (--items searches more)" : ""}`
  const itemOf = ({ beginnings, itemId }: Stored.Stored): Result.Result<Items.Item, string> => {
    if (itemId !== undefined) {
      const item = found.byId.get(itemId)
      return item === undefined ? Result.fail(absent) : Result.succeed(item)
    }
    const [item, ...others] = new Set(beginnings.flatMap((one) => found.byBeginning.get(one) ?? []))
    if (item === undefined) return Result.fail(`it has no item_id, and by its prompt ${absent}`)
    if (item === "several" || others.length > 0) {
      return Result.fail("it has no item_id, and several items have its prompt")
    }
    byQuestion++
    return Result.succeed(item)
  }

  const score = Effect.fnUntraced(function* (stored: Stored.Stored) {
    const { trajectories } = stored
    const unscored = (reason: string): Scored => ({
      stored,
      outcome: { _tag: "Unscored", ...Outcome.linesOf(stored), item: stored.itemId, reason }
    })
    if (Result.isFailure(trajectories)) return unscored(trajectories.failure)
    const item = itemOf(stored)
    if (Result.isFailure(item)) return unscored(item.failure)
    if (trajectories.success.every(({ tokens }) => tokens.length === 0)) withoutTokens++
    const seconds = environment.settings.workerTimeout
    const judging = item.success.judge(trajectories.success)
    const judged = yield* Effect.result(seconds > 0 ? Effect.timeout(judging, Duration.seconds(seconds)) : judging)
    if (Result.isFailure(judged)) return unscored(Reason.of(judged.failure))
    const scored: Scored = {
      stored,
      outcome: Outcome.of(stored, item.success, judged.success),
      judged: judged.success
    }
    return scored
  })

  yield* read(file).pipe(
    Stream.mapError(unreadable),
    Stream.mapEffect((one) => ("entries" in one ? score(one) : Effect.succeed<Scored | SavedGroup.Fault>(one)), {
      concurrency: workers
    }),
    Stream.runForEach(
      Effect.fnUntraced(function* (one) {
        if (!("outcome" in one)) {
          faults++
          return yield* onFault(`${file}, line ${one.line}: ${one.problem}`)
        }
        yield* onOutcome(one.outcome)
        if (output === undefined || one.outcome._tag !== "Changed" || one.judged === undefined) return
        const values = Outcome.values(one.stored, one.judged, environment.solved)
        for (const [index, entry] of one.stored.entries.entries()) yield* output.line(entry, values[index]!)
      })
    )
  )
  if (output !== undefined) yield* output.finish
  return { environment: environment.name, items: found.seen, byQuestion, withoutTokens, faults } satisfies Reverified
}, Effect.scoped)

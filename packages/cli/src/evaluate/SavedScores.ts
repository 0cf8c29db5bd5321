/**
 * Summarises the recorded scores of saved groups and samples, from files of `gateway --record`, `process` or
 * `evaluate`. A session counts once,
 * regardless of its number of sequences; rollouts of a group count with the group's mean. Chats without a score
 * (`sessions.unscored.jsonl`) are counted but excluded from means.
 */
import { Evaluation, JsonLines, RewardComponents, SavedGroup, ScoreAdvantage, type ScoredGroup } from "@atropos/core"
import { Console, Effect, Predicate, Result, Stream } from "effect"
import { UsageError } from "../base/Failure.ts"
import * as FaultLog from "../base/FaultLog.ts"
import * as OpenSessions from "../gateway/OpenSessions.ts"

interface Sums {
  readonly values: Array<number>
}

export interface SavedScores {
  readonly sessions: number
  readonly sequences: number
  /** Chats without a reward. */
  readonly unscored: number
  readonly faults: number
  readonly score: Figure | undefined
  readonly rewards: { readonly [component: string]: Figure }
}

export interface Figure {
  readonly count: number
  readonly mean: number
  /** Standard error of the mean; absent for a single value. */
  readonly stderr?: number
  readonly lowest: number
  readonly highest: number
}

const figureOf = ({ values }: Sums): Figure | undefined => {
  const [first] = values
  if (first === undefined) return undefined
  const mean = Evaluation.mean(values)
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  const stderr = values.length < 2 ? undefined : Math.sqrt(squares / (values.length - 1) / values.length)
  return {
    count: values.length,
    mean,
    ...(stderr !== undefined && { stderr }),
    lowest: values.reduce((a, b) => Math.min(a, b), first),
    highest: values.reduce((a, b) => Math.max(a, b), first)
  }
}

/** The session of an unscored chat if stated, otherwise its text; undefined for other lines. */
const unscoredOf = (text: string): string | undefined => {
  const parsed = Result.try((): unknown => JSON.parse(text))
  if (Result.isFailure(parsed) || !Predicate.isReadonlyObject(parsed.success)) return undefined
  const { messages, score, scores, session } = parsed.success
  // Samples of evaluations have one score.
  return Array.isArray(messages) && scores === undefined && score === undefined
    ? typeof session === "string"
      ? session
      : text
    : undefined
}

const meanOf = (group: ScoredGroup.ScoredGroup): number =>
  Evaluation.mean(ScoreAdvantage.rollouts(group.scores, ScoreAdvantage.sessionsOf(group)).scores_S)

/** Reads the files; lines that are neither groups nor chats are reported and skipped. */
export const read = Effect.fn("SavedScores.read")(function* (files: ReadonlyArray<string>) {
  const faults = FaultLog.make()
  const scores: Sums = { values: [] }
  const rewards = new Map<string, Sums>()
  const unscored = new Set<string>()
  let [sequences, bad] = [0, 0]

  const take = (group: ScoredGroup.ScoredGroup): void => {
    sequences += group.scores.length
    scores.values.push(meanOf(group))
    const totals = RewardComponents.totals((group.rewards ?? []).filter(RewardComponents.isRewards))
    for (const [component, { count, sum }] of totals) {
      const known = rewards.get(component) ?? { values: [] }
      known.values.push(sum / count)
      rewards.set(component, known)
    }
  }

  for (const file of files) {
    const open = yield* OpenSessions.note(file)
    if (open !== undefined) yield* Console.error(open)
    yield* Effect.scoped(
      JsonLines.inspect(file, SavedGroup.expected).pipe(
        Effect.andThen(
          Stream.runForEach(JsonLines.read(file), (line) => {
            const chat = line._tag === "Text" ? unscoredOf(line.text) : undefined
            if (chat !== undefined) return Effect.sync(() => void unscored.add(`${file}:${chat}`))
            const entry = SavedGroup.ofLine(line)
            if (entry._tag === "Saved") return Effect.sync(() => take(entry.group))
            bad += 1
            return faults.report(`${file}, line ${entry.line}: ${entry.problem}`)
          })
        ),
        Effect.mapError(({ message }) => new UsageError({ message }))
      )
    )
  }
  yield* faults.end
  return {
    sessions: scores.values.length,
    sequences,
    unscored: unscored.size,
    faults: bad,
    score: figureOf(scores),
    rewards: Object.fromEntries(
      Array.from(rewards).flatMap(([component, sums]) => {
        const figure = figureOf(sums)
        return figure === undefined ? [] : [[component, figure]]
      })
    )
  } satisfies SavedScores
})

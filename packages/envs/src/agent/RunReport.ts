/**
 * What a run's own program reports of it, in addition to the requests that the gateway records: calls of its tools, and
 * why its turns stopped.
 */
import type { Timings } from "@atropos/core"
import { Effect } from "effect"
import * as Outcome from "./Outcome.ts"

export interface RunReport {
  /** In clock times. */
  readonly calls: ReadonlyArray<Timings.Call>
  /** One for each turn, in order; those of the Agent Client Protocol, such as `end_turn`. */
  readonly stopReasons: ReadonlyArray<string>
}

export const empty: RunReport = { calls: [], stopReasons: [] }

type Trajectory = Outcome.Recorded["trajectories"][number]

/** The end of a trajectory's last answer before a time; -1 if none. */
const answeredBefore = ({ turns = [] }: Trajectory, time: number): number =>
  turns.reduce((last, { answered }) => (answered <= time ? Math.max(last, answered) : last), -1)

/** The sequence that had the last answer before a time: its model made the call. On ties, the main one. */
const callerAt = (outcome: Outcome.Recorded, time: number): Trajectory | undefined =>
  outcome.trajectories.reduce<Trajectory | undefined>(
    (last, one) => (last === undefined || answeredBefore(one, time) > answeredBefore(last, time) ? one : last),
    Outcome.main(outcome)
  )

/** Adds each call to the sequence that made it. */
export const withCalls = <O extends Outcome.Recorded>(outcome: O, { calls }: RunReport): O => {
  if (calls.length === 0) return outcome
  const sorted = calls.toSorted((left, right) => left.from - right.from)
  const own = Map.groupBy(sorted, ({ from }) => callerAt(outcome, from))
  const added = new Map(outcome.trajectories.map((one) => [one, own.has(one) ? { ...one, calls: own.get(one)! } : one]))
  const of = (one: Trajectory): Trajectory => added.get(one) ?? one
  return {
    ...outcome,
    trajectories: outcome.trajectories.map(of),
    bySession: outcome.bySession.map((all) => all.map(of))
  }
}

/** Of runs of `defineAgent`, by the `model` that they were given. */
const reports = new WeakMap<object, RunReport>()

export const report = (model: object, one: RunReport): void => void reports.set(model, one)

export const of = (model: object): RunReport | undefined => reports.get(model)

/** Ends of the programs of such runs; they settle soon after an abort. */
const programs = new WeakMap<object, Promise<unknown>>()

export const runsUntil = (model: object, end: Promise<unknown>): void => void programs.set(model, end)

/** Waits for the end of the run's program, if it has one: until then it has reported nothing. */
export const ended = (model: object): Effect.Effect<void> =>
  Effect.promise(async () => void (await programs.get(model)?.catch(() => undefined)))

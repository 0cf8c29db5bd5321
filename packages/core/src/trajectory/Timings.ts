/**
 * Records when the turns of a rollout happened, for the waterfall of an episode.
 *
 * All times are whole milliseconds. A trajectory's are clock times; a scored group's count from the start of its item's
 * rollout, the same for all its rollouts. Between an answer and the next request the environment acts: its tools, its
 * game, its other players. For display only: no score, advantage or batch depends on them, and the original's wire has
 * none.
 *
 *     row (packed)   Int32: scored from, scored to (-1, -1: unknown), then asked, sent, answered of every turn;
 *                    empty: null
 *     JSON           { "turns": [[asked, sent, answered], …], "scored": [from, to] }, or null
 */
import { Predicate } from "effect"

export interface Turn {
  /** When the environment requested it. */
  readonly asked: number
  /** When the answered request was sent to a server; before, it waited for capacity or on a server that failed. */
  readonly sent: number
  readonly answered: number
}

export interface Timings {
  readonly turns: ReadonlyArray<Turn>
  /** When its group was scored; absent if unknown. */
  readonly scored?: { readonly from: number; readonly to: number }
}

/** The zero of the times, and when the group was scored, by the clock of its trajectories' turns. */
export interface Origin {
  readonly startedAt: number
  readonly scored?: NonNullable<Timings["scored"]>
}

const largest = 0x7fff_ffff

const isTime = (time: unknown): time is number =>
  typeof time === "number" && Number.isInteger(time) && time >= 0 && time <= largest

const isSound = ({ scored, turns }: Timings): boolean =>
  turns.length > 0 &&
  turns.every(({ answered, asked, sent }) => isTime(asked) && isTime(sent) && isTime(answered)) &&
  (scored === undefined || (isTime(scored.from) && isTime(scored.to)))

/** Turns relative to an origin; null if none, or if they began before the rollout did. */
export const since = (turns: ReadonlyArray<Turn> | undefined, { scored, startedAt }: Origin): Timings | null => {
  if (turns === undefined) return null
  const from = (time: number): number => Math.round(time - startedAt)
  const timings: Timings = {
    turns: turns.map(({ answered, asked, sent }) => ({
      asked: from(asked),
      sent: from(sent),
      answered: from(answered)
    })),
    ...(scored && { scored: { from: from(scored.from), to: from(scored.to) } })
  }
  return isSound(timings) ? timings : null
}

/** Encodes for packed groups. */
export const toRow = (timings: Timings | null): Int32Array =>
  timings === null
    ? new Int32Array()
    : Int32Array.from([
        timings.scored?.from ?? -1,
        timings.scored?.to ?? -1,
        ...timings.turns.flatMap(({ answered, asked, sent }) => [asked, sent, answered])
      ])

/** Decodes a packed row; undefined if invalid. */
export const ofRow = (row: Int32Array): Timings | null | undefined => {
  if (row.length === 0) return null
  const [from = -1, to = -1] = row
  const count = (row.length - 2) / 3
  if (!Number.isInteger(count)) return undefined
  const timings: Timings = {
    turns: Array.from({ length: count }, (_, turn) => {
      const at = 2 + 3 * turn
      return { asked: row[at]!, sent: row[at + 1]!, answered: row[at + 2]! }
    }),
    ...(from !== -1 && { scored: { from, to } })
  }
  return isSound(timings) ? timings : undefined
}

export const toJson = (timings: Timings | null) =>
  timings && {
    turns: timings.turns.map(({ answered, asked, sent }) => [asked, sent, answered]),
    ...(timings.scored && { scored: [timings.scored.from, timings.scored.to] })
  }

/** Decodes untrusted JSON; null if invalid. */
export const ofJson = (value: unknown): Timings | null => {
  if (!Predicate.isReadonlyObject(value) || !Array.isArray(value["turns"])) return null
  const { scored, turns } = value
  // Each is validated below.
  const triples = turns as ReadonlyArray<ReadonlyArray<number> | null>
  const [from, to] = Array.isArray(scored) ? (scored as ReadonlyArray<number>) : []
  const timings: Timings = {
    turns: triples.map((one) => ({ asked: one?.[0] ?? -1, sent: one?.[1] ?? -1, answered: one?.[2] ?? -1 })),
    ...(from !== undefined && to !== undefined && { scored: { from, to } })
  }
  return isSound(timings) ? timings : null
}

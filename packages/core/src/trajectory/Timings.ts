/**
 * Records when the turns of a rollout happened, for the waterfall of an episode.
 *
 * All times are whole milliseconds. A trajectory's are clock times; a scored group's count from the start of its item's
 * rollout, the same for all its rollouts. Between an answer and the next request the environment acts: its tools, its
 * game, its other players. Some agents also report each call of a tool. For display only: no score, advantage or batch
 * depends on them, and the original's wire has none.
 *
 *     row (packed)   Int32: scored from, scored to (-1, -1: unknown), then asked, sent, answered of every turn;
 *                    empty: null. Calls are in the group's JSON, as below
 *     JSON           { "turns": [[asked, sent, answered], …], "scored": [from, to],
 *                    "calls": [{ from, to, title, kind, status, text }, …] }, or null
 */
import { Predicate } from "effect"

export interface Turn {
  /** When the environment requested it. */
  readonly asked: number
  /** When the answered request was sent to a server; before, it waited for capacity or on a server that failed. */
  readonly sent: number
  readonly answered: number
}

/** A call of a tool, as the agent reported it. */
export interface Call {
  readonly from: number
  /** When it ended, or the agent's turn if the call never did. */
  readonly to: number
  readonly title: string
  /** `read`, `edit`, `execute`, … */
  readonly kind: string
  /** `completed` or `failed`; `pending` or `in_progress` if it never ended. */
  readonly status: string
  /** The beginning of what it returned. */
  readonly text: string
}

export interface Timings {
  readonly turns: ReadonlyArray<Turn>
  /** In order of `from`; absent if the agent reported none. */
  readonly calls?: ReadonlyArray<Call>
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

const isSound = ({ calls = [], scored, turns }: Timings): boolean =>
  turns.length > 0 &&
  turns.every(({ answered, asked, sent }) => isTime(asked) && isTime(sent) && isTime(answered)) &&
  calls.every(({ from, to }) => isTime(from) && isTime(to)) &&
  (scored === undefined || (isTime(scored.from) && isTime(scored.to)))

/** Times of a trajectory relative to an origin; null if unknown, or if they began before the rollout did. */
export const since = (
  { calls, turns }: { readonly turns?: ReadonlyArray<Turn>; readonly calls?: ReadonlyArray<Call> },
  { scored, startedAt }: Origin
): Timings | null => {
  if (turns === undefined) return null
  const from = (time: number): number => Math.round(time - startedAt)
  const timings: Timings = {
    turns: turns.map(({ answered, asked, sent }) => ({
      asked: from(asked),
      sent: from(sent),
      answered: from(answered)
    })),
    ...(calls && { calls: calls.map((call) => ({ ...call, from: from(call.from), to: from(call.to) })) }),
    ...(scored && { scored: { from: from(scored.from), to: from(scored.to) } })
  }
  return isSound(timings) ? timings : null
}

/** Encodes for packed groups, without calls. */
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
    ...(timings.scored && { scored: [timings.scored.from, timings.scored.to] }),
    ...(timings.calls && { calls: timings.calls })
  }

const ofCall = (value: unknown): ReadonlyArray<Call> => {
  if (!Predicate.isReadonlyObject(value)) return []
  const { from, kind, status, text, title, to } = value
  const isCall = isTime(from) && isTime(to) && [kind, status, text, title].every(Predicate.isString)
  // All four are texts.
  return isCall ? [{ from, to, title, kind, status, text } as Call] : []
}

/** Decodes untrusted JSON; undefined if it is not a list of calls. */
const ofCalls = (value: unknown): ReadonlyArray<Call> | undefined => {
  if (!Array.isArray(value)) return undefined
  const calls = value.flatMap(ofCall)
  return calls.length === value.length ? calls : undefined
}

/** Adds the calls of a packed group's JSON, a list or null for each row; undefined if invalid. */
export const withCalls = (
  rows: ReadonlyArray<Timings | null>,
  calls: unknown
): ReadonlyArray<Timings | null> | undefined => {
  if (!Array.isArray(calls) || calls.length !== rows.length) return undefined
  const added = rows.map((row, index) => {
    const own: unknown = calls[index]
    if (own === null) return row
    const read = ofCalls(own)
    return row === null || read === undefined ? undefined : { ...row, calls: read }
  })
  return added.every((one) => one !== undefined) ? added : undefined
}

/** Decodes untrusted JSON; null if invalid. */
export const ofJson = (value: unknown): Timings | null => {
  if (!Predicate.isReadonlyObject(value) || !Array.isArray(value["turns"])) return null
  const { scored, turns } = value
  const calls = value["calls"] === undefined ? [] : ofCalls(value["calls"])
  if (calls === undefined) return null
  // Each is validated below.
  const triples = turns as ReadonlyArray<ReadonlyArray<number> | null>
  const [from, to] = Array.isArray(scored) ? (scored as ReadonlyArray<number>) : []
  const timings: Timings = {
    turns: triples.map((one) => ({ asked: one?.[0] ?? -1, sent: one?.[1] ?? -1, answered: one?.[2] ?? -1 })),
    ...("calls" in value && { calls }),
    ...(from !== undefined && to !== undefined && { scored: { from, to } })
  }
  return isSound(timings) ? timings : null
}

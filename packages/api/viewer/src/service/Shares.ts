/** What the tables of the service page tell beyond what the service sends. Pure. */
import type * as Wire from "../source/Wire.ts"

/**
 * How long an environment may say nothing: one of ours reports every five seconds, and one of the original's asks as
 * often.
 */
const silentMillis = 2 * 60_000

export type Standing = "connected" | "silent" | "gone"

/** Whether an environment is there, by when it was last heard of. */
export const standingOf = (
  { connected, last_seen, report }: Pick<Wire.EnvironmentRow, "connected" | "last_seen" | "report">,
  now: number
): { readonly standing: Standing; readonly heardAt: number } => {
  const heardAt = Math.max(last_seen, report?.at ?? 0)
  return { standing: !connected ? "gone" : now - heardAt > silentMillis ? "silent" : "connected", heardAt }
}

/**
 * What an environment says of the present: nothing where it is gone or silent, though its last report is still there.
 */
export const presentReport = (
  environment: Pick<Wire.EnvironmentRow, "connected" | "last_seen" | "report">,
  now: number
): Wire.EnvironmentRow["report"] => (standingOf(environment, now).standing === "connected" ? environment.report : null)

/** The part of the batches an environment is due by its weight, among those that are connected; null for the others. */
export const dueShare = (
  environment: Pick<Wire.EnvironmentRow, "env_id">,
  all: ReadonlyArray<Pick<Wire.EnvironmentRow, "env_id" | "connected" | "weight">>
): number | null => {
  const connected = all.filter(({ connected }) => connected)
  const weights = connected.reduce((sum, { weight }) => sum + weight, 0)
  const own = connected.find(({ env_id }) => env_id === environment.env_id)
  return own === undefined || weights <= 0 ? null : own.weight / weights
}

/** Where a batch stands: one whose lease ran out goes to whoever claims next. */
export type BatchState = Wire.BatchRow["state"] | "expired"

export const batchState = (
  { lease_until, state }: Pick<Wire.BatchRow, "lease_until" | "state">,
  now: number
): BatchState => (state === "leased" && lease_until !== null && lease_until < now ? "expired" : state)

/** How many batches stand where; those of which there is none are absent. */
export const countStates = (
  batches: ReadonlyArray<Pick<Wire.BatchRow, "lease_until" | "state">>,
  now: number
): ReadonlyMap<BatchState, number> => {
  const counts = new Map<BatchState, number>()
  for (const batch of batches) {
    const state = batchState(batch, now)
    counts.set(state, (counts.get(state) ?? 0) + 1)
  }
  return counts
}

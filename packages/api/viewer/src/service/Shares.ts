/** Derives values for the tables of the service page. Pure. */
import type * as Wire from "../source/Wire.ts"

/** Max silence of an environment: ours report every five seconds, and the original's poll as often. */
const silentMillis = 2 * 60_000

export type Standing = "connected" | "silent" | "gone"

/** The state of an environment by its last contact. */
export const standingOf = (
  { connected, last_seen, report }: Pick<Wire.EnvironmentRow, "connected" | "last_seen" | "report">,
  now: number
): { readonly standing: Standing; readonly heardAt: number } => {
  const heardAt = Math.max(last_seen, report?.at ?? 0)
  return { standing: !connected ? "gone" : now - heardAt > silentMillis ? "silent" : "connected", heardAt }
}

/** An environment that is gone is a fault only while the run lasts. */
export const kindOf = (standing: Standing, isEnded: boolean): "good" | "bad" | "idle" =>
  standing === "connected" ? "good" : standing === "gone" && isEnded ? "idle" : "bad"

/** The current report of an environment; null if it is gone or silent, even if an old report exists. */
export const presentReport = (
  environment: Pick<Wire.EnvironmentRow, "connected" | "last_seen" | "report">,
  now: number
): Wire.EnvironmentRow["report"] => (standingOf(environment, now).standing === "connected" ? environment.report : null)

/** An environment's share of batches due by its weight among connected ones; null if it is not connected. */
export const dueShare = (
  environment: Pick<Wire.EnvironmentRow, "env_id">,
  all: ReadonlyArray<Pick<Wire.EnvironmentRow, "env_id" | "connected" | "weight">>
): number | null => {
  const connected = all.filter(({ connected }) => connected)
  const weights = connected.reduce((sum, { weight }) => sum + weight, 0)
  const own = connected.find(({ env_id }) => env_id === environment.env_id)
  return own === undefined || weights <= 0 ? null : own.weight / weights
}

/** The state of a batch; an expired lease goes to the next claimer. */
export type BatchState = Wire.BatchRow["state"] | "expired"

export const batchState = (
  { lease_until, state }: Pick<Wire.BatchRow, "lease_until" | "state">,
  now: number
): BatchState => (state === "leased" && lease_until !== null && lease_until < now ? "expired" : state)

/** Number of batches per state; zero counts are absent. */
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

/**
 * Judges whether a run makes progress, by the age of its newest step, group and metrics, and by which of its processes
 * were heard from. Pure; the service judges, and pages, commands and the rule `stalled` show its answer. Times are in
 * milliseconds since the epoch, all by one clock.
 */
import * as TimeSpan from "../base/TimeSpan.ts"

/**
 * `starting`: no step since the start; `stalled`: a process is alive, but there has been no progress for long;
 * `stopped`: no process is alive, and steps are missing; `done`: all steps are complete.
 */
export const states = ["starting", "running", "stalled", "stopped", "done"] as const
export type State = (typeof states)[number]

export interface Activity {
  readonly state: State
  /** Seconds since the last progress. */
  readonly idleSeconds: number
  /**
   * Why it stalled, or ended without being stopped, or which of its environments is lost while others continue; null if
   * neither, or if its user stopped it.
   */
  readonly reason: string | null
  readonly environment: string | null
  /** The last error of each environment that had one. */
  readonly errors: ReadonlyArray<{ readonly environment: string; readonly message: string }>
}

export interface EnvironmentSigns {
  readonly name: string
  readonly connected: boolean
  readonly heardAt: number
  /** Ours report every five seconds; the original's send requests occasionally, and are silent during long rollouts. */
  readonly hasReport: boolean
  /** Items in progress. */
  readonly running: number
  readonly lastError: { readonly at: number; readonly message: string } | null
  /** True if every inference server it knows is down. */
  readonly isWithoutServers: boolean
}

export interface Signs {
  /** True if the run was reset: no process works on it any more. */
  readonly ended: boolean
  /** When it was created, or its trainer or an environment last started. */
  readonly startedAt: number
  /** Planned steps of its trainer; 0 or less if unknown. */
  readonly totalSteps: number
  /** The newest completed step; null before the first. */
  readonly step: number | null
  /** Times of the newest steps, newest first. */
  readonly stepTimes: ReadonlyArray<number>
  /** Time of the newest metrics of any source, and of the newest group; null if none. */
  readonly recordedAt: number | null
  readonly groupAt: number | null
  /** When a trainer last asked for a batch; null if unknown. */
  readonly trainerSeenAt: number | null
  /** The newest unacknowledged batch of a trainer, and the end of its lease. */
  readonly lease: { readonly step: number; readonly until: number } | null
  readonly environments: ReadonlyArray<EnvironmentSigns>
}

const second = 1000
const silence = 30 * second
const longSilence = 120 * second
/** Minimum patience, however fast steps are. */
const minPatience = 60 * second
/** Patience while a trainer works on a batch, or while the step time is unknown. */
const workPatience = 600 * second
/** Evaluations and checkpoints make single steps longer than others. */
const patientSteps = 10
const maxReasonLength = 300

const isAlive = ({ connected, hasReport, heardAt }: EnvironmentSigns, now: number): boolean =>
  connected && now - heardAt <= (hasReport ? silence : longSilence)

/** The median of the latest step times; undefined before two steps. */
const usualPause = (times: ReadonlyArray<number>): number | undefined => {
  const pauses = times.slice(1).map((time, index) => times[index]! - time)
  return pauses.toSorted((left, right) => left - right)[Math.floor(pauses.length / 2)]
}

type Reason = Pick<Activity, "environment" | "reason">

const about = (environment: EnvironmentSigns, what: string): Reason => ({
  environment: environment.name,
  reason: `${environment.name}: ${what}`.slice(0, maxReasonLength)
})
const general = (reason: string | null): Reason => ({ environment: null, reason })

/** The newest error of any environment since a time. */
const errorSince = (environments: ReadonlyArray<EnvironmentSigns>, since: number): Reason | undefined => {
  const [newest] = environments
    .filter(({ lastError }) => lastError !== null && lastError.at >= since)
    .toSorted((left, right) => right.lastError!.at - left.lastError!.at)
  return newest && about(newest, newest.lastError!.message)
}

/** Why a run with live processes makes no progress. */
const whyStalled = (signs: Signs, now: number, moved: number): Reason => {
  const { environments, lease, step, trainerSeenAt } = signs
  const present = environments.filter(({ connected }) => connected)
  const alive = present.filter((one) => isAlive(one, now))
  const silent = present.find((one) => !isAlive(one, now))
  const isHeld = lease !== null && lease.until > now
  const ago = (time: number): string => TimeSpan.format((now - time) / second)
  if (alive.length > 0 && !isHeld && trainerSeenAt !== null && now - trainerSeenAt > silence) {
    return general(`no trainer has asked for a batch for ${ago(trainerSeenAt)}`)
  }
  if (alive.length === 0) {
    return silent === undefined
      ? general("no environment is connected")
      : about(silent, `not heard from for ${ago(silent.heardAt)}`)
  }
  const failed = errorSince(present, moved - minPatience)
  if (failed !== undefined) return failed
  const cutOff = alive.find(({ isWithoutServers }) => isWithoutServers)
  if (cutOff !== undefined) return about(cutOff, "no inference server responds")
  if (isHeld && (step === null || lease.step > step)) {
    return general(`the trainer has held the batch of step ${lease.step} for ${ago(moved)}`)
  }
  const busy = alive.find(({ running }) => running > 0)
  if (busy !== undefined) return about(busy, `no group completed, ${busy.running} items in progress`)
  return about(alive[0]!, "no group received")
}

/** Silent for this long, one that reports is gone. */
const lostAfter = 60 * second

/** Its name as it asked for; one that restarts gets another number. */
const desiredName = ({ name }: EnvironmentSigns): string => name.replace(/_\d+$/, "")

/** An environment that others continue without: it did not deregister, and no other one has its place. */
const lostOf = (environments: ReadonlyArray<EnvironmentSigns>, now: number): Reason | undefined => {
  const alive = new Set(environments.filter((one) => isAlive(one, now)).map(desiredName))
  if (alive.size === 0) return undefined
  const lost = environments.find(
    (one) => one.connected && one.hasReport && now - one.heardAt > lostAfter && !alive.has(desiredName(one))
  )
  return (
    lost &&
    about(lost, `not heard from for ${TimeSpan.format((now - lost.heardAt) / second)}; others continue without it`)
  )
}

/** Explains how a run without processes ended; no reason if its user stopped it. */
const howStopped = ({ environments, lease, step, totalSteps }: Signs, now: number, moved: number): Reason => {
  const at = `${step === null ? "before its first step" : `after step ${step}`}${totalSteps > 0 ? ` of ${totalSteps}` : ""}`
  const failed = errorSince(environments, moved - minPatience)
  const silent = environments.find(({ connected }) => connected)
  const isLeft = silent !== undefined || (lease !== null && lease.until > 0)
  if (isLeft) {
    return {
      environment: silent?.name ?? null,
      reason: `its processes ended without deregistering ${at}: killed, or the machine went down${
        failed === undefined ? "" : `; last error: ${failed.reason}`
      }`.slice(0, 2 * maxReasonLength)
    }
  }
  return failed ?? general(null)
}

export const of = (signs: Signs, now: number): Activity => {
  const { ended, environments, groupAt, lease, recordedAt, startedAt, step, stepTimes, totalSteps, trainerSeenAt } =
    signs
  const moved = Math.max(startedAt, recordedAt ?? 0, groupAt ?? 0, stepTimes[0] ?? 0)
  const idle = Math.max(0, now - moved)
  const make = (state: State, reason: Reason = general(null)): Activity => ({
    state,
    idleSeconds: idle / second,
    ...reason,
    errors: environments.flatMap(({ lastError, name }) =>
      lastError === null ? [] : [{ environment: name, message: lastError.message.slice(0, maxReasonLength) }]
    )
  })
  if (totalSteps > 0 && step !== null && step >= totalSteps) return make("done")
  if (ended) return make("stopped")
  const isHeld = lease !== null && lease.until > now
  const isTrainerAlive = isHeld || (trainerSeenAt !== null && now - trainerSeenAt <= silence)
  const isAnybodyAlive = isTrainerAlive || environments.some((one) => isAlive(one, now))
  if (!isAnybodyAlive && idle > silence) return make("stopped", howStopped(signs, now, moved))
  // A start in the future was before the clock was set back: it says nothing of the steps since.
  const isStarting = stepTimes[0] === undefined || (stepTimes[0] < startedAt && startedAt <= now)
  const failing = errorSince(environments, moved)
  const pause = isStarting ? undefined : usualPause(stepTimes)
  const isWorking = isHeld && (step === null || lease.step > step)
  const patience =
    isStarting && failing === undefined
      ? workPatience
      : Math.max(isWorking ? workPatience : minPatience, patientSteps * (pause ?? 0))
  if (idle > patience) return make("stalled", whyStalled(signs, now, moved))
  return make(isStarting ? "starting" : "running", lostOf(environments, now))
}

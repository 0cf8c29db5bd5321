/**
 * A trajectory service in memory: runs, keys, exact-fill batches, leases, saved state, for tests and programs of one
 * process.
 *
 * Guarantees, for as long as the process lives: a key is stored once; a batch has exactly `batchSize` sequences, of the
 * oldest groups that fit, minimum shares met (`Packing`); steps number from `startingStep` + 1 without gaps; a batch
 * goes to one claimer at a time, and to the next when its lease runs out or it is given back. One run; registering
 * again changes nothing, as with the original.
 */
import { Clock, Deferred, Duration, Effect, Layer, Option, Stream } from "effect"
import type { Batch } from "../Batch.ts"
import * as Packing from "./Packing.ts"
import { size, type ScoredGroup } from "../ScoredGroup.ts"
import * as TelemetryClient from "./TelemetryClient.ts"
import type { EnvironmentSpec, EnvironmentStatus, RunSpec, SavedState, SubmitOutcome } from "./TrajectoryApi.ts"
import * as TrajectoryClient from "./TrajectoryClient.ts"
import { TrajectoryError } from "./TrajectoryError.ts"

interface Registered extends EnvironmentSpec {
  readonly name: string
  isConnected: boolean
}

interface Formed {
  batch: Batch
  isFree: boolean
}

const notFound = (message: string) => new TrajectoryError({ reason: "notFound", message })

/** The service itself; `run` registers a run at once. */
export const make = (run?: Partial<RunSpec> & Pick<RunSpec, "batchSize">): TrajectoryClient.TrajectoryClient => {
  let spec: RunSpec | undefined
  let isStarted = false
  let step = 0
  let queue: Array<ScoredGroup> = []
  let batches: Array<Formed> = []
  const environments: Array<Registered> = []
  const keys = new Set<string>()
  const states = new Map<string, SavedState>()
  const ackedTokens = new Set<string>()
  let deliveries = 0
  let version = 0
  let changed = Deferred.makeUnsafe<void>()

  const touch = (): void => {
    version++
    const waiting = changed
    changed = Deferred.makeUnsafe<void>()
    Deferred.doneUnsafe(waiting, Effect.void)
  }
  const register = (announced: RunSpec): void => {
    if (spec !== undefined) return
    spec = announced
    step = announced.startingStep
  }
  if (run !== undefined) {
    register({ ...defaultRun, ...run })
    isStarted = true
  }

  const environment = (envId: number): Effect.Effect<Registered, TrajectoryError> =>
    Effect.suspend(() => {
      const found = environments[envId]
      return found === undefined
        ? Effect.fail(notFound(`no environment ${envId} is registered; register it first`))
        : Effect.succeed(found)
    })

  const statusOf = (envId: number, own: Registered): EnvironmentStatus => {
    const connected = environments.filter(({ isConnected }) => isConnected)
    const total = connected.reduce((sum, one) => sum + share(one), 0)
    const reserved = connected.reduce((sum, { minBatchAllocation }) => sum + (minBatchAllocation ?? 0), 0)
    const maxGroupSize = queue.reduce((largest, group) => Math.max(largest, size(group)), 1)
    const sequences = new Map<number, number>()
    for (const group of queue) sequences.set(group.envId ?? -1, (sequences.get(group.envId ?? -1) ?? 0) + size(group))
    const mine = sequences.get(envId) ?? 0
    let others = 0
    for (const [id, count] of sequences) {
      if (id === envId || maxGroupSize <= 1) continue
      const packed = Math.ceil(count / maxGroupSize) * maxGroupSize
      const other = environments[id]
      const floor = Math.trunc((spec?.batchSize ?? 0) * ((other?.isConnected && other.minBatchAllocation) || 0))
      others += Math.max(0, packed - floor)
    }
    return {
      currentStep: step,
      queueSize: Math.floor((mine + others) / own.groupSize),
      selfQueueSize: Math.floor(mine / own.groupSize),
      maxGroupSize,
      envWeight: total === 0 ? 1 / Math.max(1, connected.length) : Math.max(0.01, share(own) / total),
      unallocatedFraction: 1 - Math.min(1, reserved)
    }
  }

  const form = (now: number, leaseMillis: number): Batch | undefined => {
    if (spec === undefined) return undefined
    const free = batches.find(({ batch, isFree }) => isFree || batch.leaseUntil <= now)
    deliveries++
    const lease = { leaseToken: `lease-${deliveries}`, leaseUntil: now + leaseMillis }
    if (free !== undefined) {
      free.isFree = false
      free.batch = { ...free.batch, ...lease, deliveries: free.batch.deliveries + 1 }
      return free.batch
    }
    const shares = environments.flatMap(({ isConnected, minBatchAllocation }, envId) =>
      isConnected && minBatchAllocation !== null ? [[envId, minBatchAllocation] as const] : []
    )
    const waiting = queue.map((group) => ({ size: size(group), envId: group.envId ?? null }))
    const chosen = Packing.fill(waiting, spec.batchSize, new Map(shares))
    if (chosen === undefined) return undefined
    const groups = chosen.map((index) => queue[index]!)
    const taken = new Set(chosen)
    queue = queue.filter((_, index) => !taken.has(index))
    step++
    const batch: Batch = { id: `batch-${step}`, step, ...lease, deliveries: 1, groups }
    batches.push({ batch, isFree: false })
    touch()
    return batch
  }

  const leased = (batch: Pick<Batch, "id" | "leaseToken">): Effect.Effect<Formed, TrajectoryError> =>
    Effect.suspend(() => {
      const found = batches.find((one) => one.batch.id === batch.id && one.batch.leaseToken === batch.leaseToken)
      return found === undefined || found.isFree
        ? Effect.fail(
            new TrajectoryError({
              reason: "leaseLost",
              message: `${batch.id} is acknowledged or leased to another trainer`
            })
          )
        : Effect.succeed(found)
    })

  return {
    // Nobody can look.
    ...TelemetryClient.none,
    registerRun: (announced) => Effect.sync(() => register(announced)),
    runInfo: Effect.sync(() => ({ batchSize: spec?.batchSize ?? -1, maxTokenLength: spec?.maxTokenLength ?? -1 })),
    wandbInfo: Effect.sync(() => ({ group: spec?.wandbGroup ?? null, project: spec?.wandbProject ?? null })),
    registerEnvironment: (wanted) =>
      Effect.sync(() => {
        if (spec === undefined || !isStarted) return Option.none()
        const number = environments.filter(({ desiredName }) => desiredName === wanted.desiredName).length
        const name = `${wanted.desiredName}_${number}`
        environments.push({ ...wanted, name, isConnected: true })
        touch()
        return Option.some({
          envId: environments.length - 1,
          name,
          startingStep: step,
          numSteps: spec.numSteps,
          checkpointDir: spec.checkpointDir,
          checkpointInterval: spec.saveCheckpointInterval
        })
      }),
    disconnectEnvironment: (envId) =>
      Effect.map(environment(envId), (found) => {
        found.isConnected = false
        touch()
      }),
    submit: (envId, groups) =>
      Effect.map(environment(envId), () => {
        const outcomes = groups.map(({ group, key }): SubmitOutcome => {
          if (keys.has(key)) return { status: "duplicate" }
          keys.add(key)
          queue.push({ ...group, envId })
          return { status: "received" }
        })
        touch()
        return outcomes
      }),
    status: (envId) => Effect.map(environment(envId), (own) => statusOf(envId, own)),
    statusChanges: (envId) =>
      Stream.suspend(() => {
        let seen = -1
        // Conflated: a slow reader gets the newest status, not each of them.
        const next: Effect.Effect<EnvironmentStatus, TrajectoryError> = Effect.suspend(() =>
          seen === version
            ? Effect.andThen(Deferred.await(changed), next)
            : Effect.map(environment(envId), (own) => {
                seen = version
                return statusOf(envId, own)
              })
        )
        return Stream.fromEffectRepeat(next)
      }),
    savedStates: Effect.succeedSome({
      load: (name) => Effect.sync(() => Option.fromUndefinedOr(states.get(name))),
      save: (name, state) => Effect.sync(() => void states.set(name, structuredClone(state)))
    }),
    claim: ({ lease, wait }) =>
      Effect.gen(function* () {
        if (spec === undefined) return yield* notFound("no run is registered; register one first")
        if (!isStarted) {
          isStarted = true
          touch()
        }
        const leaseMillis = Duration.toMillis(Duration.fromInputUnsafe(lease))
        for (;;) {
          const next = changed
          const batch = form(yield* Clock.currentTimeMillis, leaseMillis)
          if (batch !== undefined) return batch
          yield* Deferred.await(next)
        }
      }).pipe(Effect.timeoutOption(wait)),
    ack: (batch) =>
      Effect.suspend(() =>
        ackedTokens.has(batch.leaseToken)
          ? Effect.void
          : Effect.map(leased(batch), (found) => {
              ackedTokens.add(batch.leaseToken)
              batches = batches.filter((one) => one !== found)
            })
      ),
    nack: (batch) =>
      Effect.map(leased(batch), (found) => {
        found.isFree = true
        touch()
      }),
    extend: (batch, lease) =>
      Effect.flatMap(leased(batch), (found) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          found.batch = { ...found.batch, leaseUntil: now + Duration.toMillis(lease) }
        })
      )
  }
}

/** A service of its own for whoever is built on it. */
export const layer = (run?: Partial<RunSpec> & Pick<RunSpec, "batchSize">): Layer.Layer<TrajectoryClient.Clients> =>
  TrajectoryClient.layer(Effect.sync(() => make(run)))

/** What an environment's claim on the inference servers is proportional to. */
const share = ({ maxTokenLength, weight }: EnvironmentSpec): number => maxTokenLength * Math.max(0, weight)

const defaultRun: Omit<RunSpec, "batchSize"> = {
  name: "default",
  maxTokenLength: -1,
  startingStep: 0,
  numSteps: -1,
  checkpointDir: "",
  saveCheckpointInterval: -1,
  wandbGroup: "",
  wandbProject: ""
}

/**
 * A trajectory service in memory: runs, keys, exact-fill batches, leases, saved state, for tests and single-process
 * programs.
 *
 * Guarantees, for the lifetime of the process: a key is stored once; a batch has exactly `batchSize` sequences, of the
 * oldest groups that fit, with minimum shares satisfied (`Packing`); steps are numbered from `startingStep` + 1 without
 * gaps; a batch is leased to one claimer at a time, and goes to the next one when its lease expires or it is returned.
 * One run; registering again has no effect, as with the original. No environment is held back at a staleness bound.
 */
import { Deferred, type Duration, Effect, Layer, Option, Stream } from "effect"
import * as Batches from "./Batches.ts"
import type { EnvironmentClientShape, SavedStates } from "../EnvironmentClient.ts"
import * as Environments from "./Environments.ts"
import * as TelemetryClient from "../TelemetryClient.ts"
import type { TrainerClientShape } from "../TrainerClient.ts"
import type { EnvironmentStatus, RunSpec, SavedState } from "../TrajectoryApi.ts"
import * as TrajectoryClient from "../TrajectoryClient.ts"
import { TrajectoryError } from "../TrajectoryError.ts"

/** Counts changes, and lets waiters await the next one. */
interface Notifications {
  readonly count: () => number
  readonly record: () => void
  readonly after: (count: number) => Effect.Effect<void>
}

const makeNotifications = (): Notifications => {
  let count = 0
  let next = Deferred.makeUnsafe<void>()
  return {
    count: () => count,
    record: () => {
      const recorded = next
      count++
      next = Deferred.makeUnsafe<void>()
      Deferred.doneUnsafe(recorded, Effect.void)
    },
    after: (earlier) => Effect.suspend(() => (count > earlier ? Effect.void : Deferred.await(next)))
  }
}

/** The service's state: one run, its environments, its queue. */
interface Service {
  spec: RunSpec | undefined
  /** True once a trainer has asked for a batch: until then environments wait. */
  isStarted: boolean
  readonly environments: Environments.Environments
  readonly batches: Batches.Batches
  readonly changes: Notifications
}

/** A run as passed to `make`. */
type PartialRun = Partial<RunSpec> & Pick<RunSpec, "batchSize">

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

const stepOf = ({ batches, spec }: Service): number => (spec?.startingStep ?? 0) + batches.formed()

const memoryStates = (): SavedStates => {
  const states = new Map<string, SavedState>()
  return {
    load: (name) => Effect.sync(() => Option.fromUndefinedOr(states.get(name))),
    save: (name, state) => Effect.sync(() => void states.set(name, structuredClone(state)))
  }
}

const environmentClient = (service: Service): EnvironmentClientShape => {
  const { batches, changes, environments } = service
  const status = (envId: number): Effect.Effect<EnvironmentStatus, TrajectoryError> =>
    Effect.map(environments.get(envId), (own) =>
      environments.status(own, {
        step: stepOf(service),
        batchSize: service.spec?.batchSize ?? 0,
        groups: batches.queue()
      })
    )
  return {
    runInfo: Effect.sync(() => ({
      batchSize: service.spec?.batchSize ?? -1,
      maxTokenLength: service.spec?.maxTokenLength ?? -1
    })),
    wandbInfo: Effect.sync(() => ({
      group: service.spec?.wandbGroup ?? null,
      project: service.spec?.wandbProject ?? null
    })),
    registerEnvironment: (environmentSpec) =>
      Effect.sync(() => {
        const { isStarted, spec } = service
        if (spec === undefined || !isStarted) return Option.none()
        const { envId, name } = environments.register(environmentSpec)
        changes.record()
        return Option.some({
          envId,
          name,
          startingStep: stepOf(service),
          numSteps: spec.numSteps,
          checkpointDir: spec.checkpointDir,
          checkpointInterval: spec.saveCheckpointInterval
        })
      }),
    disconnectEnvironment: (envId) =>
      Effect.map(environments.get(envId), (environment) => {
        environment.isConnected = false
        changes.record()
      }),
    submit: (envId, groups) =>
      Effect.map(environments.get(envId), () => {
        const outcomes = groups.map((group) => batches.submit(envId, group))
        changes.record()
        return outcomes
      }),
    status,
    statusChanges: (envId) =>
      Stream.suspend(() => {
        let reported = -1
        // Conflated: a slow reader gets only the newest status.
        const next = Effect.suspend(() => changes.after(reported)).pipe(
          Effect.andThen(
            Effect.suspend(() => {
              reported = changes.count()
              return status(envId)
            })
          )
        )
        return Stream.fromEffectRepeat(next)
      }),
    begin: (envId, { more }) => Effect.as(environments.get(envId), { granted: more }),
    savedStates: memoryStates()
  }
}

const trainerClient = (service: Service): Omit<TrainerClientShape, "runInfo" | "wandbInfo"> => {
  const { batches, changes, environments } = service
  const nextBatch = ({ batchSize, startingStep }: RunSpec, lease: Duration.Input) =>
    Effect.gen(function* () {
      for (;;) {
        const count = changes.count()
        const formed = batches.formed()
        const minimumShares = environments.minimumShares()
        const batch = yield* batches.claim({ batchSize, startingStep, minimumShares, lease })
        if (batches.formed() > formed) changes.record()
        if (batch !== undefined) return batch
        yield* changes.after(count)
      }
    })
  return {
    registerRun: (announced) => Effect.sync(() => void (service.spec ??= announced)),
    claim: ({ lease, wait }) =>
      Effect.suspend(() => {
        if (service.spec === undefined) {
          return Effect.fail(
            new TrajectoryError({ reason: "notFound", message: "no run is registered; register one first" })
          )
        }
        if (!service.isStarted) {
          service.isStarted = true
          changes.record()
        }
        return nextBatch(service.spec, lease)
      }).pipe(Effect.timeoutOption(wait)),
    ack: batches.ack,
    nack: (batch) => Effect.map(batches.nack(batch), changes.record),
    extend: batches.extend,
    trained: () => Effect.void
  }
}

export const make = (run?: PartialRun): TrajectoryClient.TrajectoryClient => {
  const service: Service = {
    spec: run === undefined ? undefined : { ...defaultRun, ...run },
    isStarted: run !== undefined,
    environments: Environments.make(),
    batches: Batches.make(),
    changes: makeNotifications()
  }
  return {
    ...environmentClient(service),
    ...trainerClient(service),
    // Nothing is viewed here.
    ...TelemetryClient.none
  }
}

/** Each build of the layer has its own service. */
export const layer = (run?: PartialRun): Layer.Layer<TrajectoryClient.Clients> =>
  TrajectoryClient.layer(Effect.sync(() => make(run)))

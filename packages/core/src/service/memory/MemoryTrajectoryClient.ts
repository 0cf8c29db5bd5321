/**
 * A trajectory service in memory: runs, keys, exact-fill batches, leases, saved state, for tests and programs of one
 * process.
 *
 * Guarantees, for as long as the process lives: a key is stored once; a batch has exactly `batchSize` sequences, of the
 * oldest groups that fit, minimum shares met (`Packing`); steps number from `startingStep` + 1 without gaps; a batch
 * goes to one claimer at a time, and to the next when its lease runs out or it is given back. One run; registering
 * again changes nothing, as with the original. No environment is held back at a bound of staleness.
 */
import { type Duration, Effect, Layer, Option, Stream } from "effect"
import * as Batches from "./Batches.ts"
import * as Changes from "./Changes.ts"
import type { EnvironmentClientShape, SavedStates } from "../EnvironmentClient.ts"
import * as Environments from "./Environments.ts"
import * as TelemetryClient from "../TelemetryClient.ts"
import type { TrainerClientShape } from "../TrainerClient.ts"
import type { EnvironmentStatus, RunSpec, SavedState } from "../TrajectoryApi.ts"
import * as TrajectoryClient from "../TrajectoryClient.ts"
import { TrajectoryError } from "../TrajectoryError.ts"

/** The service's state: one run, its environments, its queue. */
interface Service {
  spec: RunSpec | undefined
  /** Whether a trainer has asked for a batch: until then environments wait. */
  isStarted: boolean
  readonly environments: Environments.Environments
  readonly batches: Batches.Batches
  readonly changes: Changes.Changes
}

/** A run as a caller of `make` describes it. */
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
        // Conflated: a slow reader gets the newest status, not each of them.
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
    begin: (envId, { more }) => Effect.as(environments.get(envId), more),
    savedStates: Effect.succeedSome(memoryStates())
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

/** The service itself; `run` registers a run at once. */
export const make = (run?: PartialRun): TrajectoryClient.TrajectoryClient => {
  const service: Service = {
    spec: run === undefined ? undefined : { ...defaultRun, ...run },
    isStarted: run !== undefined,
    environments: Environments.make(),
    batches: Batches.make(),
    changes: Changes.make()
  }
  return {
    ...environmentClient(service),
    ...trainerClient(service),
    // Nobody can look.
    ...TelemetryClient.none
  }
}

/** A service of its own for whoever is built on it. */
export const layer = (run?: PartialRun): Layer.Layer<TrajectoryClient.Clients> =>
  TrajectoryClient.layer(Effect.sync(() => make(run)))

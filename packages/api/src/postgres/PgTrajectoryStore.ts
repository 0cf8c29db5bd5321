/**
 * Implements the trajectory store in Postgres, on a server or embedded, with the same statements.
 *
 * Submissions are durable once acknowledged (server: also after a power failure; embedded: after a crash of the
 * process). Payloads are in the database, or large ones in the `ObjectStore` if provided. Times come from `Clock`.
 * Limits are in `Settings`, a reference with defaults:
 *
 *     PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerConfig))
 */
import type * as PgClient from "@effect/sql-pg/PgClient"
import { Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Database } from "../database/Database.ts"
import * as Batches from "./queue/Batches.ts"
import * as Activities from "./reading/Activities.ts"
import * as Browse from "./reading/Browse.ts"
import * as Notifications from "./base/Notifications.ts"
import * as Deletion from "./runs/Deletion.ts"
import * as Environments from "./runs/Environments.ts"
import * as Janitor from "./runs/Janitor.ts"
import * as LastSeen from "./runs/LastSeen.ts"
import * as RolloutPermits from "./runs/RolloutPermits.ts"
import * as Notes from "./runs/Notes.ts"
import * as Leases from "./queue/Leases.ts"
import * as Objects from "./base/Objects.ts"
import * as PayloadCache from "./base/PayloadCache.ts"
import * as Evaluations from "./reading/Evaluations.ts"
import * as DistributionReading from "./reading/DistributionReading.ts"
import * as EnvironmentReading from "./reading/EnvironmentReading.ts"
import * as MetricReading from "./reading/MetricReading.ts"
import * as Reading from "./reading/Reading.ts"
import * as Readiness from "./base/Readiness.ts"
import * as Records from "./runs/Records.ts"
import * as RunNames from "./base/RunNames.ts"
import * as Runs from "./runs/Runs.ts"
import { StoreSettings } from "./base/Settings.ts"
import * as StoreClock from "./base/StoreClock.ts"
import * as Submit from "./queue/Submit.ts"
import * as Summary from "./queue/Summary.ts"
import * as TrainedLogprobs from "./queue/TrainedLogprobs.ts"
import * as TextIndex from "./reading/TextIndex.ts"
import * as RunStateCache from "./base/RunStateCache.ts"
import { NoteStore } from "../store/NoteStore.ts"
import { EvaluationReader, EvaluationStore } from "../store/EvaluationStore.ts"
import { RolloutReader } from "../store/RolloutReader.ts"
import { TrajectoryStore } from "../store/TrajectoryStore.ts"

export { defaults as defaultSettings, StoreSettings as Settings } from "./base/Settings.ts"

/** The store in the database of `Database`, and its readers. */
export const layer: Layer.Layer<
  TrajectoryStore | RolloutReader | NoteStore | EvaluationStore | EvaluationReader,
  never,
  Database | PgClient.PgClient | SqlClient.SqlClient
> = Layer.effectContext(
  Effect.gen(function* () {
    const settings = yield* StoreSettings
    const runStates = yield* RunStateCache.make(settings)
    const notifications = yield* Notifications.make(runStates)
    const cache = PayloadCache.make(settings.cacheBytes)
    const objects = yield* Objects.make
    const lastSeen = yield* LastSeen.make
    const runs = yield* Runs.make(runStates, notifications, cache)
    const environments = yield* Environments.make(runStates, notifications, lastSeen)
    const permits = yield* RolloutPermits.make(runStates, notifications)
    const readiness = yield* Readiness.make
    const { submit } = yield* Submit.make(settings, runStates, notifications, cache, readiness, objects)
    const clock = yield* StoreClock.make
    const deletion = yield* Deletion.make(notifications, cache, clock, lastSeen)
    const leases = yield* Leases.make(runStates, notifications, clock)
    const batches = yield* Batches.make(runStates, notifications, cache, leases, clock, objects, lastSeen.noteTrainer)
    const records = yield* Records.make(notifications, objects)
    const logprobs = yield* TrainedLogprobs.make
    const summary = yield* Summary.make(runStates, clock)
    yield* Janitor.make(settings, notifications, lastSeen, clock)
    const names = yield* RunNames.make
    const index = yield* TextIndex.make(notifications, objects)
    const reading = {
      ...(yield* Browse.make(names, index, objects, logprobs)),
      ...(yield* Reading.make(names, clock, yield* Activities.make(clock, lastSeen))),
      ...(yield* MetricReading.make(names, notifications)),
      ...(yield* EnvironmentReading.make(names, environments)),
      ...(yield* DistributionReading.make(names))
    }
    const evaluations = yield* Evaluations.make(settings)
    return Context.make(
      TrajectoryStore,
      TrajectoryStore.of({
        ...runs,
        ...deletion,
        ...environments,
        ...permits,
        ...batches,
        ...leases,
        ...records,
        recordLogprobs: logprobs.recordLogprobs,
        submit,
        summary,
        ready: readiness.ready,
        changes: notifications.stream
      })
    ).pipe(
      Context.add(RolloutReader, reading),
      Context.add(NoteStore, yield* Notes.make(names)),
      Context.add(EvaluationReader, evaluations),
      Context.add(EvaluationStore, evaluations)
    )
  })
)

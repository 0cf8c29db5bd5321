/**
 * What an environment or a viewer sees of a run's queue, now and whenever it changes.
 *
 * Nothing polls: the store tells of changes, and reads follow them, at most ten a second per listener however fast the queue moves.
 * The last state is always told.
 */
import { Effect, Stream } from "effect"
import type { TrajectoryClient } from "@atropos/core"
import type { QueueSummary, StoreError, TrajectoryStoreShape, UnknownEnvironment } from "./TrajectoryStore.ts"

const pause = "100 millis"

/** Reads now and after every change of the run, leaving out what is as before. */
const following = <A, E>(store: TrajectoryStoreShape, run: string, read: Effect.Effect<A, E>): Stream.Stream<A, E> =>
  Stream.make(undefined).pipe(
    Stream.merge(store.changes(run)),
    // One pending change stands for all that come while the reader pauses.
    Stream.buffer({ capacity: 1, strategy: "sliding" }),
    Stream.mapEffect(() => read),
    Stream.changes,
    Stream.flatMap((value) => Stream.concat(Stream.succeed(value), Stream.fromEffectDrain(Effect.sleep(pause))))
  )

/** The status of one environment. */
export const ofEnvironment = (
  store: TrajectoryStoreShape,
  run: string,
  envId: number
): Stream.Stream<TrajectoryClient.EnvironmentStatus, StoreError | UnknownEnvironment> =>
  following(store, run, store.status(run, envId))

/** The summary of a run. */
export const ofRun = (store: TrajectoryStoreShape, run: string): Stream.Stream<QueueSummary, StoreError> =>
  following(store, run, store.summary(run))

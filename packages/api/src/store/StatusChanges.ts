/**
 * Streams the state of a run's queue to environments and viewers, now and on every change.
 *
 * Without polling: the store notifies of changes, followed by reads, at most ten a second at any speed of the queue,
 * and fewer for more than a hundred listeners to one stream. The last state is always delivered.
 */
import { Effect, Stream } from "effect"
import type { TrajectoryApi } from "@atropos/core"
import type { StoreError, TrajectoryStoreShape, UnknownEnvironment } from "./TrajectoryStore.ts"

/** Milliseconds between two values. */
const pauseFor = (listeners: number): number => Math.max(100, listeners)

/** Reads now and after every change of the run; skips unchanged values. */
const following = <A, E>(
  store: TrajectoryStoreShape,
  run: string,
  read: Effect.Effect<A, E>,
  listeners: () => number
): Stream.Stream<A, E> =>
  Stream.make(undefined).pipe(
    Stream.merge(store.changes(run)),
    // One pending change represents all that arrive during the pause.
    Stream.buffer({ capacity: 1, strategy: "sliding" }),
    Stream.mapEffect(() => read),
    Stream.changes,
    Stream.flatMap((value) =>
      Stream.concat(
        Stream.succeed(value),
        Stream.fromEffectDrain(Effect.suspend(() => Effect.sleep(pauseFor(listeners()))))
      )
    )
  )

export const ofEnvironment = (
  store: TrajectoryStoreShape,
  run: string,
  envId: number,
  listeners: () => number = () => 1
): Stream.Stream<TrajectoryApi.EnvironmentStatus, StoreError | UnknownEnvironment> =>
  following(store, run, store.status(run, envId), listeners)

export const ofRun = (
  store: TrajectoryStoreShape,
  run: string,
  listeners: () => number
): Stream.Stream<TrajectoryApi.QueueSummary, StoreError> => following(store, run, store.summary(run), listeners)

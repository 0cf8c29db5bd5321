/**
 * Tracks the inference servers: their health (`Health`), free capacity, and waiting requests (`Slots`).
 *
 * Guarantees: never more requests in flight than a limit; waiters are served in order of arrival as soon as a
 * slot is released, a server recovers or a weight changes (without polling); a wait ends in `noServer` once no server
 * has been healthy for `serverWait`; a slot is always released, however its holder ends.
 */
import { Clock, type Duration, Effect, type Scope } from "effect"
import type { InferenceError, ServerMetrics, Split } from "./wire/Inference.ts"
import * as Health from "./Health.ts"
import * as InferenceServer from "./InferenceServer.ts"
import * as ConcurrencyLimiter from "./ConcurrencyLimiter.ts"
import * as LoadWatch from "./LoadWatch.ts"

/** Result of an attempt: an answer with its number of tokens, or a failure. */
export type Outcome =
  | { readonly tokens: number; readonly error?: never }
  | { readonly tokens: 0; readonly error: InferenceError }

export interface ServerPool extends Pick<ConcurrencyLimiter.ConcurrencyLimiter, "take" | "release"> {
  readonly servers: ReadonlyArray<InferenceServer.InferenceServer>
  /** Max time a request waits if no server can answer it. */
  readonly serverWait: Duration.Duration
  /** Records the result of an attempt, and updates the server's health. */
  readonly learn: (
    server: InferenceServer.InferenceServer,
    split: Split,
    attempt: { readonly startedAt: number; readonly isRetry: boolean } & Outcome
  ) => Effect.Effect<void>
  /** True if a request could go to a server it should not avoid, now or once a slot is free. */
  readonly hasAlternative: (want: ConcurrencyLimiter.Want) => boolean
  /** The healthy server with the most capacity, even without a free slot; undefined if none is healthy. */
  readonly leastLoaded: (
    isEligible: (server: InferenceServer.InferenceServer) => boolean
  ) => InferenceServer.InferenceServer | undefined
  readonly setWeight: (weight: number) => Effect.Effect<void>
  readonly metrics: Effect.Effect<ReadonlyArray<ServerMetrics>>
}

export const make = Effect.fn("ServerPool.make")(function* (
  settings: ReadonlyArray<InferenceServer.InferenceServerSettings>,
  options: ConcurrencyLimiter.Options
): Effect.fn.Return<ServerPool, never, Scope.Scope> {
  const servers = settings.map(InferenceServer.make)
  const slots = ConcurrencyLimiter.make(servers, options)
  const health = yield* Health.make(servers, slots)
  const scope = yield* Effect.scope

  const watched = (server: InferenceServer.InferenceServer): Effect.Effect<void> => {
    server.isWatched = true
    return LoadWatch.watch(server, slots.serve).pipe(
      Effect.ensuring(Effect.sync(() => void (server.isWatched = false))),
      Effect.forkIn(scope),
      Effect.asVoid
    )
  }

  return {
    servers,
    serverWait: options.serverWait,
    take: (want, restore) =>
      Effect.tap(Effect.andThen(health.wanted, slots.take(want, restore)), (server) =>
        want.split === "train" && server.adaptsConcurrency && !server.isWatched ? watched(server) : Effect.void
      ),
    release: slots.release,
    learn: Effect.fnUntraced(function* (server, split, { error, isRetry, startedAt, tokens }) {
      const endedAt = yield* Clock.currentTimeMillis
      yield* server.splits[split].record({ startedAt, endedAt, isRetry, tokens, succeeded: error === undefined })
      yield* error === undefined ? health.succeeded(server) : health.failed(server, error)
    }),
    hasAlternative: (want) => slots.candidates(want).some((server) => !want.avoid.has(server)),
    leastLoaded: (isEligible) =>
      InferenceServer.leastLoaded(
        servers.filter((server) => server.isUp && isEligible(server)),
        "train"
      ),
    setWeight: (weight) =>
      Effect.suspend(() => {
        for (const { splits } of servers) splits.train.setWeight(weight)
        return slots.serve
      }),
    metrics: Effect.sync(() =>
      servers.flatMap(({ backend, isUp, splits }) =>
        [splits.train, splits.eval].map((split) => ({ server: backend.server, healthy: isUp, ...split.figures() }))
      )
    )
  }
})

/**
 * Queues requests for the slots of a pool's servers, first come, first served; served whenever a slot is released or a
 * server returns. A wait ends in `noServer` once no server has been healthy for `serverWait`.
 */
import { Clock, Deferred, Duration, Effect, Option } from "effect"
import { InferenceError, type Split } from "./wire/Inference.ts"
import { type InferenceServer, leastLoaded } from "./InferenceServer.ts"

/** A request's requirements on a server. */
export interface Want {
  readonly split: Split
  readonly isEligible: (server: InferenceServer) => boolean
  /** Wait for this one while it is healthy. */
  readonly prefer: InferenceServer | undefined
  /** Use another server if one is healthy. */
  readonly avoid: ReadonlySet<InferenceServer>
}

export interface Options {
  /** Max time a request waits if no server is healthy. */
  readonly serverWait: Duration.Duration
  /** Appended to the `noServer` error: what the user can do. */
  readonly advice: string
}

export interface ConcurrencyLimiter {
  /** Takes a slot, waiting for one if necessary. Call it in an uninterruptible region, with that region's `restore`. */
  readonly take: (
    want: Want,
    restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  ) => Effect.Effect<InferenceServer, InferenceError>
  readonly release: (server: InferenceServer, split: Split) => Effect.Effect<void>
  /** Servers a request may go to now, without those to avoid if there are others. */
  readonly candidates: (want: Want) => ReadonlyArray<InferenceServer>
  /** Grants free slots to waiting requests: servers have changed. */
  readonly serve: Effect.Effect<void>
  readonly waiting: () => number
}

interface Waiter {
  readonly want: Want
  readonly granted: Deferred.Deferred<void>
  server: InferenceServer | undefined
}

export const make = (servers: ReadonlyArray<InferenceServer>, { advice, serverWait }: Options): ConcurrencyLimiter => {
  const waiters = { train: new Set<Waiter>(), eval: new Set<Waiter>() } satisfies { [S in Split]: Set<Waiter> }
  const serverWaitMillis = Duration.toMillis(serverWait)

  const candidates: ConcurrencyLimiter["candidates"] = ({ avoid, isEligible, prefer }) => {
    const usable = servers.filter((server) => server.isUp && !server.isCooling && isEligible(server))
    const fresh = avoid.size === 0 ? usable : usable.filter((server) => !avoid.has(server))
    const pool = fresh.length > 0 ? fresh : usable
    return prefer !== undefined && pool.includes(prefer) ? [prefer] : pool
  }

  const enterLeastLoaded = (want: Want): InferenceServer | undefined => {
    const chosen = leastLoaded(candidates(want), want.split)
    if (chosen === undefined || chosen.splits[want.split].free === 0) return undefined
    chosen.splits[want.split].enter()
    return chosen
  }

  const serveSplit = (split: Split): void => {
    const queue = waiters[split]
    for (const waiter of queue) {
      if (!servers.some((server) => server.isUp && server.splits[split].free > 0)) return
      waiter.server = enterLeastLoaded(waiter.want)
      if (waiter.server === undefined) continue
      queue.delete(waiter)
      Deferred.doneUnsafe(waiter.granted, Effect.void)
    }
  }

  const noServer = (isEligible: (server: InferenceServer) => boolean, waitedMillis: number): InferenceError => {
    const tried = servers.filter(isEligible)
    const list = tried.map(({ backend, lastError }) => `${backend.server} (${lastError?.message ?? "not healthy"})`)
    return new InferenceError({
      reason: "noServer",
      server: tried.map(({ backend }) => backend.server).join(", "),
      message: `no healthy inference server for ${Math.round(waitedMillis / 100) / 10} s; tried ${list.join("; ")}${advice}`
    })
  }

  const wait = Effect.fnUntraced(function* (waiter: Waiter) {
    const since = yield* Clock.currentTimeMillis
    while (true) {
      const eligible = servers.filter(waiter.want.isEligible)
      const now = yield* Clock.currentTimeMillis
      const outSince = Math.max(since, ...eligible.map(({ downSince }) => downSince))
      const areAllOut = eligible.every(({ isUp }) => !isUp)
      if (areAllOut && now - outSince >= serverWaitMillis) {
        return yield* noServer(waiter.want.isEligible, now - outSince)
      }
      const patience = areAllOut ? outSince + serverWaitMillis - now : serverWaitMillis
      const granted = yield* Effect.timeoutOption(Deferred.await(waiter.granted), Duration.millis(patience))
      if (Option.isSome(granted)) return undefined
    }
  })

  const release = (server: InferenceServer, split: Split): Effect.Effect<void> =>
    Effect.sync(() => {
      server.splits[split].leave()
      serveSplit(split)
    })

  return {
    candidates,
    release,
    take: (want, restore) =>
      Effect.gen(function* () {
        const free = waiters[want.split].size === 0 ? enterLeastLoaded(want) : undefined
        if (free !== undefined) return free
        const waiter: Waiter = { want, granted: Deferred.makeUnsafe(), server: undefined }
        waiters[want.split].add(waiter)
        // A request ahead may need a full server while this one needs a free one.
        serveSplit(want.split)
        yield* restore(wait(waiter)).pipe(
          Effect.onError(() =>
            Effect.suspend(() => {
              waiters[want.split].delete(waiter)
              return waiter.server === undefined ? Effect.void : release(waiter.server, want.split)
            })
          )
        )
        // Granted by `serveSplit`, which sets the server first.
        return waiter.server!
      }),
    serve: Effect.sync(() => {
      serveSplit("train")
      serveSplit("eval")
    }),
    waiting: () => waiters.train.size + waiters.eval.size
  }
}

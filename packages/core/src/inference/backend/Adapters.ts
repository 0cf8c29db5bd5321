/**
 * Selects the adapter for requests to a server: the newest one whose name begins with `adapter_prefix`, from its `GET
 * /v1/models`.
 *
 * Servers such as vLLM use an adapter only if a request names it, and a trainer names every version of its weights
 * differently (`policy-<run>-v12`). The list is fetched in the background, a second after the last answer, and by
 * `refresh`, before rollouts that must not be sampled with older weights. Without such an adapter (before the first
 * push, after a restart of the server, while a push is late) requests wait as for a busy server: the base model is
 * never used, because its version would be unknown. A request whose adapter has just been unloaded is retried with
 * another one.
 *
 * The newest has the largest number at the end of its name, among names that differ only in that number from the last
 * listed: servers list in loading order, and a new run counts from 0 again. That number is the policy version of its
 * samples.
 */
import { Duration, Effect, Result, Schema, type Scope, Semaphore } from "effect"
import { InferenceError } from "../wire/Inference.ts"
import type { Server } from "./ServerSettings.ts"
import { decode } from "./Reply.ts"
import type { Transport } from "../wire/Transport.ts"
import * as WeightLabel from "./WeightLabel.ts"

export interface Adapter {
  /** Absent: the base model is used, and its version is known (`WeightVersions`). */
  readonly name?: string
  /** Number of updates; undefined if its name does not end with a number. */
  readonly policyVersion: number | undefined
}

interface Named extends Adapter {
  readonly name: string
}

export interface Adapters {
  /**
   * Runs a request with the newest adapter; fails with `overloaded` if none. `states` is true of an answer that itself
   * states which weights sampled it, and false of one that states that they are unknown.
   */
  readonly asking: <A>(
    ask: (adapter: Adapter | undefined) => Effect.Effect<A, InferenceError>,
    states?: (answer: A) => boolean | undefined
  ) => Effect.Effect<A, InferenceError>
  /**
   * Fetches the list now: later requests use no adapter older than the newest one loaded before this call, nor one of
   * an older policy version than `atLeast` (0: of any that a trainer loaded), if that is known. Versions of different
   * trainers are not compared.
   */
  readonly refresh: (atLeast?: number) => Effect.Effect<void>
  readonly floor: Floor
}

/** The oldest weights that requests may use. Versions of different trainers are not compared. */
export interface Floor {
  /**
   * Notes the name of the server's weights, undefined if it has only those it was started with: a floor set from now on
   * is a version of their trainer.
   */
  readonly saw: (name: string | undefined) => void
  /** Absent: any weights may be used, also those that no trainer loaded. */
  readonly require: (version: number | undefined) => void
  readonly isSet: () => boolean
  /** The version to wait for, if these weights, or unnamed ones, are older than that. */
  readonly missing: (name: string | undefined) => number | undefined
}

/** No name has this stem: what is loaded next comes from the trainer that runs now. */
const nothing = ""

const makeFloor = (): Floor => {
  let seen: string | undefined
  let floor: { readonly version: number; readonly stem: string | undefined } | undefined
  return {
    saw: (name) => {
      seen = name === undefined ? nothing : WeightLabel.parse(name).stem
      // Set before anything was known of the server.
      if (name === undefined && floor !== undefined) floor = { ...floor, stem: floor.stem ?? nothing }
    },
    require: (version) => void (floor = version === undefined ? undefined : { version, stem: seen }),
    isSet: () => floor !== undefined,
    missing: (name) => {
      if (floor === undefined || name === undefined) return floor?.version
      const { policyVersion = floor.version, stem } = WeightLabel.parse(name)
      return policyVersion < floor.version && stem === (floor.stem ?? stem) ? floor.version : undefined
    }
  }
}

/** For a server that chooses its weights itself: a trainer may replace them (`WeightVersions`, `LoadedPolicies`). */
export const makeNone = (): Adapters => {
  const floor = makeFloor()
  return {
    asking: (ask) => ask(undefined),
    refresh: (atLeast) => Effect.sync(() => floor.require(atLeast)),
    floor
  }
}

const Models = Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) })
const decodeModels = decode(Models)

const interval = Duration.seconds(1)
const maxInterval = Duration.seconds(15)
const patience = Duration.seconds(5)
const maxTried = 3

/** The adapters of a server that has a prefix for them, polled until the scope closes. */
export const make = Effect.fn("Adapters.make")(function* (
  settings: Server,
  transport: Transport
): Effect.fn.Return<Adapters, never, Scope.Scope> {
  const { adapterPrefix, apiKey, baseUrl, serverType } = settings
  // TRL's server has one model and no list.
  if (adapterPrefix === null || serverType === "trl") return makeNone()
  const server = baseUrl ?? ""
  const one = yield* Semaphore.make(1)
  let listed: ReadonlyArray<string> = []
  /** Number of list requests so far, and of the latest one answered. */
  let begun = 0
  let newest = 0
  let failures = 0
  /** Number of the first list that later requests may use. */
  let required = 0
  const floor = makeFloor()

  const list = transport.json({ method: "GET", server, url: `${server}/models`, apiKey: apiKey ?? "" }).pipe(
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () =>
        Effect.fail(
          new InferenceError({
            reason: "timeout",
            server,
            message: `GET ${server}/models: no answer within ${Duration.toSeconds(patience)} s`
          })
        )
    }),
    Effect.flatMap(({ body }) => decodeModels(server, body)),
    Effect.map(({ data }) => {
      const before = newestOf(listed)
      listed = data.map(({ id }) => id).filter((id) => id.startsWith(adapterPrefix))
      const now = newestOf(listed)
      if (now !== undefined) floor.saw(now.name)
      return { before, now }
    })
  )

  const refresh = Effect.gen(function* () {
    const number = ++begun
    const { before, now } = yield* list
    newest = number
    failures = 0
    if (before?.name === now?.name) return
    yield* now === undefined
      ? Effect.logWarning("no adapter is loaded any more; requests wait for the trainer's next push", {
          server,
          before: before?.name
        })
      : Effect.logInfo("switched to another adapter", { server, adapter: now.name })
  }).pipe(
    Effect.catch(({ message }) =>
      // Logged once: an unavailable server is also logged elsewhere.
      failures++ === 0 ? Effect.logWarning("adapters could not be listed", { server, message }) : Effect.void
    )
  )
  /** One shared request for all callers that need a list requested from now on. */
  const fresh = Effect.suspend(() => {
    const before = begun
    return one.withPermits(1)(Effect.suspend(() => (newest > before ? Effect.void : refresh)))
  })
  const waiting = (message: string) =>
    new InferenceError({ reason: "overloaded", server, status: 503, message: `${server} ${message}` })
  const missing = waiting(
    `has no adapter whose name starts with ${adapterPrefix} (adapter_prefix): waiting for a trainer to load one (--weight_sync); without adapter_prefix, the base model is used`
  )
  yield* one
    .withPermits(1)(refresh)
    .pipe(
      Effect.andThen(
        Effect.suspend(() => Effect.sleep(Duration.min(maxInterval, Duration.times(interval, 2 ** failures))))
      ),
      Effect.forever,
      Effect.forkScoped
    )

  return {
    asking: Effect.fnUntraced(function* (ask) {
      const refused = new Set<string>()
      while (true) {
        // The first request precedes the first list; later ones use what the background fetched.
        if (newest === 0 || newest < required) yield* fresh
        if (newest < required) return yield* waiting("does not list its adapters")
        const adapter = newestOf(listed.filter((name) => !refused.has(name)))
        if (adapter === undefined || refused.size === maxTried) return yield* missing
        const needed = floor.missing(adapter.name)
        if (needed !== undefined) {
          return yield* waiting(`has only ${adapter.name}: waiting for the trainer to load version ${needed}`)
        }
        const answer = yield* Effect.result(ask(adapter))
        if (Result.isSuccess(answer)) return answer.success
        if (!isOf(answer.failure, adapter)) return yield* answer.failure
        refused.add(adapter.name)
        listed = listed.filter((name) => name !== adapter.name)
        yield* Effect.logInfo("adapter rejected", { server, adapter: adapter.name, message: answer.failure.message })
        // If many are refused simultaneously, one of them fetches for all.
        yield* fresh
      }
    }),
    refresh: (atLeast) =>
      Effect.suspend(() => {
        required = begun + 1
        floor.require(atLeast)
        return fresh
      }),
    floor
  }
})

/** True if a server rejected the adapter that the request named. */
const isOf = ({ message, reason }: InferenceError, { name }: Named): boolean =>
  reason === "rejected" && message.includes(name)

/** The newest of the adapters' names, given in the server's order. */
export const newestOf = (names: ReadonlyArray<string>): Named | undefined => {
  const parsed = names.map(WeightLabel.parse)
  const stem = parsed.at(-1)?.stem
  let newest: (typeof parsed)[number] | undefined
  for (const one of parsed) {
    if (one.stem === stem && (one.policyVersion ?? 0) >= (newest?.policyVersion ?? 0)) newest = one
  }
  return newest && { name: newest.name, policyVersion: newest.policyVersion }
}

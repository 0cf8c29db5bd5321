/**
 * Which adapter a server is asked with: the newest one whose name begins with `adapter_prefix`, as its `GET /v1/models`
 * lists them.
 *
 * Servers such as vLLM sample with an adapter only where a request names it, and a trainer gives every version of its
 * weights a name of its own (`policy-<run>-v12`). The list is fetched in the background, a second after the last
 * answer, and by `refresh`, before rollouts begin that must not be sampled with older weights. While no such adapter is
 * loaded, before the trainer's first push or after a restart of the server, requests wait as for a server that is
 * busy: the model itself is never asked, because its version would be unknown. A request that is refused because its
 * adapter has just been unloaded is made again with another one.
 *
 * Newest is the largest number at the end of a name, among the names that differ only there from the one listed last:
 * servers list in the order of loading, and a new run counts from 0 again. That number is the policy version of what is
 * sampled.
 */
import { Duration, Effect, Result, Schema, type Scope, Semaphore } from "effect"
import { InferenceError } from "./Inference.ts"
import type { Server } from "./ServerSettings.ts"
import { decode } from "./Reply.ts"
import type { Transport } from "./Transport.ts"

export interface Adapter {
  /** Absent: the model itself is asked, and it is the model whose version is known (`WeightVersions`). */
  readonly name?: string
  /** Updates behind it; undefined where its name ends with no number. */
  readonly policyVersion: number | undefined
}

interface Named extends Adapter {
  readonly name: string
}

export interface Adapters {
  /** Asks with the newest adapter; fails with `overloaded` while there is none. */
  readonly asking: <A>(
    ask: (adapter: Adapter | undefined) => Effect.Effect<A, InferenceError>
  ) => Effect.Effect<A, InferenceError>
  /** Fetches the list now: what is asked after it takes no adapter older than the newest one that was loaded before. */
  readonly refresh: Effect.Effect<void>
}

/** Of a server that is asked for its model and nothing else. */
export const none: Adapters = { asking: (ask) => ask(undefined), refresh: Effect.void }

const Models = Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) })
const decodeModels = decode(Models)

const interval = Duration.seconds(1)
const longestInterval = Duration.seconds(15)
const patience = Duration.seconds(5)
/** Adapters tried in one request. */
const mostTried = 3

/** The adapters of a server that has a prefix for them, looked for until the scope closes. */
export const make = Effect.fn("Adapters.make")(function* (
  settings: Server,
  transport: Transport
): Effect.fn.Return<Adapters, never, Scope.Scope> {
  const { adapterPrefix, apiKey, baseUrl, serverType } = settings
  // TRL's server has one model, and no list.
  if (adapterPrefix === null || serverType === "trl") return none
  const server = baseUrl ?? ""
  const one = yield* Semaphore.make(1)
  let listed: ReadonlyArray<string> = []
  /** Lists asked for so far, and the last one of them that came. */
  let begun = 0
  let newest = 0
  let failures = 0

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
      return { before, now: newestOf(listed) }
    })
  )

  const refresh = Effect.gen(function* () {
    const number = ++begun
    const { before, now } = yield* list
    newest = number
    failures = 0
    if (before?.name === now?.name) return
    yield* now === undefined
      ? Effect.logWarning("no adapter loaded any more: requests wait for the trainer's next push", {
          server,
          before: before?.name
        })
      : Effect.logInfo("asking with another adapter", { server, adapter: now.name })
  }).pipe(
    Effect.catch(({ message }) =>
      // Once: that a server is away is told elsewhere, too.
      failures++ === 0 ? Effect.logWarning("adapters not listed", { server, message }) : Effect.void
    )
  )
  /** One list for all who want one that is asked for from now on. */
  const fresh = Effect.suspend(() => {
    const before = begun
    return one.withPermits(1)(Effect.suspend(() => (newest > before ? Effect.void : refresh)))
  })
  const missing = new InferenceError({
    reason: "overloaded",
    server,
    status: 503,
    message: `${server} has no adapter whose name begins with ${adapterPrefix} (adapter_prefix): waiting for a trainer to load one (--weight_sync); without adapter_prefix the model itself is asked`
  })
  yield* one
    .withPermits(1)(refresh)
    .pipe(
      Effect.andThen(
        Effect.suspend(() => Effect.sleep(Duration.min(longestInterval, Duration.times(interval, 2 ** failures))))
      ),
      Effect.forever,
      Effect.forkScoped
    )

  return {
    asking: Effect.fnUntraced(function* (ask) {
      const refused = new Set<string>()
      while (true) {
        // The first request comes before the first list; later ones find what the background has fetched.
        if (newest === 0) yield* fresh
        const adapter = newestOf(listed.filter((name) => !refused.has(name)))
        if (adapter === undefined || refused.size === mostTried) return yield* missing
        const answer = yield* Effect.result(ask(adapter))
        if (Result.isSuccess(answer)) return answer.success
        if (!isOf(answer.failure, adapter)) return yield* answer.failure
        refused.add(adapter.name)
        listed = listed.filter((name) => name !== adapter.name)
        yield* Effect.logInfo("adapter refused", { server, adapter: adapter.name, message: answer.failure.message })
        // Many are refused at once: one of them asks for all.
        yield* fresh
      }
    }),
    refresh: fresh
  }
})

/** Whether a server refused a request for the adapter that it named. */
const isOf = ({ message, reason }: InferenceError, { name }: Named): boolean =>
  reason === "rejected" && message.includes(name)

const numbered = /^(.*?)(\d{1,15})$/

const parse = (name: string) => {
  const [, stem = name, digits] = numbered.exec(name) ?? []
  return { name, stem, policyVersion: digits === undefined ? undefined : Number(digits) }
}

/** Updates behind weights of this name: the number that it ends with, undefined where there is none. */
export const versionOf = (name: string): number | undefined => parse(name).policyVersion

/** The newest of the adapters' names, in the order in which the server lists them. */
export const newestOf = (names: ReadonlyArray<string>): Named | undefined => {
  const parsed = names.map(parse)
  const stem = parsed.at(-1)?.stem
  let newest: (typeof parsed)[number] | undefined
  for (const one of parsed) {
    if (one.stem === stem && (one.policyVersion ?? 0) >= (newest?.policyVersion ?? 0)) newest = one
  }
  return newest && { name: newest.name, policyVersion: newest.policyVersion }
}

/**
 * Checks that an `atropos policy` has the weights that rollouts need, without `adapter_prefix`: such a server
 * answers with its newest weights, and after a restart with those of its model.
 *
 * Its model list is read before a request if the last one is over a second old, and only while rollouts need weights of
 * a trainer (`refresh`). Until these are listed, requests wait as for a busy server.
 */
import { Clock, Effect, Schema, Semaphore } from "effect"
import { type Adapters, newestOf } from "./Adapters.ts"
import { decode } from "./Reply.ts"
import type { Server } from "./ServerSettings.ts"
import { InferenceError } from "../wire/Inference.ts"
import type { Transport } from "../wire/Transport.ts"

const Models = Schema.Struct({
  data: Schema.Array(Schema.Struct({ id: Schema.String, parent: Schema.optionalKey(Schema.NullOr(Schema.String)) }))
})
const decodeModels = decode(Models)

const maxAgeMillis = 1000

export const make = (
  { apiKey, baseUrl }: Pick<Server, "apiKey" | "baseUrl">,
  transport: Transport,
  { floor, refresh }: Pick<Adapters, "floor" | "refresh">
): Adapters => {
  const server = baseUrl ?? ""
  const url = `${server}/models`
  let readAt = -Infinity
  let newest: string | undefined
  /** The version that was reported as missing, so that a wait is logged once. */
  let awaited: number | undefined

  const one = Semaphore.makeUnsafe(1)
  const list = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (now - readAt < maxAgeMillis) return
    const { body } = yield* transport.json({ method: "GET", server, url, apiKey: apiKey ?? "" })
    const { data } = yield* decodeModels(server, body)
    // Weights that a trainer loaded are listed below the served model.
    newest = newestOf(data.filter(({ parent }) => parent != null).map(({ id }) => id))?.name
    floor.saw(newest)
    readAt = now
  }).pipe(one.withPermits(1))

  const check = Effect.gen(function* () {
    if (!floor.isSet()) return
    yield* list
    const needed = floor.missing(newest)
    if (needed === undefined) {
      awaited = undefined
      return
    }
    const message =
      `${server} has ${newest === undefined ? "only the weights it was started with" : `only ${newest}`}: ` +
      `waiting for the trainer to load version ${needed} or newer (--weight_sync)`
    if (awaited !== needed) yield* Effect.logWarning(message)
    awaited = needed
    return yield* new InferenceError({ reason: "overloaded", server, status: 503, message })
  })

  return {
    asking: (ask) => Effect.andThen(check, ask(undefined)),
    refresh,
    floor
  }
}

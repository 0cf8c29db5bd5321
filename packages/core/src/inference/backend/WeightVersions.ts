/**
 * Determines which weights answered, on a vLLM server that a trainer loads whole weights into (`WeightLabel`).
 *
 * Reads the label from `GET /weight_info` before and after each request. If both name the same weights, the answer is
 * theirs: a server that gets new weights finishes what it has begun, and delays the rest or (0.33) rejects it with 503
 * until it resumes. If they differ, the request is repeated. While weights are being loaded it waits.
 *
 * From 0.33 on an answer states the label of every token (`weight_versions`; on `/v1/completions` and chats on request,
 * `return_weight_versions`). Then it needs no second label, and weights may change in the middle of it; it is repeated
 * only if unverified weights sampled a part of it.
 */
import { Duration, Effect, Schedule, Schema } from "effect"
import type { Adapters } from "./Adapters.ts"
import { rootOf } from "./Identify.ts"
import { InferenceError } from "../wire/Inference.ts"
import { decode } from "./Reply.ts"
import type { Server } from "./ServerSettings.ts"
import type { Transport } from "../wire/Transport.ts"
import * as WeightLabel from "./WeightLabel.ts"

const decodeInfo = decode(Schema.Struct({ weight_version: Schema.String }))

const interval = Duration.millis(200)
/** Timeout for a label, which may wait for a step of the engine. */
const patience = Duration.seconds(30)
/** Timeout for loading weights, possibly a large model from disk; afterwards the request is retried as usual. */
const settling = Duration.minutes(5)
const maxAttempts = 5

export const make = (
  { apiKey, baseUrl }: Pick<Server, "apiKey" | "baseUrl">,
  transport: Transport,
  { floor, refresh }: Pick<Adapters, "floor" | "refresh">
): Adapters => {
  const server = baseUrl ?? ""
  const url = `${rootOf(server)}/weight_info`
  const overloaded = (message: string) => new InferenceError({ reason: "overloaded", server, message })
  let last = ""

  const label = transport.json({ method: "GET", server, url, apiKey: apiKey ?? "" }).pipe(
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.fail(overloaded(`GET ${url}: no answer within ${Duration.toSeconds(patience)} s`))
    }),
    Effect.flatMap(({ body }) => decodeInfo(server, body)),
    Effect.map(({ weight_version: text }) => WeightLabel.read((last = text)))
  )

  const settled = label.pipe(
    Effect.repeat({ until: ({ isSettled }) => isSettled, schedule: Schedule.spaced(interval) }),
    Effect.timeoutOrElse({
      duration: settling,
      orElse: () =>
        Effect.fail(
          overloaded(
            `the weights of ${server} have been loading for ${Duration.toMinutes(settling)} min ("${last}" at ${url}): ` +
              "its trainer failed or was stopped meanwhile; restart the trainer, or else the server"
          )
        )
    })
  )

  return {
    asking: Effect.fnUntraced(function* (ask, states = () => undefined) {
      for (let count = 0; count < maxAttempts; count++) {
        const { name = "" } = yield* settled
        const policyVersion = WeightLabel.versionOf(name)
        // A restarted server has weights without a version.
        const needed = floor.missing(policyVersion === undefined ? undefined : name)
        if (policyVersion !== undefined) floor.saw(name)
        if (needed !== undefined) {
          return yield* overloaded(`${server} has "${name}": waiting for the trainer to load version ${needed}`)
        }
        const answer = yield* ask({ policyVersion })
        if (states(answer) ?? (yield* label).name === name) return answer
        yield* Effect.logDebug("weights changed during the request; retrying", { server, before: name, after: last })
      }
      return yield* overloaded(`the weights of ${server} changed during each of ${maxAttempts} attempts at one request`)
    }),
    refresh,
    floor
  }
}

/**
 * Asks inference servers for their model's tokenizer: ours list it with the model, so that an environment does not need
 * its name.
 */
import { Duration, Effect, Option, Schema } from "effect"
import * as Waiting from "../../base/Waiting.ts"
import * as ServerSettings from "./ServerSettings.ts"
import * as TokenizerIdentity from "../tokenizer/TokenizerIdentity.ts"
import * as Transport from "../wire/Transport.ts"

const Models = Schema.Struct({ data: Schema.Array(Schema.Struct({ tokenizer: Schema.optionalKey(Schema.Unknown) })) })
const decodeModels = Schema.decodeUnknownOption(Models)

/** Unavailable servers are not waited for. */
const patience = Duration.seconds(2)

export interface Served {
  readonly tokenizer: Option.Option<TokenizerIdentity.TokenizerIdentity>
  /** Why servers could not be asked. */
  readonly failures: ReadonlyArray<string>
  /** True if no server could be reached, as while all of them load their models. */
  readonly areAway: boolean
}

/** The tokenizer of the first server that names one. */
export const find = Effect.fn("ServedTokenizer.find")(function* (
  given: Partial<ServerSettings.Server> | ReadonlyArray<Partial<ServerSettings.Server>> | undefined,
  slurm: boolean
) {
  const { servers } = yield* ServerSettings.resolve(given, slurm)
  const transport = yield* Transport.make
  const failures: Array<string> = []
  let away = 0
  const asked = servers.filter(({ baseUrl }) => baseUrl !== null && !ServerSettings.isOfficial(baseUrl))
  const found = yield* Effect.forEach(
    asked,
    (one) => {
      const { apiKey, baseUrl } = one
      const server = baseUrl ?? ""
      return transport.json({ method: "GET", server, url: `${server}/models`, apiKey: apiKey ?? "" }).pipe(
        Effect.timeoutOption(patience),
        Effect.map((reply) =>
          Option.flatMap(reply, ({ body }) =>
            Option.flatMap(decodeModels(body), ({ data }) =>
              Option.fromNullishOr(data.map(({ tokenizer }) => TokenizerIdentity.read(tokenizer)).find(Boolean))
            )
          )
        ),
        // A server that does not answer is reported when it is used.
        Effect.catch(({ message, reason }) => {
          if (reason === "unreachable" || reason === "overloaded") away++
          const missing = ServerSettings.missingIn(one)
          failures.push(missing === undefined ? message : `${message}; ${missing}`)
          return Effect.succeedNone
        })
      )
    },
    { concurrency: "unbounded" }
  )
  const areAway = away > 0 && away === asked.length
  return { tokenizer: Option.firstSomeOf(found), failures, areAway } satisfies Served
}, Effect.scoped)

const pause = Duration.seconds(1)

/** Like `find`, but asks again while no server can be reached, for as long as a request would wait for one. */
export const wait = Effect.fn("ServedTokenizer.wait")(function* (
  given: Parameters<typeof find>[0],
  manager: Pick<ServerSettings.Manager, "serverWait" | "slurm">
) {
  let served = yield* find(given, manager.slurm)
  if (!served.areAway) return served
  const resolved = yield* ServerSettings.resolve(given, manager.slurm)
  const tried = resolved.servers.map(({ baseUrl }) => baseUrl).join(", ")
  const asking = Effect.gen(function* () {
    while (served.areAway) {
      yield* Effect.sleep(pause)
      served = yield* find(given, manager.slurm)
    }
  })
  yield* Effect.timeoutOption(asking, Duration.seconds(ServerSettings.waitSeconds(resolved, manager))).pipe(
    Waiting.telling((seconds) =>
      Effect.logWarning(ServerSettings.waiting, { seconds, tried, reason: served.failures.at(-1) })
    )
  )
  return served
})

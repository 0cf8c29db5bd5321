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

/** A server that has accepted a request is not waited for longer. */
const patience = Duration.seconds(2)

const pause = Duration.seconds(1)

export interface Served {
  readonly tokenizer: Option.Option<TokenizerIdentity.TokenizerIdentity>
  /** Why servers could not be asked. */
  readonly failures: ReadonlyArray<string>
}

/**
 * The tokenizer of the first server that names one. While no server can be reached, waits for one, up to `serverWait`
 * seconds: a model may still be loading.
 */
export const find = Effect.fn("ServedTokenizer.find")(function* (
  given: Partial<ServerSettings.Server> | ReadonlyArray<Partial<ServerSettings.Server>> | undefined,
  { serverWait = 0, slurm }: Pick<ServerSettings.Manager, "slurm"> & Partial<Pick<ServerSettings.Manager, "serverWait">>
) {
  const { origin, servers } = yield* ServerSettings.resolve(given, slurm)
  const transport = yield* Transport.make
  const asked = servers.filter(({ baseUrl }) => baseUrl !== null && !ServerSettings.isOfficial(baseUrl))
  const ask = Effect.gen(function* () {
    const failures: Array<string> = []
    let out = 0
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
            const missing = ServerSettings.missingIn(one)
            failures.push(missing === undefined ? message : `${message}; ${missing}`)
            if (reason === "unreachable" || reason === "overloaded") out++
            return Effect.succeedNone
          })
        )
      },
      { concurrency: "unbounded" }
    )
    const served: Served = { tokenizer: Option.firstSomeOf(found), failures }
    return { served, isOut: asked.length > 0 && out === asked.length }
  })
  let last = yield* ask
  if (!last.isOut) return last.served
  const answered = Effect.gen(function* () {
    while (last.isOut) {
      yield* Effect.sleep(pause)
      last = yield* ask
    }
  })
  yield* answered.pipe(
    Waiting.telling((seconds) =>
      Effect.logWarning(ServerSettings.waiting, {
        seconds,
        tried: asked.map(({ baseUrl }) => baseUrl).join(", "),
        reason: last.served.failures.join("; ")
      })
    ),
    Effect.timeoutOption(Duration.seconds(ServerSettings.waitOf(origin, serverWait)))
  )
  return last.served
}, Effect.scoped)

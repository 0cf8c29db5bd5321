/**
 * Asks inference servers for their model's tokenizer: ours list it with the model, so that an environment does not need
 * its name.
 */
import { Duration, Effect, Option, Schema } from "effect"
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
}

/** The tokenizer of the first server that names one. */
export const find = Effect.fn("ServedTokenizer.find")(function* (
  given: Partial<ServerSettings.Server> | ReadonlyArray<Partial<ServerSettings.Server>> | undefined,
  slurm: boolean
) {
  const { servers } = yield* ServerSettings.resolve(given, slurm)
  const transport = yield* Transport.make
  const failures: Array<string> = []
  const found = yield* Effect.forEach(
    servers.filter(({ baseUrl }) => baseUrl !== null && !ServerSettings.isOfficial(baseUrl)),
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
        Effect.catch(({ message }) => {
          const missing = ServerSettings.missingIn(one)
          failures.push(missing === undefined ? message : `${message}; ${missing}`)
          return Effect.succeedNone
        })
      )
    },
    { concurrency: "unbounded" }
  )
  return { tokenizer: Option.firstSomeOf(found), failures } satisfies Served
}, Effect.scoped)

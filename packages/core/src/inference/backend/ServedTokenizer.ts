/**
 * Asks inference servers for their model's tokenizer: ours list it with the model, so that an environment does not need
 * its name.
 */
import { Duration, Effect, Option, Schema } from "effect"
import * as ServerSettings from "./ServerSettings.ts"
import * as Waiting from "../../base/Waiting.ts"
import * as TokenizerIdentity from "../tokenizer/TokenizerIdentity.ts"
import * as Transport from "../wire/Transport.ts"

const Models = Schema.Struct({ data: Schema.Array(Schema.Struct({ tokenizer: Schema.optionalKey(Schema.Unknown) })) })
const decodeModels = Schema.decodeUnknownOption(Models)

/** For one answer. */
const patience = Duration.seconds(2)
/** Between questions while no server can be reached. */
const pause = Duration.seconds(1)
/** Max seconds for a server at the default address. */
const defaultWait = 10

export interface Served {
  readonly tokenizer: Option.Option<TokenizerIdentity.TokenizerIdentity>
  /** Why servers could not be asked. */
  readonly failures: ReadonlyArray<string>
  /** True if no server could be reached. */
  readonly isAway: boolean
}

/**
 * The tokenizer of the first server that names one. If no server can be reached, waits for one, `serverWait` seconds at
 * most, as the first request would.
 */
export const find = Effect.fn("ServedTokenizer.find")(function* (
  given: Partial<ServerSettings.Server> | ReadonlyArray<Partial<ServerSettings.Server>> | undefined,
  { serverWait, slurm }: Pick<ServerSettings.Manager, "serverWait" | "slurm">
) {
  const { origin, servers } = yield* ServerSettings.resolve(given, slurm)
  const transport = yield* Transport.make
  const asked = servers.filter(({ baseUrl }) => baseUrl !== null && !ServerSettings.isOfficial(baseUrl))
  const first = yield* ask(transport, asked)
  if (!first.isAway || serverWait === 0) return first
  return yield* ask(transport, asked).pipe(
    Effect.delay(pause),
    Effect.repeat({ until: ({ isAway }) => !isAway }),
    Effect.timeoutOption(Duration.seconds(origin === "defaults" ? Math.min(defaultWait, serverWait) : serverWait)),
    Effect.map(Option.getOrElse(() => first)),
    Waiting.telling((seconds) =>
      Effect.logWarning(
        "waiting for an inference server, for its tokenizer; start one, or set another address (--openai.base_url)",
        { seconds, tried: asked.map(({ baseUrl }) => baseUrl).join(", "), reason: first.failures.join("; ") }
      )
    )
  )
}, Effect.scoped)

const ask = Effect.fnUntraced(function* (
  transport: Effect.Success<typeof Transport.make>,
  servers: ReadonlyArray<ServerSettings.Server>
) {
  const failures: Array<string> = []
  let away = 0
  const found = yield* Effect.forEach(
    servers,
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
          // A proxy answers 503 for a server that is being started.
          if ((reason === "unreachable" || reason === "overloaded") && missing === undefined) away++
          failures.push(missing === undefined ? message : `${message}; ${missing}`)
          return Effect.succeedNone
        })
      )
    },
    { concurrency: "unbounded" }
  )
  const isAway = servers.length > 0 && away === servers.length
  return { tokenizer: Option.firstSomeOf(found), failures, isAway } satisfies Served
})

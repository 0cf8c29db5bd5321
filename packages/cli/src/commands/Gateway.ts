/**
 * `atropos gateway`: serves a model API to agents, in front of inference servers. Sessions are opened by `POST
 * /sessions`; with `--record` requests need no session and every conversation is saved.
 */
import { ServerManager, ServerSettings, Tokenizer } from "@atropos/core"
import * as Gateway from "@atropos/core/gateway/Gateway"
import * as ServedTokenizer from "@atropos/core/inference/backend/ServedTokenizer"
import type * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import * as BearerTokens from "@atropos/core/http/BearerTokens"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Console, Duration, Effect, Layer, Option, Result } from "effect"
import { Command, Flag } from "effect/cli"
import type { ChildProcessSpawner } from "effect/process"
import { UsageError } from "../base/Failure.ts"
import * as BundledModel from "../config/BundledModel.ts"
import * as Flags from "../config/Flags.ts"
import * as Metrics from "../config/Metrics.ts"
import * as Services from "../config/Services.ts"
import * as Recorder from "../gateway/Recorder.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "gateway"

const openai = Flags.fromFields("openai.", ServerSettings.serverFields)
const manager = Flags.fromFields("", ServerSettings.managerFields)

/** Prints the address and how to use it, once the server is up. */
const announce = (recorder: Recorder.Recorder | undefined, score: number | undefined) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { url } = yield* Gateway.Gateway
      const { modelName } = yield* ServerManager.ServerManager
      const unscored = score === undefined ? `; without one: ${recorder?.unscored}` : `; without one: score ${score}`
      yield* Console.log(
        [
          `gateway at ${url}, model ${modelName}; Ctrl-C stops it`,
          "",
          `  a session           POST ${url}/sessions returns its base URLs, for any SDK`,
          ...(recorder === undefined
            ? []
            : [
                `  without a session   base URL ${url}/v1 (OpenAI), ${url} (Anthropic)`,
                `  rewards             POST ${url}/reward {"answer": "<id>", "reward": 1}`,
                `  recorded            with a reward: ${recorder.scored}${unscored}`
              ])
        ].join("\n")
      )
    })
  )

interface Options {
  readonly host: string
  readonly port: number
  readonly allowInsecure: boolean
  readonly record: Option.Option<string>
  readonly score: Option.Option<number>
  readonly idle: number
  readonly openai: Record<string, Option.Option<unknown>>
  readonly manager: Record<string, Option.Option<unknown>>
}

const wrong = ({ message }: { readonly message: string }) => new UsageError({ message })

const settingsOf = Effect.fnUntraced(function* (input: Options) {
  const server = Flags.provided(input.openai)
  return {
    ...(yield* Effect.mapError(ServerSettings.manager.decode(Flags.provided(input.manager)), wrong)),
    // If no server is configured, the default ones are tried.
    ...(Object.keys(server).length > 0 && {
      servers: yield* Effect.mapError(ServerSettings.server.decode(server), wrong)
    })
  }
})

type Settings = Effect.Success<ReturnType<typeof settingsOf>>

const serversOf = (settings: Settings) => ("servers" in settings ? settings.servers : undefined)

/** The tokenizer that the servers name, asked until one does: other tokenizers cannot read their ids. */
const servedTokenizer = (settings: Settings) => {
  let known: TokenizerIdentity.TokenizerIdentity | undefined
  return Effect.suspend(() =>
    known !== undefined
      ? Effect.succeed(known)
      : ServedTokenizer.find(serversOf(settings), { slurm: settings.slurm }).pipe(
          Effect.map(({ tokenizer }) => (known = Option.getOrUndefined(tokenizer))),
          Effect.orElseSucceed(() => undefined)
        )
  )
}

const without = (reason: string) =>
  Effect.logWarning("conversations of several turns have no token ids", {
    reason,
    hint: "give the model's tokenizer (--openai.tokenizer_name)"
  })

/** With a tokenizer, all answers of a conversation are one exact sequence. */
const serversLayer = Effect.fnUntraced(function* (settings: Settings) {
  const layer = ServerManager.layer(settings)
  const servers = serversOf(settings)
  if (settings.testing || (servers?.tokenizerName ?? "none") !== "none") return layer
  const { failures, tokenizer } = yield* ServedTokenizer.find(servers, settings)
  if (Option.isNone(tokenizer)) {
    if (failures.length > 0) yield* without(`the server's tokenizer is not known: ${failures.join("; ")}`)
    return layer
  }
  const { name: named } = tokenizer.value
  const built = yield* Effect.result(Layer.build(Tokenizer.layerNamed(BundledModel.located(named))))
  if (Result.isFailure(built)) {
    yield* without(`the server's tokenizer ${named} cannot be loaded here: ${built.failure.message}`)
    return layer
  }
  yield* Effect.logInfo("using the tokenizer reported by the server", { tokenizer: named })
  return Layer.provide(layer, Layer.succeedContext(built.success))
})

const serve = Effect.fn("gateway.serve")(function* (options: Options) {
  const { allowInsecure, host, idle, port, record } = options
  const score = Option.getOrUndefined(options.score)
  if (Option.isNone(record) && score !== undefined) {
    return yield* new UsageError({
      message: "--score is the score of recorded sessions: give their file with --record"
    })
  }
  const settings = yield* settingsOf(options)
  const spawner = yield* Effect.context<ChildProcessSpawner.ChildProcessSpawner>()
  const served = Effect.provideContext(servedTokenizer(settings), spawner)
  const servers = yield* serversLayer(settings)
  const tokens = yield* BearerTokens.configured(Gateway.tokensSetting)
  const recorder = Option.isSome(record) ? yield* Recorder.make(record.value, score, served) : undefined
  const gateway = Gateway.layer({
    host,
    port,
    allowInsecure,
    tokens,
    idle: Duration.seconds(idle),
    isControlled: true,
    ...(recorder !== undefined && { hasConversations: true, onEnd: recorder.onEnd, onChange: recorder.onChange })
  })
  return yield* announce(recorder, score).pipe(Layer.provide(gateway), Layer.provide(servers), Layer.launch)
}, Effect.scoped)

export const make: MakeCommand = () =>
  Effect.succeed({
    booleans: new Set(["allow-insecure", ...openai.booleans, ...manager.booleans]),
    normalizeArgs: Metrics.normalizeArgs,
    command: Command.make(
      name,
      {
        host: Flag.String("host").pipe(
          Flag.withDescription(
            "address to listen on; to serve other machines, set tokens in ATROPOS_GATEWAY_TOKENS [default: 127.0.0.1]"
          ),
          Flag.withDefault("127.0.0.1")
        ),
        port: Flags.port("port to listen on; 0 picks a free port", 9010),
        allowInsecure: Flag.Boolean("allow-insecure").pipe(
          Flag.withDescription("serve other machines without tokens; only for trusted networks"),
          Flag.withDefault(false)
        ),
        record: Flag.String("record").pipe(
          Flag.withDescription("record every session and conversation to this file, as saved groups"),
          Flag.withMetavar("file.jsonl"),
          Flag.optional
        ),
        score: Flag.Finite("score").pipe(
          Flag.withDescription(
            "score of recorded sessions without a reported reward [default: none; they go to a separate file of chats]"
          ),
          Flag.optional
        ),
        idle: Flag.Int("idle").pipe(
          Flag.filter(
            (seconds) => seconds > 0,
            () => "at least 1"
          ),
          Flag.withDescription("seconds without a request after which a session ends [default: 600]"),
          Flag.withDefault(600)
        ),
        openai: openai.flags,
        manager: manager.flags,
        metrics: Metrics.telemetryFlags
      },
      ({ metrics, ...options }) =>
        serve(options).pipe(
          Metrics.tracedBy(metrics, "atropos-gateway"),
          Effect.provide(NodeHttpClient.layerUndici),
          Effect.mapError(Services.toFailure)
        )
    ).pipe(
      Command.withExamples([
        {
          command: "atropos gateway --openai.base_url http://localhost:9004/v1",
          description: "sessions for agents of any language, opened by POST /sessions"
        },
        {
          command:
            "atropos gateway --record sessions.jsonl --openai.base_url https://api.openai.com/v1 --openai.model_name gpt-5-mini",
          description: "record production traffic: give agents http://127.0.0.1:9010/v1 as their base URL"
        }
      ])
    )
  })

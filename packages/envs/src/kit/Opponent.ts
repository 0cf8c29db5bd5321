/**
 * Provides another model as a player: an opponent, or a simulated user.
 *
 * It has its own servers and limits, like a judge, and is never trained. `player` assigns it to a player slot of
 * `Players`. Its answers are sampled, and never cached. An environment that depends on one uses `required`.
 */
import { Context, Effect, Layer } from "effect"
import { fromFields } from "@atropos/core/base/Settings"
import { type ChatRequest, InferenceError, type SamplingOptions } from "@atropos/core/inference/wire/Inference"
import type { Message } from "@atropos/core/trajectory/Message"
import * as ServerManager from "@atropos/core/inference/ServerManager"
import type * as ServerSettings from "@atropos/core/inference/backend/ServerSettings"
import type { SlurmError } from "@atropos/core/inference/backend/Slurm"
import type { TokenizerError } from "@atropos/core/inference/tokenizer/Tokenizer"
import * as SecondModel from "./SecondModel.ts"

export interface OpponentShape {
  readonly isConfigured: boolean
  readonly modelName: string
  readonly reply: (request: ChatRequest) => Effect.Effect<string, InferenceError>
  /** `opponent/calls`, `opponent/prompt_tokens`, `opponent/completion_tokens`, for a definition's `metrics`. */
  readonly metrics: Effect.Effect<{ readonly [name: string]: number }>
}

export class Opponent extends Context.Service<Opponent, OpponentShape>()("@atropos/envs/kit/Opponent") {}

const role = SecondModel.absent("opponent", "any OpenAI-compatible server")

/** Settings of an opponent: `--opponent.<field>`, and the map or list `opponent:` of a file. */
export const settings = fromFields({
  ...SecondModel.fields(
    "opponent",
    "URL of the server of the opponent or simulated user, including /v1; if empty, none"
  ),
  nKwargIsIgnored: SecondModel.nKwargIsIgnored
})
export type Settings = Effect.Success<ReturnType<typeof settings.decode>>

/** The opponent; fails if none is configured. */
export const required = role.required(Opponent)

/** Placeholder without a configured opponent: every request fails and states how to configure one. */
export const layerNone: Layer.Layer<Opponent> = Layer.succeed(Opponent, {
  ...role.none,
  reply: () => role.refuse,
  metrics: Effect.succeed({})
})

/** The opponent on one or several servers; the placeholder if no server has an address. */
export const layer = (
  servers: ReadonlyArray<Partial<Settings>>,
  manager: Partial<ServerSettings.Manager> = {}
): Layer.Layer<Opponent, SlurmError | TokenizerError> => {
  const all = servers.map((input) => settings.complete(input)).filter(({ baseUrl }) => baseUrl !== "")
  if (all.length === 0) return layerNone
  return Layer.provide(layerNoDeps, SecondModel.servers(manager, all))
}

export const layerScripted = (script: Parameters<typeof ServerManager.layerScripted>[0]): Layer.Layer<Opponent> =>
  Layer.provide(layerNoDeps, Layer.fresh(ServerManager.layerScripted(script)))

/** The servers in the context as an opponent, for example an earlier policy in this process. */
export const layerNoDeps: Layer.Layer<Opponent, never, ServerManager.ServerManager> = Layer.effect(
  Opponent,
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    const used = { calls: 0, promptTokens: 0, completionTokens: 0 }
    return {
      isConfigured: true,
      modelName: servers.modelName,
      reply: Effect.fn("Opponent.reply")(function* (request) {
        const { choices, usage } = yield* servers.ask({ ...request, n: 1 })
        used.calls++
        used.promptTokens += usage?.promptTokens ?? 0
        used.completionTokens += usage?.completionTokens ?? 0
        const [choice] = choices
        if (choice !== undefined) return choice.text
        return yield* new InferenceError({
          reason: "malformed",
          server: servers.modelName,
          message: "no response from the opponent's server"
        })
      }),
      metrics: Effect.sync(() => ({
        "opponent/calls": used.calls,
        "opponent/prompt_tokens": used.promptTokens,
        "opponent/completion_tokens": used.completionTokens
      }))
    }
  })
)

/** The opponent as a player of `Players`. `instructions` precede its observations: its role. */
export const player =
  (
    { reply }: Pick<OpponentShape, "reply">,
    instructions: ReadonlyArray<Message> = [],
    sampling: Pick<SamplingOptions, "maxTokens" | "temperature" | "topP" | "stop"> = {}
  ) =>
  ({ messages }: { readonly messages: ReadonlyArray<Message> }): Effect.Effect<string, InferenceError> =>
    reply({ messages: [...instructions, ...messages], ...sampling })

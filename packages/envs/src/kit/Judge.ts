/**
 * Provides a judge: another model that compares or grades the policy's answers.
 *
 * It has its own servers and limits, separate from rollouts. The same request gets the same answers (`AnswerCache`), so
 * that scores are reproducible and cost is paid once; calls, tokens and cost are counted as reported by the server. An
 * environment that depends on one uses `required`.
 */
import { Context, Effect, Layer, Option, Schema, Struct } from "effect"
import { field, fromFields, nonNegative } from "@atropos/core/base/Settings"
import type { ChatRequest, Choice } from "@atropos/core/inference/wire/Inference"
import type { InferenceError } from "@atropos/core/inference/wire/Inference"
import type { Answer } from "@atropos/core/inference/backend/Backend"
import * as AnswerCache from "./AnswerCache.ts"
import * as SecondModel from "./SecondModel.ts"
import * as Platform from "@atropos/core/base/system/Platform"
import * as ServerManager from "@atropos/core/inference/ServerManager"
import type * as ServerSettings from "@atropos/core/inference/backend/ServerSettings"
import type { SlurmError } from "@atropos/core/inference/backend/Slurm"
import type { TokenizerError } from "@atropos/core/inference/tokenizer/Tokenizer"

export { AnswerCacheError } from "./AnswerCache.ts"

export interface Usage {
  /** Requests, including cached ones. */
  readonly questions: number
  /** Requests sent to a server. */
  readonly calls: number
  readonly promptTokens: number
  readonly completionTokens: number
  /** In the currency of the prices. */
  readonly cost: number
}

export interface JudgeShape {
  readonly isConfigured: boolean
  readonly modelName: string
  /** n answers to a chat; cached ones for a repeated request. */
  readonly ask: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  readonly usage: Effect.Effect<Usage>
  /** The usage as metrics `judge/…`, for a definition's `metrics`. */
  readonly metrics: Effect.Effect<{ readonly [name: string]: number }>
}

export class Judge extends Context.Service<Judge, JudgeShape>()("@atropos/envs/kit/Judge") {}

const role = SecondModel.absent("judge", "any OpenAI-compatible server")

/** The judge; fails if none is configured. */
export const required = role.required(Judge)

/** Settings of a judge: `--judge.<field>`, and the map or list `judge:` of a file. */
export const settings = fromFields({
  ...SecondModel.fields("judge", "URL of the judge's server, including /v1; if empty, none"),
  nKwargIsIgnored: SecondModel.nKwargIsIgnored,
  cacheSize: field(
    Schema.Natural,
    10_000,
    "number of answers to cache, so that the same request is paid for once; 0 turns the cache off (with several servers, the first one's setting counts)"
  ),
  cacheFile: field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "JSONL file that caches answers across runs (with several servers, the first one's setting counts)"
  ),
  promptPrice: field(
    nonNegative,
    0,
    "price per million prompt tokens (with several servers, the first one's setting counts)"
  ),
  completionPrice: field(
    nonNegative,
    0,
    "price per million sampled tokens (with several servers, the first one's setting counts)"
  )
})
export type Settings = Effect.Success<ReturnType<typeof settings.decode>>

/** Placeholder without a configured judge: every request fails and states how to configure one. */
export const layerNone: Layer.Layer<Judge> = Layer.succeed(Judge, {
  ...role.none,
  ask: () => role.refuse,
  usage: Effect.succeed({ questions: 0, calls: 0, promptTokens: 0, completionTokens: 0, cost: 0 }),
  metrics: Effect.succeed({})
})

/** The judge on one or several servers; the placeholder if no server has an address. */
export const layer = (
  servers: ReadonlyArray<Partial<Settings>>,
  manager: Partial<ServerSettings.Manager> = {}
): Layer.Layer<Judge, SlurmError | TokenizerError | AnswerCache.AnswerCacheError> => {
  const all = servers.map((input) => settings.complete(input)).filter(({ baseUrl }) => baseUrl !== "")
  const [first] = all
  if (first === undefined) return layerNone
  const own = all.map(Struct.omit(["cacheFile", "cacheSize", "completionPrice", "promptPrice"]))
  return layerNoDeps(first).pipe(Layer.provide(SecondModel.servers(manager, own)), Layer.provide(Platform.layer))
}

export const layerScripted = (
  script: Parameters<typeof ServerManager.layerScripted>[0],
  input: Partial<Settings> = {}
): Layer.Layer<Judge, AnswerCache.AnswerCacheError> =>
  layerNoDeps(settings.complete(input)).pipe(
    Layer.provide(Layer.fresh(ServerManager.layerScripted(script))),
    Layer.provide(Platform.layer)
  )

const layerNoDeps = (input: Settings) =>
  Layer.effect(
    Judge,
    Effect.gen(function* () {
      const servers = yield* ServerManager.ServerManager
      let questions = 0
      let calls = 0
      let promptTokens = 0
      let completionTokens = 0
      const count = ({ choices, usage }: Answer): ReadonlyArray<Choice> => {
        calls++
        promptTokens += usage?.promptTokens ?? 0
        completionTokens += usage?.completionTokens ?? 0
        return choices
      }
      const ask = (request: ChatRequest) => Effect.map(servers.ask(request), count)
      const cached =
        input.cacheSize === 0
          ? ask
          : yield* AnswerCache.make({
              ask,
              capacity: input.cacheSize,
              file: Option.fromNullOr(input.cacheFile),
              model: servers.modelName
            })
      const usage = Effect.sync(() => ({
        questions,
        calls,
        promptTokens,
        completionTokens,
        cost: (promptTokens * input.promptPrice + completionTokens * input.completionPrice) / 1e6
      }))
      return Judge.of({
        isConfigured: true,
        modelName: servers.modelName,
        ask: Effect.fn("Judge.ask")((request: ChatRequest) => {
          questions++
          return cached(request)
        }),
        usage,
        metrics: Effect.map(usage, (used) => ({
          "judge/asked": used.questions,
          "judge/calls": used.calls,
          "judge/prompt_tokens": used.promptTokens,
          "judge/completion_tokens": used.completionTokens,
          "judge/cost": used.cost
        }))
      })
    })
  )

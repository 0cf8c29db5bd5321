/**
 * Reads OpenAI-shaped answers: choices in order with their count checked, and exact tokens if the server adds them.
 *
 * Exact tokens are read from `token_ids` (vLLM's `return_token_ids`, our policy server) or from logprob entries named
 * `token_id:<n>` (vLLM's `return_tokens_as_token_ids`), with the logprobs of the same entries. The policy version is
 * read from the `x-policy-version` header or a `policy_version` field; the choice's takes precedence over the answer's,
 * and vLLM's `weight_versions` over both.
 */
import { Effect, Predicate, Schema } from "effect"
import { InferenceError, type TokenChoice } from "../wire/Inference.ts"
import * as Reason from "../../base/Reason.ts"
import * as Message from "../../trajectory/Message.ts"
import * as Reasoning from "./Reasoning.ts"
import * as Sampling from "../../trajectory/Sampling.ts"
import type { Answer, AnswerChoice } from "./Backend.ts"
import * as Positions from "../wire/Positions.ts"
import { type JsonReply, malformed, shortened } from "../wire/Transport.ts"
import * as WeightSpans from "./WeightSpans.ts"

/** A key that may be absent or null. */
export const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
const TokenIds = Schema.Array(Schema.Natural)
const PolicyVersion = Schema.Finite

const chatLogprobs = Schema.Struct({
  content: nullable(Schema.Array(Schema.Struct({ token: Schema.String, logprob: Schema.Finite })))
})
const textLogprobs = Schema.Struct({
  tokens: nullable(Schema.Array(Schema.String)),
  token_logprobs: nullable(Schema.Array(Schema.NullOr(Schema.Finite)))
})
const choiceFields = {
  index: nullable(Schema.Int),
  finish_reason: nullable(Schema.String),
  // The stop string that ended it, or the id of a stop token.
  stop_reason: Schema.optionalKey(Schema.Unknown),
  token_ids: nullable(TokenIds),
  prompt_token_ids: nullable(TokenIds),
  policy_version: nullable(PolicyVersion),
  weight_versions: nullable(WeightSpans.Spans)
}
const answerFields = {
  prompt_token_ids: nullable(TokenIds),
  policy_version: nullable(PolicyVersion),
  usage: nullable(
    Schema.Struct({ prompt_tokens: nullable(Schema.Natural), completion_tokens: nullable(Schema.Natural) })
  )
}
// Servers may omit the role, or the content if there are only tool calls.
const AssistantMessage = Schema.StructWithRest(
  Schema.Struct({
    role: nullable(Schema.String),
    content: nullable(Schema.Union([Schema.String, Schema.Array(Message.ContentPart)])),
    tool_calls: nullable(Schema.Array(Message.ToolCall)),
    // The legacy form of a single call.
    function_call: nullable(Schema.Struct({ name: Schema.String, arguments: Schema.String })),
    reasoning_content: nullable(Schema.String)
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)
const ChatReply = Schema.Struct({
  ...answerFields,
  choices: Schema.Array(Schema.Struct({ ...choiceFields, message: AssistantMessage, logprobs: nullable(chatLogprobs) }))
})
const TextReply = Schema.Struct({
  ...answerFields,
  choices: Schema.Array(Schema.Struct({ ...choiceFields, text: Schema.String, logprobs: nullable(textLogprobs) }))
})

/** Decodes a body with a schema; failures name the server and the field. */
export const decode = <A>(schema: Schema.Codec<A, unknown>) => {
  const decodeBody = Schema.decodeUnknownEffect(schema)
  return (server: string, body: unknown): Effect.Effect<A, InferenceError> =>
    Effect.mapError(decodeBody(body), (error) =>
      malformed(server, `answer of ${server}: ${Reason.oneLine(error)}; it said ${shortened(textOf(body))}`)
    )
}

const textOf = (body: unknown): string => {
  if (body === undefined) return "nothing"
  return typeof body === "string" ? body : JSON.stringify(body)
}
const decodeChat = decode(ChatReply as Schema.Codec<typeof ChatReply.Type, unknown>)
const decodeText = decode(TextReply as Schema.Codec<typeof TextReply.Type, unknown>)

/** The answer to a chat completion of `n` choices. */
export const chat = Effect.fnUntraced(function* (server: string, n: number, reply: JsonReply) {
  const body = yield* decodeChat(server, reply.body)
  yield* checkCount(server, n, body.choices.length)
  yield* checkWhole(server, body.choices)
  const choices = yield* Effect.forEach(inOrder(body.choices), (choice) =>
    Effect.map(
      sampledOf(
        server,
        choice,
        choice.logprobs?.content?.map(({ token }) => token),
        choice.logprobs?.content?.map(({ logprob }) => logprob)
      ),
      (sampled) => toChoice(messageOf(choice.message), choice, sampled, policyVersionOf(choice, body, reply))
    )
  )
  return toAnswer(choices, body)
})

/** The answer to a text completion of `n` choices. */
export const complete = Effect.fnUntraced(function* (server: string, n: number, reply: JsonReply) {
  const body = yield* decodeText(server, reply.body)
  yield* checkCount(server, n, body.choices.length)
  yield* checkWhole(server, body.choices)
  const choices = yield* Effect.forEach(inOrder(body.choices), (choice) =>
    Effect.map(
      sampledOf(server, choice, choice.logprobs?.tokens ?? undefined, choice.logprobs?.token_logprobs ?? undefined),
      (sampled) => toChoice(Message.assistant(choice.text), choice, sampled, policyVersionOf(choice, body, reply))
    )
  )
  return toAnswer(choices, body)
})

/** Accepts n choices, or one from a server that ignores `n`; fails on any other number. */
export const checkCount = (server: string, n: number, got: number): Effect.Effect<void, InferenceError> =>
  got === n || got === 1
    ? Effect.void
    : Effect.fail(malformed(server, `answer of ${server}: ${n} choices requested, ${got} returned`))

/** vLLM ends requests in this way if told to before new weights are loaded: the rest must be requested again. */
export const checkWhole = (
  server: string,
  choices: ReadonlyArray<{ readonly finish_reason?: string | null }>
): Effect.Effect<void, InferenceError> =>
  choices.every(({ finish_reason: finish }) => finish !== "abort")
    ? Effect.void
    : Effect.fail(
        new InferenceError({
          reason: "overloaded",
          server,
          message: `${server} aborted an answer (finish_reason "abort"), usually because it loads new weights`
        })
      )

/** Uses the adapter's policy version for choices without one. */
export const withVersion =
  (policyVersion: number | undefined) =>
  (answer: Answer): Answer =>
    policyVersion === undefined
      ? answer
      : {
          ...answer,
          choices: answer.choices.map((choice) => ({
            policyVersion,
            ...choice,
            ...(choice.sampled && { sampled: { policyVersion, ...choice.sampled } })
          }))
        }

/** Uses the requested sampling for choices that do not report theirs. */
export const withSampling =
  (sampling: Sampling.Sampling) =>
  (answer: Answer): Answer => ({
    ...answer,
    choices: answer.choices.map((choice) => ({
      sampling,
      ...choice,
      ...(choice.sampled && { sampled: { sampling, ...choice.sampled } })
    }))
  })

/** The logprobs mode stated by a server, such as our policy server. */
export const logprobsMode = ({ body }: JsonReply): Sampling.LogprobsMode | undefined => {
  const mode = Predicate.isReadonlyObject(body) ? body["logprobs_mode"] : undefined
  return Sampling.isMode(mode) ? mode : undefined
}

export const headerPolicyVersion = ({ headers }: JsonReply): number | undefined => {
  const value = headers["x-policy-version"]
  return value === undefined || value.trim() === "" || !Number.isFinite(Number(value)) ? undefined : Number(value)
}

interface ReplyChoice {
  readonly index?: number | null
  readonly finish_reason?: string | null
  readonly stop_reason?: unknown
  readonly token_ids?: ReadonlyArray<number> | null
  readonly prompt_token_ids?: ReadonlyArray<number> | null
  readonly policy_version?: number | null
  readonly weight_versions?: WeightSpans.Spans | null
}

const inOrder = <C extends ReplyChoice>(choices: ReadonlyArray<C>): ReadonlyArray<C> =>
  choices.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))

const policyVersionOf = (
  choice: ReplyChoice,
  body: { readonly policy_version?: number | null },
  reply: JsonReply
): number | undefined =>
  (choice.weight_versions ? WeightSpans.oldest(choice.weight_versions) : undefined) ??
  choice.policy_version ??
  body.policy_version ??
  headerPolicyVersion(reply)

const messageOf = (message: typeof AssistantMessage.Type): Message.Message => {
  const { content = null, function_call: old, reasoning_content: own, role, tool_calls: several, ...rest } = message
  const calls =
    several && several.length > 0 ? several.map(withoutEmptyId) : old ? [{ type: "function", function: old }] : []
  // A think block stays in the text as the model wrote it; reasoning that a provider extracted is moved to one field.
  const reasoning = Reasoning.read({ ...rest, role: "assistant", content: null, reasoning_content: own ?? null })
  return {
    ...rest,
    role: role ?? "assistant",
    content,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning })
  }
}

/** An empty id counts as absent. */
const withoutEmptyId = ({ id, ...call }: Message.ToolCall): Message.ToolCall => ({ ...(id && { id }), ...call })

const toChoice = (
  message: Message.Message,
  choice: ReplyChoice,
  sampled: Omit<TokenChoice, "finishReason"> | undefined,
  policyVersion: number | undefined
): AnswerChoice => {
  const finishReason = choice.finish_reason || "unknown"
  const version = policyVersion === undefined ? {} : { policyVersion }
  return {
    message,
    text: Message.text(message),
    toolCalls: message.tool_calls ?? [],
    finishReason,
    ...(finishReason === "stop" && typeof choice.stop_reason === "string" && { stop: choice.stop_reason }),
    ...version,
    ...(sampled === undefined ? {} : { sampled: { ...version, ...sampled, finishReason } })
  }
}

const toAnswer = (
  choices: ReadonlyArray<AnswerChoice>,
  body: {
    readonly choices: ReadonlyArray<ReplyChoice>
    readonly prompt_token_ids?: ReadonlyArray<number> | null
    readonly usage?: { readonly prompt_tokens?: number | null; readonly completion_tokens?: number | null } | null
  }
): Answer => {
  const promptTokens = body.prompt_token_ids ?? body.choices[0]?.prompt_token_ids
  return {
    choices,
    ...(promptTokens ? { promptTokens } : {}),
    ...(body.usage
      ? {
          usage: {
            promptTokens: body.usage.prompt_tokens ?? 0,
            completionTokens: body.usage.completion_tokens ?? 0
          }
        }
      : {})
  }
}

const namedId = /^token_id:(\d+)$/

const sampledOf = Effect.fnUntraced(function* (
  server: string,
  choice: ReplyChoice,
  names: ReadonlyArray<string> | undefined,
  logprobs: ReadonlyArray<number | null> | undefined
) {
  const named = names?.map((name) => namedId.exec(name)?.[1])
  const tokens = choice.token_ids ?? (named?.every((id) => id !== undefined) ? named.map(Number) : undefined)
  if (!tokens || !logprobs) return undefined
  const finite = logprobs.filter((logprob): logprob is number => logprob !== null)
  // More logprobs than ids are handled by `Coverage`.
  if (finite.length < tokens.length) {
    return yield* malformed(server, `answer of ${server}: ${tokens.length} token ids but ${finite.length} logprobs`)
  }
  const versions = choice.weight_versions
    ? yield* WeightSpans.ofTokens(server, choice.weight_versions, tokens.length)
    : {}
  return yield* Positions.complete(server, { tokens, logprobs: finite, ...versions })
})

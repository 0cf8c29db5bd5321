/**
 * Compares our tokenizer with an inference server's on a probe text: with a different tokenizer, prompts are
 * meaningless to the model, and its answers would be trained on without any error.
 *
 * vLLM, SGLang and our policy server have `POST /tokenize`. Otherwise, in this order: the ids that a completion or
 * SGLang's `/generate` reports for its prompt, the digest that our servers list, the number of prompt tokens (`usage`).
 * A server without any of these cannot be compared.
 */
import { Effect, Option, Schema } from "effect"
import type { Backend } from "./Backend.ts"
import { rootOf } from "./Identify.ts"
import type { Identity } from "./Identity.ts"
import { InferenceError } from "../wire/Inference.ts"
import type { Server } from "./ServerSettings.ts"
import * as TokenizerIdentity from "../tokenizer/TokenizerIdentity.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import type { Transport } from "../wire/Transport.ts"

const Tokenized = Schema.Struct({ tokens: Schema.Array(Schema.Natural) })
const decodeTokenized = Schema.decodeUnknownOption(Tokenized)

export interface Options {
  readonly settings: Pick<Server, "apiKey" | "baseUrl">
  readonly identity: Identity
  readonly transport: Transport
  readonly backend: Pick<Backend, "complete">
  readonly tokenizer: TokenizerShape
}

/** An unavailable server has not answered, which is not evidence. */
const isAway = ({ reason }: InferenceError): boolean =>
  reason === "unreachable" || reason === "timeout" || reason === "overloaded" || reason === "noServer"

const orNone = <A>(asking: Effect.Effect<Option.Option<A>, InferenceError>) =>
  Effect.catchIf(
    asking,
    (error) => !isAway(error),
    () => Effect.succeedNone
  )

/** SGLang's `[[logprob, id, text], …]` of a prompt. */
const Prompted = Schema.Struct({
  meta_info: Schema.Struct({
    input_token_logprobs: Schema.Array(
      Schema.TupleWithRest(Schema.Tuple([Schema.Unknown, Schema.Natural]), [Schema.Unknown])
    )
  })
})
const decodePrompted = Schema.decodeUnknownOption(Prompted)

const endpointKinds: ReadonlySet<string> = new Set(["vllm", "sglang", "policy"])

/** The server's tokens of the probe, as far as reported: ids or their number. */
const reported = Effect.fnUntraced(function* ({ backend, identity, settings, transport }: Options) {
  const server = settings.baseUrl ?? ""
  const post = <A>(
    path: string,
    body: { readonly [key: string]: unknown },
    read: (body: unknown) => Option.Option<A>
  ) =>
    orNone(
      Effect.map(
        transport.json({
          method: "POST",
          server,
          url: `${rootOf(server)}${path}`,
          apiKey: settings.apiKey ?? "",
          body
        }),
        (reply) => read(reply.body)
      )
    )
  if (endpointKinds.has(identity.kind)) {
    const named = identity.modelName === undefined ? {} : { model: identity.modelName }
    const body = { ...named, prompt: TokenizerIdentity.probe, add_special_tokens: false }
    const tokenized = yield* post("/tokenize", body, decodeTokenized)
    if (Option.isSome(tokenized)) return { ids: tokenized.value.tokens }
  }
  if (identity.kind === "sglang") {
    const sampling = { max_new_tokens: 1, temperature: 0 }
    const body = {
      text: TokenizerIdentity.probe,
      sampling_params: sampling,
      return_logprob: true,
      logprob_start_len: 0
    }
    const prompted = yield* post("/generate", body, decodePrompted)
    if (Option.isSome(prompted)) return { ids: prompted.value.meta_info.input_token_logprobs.map(([, id]) => id) }
  }
  if (identity.idsBy !== "return_token_ids" && identity.tokenizer !== undefined) return {}
  const completed = yield* orNone(
    Effect.asSome(
      backend.complete({ prompt: TokenizerIdentity.probe, n: 1, maxTokens: 1, temperature: 0, exact: true })
    )
  )
  const { promptTokens: ids, usage } = Option.getOrElse(completed, () => ({
    promptTokens: undefined,
    usage: undefined
  }))
  return { ...(ids && { ids }), ...(usage !== undefined && usage.promptTokens > 0 && { count: usage.promptTokens }) }
})

/** Max special tokens that a server may put around a text. */
const maxFrame = 2

/** True if ids are the expected ones, optionally with special tokens around them. */
const isSame = (ids: ReadonlyArray<number>, expected: ReadonlyArray<number>): boolean => {
  const spare = ids.length - expected.length
  if (spare < 0 || spare > 2 * maxFrame) return false
  for (let from = 0; from <= Math.min(spare, maxFrame); from++) {
    if (spare - from <= maxFrame && expected.every((id, at) => ids[from + at] === id)) return true
  }
  return false
}

/** The kind of comparison: ids or digest; number of tokens; nothing. */
type Comparison = "exact" | "count" | "none"

const outcome = (comparison: Comparison, isEqual: boolean) => ({ comparison, isEqual })

/** Fails if the server has a different tokenizer, as far as comparable. */
export const check = Effect.fn("TokenizerCheck.check")(function* (options: Options) {
  const { identity, settings, tokenizer } = options
  const { count, ids }: { readonly ids?: ReadonlyArray<number>; readonly count?: number } = yield* reported(options)
  const expected = tokenizer.encode(TokenizerIdentity.probe, { addSpecialTokens: false })
  const digest = identity.tokenizer?.digest
  const { comparison, isEqual } =
    ids !== undefined
      ? outcome("exact", isSame(ids, expected))
      : digest !== undefined
        ? outcome("exact", digest === TokenizerIdentity.of(tokenizer).digest)
        : count !== undefined
          ? outcome("count", count >= expected.length && count <= expected.length + 2 * maxFrame)
          : outcome("none", true)
  if (isEqual) return comparison
  const server = settings.baseUrl ?? ""
  const theirs = identity.tokenizer?.name ?? identity.modelName
  return yield* new InferenceError({
    reason: "rejected",
    server,
    message:
      `${server} has ${theirs === undefined ? "a different tokenizer" : `the tokenizer of ${theirs}`}, but prompts are encoded with ${tokenizer.name}: ` +
      `its token ids would be wrong. Set the served model's tokenizer (--env.tokenizer_name ${theirs ?? "NAME"}, or --openai.tokenizer_name of a gateway: a hub id or a folder)`
  })
})

/**
 * Compares our tokenizer with that of an inference server, on one text: ids of another tokenizer are prompts that mean
 * nothing to the model, and what it answers would be trained on without an error.
 *
 * vLLM, SGLang and our policy server have `POST /tokenize`; where that is missing, the ids that a completion reports of
 * its prompt are compared, and then the digest that our servers list. A server with none of these cannot be compared.
 */
import { Effect, Option, Schema } from "effect"
import type { Backend } from "./Backend.ts"
import { rootOf } from "./Identify.ts"
import type { Identity } from "./Identity.ts"
import { InferenceError } from "./Inference.ts"
import type { Server } from "./ServerSettings.ts"
import * as TokenizerIdentity from "../tokenizer/TokenizerIdentity.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import type { Transport } from "./Transport.ts"

const Tokenized = Schema.Struct({ tokens: Schema.Array(Schema.Natural) })
const decodeTokenized = Schema.decodeUnknownOption(Tokenized)

export interface Options {
  readonly settings: Pick<Server, "apiKey" | "baseUrl">
  readonly identity: Identity
  readonly transport: Transport
  readonly backend: Pick<Backend, "complete">
  readonly tokenizer: TokenizerShape
}

/** A server that is away has not answered: that is no answer of another kind. */
const isAway = ({ reason }: InferenceError): boolean =>
  reason === "unreachable" || reason === "timeout" || reason === "overloaded" || reason === "noServer"

const orNone = <A>(asking: Effect.Effect<Option.Option<A>, InferenceError>) =>
  Effect.catchIf(
    asking,
    (error) => !isAway(error),
    () => Effect.succeedNone
  )

const endpointKinds: ReadonlySet<string> = new Set(["vllm", "sglang", "policy"])

/** The ids that the server makes of the probe, if it reports them. */
const idsOf = Effect.fnUntraced(function* ({ backend, identity, settings, transport }: Options) {
  const server = settings.baseUrl ?? ""
  const named = identity.modelName === undefined ? {} : { model: identity.modelName }
  const body = { ...named, prompt: TokenizerIdentity.probe, add_special_tokens: false }
  const tokenized = endpointKinds.has(identity.kind)
    ? yield* orNone(
        Effect.map(
          transport.json({
            method: "POST",
            server,
            url: `${rootOf(server)}/tokenize`,
            apiKey: settings.apiKey ?? "",
            body
          }),
          (reply) => Option.map(decodeTokenized(reply.body), ({ tokens }) => tokens)
        )
      )
    : Option.none()
  if (Option.isSome(tokenized) || identity.idsBy !== "return_token_ids") return tokenized
  return yield* orNone(
    Effect.map(
      backend.complete({ prompt: TokenizerIdentity.probe, n: 1, maxTokens: 1, temperature: 0, exact: true }),
      ({ promptTokens }) => Option.fromNullishOr(promptTokens)
    )
  )
})

/** How many special tokens a server may put around a text. */
const maxFrame = 2

/** Whether ids are the expected ones, with special tokens around them. */
const isSame = (ids: ReadonlyArray<number>, expected: ReadonlyArray<number>): boolean => {
  const spare = ids.length - expected.length
  if (spare < 0 || spare > 2 * maxFrame) return false
  for (let from = 0; from <= Math.min(spare, maxFrame); from++) {
    if (spare - from <= maxFrame && expected.every((id, at) => ids[from + at] === id)) return true
  }
  return false
}

/** Fails if the server has another tokenizer; succeeds if it has the same one, or cannot be compared. */
export const check = Effect.fn("TokenizerCheck.check")(function* (options: Options) {
  const { identity, settings, tokenizer } = options
  const ids = yield* idsOf(options)
  const expected = tokenizer.encode(TokenizerIdentity.probe, { addSpecialTokens: false })
  const isEqual = Option.match(ids, {
    onSome: (tokens) => isSame(tokens, expected),
    onNone: () =>
      identity.tokenizer === undefined || identity.tokenizer.digest === TokenizerIdentity.of(tokenizer).digest
  })
  if (isEqual) return
  const server = settings.baseUrl ?? ""
  const theirs = identity.tokenizer?.name ?? identity.modelName
  return yield* new InferenceError({
    reason: "rejected",
    server,
    message:
      `${server} has ${theirs === undefined ? "another tokenizer" : `the tokenizer of ${theirs}`}, but prompts are encoded with ${tokenizer.name}: ` +
      `its token ids mean something else there. Name the served model's tokenizer (--env.tokenizer_name ${theirs ?? "NAME"}: a hub id or a folder)`
  })
})

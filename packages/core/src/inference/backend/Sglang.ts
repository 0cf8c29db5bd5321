/**
 * An SGLang server: OpenAI's routes for text, its native `POST /generate` for exact tokens and logprobs, `GET /health`.
 * Its logprobs are computed after temperature and before top-p and top-k, unless it was started with
 * SGLANG_RETURN_ORIGINAL_LOGPROB.
 *
 * The native answer is one object, or a list of them for n > 1, each with `meta_info.output_token_logprobs = [[logprob,
 * id, text], …]` and `meta_info.finish_reason = { type, … }`. Prompt logprobs are not requested from it.
 */
import { Effect, Schema } from "effect"
import type { TokenChoice } from "../wire/Inference.ts"
import * as Adapters from "./Adapters.ts"
import { type Backend, type IdsRequest, unsupported } from "./Backend.ts"
import { isAtLeast, rootOf } from "./Identify.ts"
import * as OpenAi from "./OpenAi.ts"
import * as Positions from "../wire/Positions.ts"
import { checkCount, decode, headerPolicyVersion, nullable } from "./Reply.ts"
import * as SamplingBody from "./SamplingBody.ts"
import { malformed } from "../wire/Transport.ts"

const Generated = Schema.Struct({
  meta_info: Schema.Struct({
    output_token_logprobs: Schema.Array(
      Schema.TupleWithRest(Schema.Tuple([Schema.Finite, Schema.Natural]), [Schema.Unknown])
    ),
    finish_reason: Schema.NullOr(Schema.Union([Schema.String, Schema.Struct({ type: Schema.String })])),
    completion_tokens: nullable(Schema.Natural),
    policy_version: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
    /** A label, initially `default`, that the process updating the weights may set. */
    weight_version: Schema.optionalKey(Schema.NullOr(Schema.String))
  })
})
const decodeGenerated = decode(Schema.Union([Schema.Array(Generated), Generated]))

/** SGLang takes adapters as a separate parameter, at all its endpoints. */
const asPath: OpenAi.Naming = ({ name }): ReturnType<OpenAi.Naming> => (name === undefined ? {} : { lora_path: name })

export const make = Effect.fn("Sglang.make")(function* (options: OpenAi.Options) {
  const { identity, settings, transport } = options
  const openAi = yield* OpenAi.make(options, asPath)
  const adapters = options.adapters ?? Adapters.makeNone()
  const { server } = openAi
  const root = rootOf(server)
  const apiKey = settings.apiKey ?? ""

  const tokens = Effect.fn("Sglang.tokens")(function* (request: IdsRequest) {
    // Older versions do not support seeds, and fail on the unknown parameter.
    if (request.seed !== undefined && !isAtLeast(identity.version, [0, 5, 3])) {
      return yield* SamplingBody.refuse(server, identity, "seed")
    }
    const ask = (adapter: Adapters.Adapter | undefined) =>
      transport
        .json({
          method: "POST",
          server,
          url: `${root}/generate`,
          apiKey,
          body: {
            input_ids: request.inputIds,
            ...(adapter !== undefined && asPath(adapter)),
            sampling_params: SamplingBody.sglang(request),
            return_logprob: true,
            return_text_in_logprobs: false
          }
        })
        .pipe(Effect.map((reply) => ({ ...reply, adapterVersion: adapter?.policyVersion })))
    const reply = yield* adapters.asking(ask)
    const body = yield* decodeGenerated(server, reply.body)
    const sequences: ReadonlyArray<typeof Generated.Type> = Array.isArray(body) ? body : [body]
    yield* checkCount(server, request.n ?? 1, sequences.length)
    return yield* Effect.forEach(sequences, ({ meta_info: info }) => {
      const ids = info.output_token_logprobs.length
      if ((info.completion_tokens ?? 0) > ids) {
        const problem = `answer of ${server}: ${info.completion_tokens} tokens but ${ids} ids and logprobs`
        return Effect.fail(malformed(server, problem))
      }
      const policyVersion =
        info.policy_version ?? headerPolicyVersion(reply) ?? reply.adapterVersion ?? numberIn(info.weight_version)
      return Positions.complete<TokenChoice>(server, {
        tokens: info.output_token_logprobs.map(([, id]) => id),
        logprobs: info.output_token_logprobs.map(([logprob]) => logprob),
        finishReason:
          info.finish_reason === null
            ? "unknown"
            : typeof info.finish_reason === "string"
              ? info.finish_reason
              : info.finish_reason.type,
        sampling: SamplingBody.recorded(request, undefined, identity),
        ...(policyVersion === undefined ? {} : { policyVersion })
      })
    })
  })

  return {
    ...openAi,
    capabilities: { tokens: true, promptLogprobs: false },
    tokens,
    promptLogprobs: () => unsupported(server, "prompt logprobs", "use vLLM's own server or atropos policy"),
    health: transport.isThere({ server, url: `${root}/health`, apiKey })
  } satisfies Backend
})

const numberIn = (label: string | null | undefined): number | undefined => {
  const [digits] = /\d{1,15}$/.exec(label ?? "") ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** Checks by the logprobs of a known sequence that a vLLM server has the weights it was given. */
import { Option, Schema } from "effect"
import type { Probe } from "./Target.ts"

export type { Probe } from "./Target.ts"

/** Request for a completion with `prompt_logprobs`, the logprobs of the prompt's tokens. */
export const question = ({ tokens }: Probe) => ({
  prompt: tokens,
  max_tokens: 1,
  temperature: 0,
  prompt_logprobs: 0
})

const decodeAnswer = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      choices: Schema.NonEmptyArray(
        Schema.Struct({
          prompt_logprobs: Schema.Array(
            Schema.NullOr(Schema.Record(Schema.String, Schema.Struct({ logprob: Schema.Finite })))
          )
        })
      )
    })
  )
)

/** Mean absolute difference, nats per token; undefined if an answer lacks logprobs of these tokens. */
export const difference = ({ logprobs, tokens }: Probe, answer: string): number | undefined => {
  const decoded = decodeAnswer(answer)
  if (Option.isNone(decoded)) return undefined
  const [{ prompt_logprobs: input }] = decoded.value.choices
  if (input.length !== tokens.length || logprobs.length !== tokens.length - 1) return undefined
  let sum = 0
  for (const [at, expected] of logprobs.entries()) {
    const found = input[at + 1]?.[String(tokens[at + 1])]?.logprob
    if (found === undefined) return undefined
    sum += Math.abs(found - expected)
  }
  return sum / logprobs.length
}

/** Tolerances, nats: between two float32 programs, and with half precision. */
const exact = 1e-3
const rounded = 0.1

const decodeType = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({ vllm_config: Schema.Struct({ model_config: Schema.Struct({ dtype: Schema.String }) }) })
  )
)

/** Tolerance for a server, from its `/server_info`; the larger one if its precision is unknown. */
export const toleranceOf = (info: string): number =>
  Option.exists(
    decodeType(info),
    ({
      vllm_config: {
        model_config: { dtype }
      }
    }) => dtype.endsWith("float32")
  )
    ? exact
    : rounded

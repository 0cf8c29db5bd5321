/**
 * Converts trajectories to and from JSON, for items that contain some and must survive a restart (`requeued` of a
 * definition). Arrays are base64 of their bytes, a third of the size of lists of numbers.
 */
import { Schema, SchemaTransformation } from "effect"
import * as Labels from "../trajectory/Labels.ts"
import { Message } from "../trajectory/Message.ts"
import { LogprobsMode } from "../trajectory/Sampling.ts"
import type { Trajectory } from "../trajectory/Trajectory.ts"

const toBase64 = ({ buffer, byteLength, byteOffset }: Int32Array | Float32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64")

/** Whole 4-byte numbers; trailing bytes are ignored. */
const fromBase64 = (text: string): ArrayBuffer => {
  const bytes = Buffer.from(text, "base64")
  return new Uint8Array(bytes.subarray(0, bytes.length - (bytes.length % 4))).buffer
}

const Ids = Schema.String.pipe(
  Schema.decodeTo(
    Schema.instanceOf(Int32Array),
    SchemaTransformation.transform({ decode: (text) => new Int32Array(fromBase64(text)), encode: toBase64 })
  )
)
const Logprobs = Schema.String.pipe(
  Schema.decodeTo(
    Schema.instanceOf(Float32Array),
    SchemaTransformation.transform({
      decode: (text) => Labels.toLogprobs(new Float32Array(fromBase64(text))),
      encode: (logprobs) => toBase64(Labels.ofLogprobs(logprobs))
    })
  )
)

const SavedSampling = Schema.Struct({
  temperature: Schema.Finite,
  topP: Schema.Finite,
  topK: Schema.Int,
  minP: Schema.Finite,
  repetitionPenalty: Schema.optionalKey(Schema.Finite),
  presencePenalty: Schema.optionalKey(Schema.Finite),
  frequencyPenalty: Schema.optionalKey(Schema.Finite),
  logitBias: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite)),
  isConstrained: Schema.optionalKey(Schema.Literal(true)),
  logprobs: LogprobsMode
})

const fields = {
  messages: Schema.Array(Message),
  completion: Schema.String,
  finishReason: Schema.String,
  tokens: Ids,
  logprobs: Schema.optionalKey(Logprobs),
  policyVersion: Schema.optionalKey(Schema.Int),
  versionRuns: Schema.optionalKey(Ids),
  keptTokens: Schema.optionalKey(Schema.Array(Ids)),
  sampling: Schema.optionalKey(SavedSampling)
}

export const SavedTrajectory: Schema.Codec<Trajectory, unknown> = Schema.Struct({ ...fields, mask: Ids })
  .check(
    Schema.makeFilter(
      ({ logprobs, mask, tokens }) =>
        (mask.length === tokens.length && (logprobs === undefined || logprobs.length === tokens.length)) ||
        "tokens, mask and logprobs must have the same length"
    )
  )
  .pipe(
    Schema.decodeTo(
      Schema.toType(Schema.Struct({ ...fields, mask: Schema.instanceOf(Uint8Array) })),
      SchemaTransformation.transform({
        decode: (saved) => ({ ...saved, mask: Labels.toMask(saved.tokens, saved.mask) }),
        encode: (trajectory) => ({ ...trajectory, mask: Labels.ofMask(trajectory.tokens, trajectory.mask) })
      })
    )
  )

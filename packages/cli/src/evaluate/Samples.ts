/**
 * Reads the samples of an evaluation from `samples.jsonl`, one answer per line. Keys outside the schema are preserved.
 * Samples without stable ids (older files) are identified by their item's prompt.
 */
import { JsonLines } from "@atropos/core"
import { Effect, type FileSystem, Option, Schema, Stream } from "effect"
import { UsageError } from "../base/Failure.ts"

const Message = Schema.StructWithRest(Schema.Struct({ role: Schema.String, content: Schema.Unknown }), [
  Schema.Record(Schema.String, Schema.Unknown)
])

export const Sample = Schema.Struct({
  item: Schema.Union([Schema.Natural, Schema.String]),
  label: Schema.optionalKey(Schema.String),
  id: Schema.optionalKey(Schema.String),
  row: Schema.optionalKey(Schema.String),
  category: Schema.optionalKey(Schema.String),
  gold: Schema.optionalKey(Schema.Array(Schema.String)),
  parsed: Schema.optionalKey(Schema.NullOr(Schema.String)),
  score: Schema.Finite,
  rewards: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite)),
  weights: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite)),
  correct: Schema.optionalKey(Schema.Boolean),
  completion: Schema.optionalKey(Schema.String),
  finish_reason: Schema.optionalKey(Schema.String),
  tokens: Schema.optionalKey(Schema.Natural),
  messages: Schema.optionalKey(Schema.Array(Message))
})
export type Sample = typeof Sample.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Sample))

export const read = (file: string): Stream.Stream<Sample, UsageError, FileSystem.FileSystem> =>
  Stream.unwrap(
    JsonLines.inspect(file, "samples of an evaluation (samples.jsonl)").pipe(Effect.as(JsonLines.read(file)))
  ).pipe(
    Stream.mapError(({ message }) => new UsageError({ message })),
    Stream.mapEffect((line) => {
      const sample = line._tag === "Text" ? decode(line.text) : Option.none<Sample>()
      return Option.isSome(sample)
        ? Effect.succeed(sample.value)
        : Effect.fail(
            new UsageError({
              message: `${file}, line ${line.number}: not a sample of an evaluation: expected a JSON object with item and score, and correct if it is known`
            })
          )
    })
  )

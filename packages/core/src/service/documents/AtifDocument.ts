/**
 * A document of ATIF, the Agent Trajectory Interchange Format of Harbor (version 1.7), as far as chats need it.
 *
 * Reading accepts every version from 1.0 and ignores unknown keys; writing produces 1.7 with known keys only.
 */
import { Predicate, Schema } from "effect"

/** The version written. */
export const version = "ATIF-v1.7"

const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("image"),
    source: Schema.Struct({ media_type: Schema.String, path: Schema.String })
  })
])

/** A text, or (from 1.6) parts. */
export const Content = Schema.Union([Schema.String, Schema.Array(Part)])
export type Content = typeof Content.Type

export const ToolCall = Schema.Struct({
  tool_call_id: Schema.String,
  function_name: Schema.String,
  // Not a record, whose decoding would copy the object: its key order is recorded for the object itself.
  arguments: Schema.declare(Predicate.isReadonlyObject)
})

const absent = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const ObservationResult = Schema.Struct({
  source_call_id: absent(Schema.String),
  content: absent(Content)
})

/** Lists of ids are validated separately. */
const StepMetrics = Schema.Struct({
  prompt_tokens: absent(Schema.Finite),
  completion_tokens: absent(Schema.Finite),
  prompt_token_ids: absent(Schema.Array(Schema.Natural)),
  completion_token_ids: absent(Schema.Array(Schema.Natural)),
  logprobs: absent(Schema.Array(Schema.Finite))
})
export type StepMetrics = typeof StepMetrics.Type

export const Step = Schema.Struct({
  step_id: Schema.Int,
  source: Schema.Literals(["system", "user", "agent"]),
  message: Content,
  reasoning_content: absent(Schema.String),
  tool_calls: absent(Schema.Array(ToolCall)),
  observation: absent(Schema.Struct({ results: Schema.Array(ObservationResult) })),
  metrics: absent(StepMetrics),
  extra: absent(Schema.Record(Schema.String, Schema.Unknown))
})
export type Step = typeof Step.Type

export const Document = Schema.Struct({
  schema_version: Schema.String.check(Schema.isPattern(/^ATIF-v1\.\d+$/)),
  session_id: absent(Schema.String),
  agent: Schema.Struct({ name: Schema.String, version: Schema.String, model_name: absent(Schema.String) }),
  steps: Schema.Array(Step).check(Schema.isMinLength(1)),
  notes: absent(Schema.String),
  extra: absent(Schema.Record(Schema.String, Schema.Unknown))
})
export type Document = typeof Document.Type

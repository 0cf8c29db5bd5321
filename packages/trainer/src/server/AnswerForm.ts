/**
 * Reads the output constraint of a request as the text of a JSON schema: OpenAI's `response_format`, vLLM's
 * `structured_outputs` and its older `guided_json`.
 *
 *     { "type": "json_schema", "json_schema": { "name": "…", "schema": { … } } }     or   { "type": "json_object" }
 *     { "json": { … } }                                                              or   { "json_object": true }
 *
 * Unsupported schema features are rejected with their path in the schema (`SchemaGrammar`).
 */
import { ExactJson } from "@atropos/core"
import { Effect, Predicate } from "effect"
import * as SchemaGrammar from "../grammar/SchemaGrammar.ts"
import { invalid, type OpenAiApiError, unsupported } from "./OpenAiApiError.ts"

export interface Words {
  readonly response_format?: unknown
  readonly structured_outputs?: unknown
  readonly guided_json?: unknown
}

const anyObject = JSON.stringify({ type: "object" })

const describeValue = (value: unknown): string => JSON.stringify(value)?.slice(0, 80) ?? "nothing"

const schemaOf = (input: unknown, param: string): Effect.Effect<string, OpenAiApiError> =>
  Effect.gen(function* () {
    const schema: unknown =
      typeof input === "string"
        ? yield* Effect.try({
            try: () => ExactJson.parseWritten(input),
            catch: () =>
              invalid(param, `${param}: expected a JSON schema, got text that is not JSON: ${describeValue(input)}`)
          })
        : input
    const problem = SchemaGrammar.problem(schema)
    if (problem !== undefined) return yield* invalid(param, `${param}: ${problem}`)
    return ExactJson.write(schema)!
  })

const ofFormat = (format: unknown): Effect.Effect<string | undefined, OpenAiApiError> => {
  const param = "response_format"
  const type = Predicate.hasProperty(format, "type") ? format.type : undefined
  if (type === "text") return Effect.undefined
  if (type === "json_object") return Effect.succeed(anyObject)
  if (type !== "json_schema" || !Predicate.hasProperty(format, "json_schema")) {
    const right = 'expected { "type": "text" }, "json_object", or "json_schema" with a json_schema'
    return Effect.fail(invalid(param, `${param}: ${right}, got ${describeValue(format)}`))
  }
  const { json_schema: named } = format
  return Predicate.hasProperty(named, "schema")
    ? schemaOf(named.schema, `${param}.json_schema.schema`)
    : Effect.fail(invalid(`${param}.json_schema`, `${param}.json_schema: the schema is missing`))
}

const ofOutputs = (outputs: unknown): Effect.Effect<string | undefined, OpenAiApiError> => {
  const param = "structured_outputs"
  if (!Predicate.isReadonlyObject(outputs)) {
    return Effect.fail(invalid(param, `${param}: expected { "json": schema }, got ${describeValue(outputs)}`))
  }
  const requested = Object.entries(outputs).filter(([, value]) => value !== null && value !== false)
  const [one, other] = requested
  if (one === undefined) return Effect.undefined
  if (other !== undefined)
    return Effect.fail(invalid(param, `${param}: give one of ${requested.map(([word]) => word).join(", ")}`))
  const [word, value] = one
  if (word === "json") return schemaOf(value, `${param}.json`)
  if (word === "json_object") return Effect.succeed(anyObject)
  return Effect.fail(unsupported(`${param}.${word}`, `${param}.${word} is not supported: json and json_object are`))
}

/** Undefined if the output is unconstrained. */
export const of = (words: Words): Effect.Effect<string | undefined, OpenAiApiError> =>
  Effect.gen(function* () {
    const { guided_json: guided, response_format: format, structured_outputs: outputs } = words
    const forms = [
      ["response_format", format === undefined ? undefined : yield* ofFormat(format)],
      ["structured_outputs", outputs === undefined ? undefined : yield* ofOutputs(outputs)],
      ["guided_json", guided === undefined ? undefined : yield* schemaOf(guided, "guided_json")]
    ] as const
    const requested = forms.filter(([, form]) => form !== undefined)
    if (requested.length > 1) {
      return yield* invalid(
        requested[1]![0],
        `${requested[1]![0]}: ${requested[0]![0]} is given too; remove one of them`
      )
    }
    return requested[0]?.[1]
  })

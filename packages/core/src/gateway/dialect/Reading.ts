/**
 * Decodes parts of a request with their Schema; errors contain the parameter's path, spelled as by OpenAI:
 *
 *     input[2].content[0].text: expected string, got 5
 */
import { Effect, Schema, SchemaIssue } from "effect"
import { Failure } from "./Dialect.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

type Step = PropertyKey | { readonly key: PropertyKey }

/** `param` and the steps below it: names after a dot, indices in brackets. */
const formatPath = (param: string, steps: ReadonlyArray<Step>): string =>
  steps.reduce<string>((path, step) => {
    const key = typeof step === "object" ? step.key : step
    if (typeof key === "number") return `${path}[${key}]`
    return path === "" ? String(key) : `${path}.${String(key)}`
  }, param)

/** Decodes a value; `param` is its path in the request, empty for the body itself. */
export const reader = <A>(schema: Schema.Codec<A, unknown>) => {
  const decode = Schema.decodeUnknownEffect(schema)
  return (value: unknown, param: string): Effect.Effect<A, Failure> =>
    Effect.mapError(decode(value), (error) => {
      const [issue] = format(error.issue).issues
      const path = formatPath(param, issue?.path ?? [])
      const problem = (issue?.message ?? error.message).replace(/^Expected/, "expected")
      return new Failure({
        reason: "invalid",
        message: path === "" ? problem : `${path}: ${problem}`,
        ...(path !== "" && { param: path })
      })
    })
}

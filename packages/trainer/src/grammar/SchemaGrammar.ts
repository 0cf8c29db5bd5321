/**
 * Converts JSON schemas to grammars: every text that the grammar accepts is valid JSON for the schema. Unsupported
 * features are problems with their path in the schema.
 */
import { Result } from "effect"
import * as Keywords from "./Keywords.ts"
import { fail, Problem } from "./SchemaProblem.ts"
import { isVast, tooLarge } from "./SchemaSize.ts"
import { SchemaWriter } from "./SchemaWriter.ts"

/** Max weight; more would take minutes to compile. */
const heaviest = 1_000_000

/** Length of a grammar plus its repetitions, which are expanded when it is compiled. */
const weightOf = (text: string): number =>
  Array.from(text.matchAll(/\{(?:\d+,)?(\d+),?\}/g)).reduce((sum, [, times]) => sum + Number(times), text.length)

export interface Grammar {
  readonly text: string
  readonly weight: number
}

/** Describes the problem of a schema and its path; undefined if it can be converted. */
export const problem = (schema: unknown): string | undefined => Result.getOrUndefined(Result.flip(make(schema)))

/** The grammar of a schema, or its problem and path. */
export const make = (schema: unknown): Result.Result<Grammar, string> => {
  if (isVast(schema)) return Result.fail(tooLarge(schema))
  const problem = Keywords.problem(schema)
  if (problem !== undefined) return Result.fail(problem)
  const writer = new SchemaWriter(schema)
  const made = Result.try({
    try: () => writer.schema(schema, "") ?? fail("", "no value matches it"),
    catch: (cause) => {
      if (cause instanceof Problem) return cause.message
      throw cause
    }
  })
  return Result.flatMap(made, (root) => {
    const text = writer.rules.text(root)
    const weight = weightOf(text)
    return weight > heaviest ? Result.fail(tooLarge(schema)) : Result.succeed({ text, weight })
  })
}

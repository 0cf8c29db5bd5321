/**
 * Converts JSON schemas to grammars: every text that the grammar accepts is valid JSON for the schema. Unsupported
 * features are problems with their path in the schema.
 */
import { Result } from "effect"
import * as Keywords from "./Keywords.ts"
import { fail, isSchema, Problem } from "./SchemaProblem.ts"
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

export const extent = (schema: unknown): string => {
  const counts = { properties: 0, values: 0, schemas: 0, longest: 0 }
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit)
    if (!isSchema(value)) return
    counts.schemas++
    if (isSchema(value["properties"])) counts.properties += Object.keys(value["properties"]).length
    if (Array.isArray(value["enum"])) counts.values += value["enum"].length
    for (const word of ["minLength", "maxLength", "minItems", "maxItems"])
      counts.longest = Math.max(counts.longest, Number(value[word] ?? 0))
    Object.values(value).forEach(visit)
  }
  visit(schema)
  return `${counts.properties} properties, ${counts.values} values of enums, ${counts.schemas} objects in all, and lengths up to ${counts.longest}`
}

/** Describes the problem of a schema and its path; undefined if it can be converted. */
export const problem = (schema: unknown): string | undefined => Result.getOrUndefined(Result.flip(make(schema)))

/** The grammar of a schema, or its problem and path. */
export const make = (schema: unknown): Result.Result<Grammar, string> => {
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
    return weight > heaviest
      ? Result.fail(`the schema is too large: it has ${extent(schema)}`)
      : Result.succeed({ text, weight })
  })
}

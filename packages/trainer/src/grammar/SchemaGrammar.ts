/**
 * Converts JSON schemas to grammars: every text that the grammar accepts is valid JSON for the schema. Unsupported
 * features are problems with their path in the schema.
 */
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import { Result } from "effect"
import * as Keywords from "./Keywords.ts"
import { fail, Problem } from "./SchemaProblem.ts"
import { isVast, tooLarge } from "./SchemaSize.ts"
import { SchemaWriter } from "./SchemaWriter.ts"

/** Max weight; more would take minutes to compile. */
const heaviest = 1_000_000

/** Max length of a schema's JSON, which is converted on the server's own thread; OpenAI's limit is 120,000. */
const maxCharacters = 2 ** 17

/** Weight of one of many characters, each of which is compared with all tokens. */
const character = 400

/** Length of a grammar plus its repetitions, which are expanded when it is compiled; nested ones multiply. */
const weightOf = (text: string): number => {
  /** Weights of the open groups, and of the operand before a repetition. */
  const groups = [0]
  let operand = 0
  let isWide = false
  for (const [part, times] of text.matchAll(/"[^"]*"?|\[[^\]]*\]?|\{(?:\d+,)?(\d+),?\}|[()]|\w+|[^"[{()\w]+/g)) {
    if (part === "(") groups.push(0)
    else if (times === undefined) {
      operand = part === ")" ? groups.pop()! : part.length
      groups[groups.length - 1]! += operand
    } else {
      const each = isWide ? Math.max(operand, character) : operand
      groups[groups.length - 1]! += each * Math.max(0, Number(times) - 1)
    }
    // A rule, or a class with more ranges than the digits: many tokens begin with one of these.
    if (times === undefined) isWide = part === ")" || /^(?:\w|\[.*-)/.test(part.replace("0-9", ""))
  }
  return groups.reduce((sum, weight) => sum + weight, 0)
}

export interface Grammar {
  readonly text: string
  readonly weight: number
}

/** Describes the problem of a schema and its path; undefined if it can be converted. */
export const problem = (schema: unknown): string | undefined => Result.getOrUndefined(Result.flip(make(schema)))

/** The grammar of a schema, or its problem and path. */
export const make = (schema: unknown): Result.Result<Grammar, string> => {
  if (isVast(schema)) return Result.fail(tooLarge(schema))
  const characters = ExactJson.write(schema)?.length ?? 0
  if (characters > maxCharacters) {
    return Result.fail(`the schema is too large: ${characters} characters, at most ${maxCharacters}`)
  }
  return Result.flatMap(
    Result.try({
      try: () => {
        const problem = Keywords.problem(schema)
        if (problem !== undefined) throw new Problem(problem)
        const writer = new SchemaWriter(schema)
        return writer.rules.text(writer.schema(schema, "") ?? fail("", "no value matches it"))
      },
      catch: (cause) => {
        if (cause instanceof Problem) return cause.message
        // Properties and references that follow each other are nested calls: too many exceed the stack.
        if (cause instanceof RangeError) return tooLarge(schema)
        throw cause
      }
    }),
    (text) => {
      const weight = weightOf(text)
      return weight > heaviest ? Result.fail(tooLarge(schema)) : Result.succeed({ text, weight })
    }
  )
}

/**
 * Output constraints of a request, as parameters of Chat Completions. They are passed on to a server that supports
 * constraints; if tokens are sampled freely they are ignored, and their names are counted.
 */
import { Predicate } from "effect"
import type { OutputConstraints } from "../../inference/wire/Inference.ts"

/** The parameter's name in its own dialect. */
export interface OutputConstraint {
  readonly name: string
  readonly body: OutputConstraints["body"]
}

/** A required call: any (`required`), or one of a tool. */
export const choice = (name: string, tool: string | undefined): OutputConstraint => ({
  name,
  body: { tool_choice: tool === undefined ? "required" : { type: "function", function: { name: tool } } }
})

const nameOf = (tool: unknown): unknown =>
  Predicate.hasProperty(tool, "function") && Predicate.hasProperty(tool.function, "name")
    ? tool.function.name
    : undefined

/** The reason that no call of these tools, or of the named one, can be required; undefined if one can. */
export const unforceable = (tools: ReadonlyArray<unknown>, name: string | undefined): string | undefined => {
  if (tools.length === 0) return "the request has no tools"
  return name === undefined || tools.some((tool) => nameOf(tool) === name)
    ? undefined
    : `the request has no tool named ${JSON.stringify(name)}`
}

/** OpenAI's type of a choice that names the tools a model may call of those it is shown, which no open server knows. */
export const isAllowedTools = (choice: unknown): boolean =>
  Predicate.isReadonlyObject(choice) && choice["type"] === "allowed_tools"

export const allowedToolsAdvice =
  'allowed_tools is not supported: send the allowed tools alone in tools, with the tool_choice "auto" or "required"'

export const singleCall = (name: string): OutputConstraint => ({ name, body: { parallel_tool_calls: false } })

export const responseFormat = (name: string, format: unknown): OutputConstraint => ({
  name,
  body: { response_format: format }
})

/** A JSON schema in the form of other dialects, not nested in another object. */
export const jsonSchema = (name: string, format: { readonly [key: string]: unknown }): OutputConstraint => {
  const { description, name: called, schema, strict, type } = format
  if (type !== "json_schema") return responseFormat(name, { type })
  return responseFormat(name, {
    type,
    json_schema: {
      name: Predicate.isString(called) ? called : "answer",
      ...(Predicate.isString(description) && { description }),
      schema,
      ...(Predicate.isBoolean(strict) && { strict })
    }
  })
}

/** Keys of a request; empty without constraints. */
export const of = (
  constraints: ReadonlyArray<OutputConstraint | undefined>
): { readonly constraints?: OutputConstraints } => {
  const all = constraints.filter((one) => one !== undefined)
  return all.length === 0
    ? {}
    : { constraints: { names: all.map(({ name }) => name), body: Object.assign({}, ...all.map(({ body }) => body)) } }
}

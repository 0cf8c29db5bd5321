/**
 * What a request would like the model to be held to, in the words of Chat Completions' bodies. A server that holds
 * models to such is told so; where tokens are sampled freely nobody is held to anything, and the names are counted.
 */
import { Predicate } from "effect"
import type { Wishes } from "../../inference/backend/Inference.ts"

/** The name is the parameter's in its own dialect. */
export interface Wish {
  readonly name: string
  readonly body: Wishes["body"]
}

/** A call that has to be made: any (`required`), or one of a tool. */
export const choice = (name: string, tool: string | undefined): Wish => ({
  name,
  body: { tool_choice: tool === undefined ? "required" : { type: "function", function: { name: tool } } }
})

export const singleCall = (name: string): Wish => ({ name, body: { parallel_tool_calls: false } })

export const responseFormat = (name: string, format: unknown): Wish => ({ name, body: { response_format: format } })

/** A schema that stands as other dialects have it, by itself. */
export const jsonSchema = (name: string, format: { readonly [key: string]: unknown }): Wish => {
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

/** As keys of a request; none where nothing is wished. */
export const of = (wishes: ReadonlyArray<Wish | undefined>): { readonly wishes?: Wishes } => {
  const all = wishes.filter((one) => one !== undefined)
  return all.length === 0
    ? {}
    : { wishes: { names: all.map(({ name }) => name), body: Object.assign({}, ...all.map(({ body }) => body)) } }
}

/**
 * Defines a tool that a model may call: a plain value with a name, a description, a schema of its arguments and an
 * implementation.
 *
 * An error in a call is a `ToolError`: the model reads it and may try again. Any other error of `run` is a problem of
 * the environment (a sandbox that does not start, an unavailable server) and fails the rollout instead of being scored.
 */
import { Effect, type JsonSchema, Schema } from "effect"

/** An error answer of a tool; the message is written for the model. */
export class ToolError extends Schema.TaggedError<ToolError>()("ToolError", { message: Schema.String }) {}

export interface Tool<E = never, R = never> {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, an object. */
  readonly parameters: JsonSchema.JsonSchema
  /** Validates the arguments and answers with text. */
  readonly run: (args: unknown) => Effect.Effect<string, ToolError | E, R>
}

/** A tool whose arguments are a Schema; invalid arguments are a `ToolError` that states location and expectation. */
export const make = <Args, E = never, R = never>(tool: {
  readonly name: string
  readonly description: string
  readonly parameters: Schema.Codec<Args, unknown>
  readonly run: (args: Args) => Effect.Effect<string, ToolError | E, R>
}): Tool<E, R> => {
  const decode = Schema.decodeUnknownEffect(tool.parameters)
  return {
    name: tool.name,
    description: tool.description,
    parameters: jsonSchema(tool.parameters),
    run: (args) =>
      decode(args).pipe(
        Effect.mapError((error) => new ToolError({ message: `wrong arguments for ${tool.name}: ${error.message}` })),
        Effect.flatMap(tool.run)
      )
  }
}

/** A tool in the form of chat requests and chat templates (OpenAI's). */
export const definition = ({ description, name, parameters }: Tool<unknown, unknown>) => ({
  type: "function" as const,
  function: { name, description, parameters }
})

const jsonSchema = (parameters: Schema.Top): JsonSchema.JsonSchema => {
  const { definitions, schema } = Schema.toJsonSchemaDocument(parameters)
  return Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions }
}

/**
 * Reads a server's schema of actions and observations (`GET /schema`): the names and types of their fields, as far as a
 * chat needs them.
 */
import { Effect, Predicate, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { Address } from "./Address.ts"
import { make as failed, type OpenEnvError } from "./OpenEnvError.ts"

export interface Field {
  readonly name: string
  /** JSON Schema's names; empty: any. */
  readonly types: ReadonlyArray<string>
  readonly isRequired: boolean
  /** The allowed values, if declared. */
  readonly values?: ReadonlyArray<unknown>
}

export interface Described {
  readonly action: ReadonlyArray<Field>
  /** Fields of reset and step together. */
  readonly observation: ReadonlyArray<Field>
  /** True if actions are tool calls, as in MCP environments. */
  readonly hasTools: boolean
}

type Json = { readonly [key: string]: unknown }
const isObject = (value: unknown): value is Json => Predicate.isReadonlyObject(value) && !Array.isArray(value)

/** Resolves a reference within the document. */
const resolved = (schema: unknown, root: Json): Json => {
  if (!isObject(schema)) return {}
  const reference = schema["$ref"]
  if (typeof reference !== "string" || !reference.startsWith("#/$defs/")) return schema
  const definitions = root["$defs"]
  const found = isObject(definitions) ? definitions[reference.slice("#/$defs/".length)] : undefined
  return isObject(found) ? found : {}
}

const typesOf = (schema: Json, root: Json): ReadonlyArray<string> => {
  const { anyOf, const: constant, type } = schema
  if (typeof type === "string") return [type]
  if (Array.isArray(type)) return type.map(String)
  if (Array.isArray(anyOf)) return anyOf.flatMap((one) => typesOf(resolved(one, root), root))
  return constant === undefined ? [] : [typeof constant]
}

const valuesOf = (schema: Json, root: Json): ReadonlyArray<unknown> | undefined => {
  const { anyOf, enum: values } = schema
  if (Array.isArray(values)) return values
  const [only, ...others] = Array.isArray(anyOf) ? anyOf.filter((one) => !isNullType(one)) : []
  return only !== undefined && others.length === 0 ? valuesOf(resolved(only, root), root) : undefined
}
const isNullType = (schema: unknown): boolean => isObject(schema) && schema["type"] === "null"

export const fieldsOf = (schema: unknown): ReadonlyArray<Field> => {
  const root = isObject(schema) ? schema : {}
  const { properties, required } = root
  const needed = new Set(Array.isArray(required) ? required : [])
  return Object.entries(isObject(properties) ? properties : {}).map(([name, input]) => {
    const own = resolved(input, root)
    const values = valuesOf(own, root)
    const types = typesOf(own, root).filter((type) => type !== "null")
    return { name, types, isRequired: needed.has(name), ...(values !== undefined && { values }) }
  })
}

export const read = (body: Json): Described => {
  const action = fieldsOf(body["action"])
  const atReset = fieldsOf(body["reset_observation"])
  const later = fieldsOf(body["observation"]).filter(({ name }) => !atReset.some((one) => one.name === name))
  return {
    action,
    observation: [...atReset, ...later],
    hasTools: action.some(({ name }) => name === "tool_name")
  }
}

const Body = Schema.Struct({
  action: Schema.Record(Schema.String, Schema.Unknown),
  observation: Schema.Record(Schema.String, Schema.Unknown),
  reset_observation: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))
})
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Body))

const innermost = (error: unknown): string => {
  let cause: unknown = error
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) cause = cause.errors[0]
  return cause instanceof Error ? cause.message : String(cause)
}

/** Replaces OpenSSL's cryptic message for a server that does not speak TLS. */
const explained = (http: string, reason: string): string =>
  http.startsWith("https:") && /wrong version number|packet length too long/.test(reason)
    ? "it uses http there, not https"
    : reason.trim()

/** Asks the server; distinguishes an unreachable server from one that is not an OpenEnv server. */
export const ask = Effect.fn("OpenEnv.schema")(function* (
  { http }: Address,
  headers: { readonly [name: string]: string },
  timeoutMillis: number
): Effect.fn.Return<Described, OpenEnvError, HttpClient.HttpClient> {
  const client = yield* HttpClient.HttpClient
  const answer = yield* client.execute(HttpClientRequest.get(`${http}/schema`, { headers })).pipe(
    Effect.flatMap((response) => Effect.map(response.text, (text) => ({ text, status: response.status }))),
    Effect.timeoutOrElse({
      duration: timeoutMillis,
      orElse: () =>
        Effect.fail(failed("timeout", `${http} did not respond within ${timeoutMillis / 1000} s (--env.timeout)`))
    }),
    Effect.catchTag("HttpClientError", (error) =>
      Effect.fail(
        failed(
          "unreachable",
          `no OpenEnv server at ${http}: ${explained(http, innermost(error.reason))}. Is it started, and are host and port right (--env.url)?`,
          error
        )
      )
    )
  )
  if (answer.status === 401 || answer.status === 403) {
    return yield* failed("foreign", `${http} requires a token (${answer.status}): set OPENENV_TOKEN`)
  }
  if (answer.status !== 200) {
    return yield* failed(
      "foreign",
      `${http} responds, but not as an OpenEnv server: GET ${http}/schema returned ${answer.status}. Is the address right (--env.url)? Include the path of a server mounted below one`
    )
  }
  return yield* Effect.mapBoth(decode(answer.text), {
    onSuccess: read,
    onFailure: ({ message }) =>
      failed("foreign", `${http} responds, but GET ${http}/schema is not that of an OpenEnv server: ${message}`)
  })
})

/** Describes the endpoints in OpenAPI format, from which `openenv validate --url` learns what a server supports. */
import * as Schemas from "./Schemas.ts"

/** The server, as it describes itself. */
export interface About {
  readonly name: string
  readonly description: string
  readonly version: string
}

type Value = { readonly [name: string]: unknown }

const content = (schema: Value) => ({ content: { "application/json": { schema } } })
const anything: Value = { type: "object", additionalProperties: true }

const operation = (summary: string, answer: Value = anything, request?: Value) => ({
  summary,
  ...(request !== undefined && { requestBody: content(request) }),
  responses: { 200: { description: "The answer", ...content(answer) } }
})

const observed: Value = {
  type: "object",
  properties: {
    observation: Schemas.all.observation,
    reward: { anyOf: [{ type: "number" }, { type: "null" }] },
    done: { type: "boolean" },
    metadata: anything
  }
}
const reset: Value = { type: "object", properties: { seed: { type: "integer" }, episode_id: { type: "string" } } }
const step: Value = {
  type: "object",
  properties: { action: Schemas.all.action, episode_id: { type: "string" } },
  required: ["action"]
}

/** Version of OpenEnv's HTTP contract, not of this program. */
const contract = "1.0.0"

export const document = ({ description, name, version }: About) => ({
  openapi: "3.1.0",
  info: { title: name, description: `${description} (Atropos ${version})`, version: contract },
  paths: {
    "/reset": { post: operation("Starts an episode", observed, reset) },
    "/step": { post: operation("Submits the policy's answer", observed, step) },
    "/state": { get: operation("The episode's id and steps", Schemas.all.state) },
    "/mcp": { post: operation("Tools of a session, by JSON-RPC", anything, anything) },
    "/schema": { get: operation("JSON Schemas of actions, observations and state") },
    "/metadata": { get: operation("Description of the environment") },
    "/health": { get: operation("Health check") }
  }
})

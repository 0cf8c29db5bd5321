/**
 * Exposes the tools of an MCP server (Model Context Protocol), over stdio or HTTP, to a model.
 *
 * A result that the server marks as an error is shown to the model; a server that cannot be started or is gone is an
 * `McpError` and fails the rollout. A server that ended is restarted for the next call.
 */
import { ExactJson } from "@atropos/core"
import * as Tool from "../kit/tools/Tool.ts"
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { Effect, RcRef, Schema } from "effect"

export class McpError extends Schema.TaggedError<McpError>()("McpError", {
  server: Schema.String,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** A server: a program that communicates over its standard streams, or an address. */
export type Server = { readonly command: string; readonly args: ReadonlyArray<string> } | { readonly url: string }

const nameOf = (server: Server): string => ("url" in server ? server.url : [server.command, ...server.args].join(" "))

const failing =
  (server: Server, doing: string) =>
  (cause: unknown): McpError =>
    new McpError({
      server: nameOf(server),
      message: `${doing} ${nameOf(server)}: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause
    })

const open = Effect.fn("McpTools.open")(function* (server: Server) {
  const { Client } = yield* Effect.promise(() => import("@modelcontextprotocol/sdk/client/index.js"))
  const connect = Effect.tryPromise({
    try: async () => {
      const client = new Client({ name: "atropos", version: "0.1.0" })
      await client.connect(await transportOf(server))
      return client
    },
    catch: failing(server, "cannot connect to the MCP server")
  })
  return yield* Effect.acquireRelease(connect, (client) => Effect.promise(() => client.close()))
})

const transportOf = async (server: Server) => {
  if ("url" in server) {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js")
    return new StreamableHTTPClientTransport(new URL(server.url))
  }
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js")
  return new StdioClientTransport({ command: server.command, args: Array.from(server.args), stderr: "ignore" })
}

interface Part {
  readonly type: string
  readonly text?: unknown
  readonly mimeType?: unknown
}

/** A result as text: its text parts; other parts are only named. */
const textOf = (parts: ReadonlyArray<Part>): string =>
  parts
    .map(({ mimeType, text, type }) =>
      typeof text === "string" ? text : `[${type}${typeof mimeType === "string" ? ` ${mimeType}` : ""}]`
    )
    .join("\n")

const isClosed = (client: Client): boolean => client.transport === undefined

/** The tools that a server lists; it lives as long as the scope. `only`: names to include; empty: all. */
export const make = Effect.fn("McpTools.make")(function* (server: Server, only: ReadonlyArray<string> = []) {
  const connection = yield* RcRef.make({ acquire: open(server), idleTimeToLive: "Infinity" })
  const client = Effect.gen(function* () {
    const current = yield* RcRef.get(connection)
    if (!isClosed(current)) return current
    yield* RcRef.invalidate(connection)
    return yield* RcRef.get(connection)
  })
  const listed = yield* Effect.scoped(
    Effect.flatMap(client, (connected) =>
      Effect.tryPromise({
        try: async () => {
          const tools: Array<Awaited<ReturnType<Client["listTools"]>>["tools"][number]> = []
          for (let cursor: string | undefined; ;) {
            const page = await connected.listTools(cursor === undefined ? {} : { cursor })
            tools.push(...page.tools)
            cursor = page.nextCursor
            if (cursor === undefined) return tools
          }
        },
        catch: failing(server, "cannot list the tools of the MCP server")
      })
    )
  )
  const missing = only.filter((name) => !listed.some((tool) => tool.name === name))
  if (missing.length > 0) {
    return yield* new McpError({
      server: nameOf(server),
      message: `the MCP server ${nameOf(server)} has no tool ${missing.join(", ")}; it has ${listed.map(({ name }) => name).join(", ")}`
    })
  }
  return listed
    .filter(({ name }) => only.length === 0 || only.includes(name))
    .map(({ description = "", inputSchema, name }): Tool.Tool<McpError> => ({
      name,
      description,
      parameters: inputSchema,
      run: Effect.fn("McpTools.call")(function* (args) {
        const connected = yield* client
        const result = yield* Effect.tryPromise({
          // The server itself rejects arguments that are not an object.
          try: (signal) =>
            connected.callTool({ name, arguments: ExactJson.sendable(args) as Record<string, unknown> }, undefined, {
              signal
            }),
          catch: (cause) =>
            isClosed(connected) || !isProtocolError(cause)
              ? failing(server, `${name} could not be called at`)(cause)
              : new Tool.ToolError({ message: cause.message })
        })
        const answerText = textOf(Array.isArray(result.content) ? result.content : [])
        return result.isError === true ? yield* new Tool.ToolError({ message: answerText }) : answerText
      }, Effect.scoped)
    }))
})

/** A rejection by the server (JSON-RPC), for example of invalid arguments; a lost connection has other codes. */
const isProtocolError = (cause: unknown): cause is Error =>
  cause instanceof Error && "code" in cause && (cause.code === -32602 || cause.code === -32601 || cause.code === -32603)

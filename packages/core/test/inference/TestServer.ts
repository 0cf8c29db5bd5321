/** A real HTTP server on a free port of the loopback, answering as a test says and remembering what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"
import * as Ports from "../base/Ports.ts"

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  /** The parsed JSON body, `{}` where there is none. */
  readonly body: { readonly [key: string]: unknown }
  /** The body as it was sent. */
  readonly text: string
}

export type Reply =
  | { readonly json: unknown; readonly status?: number; readonly headers?: Record<string, string> }
  | { readonly text: string; readonly status?: number; readonly headers?: Record<string, string> }
  /** Never answers. */
  | "hang"
  /** Half an answer, then the connection breaks. */
  | "break"

export interface TestServer {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  readonly asked: ReadonlyArray<Asked>
  /** The most requests that were open at the same time. */
  readonly max: () => number
  /** Resolves when a client has given a request up. */
  readonly gaveUp: Promise<void>
}

/** What a server is asked to find out what it is; one that has no such paths answers 404. */
const probes: ReadonlySet<string> = new Set(["/openapi.json", "/version", "/server_info", "/get_server_info"])

export interface Options {
  /** Questions for what it is go to `answer` too, and are remembered. */
  readonly isProbed?: boolean
  /** Who owns its model, which says what it is. By default it does not say. */
  readonly owner?: string
}

export const make = (
  answer: (asked: Asked, count: number) => Reply | Promise<Reply>,
  { isProbed = false, owner }: Options = {}
): Effect.Effect<TestServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<TestServer & { readonly close: Effect.Effect<void> }>((resume) => {
      const asked: Array<Asked> = []
      let open = 0
      let most = 0
      const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<void>()
      const server = createServer((request, response) => {
        open++
        most = Math.max(most, open)
        response.on("close", () => {
          open--
          if (!response.writableFinished) giveUp()
        })
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          const text = Buffer.concat(chunks).toString()
          const one: Asked = {
            method: request.method ?? "",
            path: request.url ?? "",
            headers: request.headers,
            text,
            body: text === "" ? {} : JSON.parse(text)
          }
          const path = one.path.split("?")[0]!
          if (!isProbed && one.method === "GET" && (probes.has(path) || /^(\/v1)?\/models$/.test(path))) {
            const isModels = owner !== undefined && path.endsWith("/models")
            send(
              response,
              isModels
                ? { json: { data: [{ id: "default", owned_by: owner }] } }
                : { status: 404, json: { detail: "Not Found" } }
            )
            return
          }
          asked.push(one)
          const replied = new Promise<Reply>((resolve) => resolve(answer(one, asked.length)))
          replied.then(
            (reply) => send(response, reply),
            (error: unknown) => response.destroy(error as Error)
          )
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(
          Effect.succeed({
            url: `http://127.0.0.1:${port}`,
            asked,
            max: () => most,
            gaveUp,
            close: Effect.callback<void>((done) => {
              server.closeAllConnections()
              server.close(() => done(Effect.void))
            })
          })
        )
      })
    }),
    ({ close }) => close
  )

const send = (response: ServerResponse, reply: Reply): void => {
  if (reply === "hang") return
  if (reply === "break") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" })
    response.write('{"choices": [', () => response.destroy())
    return
  }
  const text = "json" in reply ? JSON.stringify(reply.json) : reply.text
  response.writeHead(reply.status ?? 200, { "content-type": "application/json", ...reply.headers })
  response.end(text)
}

/** An address of the loopback at which nobody listens while the scope is open. */
export const nobody: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  Ports.held,
  (port) => `http://127.0.0.1:${port}`
)

/** An OpenAI chat answer with these texts. */
export const chatReply = (texts: ReadonlyArray<string>, more: object = {}): Reply => ({
  json: {
    id: "chatcmpl-1",
    object: "chat.completion",
    choices: texts.map((content, index) => ({ index, finish_reason: "stop", message: { role: "assistant", content } })),
    usage: { prompt_tokens: 7, completion_tokens: texts.length * 3, total_tokens: 7 + texts.length * 3 },
    ...more
  }
})

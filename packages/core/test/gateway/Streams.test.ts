/** Answers of a server that streams, through the gateway: each word goes out when it comes, and ends with who asked. */
import Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import OpenAI, { APIError } from "openai"
import * as Gateway from "../../src/gateway/Gateway.ts"
import * as ServerManager from "../../src/inference/ServerManager.ts"

const call = { id: "call_1", type: "function", function: { name: "look", arguments: "" } }

/** The chunks of the answer: thoughts, words in two halves, and a call in pieces. */
const deltas = {
  early: [{ role: "assistant", content: "" }, { reasoning_content: "Hm. " }, { content: "One " }, { content: "two" }],
  late: [
    { content: " three." },
    { tool_calls: [{ index: 0, ...call }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] },
    { tool_calls: [{ index: 0, function: { arguments: ": 1}" } }] }
  ]
}

const say = (response: ServerResponse, chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\n\n`)
const chunkOf = (delta: object, reason: string | null = null) => ({
  id: "x",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: reason }]
})

/** An OpenAI-compatible server that says the first half of its answer, and the rest when the test lets it. */
const streaming = Effect.acquireRelease(
  Effect.callback<{
    readonly url: string
    readonly goOn: () => void
    readonly breakOff: () => void
    readonly left: Promise<void>
    readonly bodies: ReadonlyArray<{ readonly [key: string]: unknown }>
    readonly close: () => void
  }>((resume) => {
    const open: Array<ServerResponse> = []
    const bodies: Array<{ readonly [key: string]: unknown }> = []
    const { promise: left, resolve: leave } = Promise.withResolvers<void>()
    const server = createServer((request, response) => {
      if (request.method !== "POST") return void response.writeHead(404).end("{}")
      const parts: Array<Buffer> = []
      request.on("data", (part: Buffer) => parts.push(part))
      request.on("end", () => {
        bodies.push(JSON.parse(Buffer.concat(parts).toString()))
        response.on("close", () => {
          if (!response.writableFinished) leave()
        })
        response.writeHead(200, { "content-type": "text/event-stream" })
        for (const delta of deltas.early) say(response, chunkOf(delta))
        open.push(response)
      })
    })
    const goOn = () => {
      for (const response of open.splice(0)) {
        for (const delta of deltas.late) say(response, chunkOf(delta))
        say(response, chunkOf({}, "tool_calls"))
        say(response, { choices: [], usage: { prompt_tokens: 7, completion_tokens: 5 } })
        response.end("data: [DONE]\n\n")
      }
    }
    const breakOff = () => {
      for (const response of open.splice(0)) response.destroy()
    }
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      const close = () => {
        server.closeAllConnections()
        server.close()
      }
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}/v1`, goOn, breakOff, left, bodies, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

const withGateway = <A, E>(
  test: (server: Effect.Success<typeof streaming>, session: Gateway.Session) => Effect.Effect<A, E>
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* streaming
      const servers = ServerManager.layer({ servers: { baseUrl: server.url, modelName: "m" }, maxAttempts: 3 })
      const context = yield* Layer.build(Layer.provide(Gateway.layer(), servers))
      const session = yield* Context.get(context, Gateway.Gateway).open()
      return yield* test(server, session)
    })
  )

const question = [{ role: "user" as const, content: "Count." }]
const tool = { name: "look", parameters: { type: "object" as const, properties: {} } }

/** Reads a stream, and lets the server go on once the first words are there. */
const reading = async <E>(
  stream: AsyncIterable<E>,
  wordsOf: (event: E) => string,
  goOn: () => void
): Promise<{ readonly early: string; readonly all: string }> => {
  let [all, early] = ["", ""]
  for await (const event of stream) {
    all += wordsOf(event)
    if (early === "" && all.startsWith("One two")) {
      early = all
      goOn()
    }
  }
  return { early, all }
}

describe("a streamed answer", () => {
  it.live("comes as it is sampled in Chat Completions, calls and all", () =>
    withGateway(({ bodies, goOn }, session) =>
      Effect.gen(function* () {
        const client = new OpenAI({ apiKey: "any", baseURL: session.baseURL, maxRetries: 0 })
        const { early, all, whole } = yield* Effect.promise(async () => {
          const stream = client.chat.completions.stream({
            model: "any",
            messages: question,
            tools: [{ type: "function", function: tool }],
            stream_options: { include_usage: true }
          })
          const words = await reading(stream, ({ choices }) => choices[0]?.delta.content ?? "", goOn)
          return { ...words, whole: await stream.finalChatCompletion() }
        })
        assert.deepStrictEqual([early, all], ["One two", "One two three."])
        const { finish_reason: reason, message } = whole.choices[0]!
        assert.strictEqual(reason, "tool_calls")
        assert.strictEqual(message.tool_calls?.[0]?.id, "call_1")
        assert.deepStrictEqual(whole.usage?.total_tokens, 12)
        assert.include(bodies[0], { stream: true, model: "m" })
        const [recorded] = yield* session.messages
        assert.strictEqual(recorded?.content, "Count.")
        assert.deepStrictEqual((yield* session.messages).at(-1), {
          role: "assistant",
          content: "One two three.",
          reasoning_content: "Hm. ",
          tool_calls: [{ ...call, function: { name: "look", arguments: '{"a": 1}' } }]
        })
      })
    )
  )

  it.live("comes as it is sampled in Responses", () =>
    withGateway(({ goOn }, session) =>
      Effect.gen(function* () {
        const client = new OpenAI({ apiKey: "any", baseURL: session.baseURL, maxRetries: 0 })
        const { early, all, whole } = yield* Effect.promise(async () => {
          const stream = client.responses.stream({
            model: "any",
            input: "Count.",
            tools: [{ type: "function", strict: false, ...tool }]
          })
          const words = await reading(
            stream,
            (event) => (event.type === "response.output_text.delta" ? event.delta : ""),
            goOn
          )
          return { ...words, whole: await stream.finalResponse() }
        })
        assert.deepStrictEqual([early, all], ["One two", "One two three."])
        assert.strictEqual(whole.output_text, "One two three.")
        assert.deepStrictEqual(
          whole.output.map(({ type }) => type),
          ["reasoning", "message", "function_call"]
        )
      })
    )
  )

  it.live("comes as it is sampled in Messages", () =>
    withGateway(({ goOn }, session) =>
      Effect.gen(function* () {
        const client = new Anthropic({ apiKey: "any", baseURL: session.anthropicBaseURL, maxRetries: 0 })
        const { early, all, whole } = yield* Effect.promise(async () => {
          const { parameters, ...named } = tool
          const stream = client.messages.stream({
            model: "any",
            max_tokens: 99,
            messages: question,
            tools: [{ ...named, input_schema: parameters }]
          })
          const words = await reading(
            stream,
            (event) =>
              event.type === "content_block_delta" && event.delta.type === "text_delta" ? event.delta.text : "",
            goOn
          )
          return { ...words, whole: await stream.finalMessage() }
        })
        assert.deepStrictEqual([early, all], ["One two", "One two three."])
        assert.deepStrictEqual(
          whole.content.map((block) => (block.type === "thinking" ? block.thinking : block.type)),
          ["Hm. ", "text", "tool_use"]
        )
        assert.strictEqual(whole.usage.input_tokens, 7)
      })
    )
  )

  it.live("ends the server's work where the client goes away, and is not recorded", () =>
    withGateway(({ left }, session) =>
      Effect.gen(function* () {
        const client = new OpenAI({ apiKey: "any", baseURL: session.baseURL, maxRetries: 0 })
        yield* Effect.promise(async () => {
          const stream = await client.chat.completions.create({ model: "any", messages: question, stream: true })
          for await (const { choices } of stream) if (choices[0]?.delta.content === "two") break
          await left
        })
        assert.deepStrictEqual(yield* session.trajectories, [])
      })
    )
  )

  it.live("that breaks off is the client's error, and is not asked for again behind its back", () =>
    withGateway(({ bodies, breakOff }, session) =>
      Effect.gen(function* () {
        const client = new OpenAI({ apiKey: "any", baseURL: session.baseURL, maxRetries: 0 })
        const failure = yield* Effect.promise(async () => {
          const stream = await client.chat.completions.create({ model: "any", messages: question, stream: true })
          try {
            for await (const { choices } of stream) if (choices[0]?.delta.content === "two") breakOff()
            return undefined
          } catch (cause) {
            return cause
          }
        })
        assert.instanceOf(failure, APIError)
        assert.strictEqual(bodies.length, 1)
        assert.deepStrictEqual(yield* session.trajectories, [])
        assert.include((yield* session.counts).failed, { failed: 1 })
      })
    )
  )
})

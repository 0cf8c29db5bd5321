/** Answers that take long: what a client gets while the model has said nothing, and that it takes the answer. */
import Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import OpenAI from "openai"
import type * as Gateway from "../../src/gateway/Gateway.ts"
import { InferenceError } from "../../src/inference/wire/Inference.ts"
import * as TestGateway from "./TestGateway.ts"

const question = [{ role: "user" as const, content: "Think long." }]
const soon = { streamBegins: "10 millis", responseBegins: "10 millis", keepAlive: "10 millis" } as const
const broken = new InferenceError({ reason: "failed", server: "scripted", message: "out of memory" })

/** A policy that answers when the test lets it. */
const use = <A, E>(
  test: (there: {
    readonly session: Gateway.Session
    readonly answer: () => void
    readonly fail: () => void
    readonly log: TestGateway.TestGateway["log"]
  }) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const held = yield* Deferred.make<string, InferenceError>()
    return yield* TestGateway.use({ ...soon, script: () => Deferred.await(held) }, ({ gateway, log }) =>
      Effect.flatMap(gateway.open(), (session) =>
        test({
          session,
          log,
          answer: () => Deferred.doneUnsafe(held, Effect.succeed("At last.")),
          fail: () => Deferred.doneUnsafe(held, Effect.fail(broken))
        })
      )
    )
  })

/** Reads a response, and calls `then` once the pattern has come. */
const reading = async (url: string, body: object, pattern: RegExp, then: () => void) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  let text = ""
  let hasCome = false
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (hasCome || !pattern.test(text)) continue
    hasCome = true
    then()
  }
  return { status: response.status, text }
}

const dialects = [
  {
    name: "Chat Completions",
    path: "/v1/chat/completions",
    body: { messages: question, stream: true },
    waiting: /^data: .*"role":"assistant".*\n\n: waiting\n\n: waiting\n\n/
  },
  {
    name: "Responses",
    path: "/v1/responses",
    body: { model: "any", input: "Think long.", stream: true },
    waiting: /^event: response.created\n[^]*response.in_progress[^]*\n\n: waiting\n\n: waiting\n\n/
  },
  {
    name: "Messages",
    path: "/v1/messages",
    body: { model: "any", max_tokens: 99, messages: question, stream: true },
    waiting: /^event: message_start\n[^]*(?:event: ping\ndata: \{"type":"ping"\}\n\n){3}/
  }
]

describe("an answer that takes long", () => {
  for (const { body, name, path, waiting } of dialects) {
    it.live(`begins its stream and keeps it open in ${name}`, () =>
      use(({ answer, log, session }) =>
        Effect.gen(function* () {
          const { status, text } = yield* Effect.promise(() =>
            reading(`${session.anthropicBaseURL}${path}`, body, waiting, answer)
          )
          assert.strictEqual(status, 200)
          assert.match(text, waiting)
          const [trajectory] = yield* TestGateway.assertExact(session, log)
          assert.strictEqual(trajectory?.completion, "At last.")
        })
      )
    )
  }

  it.live("is taken by the SDKs, streamed and whole", () =>
    use(({ answer, session }) =>
      Effect.gen(function* () {
        const openai = new OpenAI({ apiKey: "any", baseURL: session.baseURL, maxRetries: 0 })
        const anthropic = new Anthropic({ apiKey: "any", baseURL: session.anthropicBaseURL, maxRetries: 0 })
        const texts = yield* Effect.promise(async () => {
          const stream = anthropic.messages.stream({ model: "any", max_tokens: 99, messages: question })
          const streamed = openai.chat.completions.stream({ model: "any", messages: question })
          const response = openai.responses.stream({ model: "any", input: "Think long." })
          const whole = openai.chat.completions.create({ model: "any", messages: question })
          const message = anthropic.messages.create({ model: "any", max_tokens: 99, messages: question })
          // The response has begun by then.
          const begun = await whole.asResponse()
          answer()
          const [block] = (await stream.finalMessage()).content
          const [plain] = (await message).content
          return [
            block?.type === "text" ? block.text : "",
            (await streamed.finalChatCompletion()).choices[0]?.message.content,
            (await response.finalResponse()).output_text,
            ((await begun.json()) as OpenAI.ChatCompletion).choices[0]?.message.content,
            plain?.type === "text" ? plain.text : ""
          ]
        })
        assert.deepStrictEqual(
          texts,
          Array.from(texts, () => "At last.")
        )
      })
    )
  )

  it.live("that fails after its stream began is an error in the stream", () =>
    use(({ fail, session }) =>
      Effect.gen(function* () {
        for (const { body, path, waiting } of dialects) {
          const { text } = yield* Effect.promise(() =>
            reading(`${session.anthropicBaseURL}${path}`, body, waiting, fail)
          )
          assert.match(text, /out of memory/)
        }
        assert.deepStrictEqual(yield* session.trajectories, [])
      })
    )
  )

  it.live("that fails after its body began breaks the connection off, which SDKs repeat", () =>
    use(({ fail, session }) =>
      Effect.gen(function* () {
        const openai = new OpenAI({ apiKey: "any", baseURL: session.baseURL, maxRetries: 0 })
        const failure = yield* Effect.promise(async () => {
          const begun = await openai.chat.completions.create({ model: "any", messages: question }).asResponse()
          fail()
          return begun.text().then(
            () => undefined,
            (error: unknown) => error
          )
        })
        assert.instanceOf(failure, Error)
        assert.deepStrictEqual((yield* session.counts).failed, { failed: 1 })
      })
    )
  )
})

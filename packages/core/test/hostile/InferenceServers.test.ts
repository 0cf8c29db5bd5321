/** Servers that answer without end, send elsewhere, ask for eternal patience, or give numbers that are no logprobs. */
import { assert, describe, it } from "@effect/vitest"
import { type ServerManager, ServerSettings } from "@atropos/core"
import { Effect, Schema } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import * as Identity from "../../src/inference/backend/Identity.ts"
import * as OpenAi from "../../src/inference/backend/OpenAi.ts"
import * as Patched from "../../src/inference/backend/Patched.ts"
import * as Positions from "../../src/inference/wire/Positions.ts"
import * as Sglang from "../../src/inference/backend/Sglang.ts"
import * as Transport from "../../src/inference/wire/Transport.ts"
import * as Trl from "../../src/inference/backend/Trl.ts"
import * as Vllm from "../../src/inference/backend/Vllm.ts"
import * as RetryAfter from "../../src/http/RetryAfter.ts"
import * as Reasoning from "../../src/inference/backend/Reasoning.ts"
import * as TestServer from "../inference/TestServer.ts"

const hello = { messages: [{ role: "user", content: "hello" }] }

const optionsFor = (url: string, identity: Partial<Identity.Identity> = {}) =>
  Effect.map(Transport.make, (transport): OpenAi.Options => ({
    identity: { ...Identity.base("openai", "m"), ...identity },
    settings: ServerSettings.server.complete({ baseUrl: `${url}/v1`, apiKey: "sk-secret-key" }),
    reasoning: Reasoning.off,
    transport
  }))

/** A server that answers as it likes, byte by byte; `closed` resolves when a client has gone. */
const serving = (answer: (request: IncomingMessage, response: ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly closed: Promise<void>; readonly close: () => void }>((resume) => {
      const { promise: closed, resolve } = Promise.withResolvers<void>()
      const server = createServer((request, response) => {
        response.on("close", () => {
          if (!response.writableFinished) resolve()
        })
        request.resume()
        request.on("end", () => answer(request, response))
      })
      server.listen(0, "127.0.0.1", () => {
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        resume(Effect.succeed({ url, closed, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const piece = Buffer.alloc(2 ** 20, " ")

/** Writes for ever, as fast as it is read. */
const endless =
  (headers: Record<string, string>, status = 200, bytes: Uint8Array = piece) =>
  (_: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    const write = (): void => {
      while (!response.destroyed && response.write(bytes));
    }
    response.on("drain", write)
    write()
  }

type Way = (options: OpenAi.Options) => Effect.Effect<unknown, ServerManager.InferenceError>

const chatWith = (options: OpenAi.Options) => Effect.flatMap(OpenAi.make(options), ({ chat }) => chat(hello))
const tokensWith: Way = (options) => Effect.flatMap(Sglang.make(options), ({ tokens }) => tokens({ inputIds: [1] }))

/** The two ways to a server: through the `openai` package, and our own requests. */
const ways: ReadonlyArray<readonly [string, Way]> = [
  ["chat", chatWith],
  ["tokens", tokensWith]
]

describe("an answer of an inference server", () => {
  for (const [way, ask] of ways) {
    it.live(`is not read without end (${way})`, () =>
      Effect.gen(function* () {
        const { closed, url } = yield* serving(endless({}))
        const error = yield* Effect.flip(Effect.flatMap(optionsFor(url), ask))
        assert.strictEqual(error.reason, "malformed")
        assert.include(error.message, url)
        assert.match(error.message, /the answer is larger than 128 MiB/)
        yield* Effect.promise(() => closed)
      })
    )

    it.live(`that refuses is shown by its beginning, however long it is (${way})`, () =>
      Effect.gen(function* () {
        const { closed, url } = yield* serving(endless({}, 400, Buffer.from("no, and no, ")))
        const error = yield* Effect.flip(Effect.flatMap(optionsFor(url), ask))
        assert.deepStrictEqual([error.reason, error.status], ["rejected", 400])
        assert.isBelow(error.message.length, 500)
        yield* Effect.promise(() => closed)
      })
    )

    it.live(`is not parsed where it would fill the memory (${way})`, () =>
      Effect.gen(function* () {
        for (const text of [`[${"{},".repeat(5_000_000)}1]`, "[".repeat(100_000)]) {
          const { url } = yield* TestServer.make(() => ({ text }))
          const error = yield* Effect.flip(Effect.flatMap(optionsFor(url), ask))
          assert.strictEqual(error.reason, "malformed")
          assert.match(error.message, /nested too deeply, or has too many lists and maps/)
        }
      })
    )

    it.live(`that leads elsewhere is not followed: no prompt and no key goes there (${way})`, () =>
      Effect.gen(function* () {
        const other = yield* TestServer.make(() => TestServer.chatReply(["stolen"]))
        for (const status of [301, 302, 303, 307, 308]) {
          const { url } = yield* TestServer.make(() => ({
            status,
            text: "",
            headers: { location: `${other.url}/v1/chat/completions` }
          }))
          const error = yield* Effect.flip(Effect.flatMap(optionsFor(url), ask))
          assert.deepStrictEqual([error.reason, error.status], ["rejected", status])
          assert.include(error.message, `a redirect to ${other.url}/v1/chat/completions, which is not followed`)
        }
        assert.deepStrictEqual(other.asked, [])
      })
    )
  }

  it.live("counts by what a compressed body unfolds to", () =>
    Effect.gen(function* () {
      const { url } = yield* serving((_, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        response.end(gzipSync(Buffer.alloc(160 * 2 ** 20, " ")))
      })
      const chat = yield* Effect.flip(Effect.flatMap(optionsFor(url), chatWith))
      assert.match(chat.message, /the answer is larger than 128 MiB/)
      const tokens = yield* Effect.flip(Effect.flatMap(optionsFor(url), tokensWith))
      assert.match(tokens.message, /the answer is compressed \(gzip\), which was not requested/)
    })
  )

  it.live("may be compressed where that was offered", () =>
    Effect.gen(function* () {
      const reply = TestServer.chatReply(["hi"]) as { readonly json: unknown }
      const { url } = yield* serving((_, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        response.end(gzipSync(JSON.stringify(reply.json)))
      })
      const { choices } = yield* Effect.flatMap(optionsFor(url), chatWith)
      assert.strictEqual(choices[0]?.text, "hi")
    })
  )

  it.live("asks for an hour of patience at most", () =>
    Effect.gen(function* () {
      for (const header of ["1e300", "31536000", "Fri, 31 Dec 9999 23:59:59 GMT"]) {
        const { url } = yield* TestServer.make(() => ({
          status: 429,
          text: "later",
          headers: { "retry-after": header }
        }))
        for (const [, ask] of ways) {
          const error = yield* Effect.flip(Effect.flatMap(optionsFor(url), ask))
          assert.deepStrictEqual([error.reason, error.retryAfterMillis], ["overloaded", 3_600_000])
        }
      }
    })
  )
})

describe("Retry-After", () => {
  const now = Date.UTC(2026, 0, 1, 12)

  it("is seconds or a date", () => {
    assert.strictEqual(RetryAfter.millis("1.5", now), 1500)
    assert.strictEqual(RetryAfter.millis("Thu, 01 Jan 2026 12:00:30 GMT", now), 30_000)
    assert.strictEqual(RetryAfter.millis("Thu, 01 Jan 2026 11:00:00 GMT", now), 0)
    assert.strictEqual(RetryAfter.millis("soon", now), undefined)
    assert.strictEqual(RetryAfter.millis(undefined, now), undefined)
  })

  it.prop("is never out of bounds, whatever it says", [Schema.Union([Schema.String, Schema.Number])], ([header]) => {
    const wait = RetryAfter.millis(String(header), now)
    assert.isTrue(wait === undefined || (wait >= 0 && wait <= RetryAfter.maxMillis))
  })
})

/** What each kind of server says of tokens 7 and 8 with these logprobs. */
const liars = [
  [
    "vllm",
    (a: number, b: number) => ({
      choices: [{ index: 0, token_ids: [7, 8], logprobs: { content: [{ logprob: a }, { logprob: b }] } }]
    }),
    (url: string) =>
      Effect.flatMap(optionsFor(url, { tokens: "/inference/v1/generate", idsBy: "return_token_ids" }), Vllm.make)
  ],
  [
    "sglang",
    (a: number, b: number) => ({
      meta_info: {
        output_token_logprobs: [
          [a, 7, null],
          [b, 8, null]
        ],
        finish_reason: null
      }
    }),
    (url: string) => Effect.flatMap(optionsFor(url), Sglang.make)
  ],
  [
    "patched",
    (a: number, b: number) => ({ logprobs: [[{ "7": a }, { "8": b }]], finish_reasons: ["stop"] }),
    (url: string) => Effect.flatMap(optionsFor(url), Patched.make)
  ],
  [
    "trl",
    (a: number, b: number) => ({ completion_ids: [[7, 8]], logprobs: [[a, b]] }),
    (url: string) =>
      Effect.map(optionsFor(url, { tokens: "/generate/", logprobs: "processed" }), (options) =>
        Trl.make(options, undefined)
      )
  ]
] as const

describe("a logprob above 0", () => {
  for (const [kind, answer, backendOf] of liars) {
    it.live(`is refused with the server, the token and what it seems to be (${kind})`, () =>
      Effect.gen(function* () {
        const answers: ReadonlyArray<readonly [number, number, string]> = [
          [0.5, 0.25, "token 7 at output position 0 has the logprob 0.5"],
          [0.5, 0.25, "probabilities instead of logprobs"],
          [0, 1.5, "token 8 at output position 1 has the logprob 1.5"],
          [0.7, 1.5, "omit the sign"],
          [-3, 12, "logits without a softmax"]
        ]
        for (const [a, b, told] of answers) {
          const { url } = yield* TestServer.make(() => ({ json: answer(a, b) }))
          const error = yield* Effect.flip(Effect.flatMap(backendOf(url), ({ tokens }) => tokens({ inputIds: [1] })))
          assert.strictEqual(error.reason, "malformed")
          assert.include(error.message, `answer of ${url}/v1`)
          assert.include(error.message, told)
        }
        // A certain token's logprob may be rounded to a little above 0.
        const { url } = yield* TestServer.make(() => ({ json: answer(1e-6, -2) }))
        const [choice] = yield* Effect.flatMap(backendOf(url), ({ tokens }) => tokens({ inputIds: [1] }))
        assert.deepStrictEqual(choice?.logprobs, [1e-6, -2])
      })
    )
  }

  it.live("of a prompt is refused too", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer.make(() => ({ json: { prompt_logprobs: [null, { "5": 0.9, "6": 0.1 }] } }))
      const options = yield* optionsFor(url, { promptLogprobs: true })
      const backend = yield* Patched.make(options)
      const error = yield* Effect.flip(backend.promptLogprobs({ inputIds: [1, 5], topK: 2 }))
      assert.include(error.message, "token 5 at prompt position 1 has the logprob 0.9")
      assert.include(error.message, "probabilities instead of logprobs")
    })
  )

  it.effect("and a token that no vocabulary has are both no answer", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Positions.check("s", { tokens: [2 ** 31], logprobs: [-1] }))
      assert.include(error.message, "invalid token 2147483648")
    })
  )
})

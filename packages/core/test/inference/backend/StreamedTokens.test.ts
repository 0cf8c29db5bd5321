/** Token ids as vLLM samples them, from its streamed text completions (test/fixtures/vllm-stream.json, vLLM 0.32). */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as TestServer from "../TestServer.ts"
import { backendOf, quiet } from "./ProbedBackend.ts"

const Recorded = Schema.Struct({ stream: Schema.String, whole: Schema.Unknown })
const { stream, whole } = Schema.decodeUnknownSync(Schema.fromJsonString(Recorded))(
  readFileSync(new URL("../../fixtures/vllm-stream.json", import.meta.url), "utf8")
)

/** Answers with the recorded stream, or another, where one is asked for. */
const serve = (streamed = stream) =>
  TestServer.make(
    ({ body, path }) => {
      if (path === "/v1/models") return { json: { data: [{ id: "tiny", owned_by: "vllm", max_model_len: 512 }] } }
      if (path === "/version") return { json: { version: "0.32.0" } }
      if (path !== "/v1/completions") return { status: 404, json: { detail: "Not Found" } }
      return body["stream"] === true
        ? { text: streamed, headers: { "content-type": "text/event-stream" } }
        : { json: whole }
    },
    { isProbed: true }
  )

const question = { inputIds: [504, 3575, 282, 4649, 314], maxTokens: 12, temperature: 0 }

const sampled = (url: string, isStreamed: boolean) =>
  Effect.gen(function* () {
    const backend = yield* backendOf(url, { logprobsMode: "processed" })
    const parts: Array<ReadonlyArray<number>> = []
    const request = { ...question, ...(isStreamed && { onTokens: (ids: ReadonlyArray<number>) => parts.push(ids) }) }
    const [choice] = yield* quiet(backend.tokens(request))
    return { choice: choice!, parts }
  })

describe("streamed token ids of vLLM", () => {
  it.live("come as they are sampled, and are the same answer", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serve()
      const plain = yield* sampled(url, false)
      const streamed = yield* sampled(url, true)
      assert.strictEqual(plain.choice.tokens.length, 12)
      assert.deepStrictEqual(streamed.choice, plain.choice)
      assert.deepStrictEqual(streamed.parts.flat(), plain.choice.tokens)
      assert.isAbove(streamed.parts.length, 1)
      assert.deepStrictEqual(
        asked.filter(({ path }) => path === "/v1/completions").map(({ body }) => body["stream"]),
        [undefined, true]
      )
    })
  )

  it.live("fail if the stream breaks off, reports an error, loses ids or is of another choice", () =>
    Effect.gen(function* () {
      const events = stream.trim().split("\n\n")
      const broken = {
        "ended before the answer was complete": events.slice(0, 3).join("\n\n"),
        "is overloaded": `${events[0]}\n\ndata: {"error": {"message": "it is overloaded", "code": 503}}\n\n`,
        "usage reports 12 tokens": events.filter((_, index) => index !== 2).join("\n\n"),
        "is of another": stream.replace('"index":0', '"index":1')
      }
      for (const [message, text] of Object.entries(broken)) {
        const { url } = yield* serve(`${text}\n\n`)
        assert.include((yield* Effect.flip(sampled(url, true))).message, message)
      }
    })
  )
})

/** Prompts that are too long are refused by their beginnings, at every endpoint that encodes a text. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { Tokenizer } from "@atropos/core"
import * as PolicyServer from "../../src/server/PolicyServer.ts"
import * as ScriptedEngine from "./ScriptedEngine.ts"

const maxSequenceTokens = 256
const chat = (content: string) => [{ role: "user", content }]

/** A server whose tokenizer counts the characters that it encodes. */
const serve = Effect.gen(function* () {
  const seen = { characters: 0 }
  const scripted = yield* ScriptedEngine.make(() => "ok", { maxSequenceTokens })
  const tokenizer: Tokenizer.TokenizerShape = {
    ...Tokenizer.bytes,
    encode: (text, options) => {
      seen.characters += text.length
      return Tokenizer.bytes.encode(text, options)
    }
  }
  const layer = PolicyServer.layer({ modelName: "p", maxSequenceTokens, host: "127.0.0.1", port: 0 }).pipe(
    Layer.provide(Layer.merge(scripted.layer, Layer.succeed(Tokenizer.Tokenizer, tokenizer)))
  )
  const { address } = Context.get(yield* Layer.build(layer), HttpServer.HttpServer)
  const post = (path: string, body: unknown) =>
    Effect.promise(async () => {
      const answer = await fetch(`${HttpServer.formatAddress(address)}${path}`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" }
      })
      const text = await answer.text()
      return { status: answer.status, text }
    })
  return { post, scripted, seen }
})

const long = "word ".repeat(200_000)

describe("prompts that are too long", () => {
  it.live("are encoded by their beginnings alone, and never get to the engine", () =>
    Effect.gen(function* () {
      const { post, scripted, seen } = yield* serve
      for (const [path, body] of [
        ["/v1/completions", { prompt: long }],
        ["/v1/completions", { prompt: ["hi", long] }],
        ["/v1/completions", { prompt: long, echo: true, max_tokens: 0, logprobs: 1 }],
        ["/v1/chat/completions", { messages: chat(long) }],
        ["/v1/chat/completions", { messages: Array.from({ length: 1000 }, () => chat("hi")[0]) }],
        ["/generate", { prompt: long }],
        ["/generate", { prompt: { prompt_token_ids: Array.from({ length: 100_000 }, () => 65) } }],
        ["/tokenize", { prompt: long }],
        ["/tokenize", { messages: chat(long) }],
        ["/detokenize", { tokens: Array.from({ length: 200_000 }, () => 65) }]
      ] as const) {
        seen.characters = 0
        const { status, text } = yield* post(path, body)
        const about = `${path} ${Object.keys(body).join()}: ${text.slice(0, 300)}`
        assert.strictEqual(status, 400, about)
        assert.include(text, "context_length_exceeded", about)
        // A text is counted over some ten thousand characters at most, of a document over more.
        assert.isAtMost(seen.characters, path === "/tokenize" ? 300_000 : 10_000, about)
      }
      assert.strictEqual(scripted.asked.length, 0)
      assert.strictEqual((yield* post("/v1/completions", { prompt: "hi", max_tokens: 2 })).status, 200)
    }).pipe(Effect.scoped)
  )
})

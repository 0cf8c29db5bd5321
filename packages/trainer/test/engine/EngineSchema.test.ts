/** Answers held to a JSON schema, through the engine's thread and the grammar library. */
import { Tokenizer } from "@atropos/core"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as TinyDecoder from "./TinyDecoder.ts"

const { bytes } = Tokenizer
// A few more logits than tokens, as models have.
const decoder = TinyDecoder.withConfig({ ...TinyDecoder.config, vocabSize: 264 })
const parameters = TinyDecoder.parameters(1, decoder)
const engineLayer = Engine.layer({
  model: DecodeGraph.make(decoder),
  initial: { policy: "base", policyVersion: 0, parameters },
  device: "cpu",
  tokenizer: bytes
})

const schema = JSON.stringify({
  type: "object",
  properties: {
    name: { enum: ["Ada", "Grace"] },
    age: { type: "integer", minimum: 3, maximum: 17 },
    ok: { type: "boolean" }
  },
  required: ["name", "age", "ok"],
  additionalProperties: false
})

const request = (of: Partial<Engine.GenerateRequest> = {}): Engine.GenerateRequest => ({
  promptTokens: bytes.encode("who?"),
  n: 1,
  maxTokens: 200,
  temperature: 1,
  topP: 1,
  topK: 0,
  stopTokenIds: [258],
  seed: 7,
  schema,
  // A model of random weights would write little else.
  logitBias: { "9": -100, "10": -100, "13": -100, "32": -100 },
  ...of
})

/** A call of a tool. */
const call = (name: string, own: object) => ({
  type: "object",
  properties: { name: { const: name }, arguments: { type: "object", ...own } },
  required: ["name", "arguments"],
  additionalProperties: false
})

layer(engineLayer, { excludeTestServices: true })("answers to a schema", (it) => {
  it.effect("keep to it, greedy and sampled, with the logprobs that training computes", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const asked = [
        request({ n: 3 }),
        request({ temperature: 0, repetitionPenalty: 1.2 }),
        request({ topK: 3, topP: 0.9, minP: 0.01, seed: 8 })
      ]
      const all = (yield* Effect.forEach(asked, engine.generate, { concurrency: "unbounded" })).flat()
      assert.strictEqual(all.length, 5)
      for (const { finishReason, logprobs, tokens } of all) {
        const text = bytes.decode(tokens.slice(0, -1))
        assert.deepStrictEqual([finishReason, tokens.at(-1)], ["stop", 258], text)
        const { age, name, ok, ...rest } = JSON.parse(text)
        assert.include(["Ada", "Grace"], name)
        assert.isTrue(Number.isInteger(age) && age >= 3 && age <= 17 && typeof ok === "boolean")
        assert.deepStrictEqual(rest, {})
        const scored = yield* engine.score({ promptTokens: [...bytes.encode("who?"), ...tokens] })
        for (const [t, logprob] of logprobs.entries()) assert.closeTo(logprob, scored.logprobs[4 + t]!, 1e-5)
      }
      const again = yield* engine.generate(asked[0]!)
      assert.deepStrictEqual(
        again.map(({ tokens }) => tokens),
        all.slice(0, 3).map(({ tokens }) => tokens)
      )
    })
  )

  it.effect("are one of several calls, of those tools alone", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const calls = [
        call("add", {
          properties: { a: { type: "integer", maximum: 9 } },
          required: ["a"],
          additionalProperties: false
        }),
        call("stop", { properties: {}, additionalProperties: false })
      ]
      const choices = yield* engine.generate(request({ n: 4, schema: JSON.stringify({ anyOf: calls }) }))
      for (const { finishReason, tokens } of choices) {
        const text = bytes.decode(tokens.slice(0, -1))
        assert.strictEqual(finishReason, "stop", text)
        const { arguments: given, name } = JSON.parse(text)
        assert.include(["add", "stop"], name)
        assert.deepStrictEqual(Object.keys(given), name === "add" ? ["a"] : [])
      }
    })
  )

  it.effect("are refused where a schema makes no grammar, and the next one is served", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const error = yield* Effect.flip(engine.generate(request({ schema: '{"$ref":"#/nowhere"}' })))
      assert.deepInclude(error, { _tag: "InvalidRequest", field: "schema" })
      assert.include(error.message, "#/nowhere is not in the schema")
      const endless = yield* Effect.flip(engine.generate(request({ stopTokenIds: [] })))
      assert.include(endless.message, "at least one token that ends an answer to a schema")
      const [answer] = yield* engine.generate(request())
      assert.isObject(JSON.parse(bytes.decode(answer!.tokens.slice(0, -1))))
      const { kvBytes, running } = yield* engine.status
      assert.deepStrictEqual([kvBytes, running], [0, 0])
    })
  )
})

/** Grammars in threads beside the engine: other requests go on, and what is refused stands in the error. */
import { Tokenizer } from "@atropos/core"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as TinyDecoder from "./TinyDecoder.ts"

const { bytes } = Tokenizer
const decoder = TinyDecoder.withConfig({ ...TinyDecoder.config, vocabSize: 264 })
const engineLayer = Engine.layer({
  model: DecodeGraph.make(decoder),
  initial: { policy: "base", policyVersion: 0, parameters: TinyDecoder.parameters(1, decoder) },
  device: "cpu",
  tokenizer: bytes
})

const request = (schema?: unknown): Engine.GenerateRequest => ({
  promptTokens: bytes.encode("who?"),
  n: 2,
  maxTokens: 60,
  temperature: 1,
  topP: 1,
  topK: 0,
  stopTokenIds: [258],
  seed: 7,
  ...(schema !== undefined && { schema: JSON.stringify(schema) })
})

layer(engineLayer, { excludeTestServices: true })("answers to schemas", (it) => {
  it.effect("of several schemas at once, and free ones, do not mix", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const words = ["red", "green", "blue", "grey", "pink", "gold"]
      const free = yield* Effect.forkChild(engine.generate(request()))
      const all = yield* Effect.forEach(words, (word) => engine.generate(request({ const: word })), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        all.map((choices) => choices.map(({ tokens }) => bytes.decode(tokens.slice(0, -1)))),
        words.map((word) => [JSON.stringify(word), JSON.stringify(word)])
      )
      assert.strictEqual((yield* Fiber.join(free)).length, 2)
    })
  )

  it.effect("go on while the grammar of a large one is compiled, free ones and small ones", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      // All is loaded, so that what follows takes milliseconds, and this schema seconds.
      yield* engine.generate(request({ const: "ready" }))
      const properties = Object.fromEntries(Array.from({ length: 800 }, (_, at) => [`q${at}`, { type: "string" }]))
      const ended: Array<string> = []
      const ask = (name: string, schema?: unknown) =>
        Effect.exit(
          Effect.ensuring(
            engine.generate(request(schema)),
            Effect.sync(() => ended.push(name))
          )
        )
      const [large, free, small] = yield* Effect.all(
        [ask("large", { type: "object", properties }), ask("free"), ask("small", { const: 3 })],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(ended.at(-1), "large", ended.join())
      assert.isTrue([large, free, small].every(Exit.isSuccess))
    })
  )

  it.effect("that are cancelled while their grammar is compiled leave nothing behind", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const properties = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`p${at}`, { type: "string" }]))
      const large = yield* Effect.forkChild(engine.generate(request({ type: "object", properties })))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(large)
      const [one] = yield* engine.generate(request({ const: 1 }))
      assert.strictEqual(bytes.decode(one!.tokens.slice(0, -1)), "1")
      const { running, waiting } = yield* engine.status
      assert.deepStrictEqual([running, waiting], [0, 0])
    })
  )
})

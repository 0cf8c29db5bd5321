/** The engine on a model whose layers have states: what it says is what training computes, whatever runs beside it. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as CounterRandom from "../../src/base/CounterRandom.ts"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as Model from "../../src/model/Model.ts"
import * as Architectures from "../model/Architectures.ts"
import * as Fixtures from "../model/Fixtures.ts"

const services = Layer.mergeAll(Ort.layer({ threads: 1 }), NodeServices.layer)
const vocabulary = 64

/** The fixture, with room for more than a block of a prompt. */
const loaded = Effect.map(Architectures.load(Architectures.folder("qwen3-5")), ({ model, parameters }) => ({
  model: { ...model, config: { ...model.config, maxPositions: 512 } },
  parameters
}))

const tokens = (length: number, seed: number): ReadonlyArray<number> =>
  Array.from({ length }, (_, i) => Math.floor(vocabulary * CounterRandom.uniform(seed, 3, i)))

describe("a model with states in the engine", () => {
  it.live("has the trainer's logprobs: prompts in blocks, rows that move, scores, and guesses that are not made", () =>
    Effect.gen(function* () {
      const { model, parameters } = yield* loaded
      const engineWith = (speculativeTokens: number) =>
        Engine.make({
          model: DecodeGraph.make(Model.decodable(model)),
          initial: { policy: "adapter", policyVersion: 0, parameters },
          device: "cpu",
          settings: { speculativeTokens }
        })
      const engine = yield* engineWith(0)
      // Of the first blocks of three prompts one run is made.
      const prompts = [tokens(5, 1), tokens(150, 2), tokens(7, 4), tokens(300, 5), tokens(140, 6)]
      const asked = { n: 3, temperature: 1, topP: 1, topK: 0, maxTokens: 30, stopTokenIds: [1, 2, 3, 4, 5] }
      const answers = yield* Effect.forEach(
        prompts,
        (promptTokens, seed) => engine.generate({ ...asked, promptTokens, seed }),
        { concurrency: "unbounded" }
      )
      const choices = answers.flatMap((all, i) => all.map((choice) => ({ ...choice, prompt: prompts[i]! })))
      // Some end before others.
      assert.isAbove(new Set(choices.map((choice) => choice.tokens.length)).size, 3)
      const cells = Fixtures.grid(choices.map(({ prompt, tokens }) => [[...prompt, ...tokens]]))
      const logits = yield* Effect.flatMap(Fixtures.logitsOf(model), (run) => run(cells, parameters))
      for (const [i, { logprobs, prompt, tokens }] of choices.entries()) {
        const row = [...prompt, ...tokens]
        const own = logits.subarray(cells.starts[i]! * vocabulary, (cells.starts[i]! + row.length) * vocabulary)
        const theirs = Architectures.logprobs(own, row, vocabulary).subarray(prompt.length - 1)
        assert.isBelow(Fixtures.maxDifference(logprobs, theirs), 1e-4)
      }
      const longest = choices.find(({ prompt }) => prompt.length === 300)!
      const scored = yield* engine.score({ promptTokens: [...longest.prompt, ...longest.tokens] })
      assert.isBelow(Fixtures.maxDifference(longest.logprobs, scored.logprobs.subarray(300)), 1e-4)
      const [again] = yield* engine.generate({ ...asked, promptTokens: prompts[1]!, seed: 1 })
      assert.deepStrictEqual(again!.tokens, answers[1]![0]!.tokens)
      assert.deepStrictEqual(again!.logprobs, answers[1]![0]!.logprobs)
      assert.strictEqual(again!.cachedTokens, 0)
      const guessing = yield* engineWith(4)
      const [guessed] = yield* guessing.generate({ ...asked, promptTokens: prompts[1]!, seed: 1 })
      assert.deepStrictEqual(guessed!.tokens, again!.tokens)
      assert.strictEqual((yield* guessing.status).guessedTokens, 0)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

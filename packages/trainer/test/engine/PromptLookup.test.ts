/** Guesses change how fast an engine samples, and nothing else. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import type { EngineSettings } from "../../src/engine/EngineSettings.ts"
import * as PromptLookup from "../../src/base/PromptLookup.ts"
import * as TinyDecoder from "./TinyDecoder.ts"

describe("PromptLookup", () => {
  it("goes on as the sequence did the last time it ended so, by the longest ending", () => {
    assert.deepStrictEqual(PromptLookup.guess([1, 2, 3, 4, 5, 6, 7], [9, 3, 4], 3), [5, 6, 7])
    assert.deepStrictEqual(PromptLookup.guess([1, 2, 3, 8, 9, 2, 3, 7], [1, 2, 3], 1), [8])
    assert.deepStrictEqual(PromptLookup.guess([2, 3, 5, 2, 3, 6], [2, 3], 4), [6, 2, 3, 6])
    assert.deepStrictEqual(PromptLookup.guess([4, 4, 4], [4, 4], 3), [4, 4, 4])
    assert.deepStrictEqual(PromptLookup.guess([1, 2, 3], [4], 3), [])
    assert.deepStrictEqual(PromptLookup.guess([1, 2, 1, 2], [], 0), [])
    assert.deepStrictEqual(PromptLookup.guess([1], [], 2), [])
  })
})

const parameters = TinyDecoder.parameters(1)
const model = DecodeGraph.make(TinyDecoder.model)
const withEngine = <A, E>(settings: Partial<EngineSettings>, use: (engine: Engine.Shape) => Effect.Effect<A, E>) =>
  Effect.scoped(
    Effect.flatMap(
      Engine.make({ model, initial: { policy: "base", policyVersion: 0, parameters }, device: "cpu", settings }),
      use
    )
  )

/** A text that comes back, so that there is something to guess, at temperatures at which it is often right. */
const request = (of: Partial<Engine.GenerateRequest>): Engine.GenerateRequest => ({
  promptTokens: Array.from({ length: 60 }, (_, t) => (t * t + 3 * t) % 29),
  n: 2,
  maxTokens: 150,
  temperature: 0,
  topP: 1,
  topK: 0,
  stopTokenIds: [],
  seed: 7,
  ...of
})

const requests = [
  request({}),
  request({ temperature: 0.3, seed: 8 }),
  request({ temperature: 1, topK: 4, repetitionPenalty: 1.1 }),
  request({ temperature: 0.2, seed: 3, stopTokenIds: [4], maxTokens: 40 }),
  request({ temperature: 0.1, maxTokens: 3 })
]

describe("speculative decoding", () => {
  it.live("gives the samples that decoding token by token gives, with the same seeds", () =>
    Effect.gen(function* () {
      const ask = (engine: Engine.Shape) => Effect.forEach(requests, engine.generate, { concurrency: "unbounded" })
      const plain = yield* withEngine({}, ask)
      for (const speculativeTokens of [4]) {
        yield* withEngine({ speculativeTokens, maxRows: 6 }, (engine) =>
          Effect.gen(function* () {
            const guessed = yield* ask(engine)
            for (const [i, choices] of guessed.entries()) {
              for (const [index, { finishReason, logprobs, tokens }] of choices.entries()) {
                const wanted = plain[i]![index]!
                assert.deepStrictEqual([tokens, finishReason], [wanted.tokens, wanted.finishReason])
                for (const [t, logprob] of logprobs.entries()) assert.closeTo(logprob, wanted.logprobs[t]!, 1e-5)
              }
            }
            const { acceptedGuesses, generatedTokens, guessedTokens, kvBytes } = yield* engine.status
            assert.isAbove(acceptedGuesses, generatedTokens / 8)
            assert.isAtLeast(guessedTokens, acceptedGuesses)
            assert.strictEqual(kvBytes, 0)
            // Bit for bit, alone as in company.
            assert.deepStrictEqual(yield* engine.generate(requests[1]!), guessed[1])
          })
        )
      }
    })
  )
})

/** Sampling parameters through the engine's thread, and choices that end before their request does. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { Executor } from "../../src/exec/Executor.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as TinyDecoder from "./TinyDecoder.ts"

const parameters = TinyDecoder.parameters(1)
const engineLayer = Engine.layer({
  model: DecodeGraph.make(TinyDecoder.model),
  initial: { policy: "base", policyVersion: 0, parameters },
  device: "cpu"
})

const request = (of: Partial<Engine.GenerateRequest> = {}): Engine.GenerateRequest => ({
  promptTokens: [1, 5, 9, 2],
  n: 1,
  maxTokens: 24,
  temperature: 1,
  topP: 1,
  topK: 0,
  stopTokenIds: [],
  seed: 7,
  ...of
})

layer(Layer.merge(engineLayer, Ort.layer({ threads: 1 })), { excludeTestServices: true })("Engine", (it) => {
  it.effect("draws from logits after penalties and bias, and reports the logprobs that training computes", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const executor = yield* Executor
      const asked = request({
        temperature: 0,
        repetitionPenalty: 1.4,
        presencePenalty: 0.5,
        frequencyPenalty: 0.3,
        logitBias: { "3": 1.5, "7": -100 }
      })
      const [choice] = yield* engine.generate(asked)
      const rows = yield* TinyDecoder.logprobs(executor, parameters, [...asked.promptTokens, ...choice!.tokens])
      const { promptTokens } = asked
      for (const [t, token] of choice!.tokens.entries()) {
        const row = rows[promptTokens.length - 1 + t]!
        assert.closeTo(choice!.logprobs[t]!, row[token]!, 3e-6)
        assert.notStrictEqual(token, 7)
      }
      const plain = yield* engine.generate(request({ temperature: 0 }))
      assert.notDeepEqual(plain[0]!.tokens, choice!.tokens)
      // A bias that leaves nothing else: certain to be drawn, and still as likely as the model finds it.
      const [forced] = yield* engine.generate(request({ logitBias: { "5": 100 }, temperature: 1.3, maxTokens: 4 }))
      assert.deepStrictEqual([...forced!.tokens], [5, 5, 5, 5])
      assert.isTrue(forced!.logprobs.every((logprob) => logprob < -0.5))
    })
  )

  it.effect("refuses parameters out of range by their names", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const wrong: ReadonlyArray<readonly [Partial<Engine.GenerateRequest>, string]> = [
        [{ repetitionPenalty: 0 }, "repetitionPenalty must be a number above 0"],
        [{ presencePenalty: 3 }, "presencePenalty must be from -2 to 2"],
        [{ frequencyPenalty: Number.NaN }, "frequencyPenalty must be from -2 to 2"],
        [{ logitBias: { a: 1 } }, 'logitBias must be by token ids below 29, not "a"'],
        [{ logitBias: { "29": 1 } }, 'logitBias must be by token ids below 29, not "29"'],
        [{ logitBias: { "5": 101 } }, "logitBias must be of numbers from -100 to 100"],
        [{ minP: 2 }, "minP must be from 0 to 1"]
      ]
      for (const [of, message] of wrong) {
        assert.include((yield* Effect.flip(engine.generate(request(of)))).message, message)
      }
    })
  )

  it.effect("frees the row of a choice that is ended, and samples the others as if it had gone on", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const long = request({ n: 3, maxTokens: 600 })
      const whole = yield* engine.generate(long)
      const before = (yield* engine.status).generatedTokens
      let end: ((index: number) => void) | undefined
      const events = yield* engine
        .stream(long, (given) => (end = given))
        .pipe(
          Stream.tap((event) => Effect.sync(() => event.index === 1 && end?.(1))),
          Stream.runCollect
        )
      const of = (index: number) => events.filter((event) => event.index === index).map(({ token }) => token)
      assert.deepStrictEqual([of(0), of(2)], [[...whole[0]!.tokens], [...whole[2]!.tokens]])
      assert.isBelow(of(1).length, 300)
      const { generatedTokens, kvBytes, running } = yield* engine.status
      assert.deepStrictEqual([generatedTokens - before, running, kvBytes], [events.length, 0, 0])
    })
  )
})

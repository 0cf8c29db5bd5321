import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream, Struct } from "effect"
import * as Waits from "../../../core/test/base/Waits.ts"
import { Executor } from "../../src/exec/Executor.ts"
import * as Ort from "../../src/exec/Ort.ts"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import type { EngineSettings } from "../../src/engine/EngineSettings.ts"
import * as TinyDecoder from "./TinyDecoder.ts"

const model = DecodeGraph.make(TinyDecoder.model)
const first = TinyDecoder.parameters(1)

const options = (
  settings: Partial<EngineSettings> = {},
  decoder = model,
  parameters = first
): Engine.EngineOptions => ({
  model: decoder,
  initial: { policy: "base", policyVersion: 0, parameters },
  device: "cpu",
  settings
})

/** A prompt that is a function of its length and a seed. */
const prompt = (length: number, seed = 0) =>
  Array.from({ length }, (_, t) => (t * t * 7 + 3 * t + 11 * seed + 1) % TinyDecoder.config.vocabSize)

const request = (of: Partial<Engine.GenerateRequest> = {}): Engine.GenerateRequest => ({
  promptTokens: prompt(5),
  n: 1,
  maxTokens: 24,
  temperature: 1,
  topP: 1,
  topK: 0,
  stopTokenIds: [],
  seed: 7,
  ...of
})

/** Waits until the engine says so: a question is a round trip to its thread, where there is one at the time. */
const until = (engine: Engine.Shape, claim: (status: Engine.EngineStatus) => boolean) =>
  Effect.gen(function* () {
    for (;;) {
      const status = yield* engine.status
      if (claim(status)) return status
      // Without a thread it answers immediately: the core is left to the one that starts.
      if (yield* Effect.isFailure(engine.health)) yield* Effect.sleep("5 millis")
    }
  }).pipe(Waits.named(String(claim)))

const live = { excludeTestServices: true } as const

layer(Layer.merge(Engine.layer(options()), Ort.layer({ threads: 1 })), live)("Engine", (it) => {
  it.effect("continues greedily with the likeliest token, with the logprobs that training computes", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const executor = yield* Executor
      const requests = [3, 5, 18, 70].map((length) =>
        request({ promptTokens: prompt(length), temperature: 0, maxTokens: 64 })
      )
      const answers = yield* Effect.forEach(requests, engine.generate, { concurrency: "unbounded" })
      for (const [i, [choice]] of answers.entries()) {
        const { promptTokens } = requests[i]!
        const rows = yield* TinyDecoder.logprobs(executor, first, [...promptTokens, ...choice!.tokens])
        assert.strictEqual(choice!.tokens.length, 64)
        for (const [t, token] of choice!.tokens.entries()) {
          const row = rows[promptTokens.length - 1 + t]!
          assert.strictEqual(token, row.indexOf(Math.max(...row)))
          assert.closeTo(choice!.logprobs[t]!, row[token]!, 3e-6)
        }
      }
    })
  )

  it.effect("reports logprobs of the temperature it samples at, before top-k and top-p", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const executor = yield* Executor
      const asked = request({ temperature: 1.7, topK: 5, topP: 0.9, topLogprobs: 3 })
      const [choice] = yield* engine.generate(asked)
      const rows = yield* TinyDecoder.logprobs(executor, first, [...asked.promptTokens, ...choice!.tokens], 1.7)
      for (const [t, token] of choice!.tokens.entries()) {
        const row = rows[asked.promptTokens.length - 1 + t]!
        const order = [...row.keys()].sort((a, b) => row[b]! - row[a]!)
        assert.include(order.slice(0, 5), token)
        assert.closeTo(choice!.logprobs[t]!, row[token]!, 3e-6)
        assert.deepStrictEqual(choice!.alternatives![t]!.tokens, order.slice(0, 3))
      }
    })
  )

  it.effect("gives the same tokens and logprobs alone and in company", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const asked = [request(), request({ promptTokens: prompt(90), seed: 8, temperature: 0.8, n: 3 })]
      const alone = yield* Effect.forEach(asked, engine.generate)
      const others = Array.from({ length: 8 }, (_, i) =>
        request({ promptTokens: prompt(1 + 75 * i, i), seed: i, n: 1 + (i % 3), maxTokens: 5 + 5 * i })
      )
      const answers = yield* Effect.forEach([...others, ...asked, ...others], engine.generate, {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(answers.slice(others.length, others.length + asked.length), alone)
    })
  )

  it.effect("samples choice i the same whatever n is, and the choices differently", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const [two, five] = yield* Effect.forEach([2, 5], (n) => engine.generate(request({ n })))
      assert.deepStrictEqual(five!.slice(0, 2), two)
      assert.strictEqual(new Set(five!.map(({ tokens }) => tokens.join(","))).size, 5)
    })
  )

  it.effect("ends a choice with its stop token, and streams what it generates", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const [whole] = yield* engine.generate(request())
      const stop = whole!.tokens[9]!
      const asked = request({ stopTokenIds: [stop], n: 2 })
      const choices = yield* engine.generate(asked)
      const end = whole!.tokens.indexOf(stop) + 1
      assert.deepStrictEqual(choices[0]!.tokens, whole!.tokens.slice(0, end))
      assert.strictEqual(choices[0]!.finishReason, "stop")
      const events = yield* Stream.runCollect(engine.stream(asked))
      for (const [index, { finishReason, logprobs, tokens }] of choices.entries()) {
        const own = events.filter((event) => event.index === index)
        assert.deepStrictEqual(
          own.map(({ token }) => token),
          [...tokens]
        )
        assert.deepStrictEqual(
          own.map(({ logprob }) => Math.fround(logprob)),
          [...logprobs]
        )
        assert.deepStrictEqual(
          own.map((event) => event.finishReason),
          own.map((_, t) => (t === tokens.length - 1 ? finishReason : undefined))
        )
      }
    })
  )

  it.effect("scores a text with the logprobs it was sampled with, in pieces too", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const promptTokens = prompt(600)
      const [choice] = yield* engine.generate(request({ promptTokens, maxTokens: 40, topLogprobs: 2 }))
      const { alternatives, logprobs } = yield* engine.score({
        promptTokens: [...promptTokens, ...choice!.tokens],
        topLogprobs: 2
      })
      assert.strictEqual(logprobs.length, 640)
      assert.deepStrictEqual(alternatives[0], { tokens: [], logprobs: [] })
      for (const [t, logprob] of choice!.logprobs.entries()) {
        assert.closeTo(logprobs[600 + t]!, logprob, 1e-5)
        assert.deepStrictEqual(alternatives[600 + t]!.tokens, choice!.alternatives![t]!.tokens)
      }
    })
  )

  it.effect("frees the rows of what is interrupted", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const long = request({ n: 8, maxTokens: 1000 })
      const generating = yield* Effect.forkChild(engine.generate(long), { startImmediately: true })
      const streamed = yield* engine.stream(long).pipe(Stream.take(20), Stream.runCollect)
      assert.strictEqual(streamed.length, 20)
      yield* until(engine, ({ running }) => running === 8)
      yield* Fiber.interrupt(generating)
      const status = yield* engine.status
      assert.deepStrictEqual([status.running, status.waiting, status.kvBytes], [0, 0, 0])
    })
  )

  it.effect("says what is wrong with a request", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const fails = Effect.fnUntraced(function* (of: Partial<Engine.GenerateRequest>) {
        return yield* Effect.flip(engine.generate(request(of)))
      })
      assert.include((yield* fails({ promptTokens: [1, 29] })).message, "29")
      assert.strictEqual((yield* fails({ promptTokens: [] }))._tag, "InvalidRequest")
      assert.strictEqual((yield* fails({ topP: 0 }))._tag, "InvalidRequest")
      assert.strictEqual((yield* fails({ temperature: -1 }))._tag, "InvalidRequest")
      const cold = yield* fails({ temperature: 1e-40 })
      assert.deepInclude(cold, {
        _tag: "InvalidRequest",
        message: "temperature must be 0, or a number from 0.000001 up"
      })
      const long = yield* fails({ promptTokens: prompt(1000), maxTokens: 25 })
      assert.deepInclude(long, { _tag: "PromptTooLong", promptTokens: 1000, maxTokens: 25, limitTokens: 1024 })
      const unknown = yield* fails({ policy: "nobody" })
      assert.deepInclude(unknown, { _tag: "UnknownPolicy", policy: "nobody", loaded: ["base"] })
    })
  )
})

const withEngine = <A, E>(
  settings: Partial<EngineSettings>,
  use: (engine: Engine.Shape) => Effect.Effect<A, E>,
  decoder = model,
  parameters = first
) => Effect.scoped(Effect.flatMap(Engine.make(options(settings, decoder, parameters)), use))

describe("Engine", () => {
  it.live("computes of a turn what is new in it, and samples the same as if it computed everything", () => {
    const known: Array<number | undefined> = []
    const turns = (engine: Engine.Shape, seed: number) =>
      Effect.gen(function* () {
        let chat = prompt(200, seed)
        const answers = []
        for (let turn = 0; turn < 4; turn++) {
          const answer = yield* engine.generate(request({ promptTokens: chat, n: 2, seed: seed + turn, maxTokens: 60 }))
          known.push(answer[0]!.cachedTokens)
          answers.push(answer.map((choice) => Struct.omit(choice, ["cachedTokens"])))
          chat = [...chat, ...answer[0]!.tokens, ...prompt(40, seed + turn)]
        }
        return answers
      })
    const asked = (settings: Partial<EngineSettings>) =>
      withEngine(settings, (engine) =>
        Effect.gen(function* () {
          const answers = yield* Effect.forEach([1, 2, 1], (seed) => turns(engine, seed), { concurrency: 2 })
          const { cachedPromptTokens, prefixBytes, promptTokens } = yield* engine.status
          yield* engine.load("base", 1, TinyDecoder.parameters(2))
          const [other] = yield* engine.generate(request({ promptTokens: prompt(200, 1) }))
          return { answers, other, cachedPromptTokens, prefixBytes, promptTokens, after: yield* engine.status }
        })
      )
    return Effect.gen(function* () {
      const [kept, anew] = [yield* asked({}), yield* asked({ prefixCacheMegabytes: 0 })]
      assert.deepStrictEqual([kept.answers, kept.other], [anew.answers, anew.other])
      assert.strictEqual(anew.cachedPromptTokens, 0)
      const told = known.splice(0).map((tokens = Number.NaN) => tokens)
      assert.strictEqual(
        told.reduce((sum, tokens) => sum + tokens, 0),
        kept.cachedPromptTokens
      )
      assert.strictEqual(kept.promptTokens + kept.cachedPromptTokens, anew.promptTokens)
      assert.isBelow(kept.promptTokens, anew.promptTokens / 2)
      assert.isAbove(kept.prefixBytes, kept.after.prefixBytes)
    })
  })

  it.live("keeps a request on the weights it began with, and frees them after it", () =>
    withEngine({}, (engine) =>
      Effect.gen(function* () {
        const second = TinyDecoder.parameters(2)
        const long = request({ maxTokens: 300 })
        const [before] = yield* engine.generate(long)
        const running = yield* Effect.forkChild(engine.generate(long), { startImmediately: true })
        yield* until(engine, ({ generatedTokens }) => generatedTokens > 305)
        yield* engine.load("base", 1, second)
        const [after] = yield* engine.generate(request())
        const both = yield* engine.status
        assert.deepStrictEqual(
          both.policies.map(({ policyVersion }) => policyVersion),
          [0, 1]
        )
        assert.strictEqual(after!.policyVersion, 1)
        assert.deepStrictEqual(yield* Fiber.join(running), [before!])
        assert.deepStrictEqual((yield* until(engine, ({ running }) => running === 0)).policies, [
          { policy: "base", policyVersion: 1, running: 0 }
        ])
        assert.notDeepEqual(after!.tokens, before!.tokens.slice(0, 24))

        yield* engine.load("other", 2, first)
        const [other] = yield* engine.generate(request())
        assert.deepStrictEqual([other!.policy, other!.policyVersion], ["other", 2])
        assert.deepStrictEqual(other!.tokens, before!.tokens.slice(0, 24))
        assert.deepStrictEqual((yield* engine.generate(request({ policy: "base" })))[0], after)
        yield* engine.unload("other")
        assert.deepStrictEqual((yield* engine.generate(request()))[0], after)
        assert.strictEqual((yield* Effect.flip(engine.load("base", 3, new Float32Array(3))))._tag, "EngineFailed")
      })
    )
  )

  it.live("goes on under new weights in flight, with what it has, and says of every token which weights drew it", () =>
    withEngine({ weightUpdates: "in_flight", maxRows: 3 }, (engine) =>
      Effect.gen(function* () {
        // Five choices, three rows: two begin after the weights have changed.
        const long = request({ n: 5, maxTokens: 400, promptTokens: prompt(200) })
        const running = yield* Effect.forkChild(engine.generate(long), { startImmediately: true })
        const other = yield* Effect.forkChild(engine.generate(request({ maxTokens: 50, policy: "kept" })))
        assert.strictEqual((yield* Effect.flip(Fiber.join(other)))._tag, "UnknownPolicy")
        yield* until(engine, ({ generatedTokens }) => generatedTokens > 60)
        yield* engine.load("base", 4, TinyDecoder.parameters(2))
        const status = yield* engine.status
        assert.deepStrictEqual(
          status.policies.map(({ policyVersion, running }) => [policyVersion, running]),
          [[4, 3]]
        )
        const choices = yield* Fiber.join(running)
        for (const [index, { policyVersion, policyVersions, tokens }] of choices.entries()) {
          assert.strictEqual(tokens.length, 400)
          if (index >= 3) {
            assert.deepStrictEqual([policyVersion, policyVersions], [4, undefined])
            continue
          }
          const at = policyVersions!.indexOf(4)
          assert.isTrue(at > 10 && at < 400)
          assert.deepStrictEqual([...policyVersions!], [...Array(at).fill(0), ...Array(400 - at).fill(4)])
          assert.strictEqual(policyVersion, 0)
        }
        // Prompts that are remembered are of the new weights alone.
        const [after] = yield* engine.generate(request({ promptTokens: prompt(200) }))
        assert.deepStrictEqual([after!.cachedTokens, after!.policyVersion], [128, 4])
        const fresh = yield* withEngine(
          {},
          (other) => other.generate(request({ promptTokens: prompt(200) })),
          model,
          TinyDecoder.parameters(2)
        )
        assert.deepStrictEqual([after!.tokens, after!.logprobs], [fresh[0]!.tokens, fresh[0]!.logprobs])
        const end = yield* engine.status
        assert.deepStrictEqual([end.running, end.waiting, end.kvBytes], [0, 0, 0])
      })
    )
  )

  it.live("leaves requests that asked for weights by name on those, in flight too", () =>
    withEngine({ weightUpdates: "in_flight" }, (engine) =>
      Effect.gen(function* () {
        const named = request({ maxTokens: 300, policy: "base" })
        const [alone] = yield* engine.generate(named)
        const [byName, newest] = yield* Effect.forEach([named, request({ maxTokens: 300, seed: 3 })], (of) =>
          Effect.forkChild(engine.generate(of), { startImmediately: true })
        )
        yield* until(engine, ({ generatedTokens, running }) => generatedTokens > 320 && running === 2)
        yield* engine.load("other", 2, TinyDecoder.parameters(2))
        assert.deepStrictEqual(yield* Fiber.join(byName!), [alone!])
        const [moved] = yield* Fiber.join(newest!)
        assert.deepStrictEqual([moved!.policy, moved!.policyVersion, moved!.policyVersions?.at(-1)], ["other", 0, 2])
      })
    )
  )

  it.live("refuses weights whose logits are not finite, and keeps those it has", () =>
    withEngine({}, (engine) =>
      Effect.gen(function* () {
        const before = yield* engine.generate(request())
        // Finite weights (of the norms), infinite products.
        const large = first.map((weight) => (weight === 1 ? 3e38 : weight))
        const error = yield* Effect.flip(engine.load("base", 3, large))
        assert.strictEqual(error._tag, "EngineFailed")
        assert.include(error.message, "logits are not finite")
        assert.include(error.message, 'policy "base", version 3')
        assert.deepStrictEqual(yield* engine.generate(request()), before)
      })
    )
  )

  it.live("says of a request whose logits are not finite that they are not", () =>
    withEngine(
      {},
      (engine) =>
        Effect.gen(function* () {
          const streamed = Effect.asVoid(Stream.runCollect(engine.stream(request({ n: 2 }))))
          for (const asked of [engine.generate(request({ n: 3 })), streamed, engine.score(request())]) {
            const error = yield* Effect.flip<unknown, Engine.EngineError, never>(asked)
            assert.strictEqual(error._tag, "EngineFailed")
            assert.include(error.message, "logits are not finite")
          }
          // The thread goes on, with nothing left in it.
          const status = yield* until(engine, ({ running }) => running === 0)
          assert.deepStrictEqual([status.waiting, status.restarts], [0, 0])
          yield* engine.load("base", 1, first)
          assert.strictEqual((yield* engine.generate(request()))[0]!.tokens.length, 24)
        }),
      model,
      first.map(() => Number.NaN)
    )
  )

  it.live("refuses what finds no place in the queue, and serves all that does", () =>
    withEngine({ maxRows: 3, maxWaiting: 6 }, (engine) =>
      Effect.gen(function* () {
        const results = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, seed) => request({ seed, n: 2 })),
          (asked) => Effect.result(engine.generate(asked)),
          { concurrency: "unbounded" }
        )
        const refused = results.flatMap((result) => (result._tag === "Failure" ? [result.failure] : []))
        assert.isAbove(refused.length, 0)
        for (const error of refused) {
          assert(error._tag === "EngineOverloaded")
          assert.isAbove(error.retryAfterMillis, 0)
        }
        const served = results.flatMap((result) => (result._tag === "Success" ? [result.success] : []))
        assert.isAtLeast(served.length, 3)
        for (const choices of served)
          assert.deepStrictEqual(
            choices.map(({ tokens }) => tokens.length),
            [24, 24]
          )
        // More choices than rows: they follow each other.
        const many = yield* engine.generate(request({ n: 5 }))
        assert.deepStrictEqual(many.slice(0, 2), yield* engine.generate(request({ n: 2 })))
      })
    )
  )

  it.live("stays within its memory", () =>
    withEngine({ kvMemoryMegabytes: 1 }, (engine) =>
      Effect.gen(function* () {
        let largest = 0
        const watching = yield* Effect.forkChild(
          Effect.forever(Effect.map(engine.status, ({ kvBytes }) => (largest = Math.max(largest, kvBytes))))
        )
        const answers = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, i) => request({ promptTokens: prompt(1 + 10 * i), n: 3, maxTokens: 60 })),
          engine.generate,
          { concurrency: "unbounded" }
        )
        yield* Fiber.interrupt(watching)
        assert.strictEqual(answers.flat().length, 120)
        assert.isAbove(largest, 0)
        assert.isAtMost(largest, 2 ** 20)
      })
    )
  )

  it.live("fails what was running when its thread breaks, and serves again", () =>
    // The graph knows one token less than this: its run fails on that token.
    withEngine(
      {},
      (engine) =>
        Effect.gen(function* () {
          yield* engine.load("newer", 5, first)
          const running = yield* Effect.forkChild(Effect.flip(engine.generate(request({ maxTokens: 1000 }))), {
            startImmediately: true
          })
          const breaking = yield* Effect.flip(engine.generate(request({ promptTokens: [29] })))
          assert.strictEqual(breaking._tag, "EngineFailed")
          assert.strictEqual((yield* Fiber.join(running))._tag, "EngineFailed")
          yield* until(engine, ({ policies }) => policies.length === 2)
          assert.strictEqual((yield* engine.status).restarts, 1)
          const [choice] = yield* engine.generate(request())
          assert.deepStrictEqual([choice!.policy, choice!.policyVersion], ["newer", 5])
        }),
      { ...model, vocabulary: model.vocabulary + 1 }
    )
  )

  it.live("says why a model cannot be loaded", () =>
    Effect.gen(function* () {
      const broken = { ...model, onnx: { ...model.onnx, onnx: Uint8Array.of(1, 2, 3) } }
      const error = yield* Effect.flip(withEngine({}, () => Effect.void, broken))
      assert.strictEqual(error._tag, "EngineFailed")
      assert.include(error.message, "model")
    })
  )
})

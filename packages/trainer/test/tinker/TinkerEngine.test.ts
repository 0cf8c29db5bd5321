import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import * as Preset from "../../src/loss/Preset.ts"
import * as TinkerEngine from "../../src/tinker/TinkerEngine.ts"
import { course, live, loaded, near, objectives, rank, remote, seed, shape } from "./RemoteEngine.ts"
import * as SameBatch from "./SameBatch.ts"
import { serve } from "./server/TestTinkerServer.ts"

describe("a Tinker server as the engine", () => {
  it.live("samples from the weights that were published, with their version", () =>
    live(
      Effect.gen(function* () {
        const { url } = yield* serve()
        const { engine, learner: engineOfLearner } = yield* remote(url)
        const objective = objectives()[0]!
        const learner = yield* loaded(engineOfLearner, objective)
        const batch = SameBatch.batchOf(objective, shape)
        yield* learner.publish(0)
        const request = {
          promptTokens: [2, 3, 4],
          n: 3,
          maxTokens: 6,
          temperature: 1,
          topP: 1,
          topK: 0,
          stopTokenIds: [0],
          seed: 7
        }
        const before = yield* engine.generate(request)
        assert.deepStrictEqual(
          before.map(({ policyVersion }) => policyVersion),
          [0, 0, 0]
        )
        const { logprobs: scored } = yield* engine.score({
          promptTokens: [...request.promptTokens, ...before[0]!.tokens]
        })
        near(scored.subarray(3), before[0]!.logprobs, 1e-4, "logprob of sampled token")
        yield* learner.forwardBackward(batch)
        yield* learner.optimizerStep(0.05)
        yield* learner.publish(1)
        const after = yield* Stream.runCollect(engine.stream(request))
        assert.isTrue(after.every(({ policyVersion }) => policyVersion === 1))
        assert.strictEqual(after.filter(({ finishReason }) => finishReason !== undefined).length, 3)
        assert.notDeepEqual(
          after.filter(({ index }) => index === 0).map(({ logprob }) => logprob),
          [...before[0]!.logprobs]
        )
      })
    )
  )

  it.live("goes on from a saved copy as if nothing had been", () =>
    live(
      Effect.gen(function* () {
        const { url } = yield* serve()
        const { learner: engine } = yield* remote(url)
        const objective = objectives()[0]!
        const batch = SameBatch.batchOf(objective, shape)
        const straight = yield* loaded(engine, objective)
        yield* course(straight, batch, 3)
        const reference = yield* straight.save("", 3)
        assert.strictEqual(reference.engine, url)
        assert.match(reference.path, /^tinker:\/\//)
        const resumed = yield* loaded(engine, objective, { from: { reference, folder: "", version: 3 } })
        const expected = yield* course(straight, batch, 3)
        assert.deepStrictEqual(yield* course(resumed, batch, 3), expected)
        const lost = yield* Effect.flip(
          loaded(engine, objective, {
            from: { reference: { ...reference, path: `${reference.path}x` }, folder: "", version: 3 }
          })
        )
        assert.strictEqual(lost.reason, "checkpoint")
      })
    )
  )

  it.live("leaves a gradient behind that was not used", () =>
    live(
      Effect.gen(function* () {
        const { url } = yield* serve()
        const { learner: engine } = yield* remote(url)
        const objective = objectives()[0]!
        const batch = SameBatch.batchOf(objective, shape)
        const straight = yield* loaded(engine, objective)
        const expected = yield* course(straight, batch, 2)
        const learner = yield* loaded(engine, objective)
        const first = yield* course(learner, batch, 1)
        yield* learner.forwardBackward(batch)
        yield* learner.discard
        const second = yield* course(learner, batch, 1)
        near([...first.losses, ...second.losses], expected.losses, 1e-6, "loss of step")
        near(second.logprobs[0]!, expected.logprobs[0]!, 1e-5, "logprob")
        assert.strictEqual((yield* Effect.flip(learner.optimizerStep(0.1))).reason, "engine")
      })
    )
  )

  it.live("refuses by name what logprobs of temperature 1 do not tell, and models that are not there", () =>
    live(
      Effect.gen(function* () {
        const { url } = yield* serve()
        const { learner: engine } = yield* remote(url)
        const distill = yield* Effect.flip(loaded(engine, Result.getOrThrow(Preset.resolve({ preset: "distill" }))))
        assert.strictEqual(distill.reason, "settings")
        assert.match(distill.message, /distill/)
        const learner = yield* loaded(engine, objectives()[0]!)
        const batch = SameBatch.batchOf(objectives()[0]!, shape)
        const warm = { ...batch, sequences: batch.sequences.map((one) => ({ ...one, temperature: 0.7 })) }
        assert.match((yield* Effect.flip(learner.forwardBackward(warm))).message, /temperature 0.7/)
        const unknown = yield* Effect.flip(
          TinkerEngine.make({
            address: { url, apiKey: undefined },
            baseModel: "Qwen/Qwen3-8B",
            vocabSize: 12,
            maxPositions: 48,
            rank,
            seed
          })
        )
        assert.match(unknown.message, /does not train Qwen\/Qwen3-8B; it has: tiny/)
      })
    )
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as StartingEngine from "../../src/engine/StartingEngine.ts"
import * as Model from "../../src/model/Model.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"

const model = TinyModel.make({ characters: "abc", seed: 1, maxPositions: 32 })
const decodable = DecodeGraph.make(Model.decodable(model))
const options = {
  model: decodable,
  initial: { policy: "tiny", policyVersion: 0, parameters: model.initial },
  device: "cpu"
} as const
const request = {
  promptTokens: [1, 2],
  n: 2,
  maxTokens: 3,
  temperature: 1,
  topP: 1,
  topK: 0,
  stopTokenIds: [],
  seed: 0
}

describe("an engine that starts in the background", () => {
  it.live("answers what it was asked before it was there", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const choices = yield* engine.generate(request)
      assert.lengthOf(choices, 2)
      yield* engine.load("tiny", 1, model.initial)
      const { policies } = yield* engine.status
      assert.deepStrictEqual(
        policies.map(({ policyVersion }) => policyVersion),
        [1]
      )
    }).pipe(Effect.provide(StartingEngine.layer(options)))
  )

  it.live("fails all who ask where it cannot start", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      assert.strictEqual((yield* Effect.flip(engine.generate(request)))._tag, "EngineFailed")
      assert.include((yield* Effect.flip(engine.load("tiny", 1, model.initial))).message, "the model cannot be loaded")
      assert.isTrue(Exit.hasDies(yield* Effect.exit(engine.status)))
    }).pipe(
      Effect.provide(
        StartingEngine.layer({
          ...options,
          model: { ...decodable, onnx: { ...decodable.onnx, onnx: Uint8Array.of(1) } }
        })
      )
    )
  )
})

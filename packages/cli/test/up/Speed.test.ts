/** What is tried before a run, on a model of characters; what training takes is given. */
import * as DecodeGraph from "../../../trainer/src/engine/DecodeGraph.ts"
import * as Engine from "@atropos/trainer/engine/Engine"
import * as Model from "@atropos/trainer/model/Model"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Probe } from "../../../trainer/src/learn/TimingProbe.ts"
import * as Speed from "../../src/up/Speed.ts"

const model = TinyModel.make({ characters: "abc", seed: 1, maxPositions: 128 })
const engine = Engine.layer({
  model: DecodeGraph.make(Model.decodable(model)),
  initial: { policy: "tiny", policyVersion: 0, parameters: model.initial },
  device: "cpu"
})
const sizes = { batchSize: 64, groupSize: 8, seqLen: 128, rows: 4, prompt: 60, answer: 20 }

/** A trainer that takes so long for a token, and what it was asked. */
const trainer = (secondsPerToken: number) => {
  const asked: Array<Probe> = []
  const measure = (rehearsed: Probe) =>
    Effect.sync(() => {
      asked.push(rehearsed)
      return rehearsed.tokens * rehearsed.sequences * secondsPerToken
    })
  return { asked, measure }
}

describe("what is tried before a run", () => {
  it.live("trains the answers of sequences alone, as many as a few seconds allow", () =>
    Effect.gen(function* () {
      const fast = trainer(1 / 1000)
      const speed = yield* Speed.measure(model, fast, sizes)
      assert.approximately(speed.training, 1000, 1e-6)
      // The first prepares the graph: three sequences of 79 positions, a quarter of them trained.
      assert.deepStrictEqual(fast.asked, [
        { tokens: 79, trained: 20, sequences: 3, groupSize: 8 },
        { tokens: 79, trained: 20, sequences: 18, groupSize: 8 },
        { tokens: 79, trained: 20, sequences: 18, groupSize: 8 }
      ])
      assert.strictEqual(speed.triedTokens, 18 * 79)
      assert.isAbove(speed.prompts, 0)
    }).pipe(Effect.provide(engine))
  )

  it.live("tries a slow model once", () =>
    Effect.gen(function* () {
      const slow = trainer(1 / 50)
      const speed = yield* Speed.measure(model, slow, sizes)
      assert.lengthOf(slow.asked, 1)
      assert.approximately(speed.training, 50, 1e-6)
    }).pipe(Effect.provide(engine))
  )
})

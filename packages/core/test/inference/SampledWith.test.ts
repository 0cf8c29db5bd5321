import { assert, describe, it } from "@effect/vitest"
import { Message, Sampling, ServerManager } from "@atropos/core"
import * as SampledWith from "@atropos/core/inference/SampledWith"
import { Effect, Layer } from "effect"

const messages = [Message.user("a")]
const defaults = { minP: 0.1, temperature: 0.5, repetitionPenalty: 1.2, logitBias: { "3": 2 } }

describe("further sampling parameters", () => {
  it.effect("are those of training requests that say nothing else, and are recorded", () =>
    Effect.gen(function* () {
      const servers = yield* ServerManager.ServerManager
      const session = yield* servers.tracked()
      yield* session.chat({ messages, temperature: 0.9 })
      const all = [
        yield* servers.chat({ messages, topK: 3 }),
        yield* session.trajectories,
        yield* servers.chat({ messages, temperature: 0, split: "eval" })
      ]
      assert.deepStrictEqual(
        all.map(([first]) => Sampling.describe(first!.sampling!)),
        [
          "temperature 0.5, top-k 3, min-p 0.1, repetition penalty 1.2, bias on 1 tokens, tempered logprobs",
          "temperature 0.9, min-p 0.1, repetition penalty 1.2, bias on 1 tokens, tempered logprobs",
          "temperature 0, tempered logprobs"
        ]
      )
      const record = all[0]![0]!.sampling!
      const sent = Sampling.toSwitches(record)
      assert.deepStrictEqual(
        [sent.repetition_penalty, sent.logit_bias, sent.min_p, sent.presence_penalty],
        [1.2, { "3": 2 }, 0.1, undefined]
      )
      assert.isTrue(Sampling.areEqual(Sampling.ofSwitches(JSON.parse(JSON.stringify(sent))), record))
    }).pipe(
      Effect.scoped,
      Effect.provide(SampledWith.layer(defaults).pipe(Layer.provide(ServerManager.layerScripted(["b"]))))
    )
  )
})

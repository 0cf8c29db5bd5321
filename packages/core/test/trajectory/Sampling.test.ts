import { assert, describe, it } from "@effect/vitest"
import {
  Environment,
  Message,
  PackedGroup,
  Sampling,
  type ScoredGroup,
  ServerManager,
  Tokenizer,
  TrackedSequences,
  WireGroup
} from "@atropos/core"
import { Effect, Layer, Result, Schema, Stream } from "effect"
import * as Scripted from "../../src/inference/backend/Scripted.ts"

const share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

describe("Sampling", () => {
  it.prop(
    "comes back from switches as it went in",
    [
      Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
      share,
      Schema.Natural,
      share,
      Sampling.LogprobsMode
    ],
    ([temperature, topP, topK, minP, logprobs]) => {
      const record = { temperature, topP, topK, minP, logprobs }
      assert.isTrue(Sampling.areEqual(Sampling.ofSwitches(Sampling.toSwitches(record)), record))
    }
  )

  it("is of what a request says in the server's own words too; -1 is no top-k", () => {
    assert.deepStrictEqual(Sampling.ofRequest({ temperature: 0.7, extra: { top_k: -1, min_p: 0.1 } }, "raw"), {
      temperature: 0.7,
      topP: 1,
      topK: 0,
      minP: 0.1,
      logprobs: "raw"
    })
    assert.isUndefined(Sampling.ofSwitches({ temperature: 0.7 }))
  })
})

/** An environment of one item whose rollouts have these temperatures. */
const sampledAt = (temperatures: ReadonlyArray<number>, generationParams?: ScoredGroup.Overrides) =>
  Environment.layer("letters", Environment.settings({}), () =>
    Effect.gen(function* () {
      const servers = yield* ServerManager.ServerManager
      return {
        items: () => Stream.make("a"),
        collectTrajectories: () =>
          Effect.map(
            Effect.forEach(temperatures, (temperature) =>
              servers.chat({ messages: [Message.user("a")], temperature, topP: 0.9 })
            ),
            (all) => ({
              groups: [{ trajectories: all.flat(), ...(generationParams && { generationParams }) }]
            })
          ),
        score: () => Effect.succeed(temperatures.map((_, index) => index))
      }
    })
  )({})

const groupOf = (environment: ReturnType<typeof sampledAt>) =>
  Effect.gen(function* () {
    const { groups } = yield* Environment.Environment
    const [group] = yield* Stream.runCollect(groups)
    return group!
  }).pipe(Effect.provide(environment.pipe(Layer.provide(ServerManager.layerScripted(["b"])))))

describe("the record of sampling on the wire", () => {
  const kept = { top_p: 0.9, top_k: 0, min_p: 0, logprobs_mode: "tempered" }

  it.effect("is of the group where its sequences were sampled alike, and the environment has the last word", () =>
    Effect.gen(function* () {
      const group = yield* groupOf(sampledAt([0.5, 0.5]))
      assert.deepStrictEqual(group.generationParams, { temperature: 0.5, ...kept })
      assert.isUndefined(group.overrides)
      const told = yield* groupOf(sampledAt([0.5, 0.5], { temperature: 0.6, note: 1 }))
      assert.deepStrictEqual(told.generationParams, { temperature: 0.6, ...kept, note: 1 })
    })
  )

  it.effect("is of each sequence where they differ, and survives both forms of the wire", () =>
    Effect.gen(function* () {
      const own = yield* groupOf(sampledAt([0.5, 1.25], { temperature: 0.6 }))
      assert.deepStrictEqual(
        own.overrides?.map((one) => one["temperature"]),
        [0.6, 0.6]
      )
      const group = yield* groupOf(sampledAt([0.5, 1.25]))
      const expected = [
        { temperature: 0.5, ...kept },
        { temperature: 1.25, ...kept }
      ]
      assert.isUndefined(group.generationParams)
      assert.deepStrictEqual(group.overrides, expected)
      const json = Result.getOrThrow(WireGroup.decode(JSON.parse(WireGroup.encode(group))))
      assert.deepStrictEqual(json.overrides, expected)
      const packed = Result.getOrThrow(PackedGroup.decode(PackedGroup.encode(group)))
      assert.deepStrictEqual(packed.overrides, expected)
    })
  )
})

describe("turns of one chat", () => {
  it.effect(
    "sampled alike are one sequence; those sampled otherwise than the last are trained in one of their own",
    () =>
      Effect.gen(function* () {
        for (const tokenLevel of [true, false]) {
          for (const second of [0.5, 1]) {
            const backend = Scripted.make(["four", "five"], Tokenizer.bytes)
            const scripted = { ...backend, capabilities: { tokens: tokenLevel, promptLogprobs: tokenLevel } }
            const session = TrackedSequences.session({ backend: scripted, tokenizer: Tokenizer.bytes })
            const question = { role: "user", content: "2 + 2" }
            const [answer] = yield* session.chat({ messages: [question], temperature: 0.5 })
            const more = [question, answer!.message, { role: "user", content: "and 1 more" }]
            const [next] = yield* session.chat({ messages: more, temperature: second })
            const last = [...more, next!.message, { role: "user", content: "and another" }]
            yield* session.chat({ messages: last, temperature: 0.5 })
            const trajectories = yield* session.trajectories
            const words = trajectories.map(({ mask, tokens }) =>
              Tokenizer.bytes.decode(tokens.filter((_, at) => mask[at] === 1)).replaceAll(/<\|im_end\|>\n?/g, " ")
            )
            assert.deepStrictEqual(words, second === 0.5 ? ["four five four "] : ["four four ", "five "])
            assert.deepStrictEqual(
              trajectories.map(({ messages, sampling }) => [messages.length, sampling?.temperature]),
              second === 0.5
                ? [[6, 0.5]]
                : [
                    [6, 0.5],
                    [4, 1]
                  ]
            )
          }
        }
      })
  )
})

import { assert, describe, it } from "@effect/vitest"
import { MemoryTrajectoryClient, SequenceLimit, Tokenizer, TrackedSequences } from "@atropos/core"
import { Effect, Result, Schema, Stream } from "effect"
import { InferenceError } from "../../src/inference/wire/Inference.ts"
import * as Scripted from "../../src/inference/backend/Scripted.ts"
import { claim, finish, folder, layerParts, numbers, settle, start, trajectory } from "../rollout/RolloutTest.ts"

const tokens = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 400 }))

const question = { messages: [{ role: "user", content: "2 + 2" }] }
/** Tokens of that prompt. */
const promptTokens = Tokenizer.bytes.encode(
  Tokenizer.bytes.applyChatTemplate(question.messages, { addGenerationPrompt: true }),
  { addSpecialTokens: false }
).length

/** A session, with or without exact tokens, and what is asked of its server. */
const sessionOf = (tokenLevel: boolean) => {
  const asked: Array<number | undefined> = []
  const backend = Scripted.make(
    ({ maxTokens }) => {
      asked.push(maxTokens)
      return "four"
    },
    Tokenizer.bytes,
    { tokenLevel }
  )
  return { asked, session: TrackedSequences.session({ backend, tokenizer: Tokenizer.bytes }) }
}

describe("SequenceLimit", () => {
  it.effect.prop(
    "asks for what is wanted as far as the prompt leaves room, in sessions of both kinds",
    { limit: tokens, wanted: tokens, tokenLevel: Schema.Boolean },
    ({ limit, tokenLevel, wanted }) =>
      Effect.gen(function* () {
        const { asked, session } = sessionOf(tokenLevel)
        const answer = yield* Effect.result(
          SequenceLimit.within(limit)(session.chat({ ...question, maxTokens: wanted }))
        )
        if (limit <= promptTokens) {
          assert.isTrue(Result.isFailure(answer))
          if (Result.isFailure(answer))
            assert.include(answer.failure.message, `sequences are limited to ${limit} tokens`)
          assert.deepStrictEqual(asked, [])
        } else assert.deepStrictEqual(asked, [Math.min(wanted, limit - promptTokens)])
      })
  )

  it.effect("asks for all the room where nothing else is wanted; the smallest of several limits holds, 0 is none", () =>
    Effect.gen(function* () {
      const { asked, session } = sessionOf(true)
      yield* session.chat(question)
      yield* SequenceLimit.within(promptTokens + 9)(session.chat(question))
      yield* SequenceLimit.within(promptTokens + 9)(
        SequenceLimit.within(promptTokens + 3)(SequenceLimit.within(0)(session.chat(question)))
      )
      assert.deepStrictEqual(asked, [undefined, 9, 3])
    })
  )

  it.effect("asks for no longer answer than a run allows by then, whatever room is left", () =>
    Effect.gen(function* () {
      const { asked, session } = sessionOf(true)
      let most = Number.POSITIVE_INFINITY
      const ask = (wanted?: number) =>
        session
          .chat(wanted === undefined ? question : { ...question, maxTokens: wanted })
          .pipe(Effect.provideService(SequenceLimit.AnswerLimit, () => most))
      yield* ask(2048)
      most = 64
      yield* ask(2048)
      yield* ask(16)
      yield* ask()
      yield* SequenceLimit.within(promptTokens + 9)(ask(2048))
      assert.deepStrictEqual(asked, [2048, 64, 16, 64, 9])
    })
  )

  it.effect("is the trainer's seq_len in every rollout of its run, tried again and put back too", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      const client = MemoryTrajectoryClient.make({ batchSize: 2, maxTokenLength: 512 })
      const environment = yield* numbers({
        items: (cursor) => (cursor < 2 ? Stream.range(cursor, 1) : Stream.empty),
        collectTrajectories: (item) =>
          Effect.gen(function* () {
            seen.push(yield* SequenceLimit.SequenceLimit)
            if (seen.length === 1) return yield* new InferenceError({ reason: "failed", server: "s", message: "once" })
            const trajectories = [trajectory(item), trajectory(item)]
            return seen.length === 2 ? { groups: [{ trajectories }], requeue: [item] } : trajectories
          })
      })
      const running = yield* start(environment, client, { spoolDirectory: yield* folder })
      yield* settle
      yield* claim(client)
      yield* settle
      assert.isAbove(seen.length, 2)
      assert.deepStrictEqual([...new Set(seen)], [512])
      yield* finish(running)
    }).pipe(Effect.provide(layerParts))
  )
})

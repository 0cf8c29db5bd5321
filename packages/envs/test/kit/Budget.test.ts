import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Budget from "../../src/kit/Budget.ts"
import * as Message from "@atropos/core/trajectory/Message"
import * as ServerManager from "@atropos/core/inference/ServerManager"
import { SequenceLimit } from "@atropos/core"
import { bytes, layerBytes } from "@atropos/core/inference/tokenizer/Tokenizer"

const question = { messages: [Message.user("2 + 2")] }
const promptTokens = bytes.encode(bytes.applyChatTemplate(question.messages, { addGenerationPrompt: true }), {
  addSpecialTokens: false
}).length

const policy = (script: ServerManager.Script, options?: ServerManager.ScriptedOptions) =>
  ServerManager.layerScripted(script, options).pipe(Layer.provideMerge(layerBytes))

/** Asks until there are no more answers; each gets an observation of so many letters. */
const converse = Effect.fnUntraced(function* (limits: Budget.Limits, observation = 2) {
  const servers = yield* ServerManager.ServerManager
  const session = yield* servers.tracked()
  const budget = yield* Budget.make(limits)
  const messages = [Message.user("go")]
  for (;;) {
    const answer = Option.getOrUndefined(yield* budget.turn(session, { messages, maxTokens: 100 }))
    if (answer === undefined) break
    messages.push(answer.message, Message.user("x".repeat(observation)))
  }
  const [sequence] = yield* session.trajectories
  return {
    answers: messages.filter(({ role }) => role === "assistant").map(Message.text),
    ended: Option.getOrUndefined(yield* budget.exhausted),
    length: sequence?.tokens.length ?? 0,
    used: yield* budget.used
  }
}, Effect.scoped)

describe("Budget", () => {
  it.effect("ends after its turns", () =>
    Effect.gen(function* () {
      const { answers, ended, used } = yield* converse({ turns: 3 })
      assert.deepStrictEqual([answers, ended, used.turns], [["a", "b", "c"], "turns", 3])
    }).pipe(Effect.provide(policy(["a", "b", "c", "d"])))
  )

  it.effect("cuts an answer at the tokens that are left, and never lets the sequence be longer", () =>
    Effect.gen(function* () {
      for (const tokens of [60, 81, 120, 200]) {
        const { ended, length, used } = yield* converse({ tokens })
        assert.strictEqual(ended, "tokens")
        assert.isAtMost(length, tokens)
        assert.isAbove(length, tokens / 3)
        assert.strictEqual(used.tokens, tokens)
      }
    }).pipe(Effect.provide(policy(() => "word ".repeat(6))))
  )

  it.effect("counts an observation before the model is asked", () =>
    Effect.gen(function* () {
      const { answers, ended, length } = yield* converse({ tokens: 400 }, 400)
      assert.deepStrictEqual([answers, ended], [["a"], "tokens"])
      assert.isBelow(length, 100)
    }).pipe(Effect.provide(policy(["a", "b"])))
  )

  it.effect("ends when the time is over, in the middle of an answer too", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(converse({ seconds: 25 }))
      yield* TestClock.adjust("30 seconds")
      const { answers, ended, used } = yield* Fiber.join(fiber)
      assert.deepStrictEqual([answers, ended, used.turns], [["a", "b"], "seconds", 3])
    }).pipe(Effect.provide(policy(["a", "b", "c"], { latency: "10 seconds" })))
  )

  it.effect("runs no more tools than it has calls, none over time, and turns go on", () =>
    Effect.gen(function* () {
      const budget = yield* Budget.make({ calls: 2, turns: 9, seconds: 60 })
      let ran = 0
      const tool = Effect.sync(() => ++ran)
      const results = yield* Effect.replicateEffect(budget.call(tool), 4)
      assert.deepStrictEqual(results.map(Option.getOrUndefined), [1, 2, undefined, undefined])
      assert.strictEqual(ran, 2)
      assert.isTrue(Option.isNone(yield* budget.exhausted))
      assert.strictEqual((yield* budget.used).calls, 2)
      const slow = yield* Budget.make({ seconds: 5 })
      const fiber = yield* Effect.forkChild(slow.call(Effect.delay(tool, "1 minute")))
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.join(fiber)))
      assert.deepStrictEqual(yield* slow.exhausted, Option.some("seconds"))
    })
  )

  it.effect("without limits bounds nothing", () =>
    Effect.gen(function* () {
      const budget = yield* Budget.make({})
      yield* TestClock.adjust("1 day")
      assert.isTrue(Option.isNone(yield* budget.exhausted))
      assert.deepStrictEqual(yield* budget.call(Effect.succeed(1)), Option.some(1))
    })
  )

  it.effect("ends an episode that has filled its sequence", () =>
    Effect.gen(function* () {
      const servers = yield* ServerManager.ServerManager
      const session = yield* servers.tracked()
      const budget = yield* Budget.make({ turns: 9 })
      assert.isTrue(Option.isSome(yield* budget.turn(session, question)))
      assert.isTrue(Option.isNone(yield* budget.turn(session, question)))
      assert.deepStrictEqual(yield* budget.exhausted, Option.some("tokens"))
    }).pipe(SequenceLimit.within(promptTokens + 4), Effect.scoped, Effect.provide(policy(() => "four")))
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { Distill, Teacher } from "@atropos/envs"
import * as GroupFilter from "@atropos/core/rollout/submit/GroupFilter"
import { Effect, Layer, Option, Result, Stream } from "effect"

const scripted = Teacher.layerNoDeps.pipe(Layer.provide([ServerManager.layerScripted([""]), Tokenizer.layerBytes]))

const environment = (
  given: Parameters<typeof Distill.layer>[0] = {},
  teacher: Layer.Layer<Teacher.Teacher> = scripted
) =>
  Distill.layer({ source: "rows", groupSize: 2, ...given }).pipe(
    Layer.provide([
      ServerManager.layerScripted(["four", "5"]),
      Tokenizer.layerBytes,
      Dataset.layerMemory({ rows: Array.from({ length: 10 }, (_, index) => ({ question: `${index} + ${index}?` })) }),
      teacher
    ])
  )

const firstGroup = Effect.gen(function* () {
  const { groups } = yield* Environment.Environment
  return Option.getOrThrow(yield* Stream.runHead(groups))
})

describe("Distill", () => {
  it.effect("attaches the teacher's likeliest tokens to what the policy sampled", () =>
    Effect.gen(function* () {
      const group = yield* firstGroup
      const { distillLogprobs, distillTokenIds, scores, tokens } = group
      tokens.forEach((sequence, index) => {
        assert.strictEqual(distillTokenIds![index]!.length, sequence.length)
        assert.strictEqual(distillTokenIds![index]![0]!.length, 0)
        assert.deepStrictEqual(Array.from(distillTokenIds![index]!.at(-1)!).slice(0, 1), [sequence.at(-1)])
        assert.strictEqual(distillLogprobs![index]!.at(-1)!.length, 3)
      })
      // The scripted teacher holds every token for even odds.
      scores.forEach((score) => assert.closeTo(score, Math.log(0.5), 1e-6))
      const filter = { groupSize: 2, ensureScoresAreNotSame: false, includeMessages: false, maxTokenLength: 1000 }
      assert.isTrue(Result.isSuccess(GroupFilter.filter(group, filter)))
    }).pipe(Effect.provide(environment({ teacherTopK: 3 })))
  )

  it.effect("asks for a chat, or continues a plain text", () =>
    Effect.gen(function* () {
      const chat = yield* Effect.provide(firstGroup, environment({ systemPrompt: "Add." }), { local: true })
      assert.deepStrictEqual(
        chat.messages![0]!.map(({ role }) => role),
        ["system", "user", "assistant"]
      )
      const text = yield* Effect.provide(firstGroup, environment({ promptStyle: "compact" }), { local: true })
      assert.match(Tokenizer.bytes.decode(text.tokens[1]!, { skipSpecialTokens: true }), /^\d \+ \d\?5$/)
    })
  )

  it.effect("tells the teacher's opinion of held-out answers", () =>
    Effect.gen(function* () {
      const { claims, evaluation } = yield* Environment.Environment
      const [item, ...others] = yield* Stream.runCollect(Option.getOrThrow(evaluation))
      assert.strictEqual(others.length, 0)
      const [evaluated] = yield* item!.evaluate
      assert.closeTo(evaluated!.score, Math.log(0.5), 1e-6)
      assert.isDefined(Option.getOrThrow(claims).untestable)
    }).pipe(Effect.provide(environment()))
  )

  it("counts a token that the teacher does not list as its last one, and no prompt", () => {
    const ids = [[], [7], [8, 9], [8, 9]].map((list) => Int32Array.from(list))
    const logprobs = [[], [-9], [-0.5, -1], [-0.5, -2]].map((list) => Float32Array.from(list))
    const sequence = { tokens: Int32Array.of(1, 7, 9, 5), mask: Uint8Array.of(0, 0, 1, 1) }
    assert.strictEqual(Distill.teacherLogprob(sequence, ids, logprobs), -1.5)
    assert.strictEqual(Distill.teacherLogprob({ ...sequence, mask: Uint8Array.of(0, 0, 0, 0) }, ids, logprobs), 0)
  })

  it.effect("refuses to start without a teacher, or with one of another vocabulary", () =>
    Effect.gen(function* () {
      const alone = yield* Effect.flip(Layer.build(environment({}, Teacher.layerNone)))
      assert.match(String(alone), /needs a teacher.*--teacher\.base_url/)
      const teacher = yield* Effect.provide(Teacher.required, scripted)
      const foreign = Layer.succeed(Teacher.Teacher, { ...teacher, tokenizer: { ...Tokenizer.bytes, name: "words" } })
      assert.match(
        String(yield* Effect.flip(Layer.build(environment({}, foreign)))),
        /words has a different vocabulary/
      )
    })
  )
})

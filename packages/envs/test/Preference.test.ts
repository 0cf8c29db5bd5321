import { assert, describe, it } from "@effect/vitest"
import { Dataset, Environment, Laws, Message, ServerManager, Tokenizer } from "@atropos/core"
import { Judge, Preference } from "@atropos/envs"
import { Effect, Layer, Option, Schema, Stream } from "effect"

const rows = [
  {
    prompt: "Say something long.",
    chosen: [{ content: "?" }, { content: "a long answer, as asked" }],
    rejected: [{}, { content: "no" }]
  },
  {
    prompt: "Say it again.",
    chosen: [{ content: "?" }, { content: "something, once more" }],
    rejected: [{}, { content: "it" }]
  }
]

/** Holds the longer answer for the better one. */
const byLength: ServerManager.Script = (request) => {
  const words = "messages" in request ? Message.text(request.messages.at(-1)!) : ""
  const length = (name: string) =>
    new RegExp(`--- ${name} (\\w+) ---\\n([^]*?)\\n--- end of ${name} \\1 ---`).exec(words)?.[2]?.length ?? 0
  const [a, b] = [length("answer A"), length("answer B")]
  return a === b ? "[[tie]]" : a > b ? "[[A]]" : "[[B]]"
}

const parts = (
  answers: ServerManager.Script,
  judge: ReturnType<typeof Judge.layerScripted> = Judge.layerScripted(byLength)
) =>
  Layer.mergeAll(
    ServerManager.layerScripted(answers),
    Tokenizer.layerBytes,
    Dataset.layerMemory({ rows, "no answers": [{ prompt: "hello" }] }),
    judge
  )

const preference = (given: Parameters<typeof Preference.layer>[0] = {}) =>
  Preference.layer({ source: "rows", testSource: null, groupSize: 3, seed: 1, ...given })

describe("Preference", () => {
  it.effect("scores answers against each other, and reports how the judge judged", () =>
    Effect.gen(function* () {
      const environment = yield* Environment.Environment
      const [group] = yield* environment.groups.pipe(Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual(Array.from(group!.scores), [0.25, 1, 0.25])
      assert.strictEqual(group!.messages![0]![0]!.content, "Be kind.")
      assert.deepInclude(yield* environment.metrics, {
        "judge/position_bias": 0,
        "judge/order_agreement": 1,
        "judge/asked": 6
      })
    }).pipe(
      Effect.provide(Layer.provide(preference({ systemPrompt: "Be kind." }), parts(["one", "a longer one", "two"])))
    )
  )

  it.effect("draws among several system prompts, deals them to the answers, and says which each had", () =>
    Effect.gen(function* () {
      const { groups } = yield* Environment.Environment
      const [group] = yield* groups.pipe(Stream.take(1), Stream.runCollect)
      const had = group!.messages!.map(([first]) => (first!.role === "system" ? Message.text(first!) : ""))
      assert.sameMembers(had, ["Be brief.", "", "Be kind."])
      assert.deepStrictEqual(
        group!.overrides,
        had.map((system_prompt) => ({ system_prompt }))
      )
      // The one that was told to be kind has said the most.
      assert.deepStrictEqual(
        Array.from(group!.scores),
        had.map((prompt) => (prompt === "Be kind." ? 1 : 0.25))
      )
    }).pipe(
      Effect.provide(
        Layer.provide(
          preference({ systemPrompts: ["Be brief.", "", "Be kind."], systemPromptsPer: "answer" }),
          parts((request) => {
            const told = "messages" in request ? Message.text(request.messages[0]!) : ""
            return told === "Be kind." ? "quite a lot" : told === "Be brief." ? "one" : "two"
          })
        )
      )
    )
  )

  it.prop(
    "draws the same prompts for the same item, one for a group, and for about the share that is asked for",
    [Schema.NonEmptyString],
    ([prompt]) => {
      const drawn = { seed: 7, systemPrompt: "z", systemPrompts: ["a", "b"], systemPromptsPer: "group" as const }
      const of = (share: number, item: string) =>
        Preference.systemPromptsOf({ ...drawn, shareSystemPrompts: share }, { prompt: item }, 4)
      assert.deepStrictEqual(of(1, prompt), of(1, prompt))
      assert.strictEqual(new Set(of(1, prompt)).size, 1)
      assert.include(["a", "b"], of(1, prompt)[0])
      assert.deepStrictEqual(of(0, prompt), ["z", "z", "z", "z"])
      const few = Array.from({ length: 1_000 }, (_, index) => of(0.05, `${prompt} ${index}`)[0])
      assert.isAbove(few.filter((one) => one === "z").length, 900)
      assert.isAbove(new Set(few).size, 1)
    }
  )

  it.effect("evaluates against the row's good answer", () =>
    Effect.gen(function* () {
      const { evaluation } = yield* Environment.Environment
      const evaluate = (index: number) =>
        Effect.flatMap(Stream.runCollect(Option.getOrThrow(evaluation)), (items) => items[index]!.evaluate)
      const [longer] = yield* evaluate(0)
      assert.deepInclude(longer, { score: 1, correct: true })
      const [shorter] = yield* evaluate(1)
      assert.deepInclude(shorter, { score: 0, correct: false })
    }).pipe(
      Effect.provide(
        Layer.provide(preference({ testSource: "rows" }), parts(["an answer that is longer than any other", "short"]))
      )
    )
  )

  it.effect("claims that a good answer beats a worse one, and follows the laws of scoring", () =>
    Effect.gen(function* () {
      const { items, scoreRange } = Option.getOrThrow((yield* Environment.Environment).claims)
      const [first] = yield* Stream.runCollect(Stream.take(items, 1))
      const { gold, score, wrong } = first!
      yield* Laws.goldOnTop(score, gold, wrong, scoreRange)
      const group = ["x", "yy", "", "zzz"].map((text) => Laws.trajectoryOf(text))
      yield* Laws.permutation(score, group, [2, 0, 3, 1])
      yield* Laws.determinism(score, group)
      yield* Laws.inRange(score, group, scoreRange)
    }).pipe(Effect.provide(Layer.provide(preference(), parts(["?"]))))
  )

  it.effect("claims nothing without columns of answers, and has nothing to evaluate", () =>
    Effect.gen(function* () {
      const { claims, evaluation } = yield* Environment.Environment
      assert.match(Option.getOrThrow(claims).untestable ?? "", /chosen_column/)
      assert.isTrue(Option.isNone(evaluation))
    }).pipe(
      Effect.provide(
        Layer.provide(preference({ source: "no answers", chosenColumn: null, rejectedColumn: null }), parts(["?"]))
      )
    )
  )

  it.effect("says what is missing: the judge by its flag, a column by its name and the columns there are", () =>
    Effect.gen(function* () {
      const alone = yield* Effect.flip(Layer.build(Layer.provide(preference(), parts(["?"], Judge.layerNone))))
      assert.match(String(alone), /needs a judge.*--judge\.base_url/)
      const misnamed = yield* Effect.flip(
        Layer.build(Layer.provide(preference({ promptColumn: "question" }), parts(["?"])))
      )
      assert.match(
        String(misnamed),
        /unknown column "question" \(prompt_column\); the columns are prompt, chosen, rejected/
      )
    })
  )
})

import { assert, describe, it, layer } from "@effect/vitest"
import { MathVerifier, Rewards } from "@atropos/envs"
import { Effect, Layer, Schema } from "effect"
import functions from "../../../core/test/fixtures/functions.json" with { type: "json" }

const solution = { solution: "42" }
const byName = {
  repetition_penalty: Rewards.repetitionPenalty(),
  reasoning_steps: Rewards.reasoningSteps(),
  format_any: Rewards.format(),
  format_all: Rewards.format({ requireAllTags: true }),
  format_case: Rewards.format({ caseSensitive: true }),
  format_reasoning: Rewards.formatReasoning(),
  accuracy_x: Rewards.accuracyX(),
  accuracy_x_exact: Rewards.accuracyX({ exactMatch: true }),
  r1: Rewards.r1(),
  crossword: Rewards.crosswordFormat()
}

describe("Rewards", () => {
  for (const [name, reward] of Object.entries(byName)) {
    it(`${name} gives what the original gave`, () => {
      for (const golden of functions.rewards) {
        const expected = golden[name as keyof typeof byName]
        assert.closeTo(Effect.runSync(reward.compute(golden.text, solution)), expected, 1e-12, golden.text)
      }
    })
  }

  it("penalises length only in groups that are all right", () => {
    for (const { lengths, result, scores } of functions.length_penalty) {
      const ours = Rewards.lengthPenalty(scores, lengths, { maxTokenLength: 100 })
      ours.forEach((score, index) => assert.closeTo(score, result[index]!, 1e-9))
    }
  })

  it("scores lengths from 1 for the shortest to -1 for the longest, where they differ enough", () => {
    assert.deepStrictEqual(
      Rewards.cosineLengths([10, 20, 15])?.map((score) => Math.round(score * 1e9) / 1e9),
      [1, -1, 0]
    )
    assert.isUndefined(Rewards.cosineLengths([100, 105, 110]))
    assert.isUndefined(Rewards.cosineLengths([7]))
    assert.isUndefined(Rewards.cosineLengths([]))
  })

  it("a combination honours the weights of its parts", () => {
    const parts = [Rewards.weighted(Rewards.accuracyX(), 2), Rewards.weighted(Rewards.format(), 0.5)]
    const completions = ["<think>so</think> 42", "<think>so</think> 41", "42"]
    const combined = (normalization: Rewards.Normalization) =>
      Effect.runSync(Rewards.combine(parts, completions, solution, normalization))
    assert.deepStrictEqual(combined("none"), [2.5, 0.5, 2])
    assert.deepStrictEqual(combined("sum"), [1, 0.2, 0.8])
    assert.deepStrictEqual(combined("minmax"), [1, 0, 0.75])
  })

  it("strict crossword answers have letters only", () => {
    assert.strictEqual(pure(Rewards.crosswordFormat(), "1-Across: HEL1O"), 1)
    assert.strictEqual(pure(Rewards.crosswordFormat({ strict: true }), "1-Across: HEL1O"), 0)
    assert.strictEqual(pure(Rewards.crosswordFormat({ strict: true }), "1-Across: HELLO, 2-Down: SUN"), 1)
  })

  it("scans Sanskrit verse", () => {
    assert.strictEqual(Rewards.scan("dharmakṣetre kurukṣetre"), "GGGGLGGG")
    // Bhagavad Gita 11.15, in upajati (tristubh).
    const verse = "paśyāmi devāṃs tava deva dehe\nsarvāṃs tathā bhūtaviśeṣasaṅghān"
    assert.strictEqual(pure(Rewards.chandasMeter("tristubh"), verse), 1)
    assert.strictEqual(pure(Rewards.chandasMeter("vasantatilaka"), verse), 0)
  })

  it.effect("cosine similarity is 1 for the same meaning and clamped below", () =>
    Rewards.scores(Rewards.cosineScaled({ minReward: -0.5 }), ["east", "north", "west"], { solution: "east" }).pipe(
      Effect.map((rewards) => assert.deepStrictEqual(rewards, [1, 0, -0.5])),
      Effect.provideService(Rewards.Embedder, {
        embed: (texts) => Effect.succeed(texts.map((text) => compass[text]!))
      })
    )
  )

  it.effect("names what exists where a reward, a parameter or a value is unknown", () =>
    Effect.gen(function* () {
      assert.match(yield* refusal("acuracy"), /acuracy.*accuracy/)
      assert.match(yield* refusal({ type: "format", params: { prefered_tags: ["plan"] } }), /format.*prefered_tags/)
      assert.match(yield* refusal({ type: "format", params: { preferred_tags: "plan" } }), /array.*preferred_tags/i)
      assert.match(yield* refusal({ type: "chandas_meter", params: { meter: "limerick" } }), /tristubh.*meter/)
    })
  )
})

const lengths = Layer.succeed(Rewards.Embedder, {
  embed: (texts) => Effect.succeed(texts.map(({ length }) => [length, 1]))
})

layer(Layer.merge(MathVerifier.layer(), lengths))("Rewards that verify", (it) => {
  it.effect("accuracy reads the boxed answer after the thinking, and refuses a box for every guess", () =>
    Effect.gen(function* () {
      const accuracy = Rewards.accuracy()
      const half = "<think>\\boxed{1}</think> so \\boxed{\\frac{1}{2}}"
      assert.strictEqual(yield* score(accuracy, half, "0.5"), 1)
      assert.strictEqual(yield* score(accuracy, "<think>\\boxed{42}</think> so \\boxed{41}", "42"), 0)
      assert.strictEqual(yield* score(accuracy, "so \\boxed{18}", "9 + 9 = 18\n#### 18"), 1)
      const guesses = `</think>${[1, 2, 3, 4, 5, 6, 7].map((n) => `\\boxed{${n}}`).join(" ")}`
      assert.strictEqual(yield* score(accuracy, guesses, "1"), 0)
    })
  )

  it.effect("accuracy pays for marked answers only, whichever of its parameters are given", () =>
    Effect.gen(function* () {
      const params = [
        {},
        { max_boxed_threshold: 6 },
        { split_on_think_tag: true },
        { max_boxed_threshold: 6, split_on_think_tag: true }
      ]
      const specs = ["accuracy", "cascading_r1_math", ...params.map((one) => ({ type: "accuracy", params: one }))]
      for (const reward of yield* Effect.forEach(specs, (spec) => Rewards.create(spec))) {
        assert.strictEqual(yield* score(reward, "Let me think about step 4", "4"), 0)
        assert.strictEqual(yield* score(reward, "There are $4$ of them", "4"), 0)
        assert.strictEqual(yield* score(reward, "The answer is 4.", "4"), 1)
        assert.strictEqual(yield* score(reward, "So \\boxed{4}", "4"), 1)
      }
    })
  )

  it.effect("the cascading reward adds the format bonus to right answers only", () =>
    Effect.gen(function* () {
      const cascading = Rewards.cascadingR1Math()
      assert.strictEqual(yield* score(cascading, "<think>sum</think> \\boxed{42}", "42"), 1.5)
      assert.strictEqual(yield* score(cascading, "\\boxed{42}", "42"), 1)
      assert.strictEqual(yield* score(cascading, "<think>sum</think> \\boxed{41}", "42"), 0)
    })
  )

  it.effect("creates rewards by the original's names, with parameters and weight", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Rewards.create("accuracyx")).name, "accuracy_x")
      assert.strictEqual((yield* Rewards.create("RepetitionPenaltyReward")).name, "repetition_penalty")
      const heavy = yield* Rewards.create({ type: "format", weight: 3, params: { preferred_tags: ["plan"] } })
      assert.deepStrictEqual(yield* Rewards.scores(heavy, ["<plan>x</plan>", "x"]), [3, 0])
    })
  )

  it.effect.prop("every registered reward is finite on any text", [Schema.String], ([text]) =>
    Effect.forEach(Rewards.names, (name) =>
      Effect.map(
        Effect.flatMap(Rewards.create(name), (reward) => score(reward, text, "42")),
        (value) => assert.isTrue(Number.isFinite(value), name)
      )
    )
  )
})

const refusal = (spec: Rewards.RewardSpec) => Effect.map(Effect.flip(Rewards.create(spec)), ({ message }) => message)

const pure = (reward: Rewards.Reward, text: string): number => Effect.runSync(reward.compute(text, {}))

const compass: { readonly [word: string]: ReadonlyArray<number> } = { east: [1, 0], north: [0, 1], west: [-1, 0] }

const score = <E, R>(reward: Rewards.Reward<E, R>, text: string, solution: string) => reward.compute(text, { solution })

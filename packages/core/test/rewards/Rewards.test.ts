import { assert, describe, it } from "@effect/vitest"
import { Rewards } from "@atropos/core"
import { Effect, Layer, Schema } from "effect"
import functions from "../fixtures/functions.json" with { type: "json" }

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
        assert.closeTo(reward.compute(golden.text, solution), expected, 1e-12, golden.text)
      }
    })
  }

  it("penalises length only in groups that are all right", () => {
    for (const { lengths, result, scores } of functions.length_penalty) {
      const ours = Rewards.lengthPenalty(scores, lengths, { maxTokenLength: 100 })
      ours.forEach((score, index) => assert.closeTo(score, result[index]!, 1e-9))
    }
  })

  it("a combination honours the weights of its parts", () => {
    const parts = [Rewards.weighted(Rewards.accuracyX(), 2), Rewards.weighted(Rewards.format(), 0.5)]
    const completions = ["<think>so</think> 42", "<think>so</think> 41", "42"]
    assert.deepStrictEqual(Rewards.combine(parts, completions, solution), [2.5, 0.5, 2])
    assert.deepStrictEqual(Rewards.combine(parts, completions, solution, "sum"), [1, 0.2, 0.8])
    assert.deepStrictEqual(Rewards.combine(parts, completions, solution, "minmax"), [1, 0, 0.75])
  })

  it("accuracy reads the boxed answer after the thinking, and refuses a box for every guess", () => {
    const compute = (text: string, gold: string) => Rewards.accuracy().compute(text, { solution: gold })
    assert.strictEqual(compute("<think>\\boxed{1}</think> so \\boxed{\\frac{1}{2}}", "0.5"), 1)
    assert.strictEqual(compute("<think>\\boxed{42}</think> so \\boxed{41}", "42"), 0)
    assert.strictEqual(compute("so \\boxed{18}", "9 + 9 = 18\n#### 18"), 1)
    assert.strictEqual(compute(`</think>${[1, 2, 3, 4, 5, 6, 7].map((n) => `\\boxed{${n}}`).join(" ")}`, "1"), 0)
  })

  it("the cascading reward adds the format bonus to right answers only", () => {
    const compute = (text: string) => Rewards.cascadingR1Math().compute(text, solution)
    assert.strictEqual(compute("<think>sum</think> \\boxed{42}"), 1.5)
    assert.strictEqual(compute("\\boxed{42}"), 1)
    assert.strictEqual(compute("<think>sum</think> \\boxed{41}"), 0)
  })

  it("strict crossword answers have letters only", () => {
    assert.strictEqual(Rewards.crosswordFormat().compute("1-Across: HEL1O", {}), 1)
    assert.strictEqual(Rewards.crosswordFormat({ strict: true }).compute("1-Across: HEL1O", {}), 0)
    assert.strictEqual(Rewards.crosswordFormat({ strict: true }).compute("1-Across: HELLO, 2-Down: SUN", {}), 1)
  })

  it("scans Sanskrit verse", () => {
    assert.strictEqual(Rewards.scan("dharmakṣetre kurukṣetre"), "GGGGLGGG")
    // Bhagavad Gita 11.15, in upajati (tristubh).
    const verse = "paśyāmi devāṃs tava deva dehe\nsarvāṃs tathā bhūtaviśeṣasaṅghān"
    assert.strictEqual(Rewards.chandasMeter("tristubh").compute(verse, {}), 1)
    assert.strictEqual(Rewards.chandasMeter("vasantatilaka").compute(verse, {}), 0)
  })

  it.effect("cosine similarity is 1 for the same meaning and clamped below", () =>
    Rewards.cosineScaled(["east", "north", "west"], "east", { minimum: -0.5 }).pipe(
      Effect.map((rewards) => assert.deepStrictEqual(rewards, [1, 0, -0.5])),
      Effect.provide(Layer.succeed(Rewards.Embedder, { embed: (texts) => Effect.succeed(texts.map((text) => compass[text]!)) }))
    )
  )

  it.prop("registered rewards are finite on any text", [Schema.String], ([text]) => {
    for (const name of Rewards.names) {
      assert.isTrue(Number.isFinite(Rewards.create(name).compute(text, solution)), name)
    }
  })

  it("creates rewards by the original's names, with parameters and weight", () => {
    assert.strictEqual(Rewards.create("accuracyx").name, "accuracy_x")
    const heavy = Rewards.create({ type: "format", weight: 3, params: { preferred_tags: ["plan"] } })
    assert.deepStrictEqual(Rewards.scores(heavy, ["<plan>x</plan>", "x"]), [3, 0])
    assert.throws(() => Rewards.create("acuracy"), /acuracy.*accuracy/)
  })
})

const compass: { readonly [word: string]: ReadonlyArray<number> } = { east: [1, 0], north: [0, 1], west: [-1, 0] }

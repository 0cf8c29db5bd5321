import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ScoreAdvantage } from "@atropos/core"
import * as AdvantageRule from "../../viewer/src/groups/model/AdvantageRule.ts"
import * as Group from "../../viewer/src/groups/model/Group.ts"
import type { AdvantageRecipe } from "../../viewer/src/source/Wire.ts"

const chat = (...turns: ReadonlyArray<string>) =>
  turns.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content }))

const wire = (fields: object) => ({
  tokens: [[1], [2], [3]],
  masks: [[-100], [2], [3]],
  scores: [0, 1, 0.5],
  messages: null,
  ...fields
})

const read = (fields: object, recipe: AdvantageRecipe | null = null): Group.Group => {
  const group = Group.read(wire(fields), recipe)
  assert.isNotNull(group)
  return group
}

describe("Group.read", () => {
  it("takes versions per token, where the weights changed in the middle", () => {
    const rollouts = read({
      policy_versions: [3, 4, 5],
      version_runs: [
        [
          [0, 3],
          [1, null]
        ],
        [],
        "x"
      ]
    }).rollouts
    assert.deepStrictEqual(
      rollouts.map(({ policyVersion, versionRuns }) => [policyVersion, [...versionRuns]]),
      [
        [3, [0, 3, 1, -1]],
        [4, []],
        [5, []]
      ]
    )
  })

  it("takes a field of another form as absent, and keeps the rest", () => {
    const group = read({
      tokens: [[1, 2], "x", null],
      masks: 7,
      messages: "no",
      overrides: [null, { finish_reason: "length" }]
    })
    assert.deepStrictEqual(
      group.rollouts.map(({ finishReason, messages, score, tokens }) => ({ finishReason, messages, score, tokens })),
      [
        { finishReason: null, messages: null, score: 0, tokens: [1, 2] },
        { finishReason: "length", messages: null, score: 1, tokens: [] },
        { finishReason: null, messages: null, score: 0.5, tokens: [] }
      ]
    )
  })

  it("has the components of each score, and none where a switch of that name holds something else", () => {
    const overrides = [{ rewards: { correct: 1, format: 0.5 } }, { rewards: { correct: "yes" } }, {}]
    const read = Group.read({ scores: [1, 0, 0], overrides })
    assert.deepStrictEqual(
      read?.rollouts.map(({ rewards }) => rewards),
      [
        [
          ["correct", 1],
          ["format", 0.5]
        ],
        [],
        []
      ]
    )
  })

  it("has nothing to show of what is no group", () => {
    for (const value of [null, 3, "group", [], {}, { tokens: [] }]) assert.isNull(Group.read(value))
  })

  it("gives every rollout its score relative to the group's, as the original's trainer does, where the run's is not known", () => {
    // mean 0.5, std sqrt(1/6)
    const advantages = read({}).rollouts.map(({ advantage }) => advantage ?? Number.NaN)
    assert.closeTo(advantages[1]!, 0.5 / Math.sqrt(1 / 6), 1e-6)
    assert.closeTo(
      advantages.reduce((sum, advantage) => sum + advantage),
      0,
      1e-6
    )
    assert.deepStrictEqual(
      read({ scores: [2, 2, 2] }).rollouts.map(({ advantage }) => advantage),
      [0, 0, 0]
    )
    assert.strictEqual(read({ overrides: [{}, { set_advantage_to_zero: true }, {}] }).rollouts[1]!.advantage, 0)
  })

  it.prop(
    "gives the advantages that the run's trainer trains by",
    [
      Schema.Array(Schema.Finite.check(Schema.isBetween({ minimum: -1e3, maximum: 1e3 }))).check(
        Schema.isMinLength(1),
        Schema.isMaxLength(16)
      ),
      Schema.Literals(ScoreAdvantage.baselines),
      Schema.Literals(ScoreAdvantage.scales)
    ],
    ([scores, baseline, scale]) => {
      const recipe = { loss: "grpo", baseline, advantage_scale: scale, is_used: true }
      const rule = { baseline, advantageScale: scale }
      // A group alone does not tell what the whole batch decides.
      const expected = ScoreAdvantage.needsBatch(rule)
        ? scores.map(() => null)
        : [...ScoreAdvantage.ofScores(scores, rule)]
      assert.deepStrictEqual(
        read({ scores }, recipe)
          .rollouts.slice(0, scores.length)
          .map(({ advantage }) => advantage),
        expected
      )
    }
  )

  it("has the standard deviation that the run's rule divides by, so that the advantages follow from what is shown", () => {
    const recipe = { loss: "grpo", baseline: "group", advantage_scale: "sample-std", is_used: true } as const
    for (const rule of [recipe, { ...recipe, advantage_scale: "population-std" } as const, null]) {
      const { mean, rollouts, std } = read({ scores: [1, 1, 0, 0] }, rule)
      assert.closeTo((1 - mean!) / std!, rollouts[0]!.advantage!, 1e-3)
    }
    assert.strictEqual(read({ scores: [1] }, recipe).std, 0)
  })

  it("takes an advantage that the environment gave for a sequence or its tokens, and none where the loss has none", () => {
    const given = read({ advantages: [[0.25], [1, 2, 3], [0.5]], overrides: [{}, {}, { set_advantage_to_zero: true }] })
    assert.deepStrictEqual(
      given.rollouts.map(({ advantage, advantages }) => [advantage, advantages]),
      [
        [0.25, null],
        [null, [1, 2, 3]],
        [0, null]
      ]
    )
    const sft = { loss: "sft", baseline: "group", advantage_scale: "none", is_used: false } as const
    assert.deepStrictEqual(
      read({}, sft).rollouts.map(({ advantage }) => advantage),
      [null, null, null]
    )
    assert.strictEqual(AdvantageRule.name(sft), "no advantages (sft)")
  })

  it("says which rule it shows, and that it is not the run's where nobody told that", () => {
    const own = {
      loss: "grpo",
      baseline: "group",
      advantage_scale: "none",
      is_used: true,
      computed_by: "byLength"
    } as const
    assert.isNull(AdvantageRule.ofScores([1, 0], own))
    assert.include(AdvantageRule.formula(own), "custom function (byLength)")
    assert.strictEqual(AdvantageRule.name(own), "advantages: byLength")
    const dapo = { loss: "dapo", baseline: "group", advantage_scale: "none", is_used: true } as const
    assert.strictEqual(AdvantageRule.formula(dapo), "advantage = score − group mean (dapo)")
    const batch = { ...dapo, loss: "reinforce++", baseline: "batch", advantage_scale: "batch-std" } as const
    assert.strictEqual(
      AdvantageRule.formula(batch),
      "advantage = (score − batch mean) / batch std dev (sample) (reinforce++); not shown, because it needs the whole batch"
    )
    assert.deepStrictEqual(
      read({}, batch).rollouts.map(({ advantage }) => advantage),
      [null, null, null]
    )
    assert.strictEqual(
      AdvantageRule.formula(null),
      "advantage = (score − group mean) / group std dev (population); the run's own rule is unknown"
    )
  })

  it("gives pictures to the rollouts where there is one entry for each, else to the group", () => {
    const png = "iVBORw0KGgoAAAA="
    assert.deepStrictEqual(
      read({ images: [png, [png, png], null] }).rollouts.map(({ images }) => images.length),
      [1, 2, 0]
    )
    const shared = read({ images: png })
    assert.strictEqual(shared.images.length, 1)
    assert.deepStrictEqual(
      shared.rollouts.map(({ images }) => images.length),
      [0, 0, 0]
    )
  })
})

const src = (name: string) => `data:image/png;base64,${name}`
const pictureNames = (images: Group.Pictures["shared"]) => images.map((image) => image.src?.split(",")[1])

describe("Group.picturesOf", () => {
  const asking = (name: string) => [{ role: "user", content: [{ type: "image_url", image_url: { url: src(name) } }] }]
  const pictures = (fields: object) => {
    const { own, shared } = Group.picturesOf(read(fields))
    return { shared: pictureNames(shared), own: own.map(pictureNames) }
  }

  it("leaves out what the messages show", () => {
    const images = ["a", "a", "b"].map(src)
    const messages = [asking("a"), asking("a"), asking("a")]
    assert.deepStrictEqual(pictures({ images, messages }), { shared: [], own: [[], [], ["b"]] })
    assert.deepStrictEqual(pictures({ images: src("a"), messages }), { shared: [], own: [[], [], []] })
  })

  it("puts what all rollouts have with the prompt", () => {
    assert.deepStrictEqual(pictures({ images: ["a", "a", "a"].map(src) }), { shared: ["a"], own: [[], [], []] })
    assert.deepStrictEqual(pictures({ images: ["a", "b", "a"].map(src) }), { shared: [], own: [["a"], ["b"], ["a"]] })
    assert.deepStrictEqual(pictures({ images: src("a") }), { shared: ["a"], own: [[], [], []] })
  })
})

describe("Group.longestAnswer", () => {
  it("counts what stands behind the messages that all have", () => {
    const messages = [chat("q".repeat(500), "a"), chat("q".repeat(500), "b".repeat(90)), chat("q".repeat(500), "c")]
    const longest = Group.longestAnswer(read({ messages }), 1)
    assert.isAtLeast(longest, 90)
    assert.isBelow(longest, 200)
  })
})

describe("Group.hasReasoning", () => {
  it("sees reasoning of any rollout", () => {
    assert.isFalse(Group.hasReasoning(read({ messages: [chat("q", "a"), chat("q", "b"), null] })))
    assert.isTrue(Group.hasReasoning(read({ messages: [chat("q", "a"), chat("q", "<think>hm</think>b"), null] })))
  })
})

describe("Group.ordered", () => {
  it.prop("puts better scores first, ties in the group's order", [Schema.Array(Schema.Int)], ([scores]) => {
    if (scores.length === 0) return
    const rollouts = Group.ordered(read({ tokens: scores.map(() => [1]), scores }))
    assert.deepStrictEqual(
      rollouts.map(({ index }) => index).toSorted((a, b) => a - b),
      [...scores.keys()]
    )
    for (const [place, { index, score }] of rollouts.entries()) {
      const next = rollouts[place + 1]
      if (next === undefined) continue
      assert.isAtLeast(score!, next.score!)
      if (score === next.score) assert.isBelow(index, next.index)
    }
  })

  it("puts rollouts without a score last", () => {
    assert.deepStrictEqual(
      Group.ordered(read({ scores: [-5] })).map(({ index }) => index),
      [0, 1, 2]
    )
  })
})

describe("Group.sharedMessages", () => {
  const sharedBy = (masks: unknown, ...chats: ReadonlyArray<unknown>) =>
    Group.sharedMessages(read({ tokens: chats.map(() => [1]), scores: chats.map(() => 0), masks, messages: chats }))
  const shared = (...chats: ReadonlyArray<unknown>) => sharedBy([], ...chats)

  it("is what all rollouts were given, and no action, were it the same one in all of them", () => {
    assert.strictEqual(shared(chat("q", "a", "b", "c"), chat("q", "a", "b", "d")), 1)
    assert.strictEqual(shared(chat("q", "a"), chat("p", "a")), 0)
    const twice = [-100, 5, -100, 6]
    assert.strictEqual(sharedBy([twice, twice], chat("q", "a", "b", "c"), chat("q", "a", "b", "d")), 1)
  })

  it("has the examples of a prompt in it, which are not trained on", () => {
    const once = [-100, -100, -100, 6]
    assert.strictEqual(sharedBy([once, once], chat("e", "a", "q", "c"), chat("e", "a", "q", "d")), 3)
    // What was masked whole, as too long, says nothing.
    const nothing = [-100, -100, -100, -100]
    assert.strictEqual(sharedBy([nothing, once], chat("e", "a", "q", "c"), chat("e", "a", "q", "d")), 3)
  })

  it("leaves every rollout a message of its own", () => {
    assert.strictEqual(shared(chat("q", "a"), chat("q", "a")), 1)
    assert.strictEqual(shared(chat("q"), chat("q", "a")), 0)
    assert.strictEqual(shared(chat("q", "a"), null), 0)
  })

  it("is what stands before the first answer where there is one rollout", () => {
    assert.strictEqual(shared(chat("q", "a", "b", "c")), 1)
  })
})

describe("Group.jsonOfRollout", () => {
  it("keeps of every field with an entry per sequence that entry, and the others whole", () => {
    const group = wire({
      group_overrides: { a: 1 },
      env_id: 4,
      images: ["x"],
      overrides: [{ b: 0 }, { b: 1 }, { b: 2 }]
    })
    assert.deepStrictEqual(Group.jsonOfRollout(group, 1), {
      tokens: [[2]],
      masks: [[2]],
      scores: [1],
      messages: null,
      group_overrides: { a: 1 },
      env_id: 4,
      images: ["x"],
      overrides: [{ b: 1 }]
    })
  })
})

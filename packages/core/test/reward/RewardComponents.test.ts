import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Logger, Option, Result, Schema, Stream } from "effect"
import * as Environment from "../../src/Environment.ts"
import * as RewardComponents from "../../src/reward/RewardComponents.ts"
import * as RolloutMetrics from "../../src/rollout/RolloutMetrics.ts"
import * as GroupFilter from "../../src/rollout/submit/GroupFilter.ts"
import type { ScoredGroup } from "../../src/trajectory/ScoredGroup.ts"
import * as PackedGroup from "../../src/service/PackedGroup.ts"
import * as SavedGroup from "../../src/service/SavedGroup.ts"
import * as WireGroup from "../../src/service/WireGroup.ts"
import { group, trajectory } from "../rollout/RolloutTest.ts"

/** An environment of one item whose two rollouts get these scores. */
const scoring = (
  scores: ReadonlyArray<unknown>,
  rewardWeights: RewardComponents.Weights = {},
  components?: RewardComponents.Rule
) =>
  Environment.Environment.pipe(
    Effect.provide(
      Environment.layer("parts", Environment.settings({}), () =>
        Effect.succeed({
          items: () => Stream.make("a"),
          collectTrajectories: () => Effect.succeed(scores.map((_, index) => trajectory(index))),
          // As a file that nobody checks may give them.
          score: () => Effect.succeed(scores as ReadonlyArray<Environment.Score>),
          ...(components && { components })
        })
      )({ rewardWeights }),
      { local: true }
    ),
    Effect.flatMap(({ work }) => Effect.map(Stream.runHead(work(0)), Option.getOrThrow))
  )

const groupOf = (...args: Parameters<typeof scoring>) =>
  Effect.flatMap(scoring(...args), ({ rollOut }) => Effect.map(rollOut, ({ groups }) => groups[0]!))

const Components = Schema.Record(
  Schema.String.check(Schema.isPattern(/^[a-z_][a-z0-9_]{0,5}$/)),
  Schema.Finite.check(Schema.isBetween({ minimum: -9, maximum: 9 }))
)

describe("components of a reward", () => {
  it.effect("are summed by the environment's weights, 1 for those it does not name, and kept apart", () =>
    Effect.gen(function* () {
      const { rewards, scores } = yield* groupOf(
        [{ rewards: { correct: 1, format: 0.5 } }, { rewards: { correct: 0 } }],
        {
          format: 0.2
        }
      )
      assert.deepStrictEqual([...scores], [1.1, 0])
      assert.deepStrictEqual(rewards, [{ correct: 1, format: 0.5 }, { correct: 0 }])
    })
  )

  it.effect.prop(
    "give the score by the definition's rule, and the environment's weights go before its own",
    [
      Components.check(Schema.isMinProperties(1)),
      Components,
      Schema.Finite.check(Schema.isBetween({ minimum: -9, maximum: 9 }))
    ],
    ([rewards, weights, base]) =>
      Effect.gen(function* () {
        const names = Object.keys(rewards)
        const sumBy = (weightOf: (name: string) => number) =>
          names.reduce((sum, name) => sum + weightOf(name) * rewards[name]!, 0)
        const own = (name: string) => (Object.hasOwn(weights, name) ? weights[name]! : 1)
        const [plain] = (yield* groupOf([{ rewards }], {}, { weights, base })).scores
        assert.closeTo(plain!, base + sumBy(own), 1e-9)
        const first = names.slice(0, 1)
        const rewardWeights = Object.fromEntries(first.map((name) => [name, 7]))
        const [weighed] = (yield* groupOf([{ rewards }], rewardWeights, { weights, base })).scores
        assert.closeTo(weighed!, base + sumBy((name) => (first.includes(name) ? 7 : own(name))), 1e-9)
      })
  )

  it.effect("whose rule is none are refused in words", () =>
    Effect.gen(function* () {
      const refusal = (rule: unknown) =>
        // As a file that nobody checks may give it.
        Effect.map(Effect.flip(groupOf([1], {}, rule as RewardComponents.Rule)), ({ message }) => message)
      assert.include(yield* refusal({ base: 1 }), "components has no weights")
      assert.include(yield* refusal({ weights: { correct: "2" } }), "components.weights is not a valid rule")
      assert.include(yield* refusal({ weights: {}, base: "1" }), "components.base must be a number, got a string")
      assert.include(yield* refusal({ wieghts: {} }), 'components has an unknown key "wieghts"')
    })
  )

  it.effect("go beside a score that is given, and rollouts without any have none", () =>
    Effect.gen(function* () {
      const { rewards, scores } = yield* groupOf([{ score: 7, rewards: { correct: 1 } }, 3])
      assert.deepStrictEqual([...scores], [7, 3])
      assert.deepStrictEqual(rewards, [{ correct: 1 }, {}])
      assert.notProperty(yield* groupOf([1, 0]), "rewards")
    })
  )

  it.effect("that are none are refused in words, with the score they stand in", () =>
    Effect.gen(function* () {
      const refusal = (given: unknown) =>
        groupOf([1, { rewards: given }]).pipe(
          Effect.flip,
          Effect.map(({ message }) => message)
        )
      assert.include(yield* refusal({ correct: "1" }), 'score number 2 of 2: the component correct is "1"')
      assert.include(yield* refusal({ "tool use": 1 }), 'a component is named "tool use"')
      assert.include(yield* refusal([1]), "rewards must be an object of numbers")
      assert.include(yield* refusal({}), "score number 2 of 2: it names no component, and would silently count as 0")
      assert.deepStrictEqual([...(yield* groupOf([1, { score: 0.5, rewards: {} }])).scores], [1, 0.5])
      const many = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`c${index}`, 1]))
      assert.include(yield* refusal(many), "32 components, not 33")
    })
  )

  it.effect("that come to a score outside of the claimed range are reported once, and counted in every group", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const listening = Logger.layer([Logger.make(({ message }) => void logged.push(message))])
      const share = (rewardWeights: RewardComponents.Weights) =>
        Environment.Environment.pipe(
          Effect.flatMap((environment) => {
            const metrics = RolloutMetrics.make("claiming", environment)
            return environment.groups.pipe(
              Stream.runForEach((one) => Effect.sync(() => metrics.rolledOut(one, { maxTokenLength: 0 }))),
              Effect.map(() => metrics.take()["train/out_of_range_fraction"])
            )
          }),
          Effect.provide(
            Environment.layer("claiming", Environment.settings({}), () =>
              Effect.succeed({
                items: () => Stream.make("a", "b"),
                collectTrajectories: () => Effect.succeed([0, 1, 2, 3].map((item) => trajectory(item))),
                score: () => Effect.succeed([0, 1, -1, { rewards: { correct: 1, bonus: 0.1 } }]),
                claims: { untestable: "it claims no more than its range", scoreRange: [-1, 1] as const }
              })
            )({ rewardWeights }),
            { local: true }
          ),
          Effect.provide(listening)
        )
      assert.strictEqual(yield* share({}), 1 / 4)
      assert.strictEqual(logged.length, 1)
      assert.include(JSON.stringify(logged), '"score":1.1,"range":[-1,1]')
      // Other weights have another scale.
      assert.strictEqual(yield* share({ correct: 5 }), 0)
      assert.strictEqual(logged.length, 1)
    })
  )

  it.effect("that a weight names and no score has are told once", () =>
    Effect.gen(function* () {
      const told: Array<unknown> = []
      const listening = Logger.layer([Logger.make(({ message }) => void told.push(message))])
      const work = yield* scoring([{ rewards: { correct: 1 } }, 0], { corect: 2 })
      yield* Effect.andThen(work.rollOut, work.rollOut).pipe(Effect.provide(listening))
      assert.strictEqual(told.length, 1)
      assert.include(JSON.stringify(told), "corect")
    })
  )

  const groups = Arbitrary.map(Arbitrary.schema(Schema.NonEmptyArray(Components)), (rewards): ScoredGroup => ({
    ...group(1, rewards.length),
    rewards
  }))

  it.prop("come out of every wire as they went in, beside the other switches", [groups], ([given]) => {
    const rewards = given.rewards?.some((one) => Object.keys(one).length > 0) ? given.rewards : undefined
    const switches = given.tokens.map((_, index) => ({ finish_reason: "length", index }))
    for (const overrides of [undefined, switches]) {
      const sent = { ...given, ...(overrides && { overrides }) }
      const json = WireGroup.encode(sent)
      const decoded = [
        Result.getOrThrow(PackedGroup.decode(PackedGroup.encode(sent))),
        Result.getOrThrow(WireGroup.decode(JSON.parse(json))),
        Result.getOrThrow(SavedGroup.parse(json)).group
      ]
      for (const got of decoded) {
        assert.deepStrictEqual(JSON.stringify(got.rewards), JSON.stringify(rewards))
        assert.deepStrictEqual(got.overrides, overrides)
      }
    }
  })

  it("stand in the original's wire where its server and trainer leave them", () => {
    const wire: unknown = JSON.parse(WireGroup.encode({ ...group(1), rewards: [{ correct: 1 }, {}] }))
    assert.deepInclude(wire, { overrides: [{ rewards: { correct: 1 } }, {}] })
    assert.deepStrictEqual(Object.keys(wire as object), [...WireGroup.keys])
  })

  it("are left to others where a switch of that name holds something else", () => {
    const theirs = { ...group(1), overrides: [{ rewards: "many" }, { rewards: { correct: 1 } }] }
    const { overrides, rewards } = Result.getOrThrow(PackedGroup.decode(PackedGroup.encode(theirs)))
    assert.deepStrictEqual([overrides, rewards], [theirs.overrides, undefined])
  })

  it("that are not finite keep their group from being sent", () => {
    const broken = { ...group(1), rewards: [{ correct: Number.NaN }, {}] }
    const options = { groupSize: 2, ensureScoresAreNotSame: true, includeMessages: false, maxTokenLength: 0 }
    assert.deepStrictEqual(GroupFilter.filter(broken, options), Result.fail("not_finite"))
    assert.isTrue(Result.isFailure(PackedGroup.check(broken)))
  })

  it("are recorded as their means, over the rollouts that have them", () => {
    const metrics = RolloutMetrics.make("parts")
    metrics.rolledOut({ ...group(1), rewards: [{ correct: 1, format: 0.5 }, { correct: 0 }] }, { maxTokenLength: 10 })
    metrics.rolledOut({ ...group(1), rewards: [{ correct: 0 }, { correct: 0 }] }, { maxTokenLength: 10 })
    assert.deepInclude(metrics.take(), { "reward/correct": 0.25, "reward/format": 0.5 })
    assert.notProperty(metrics.take(), "reward/correct")
  })

  it("become a bounded number of metrics, however an environment names them", () => {
    const named = Array.from({ length: 200 }, (_, index) => ({ [`item${index}`]: 1 }))
    assert.strictEqual(RewardComponents.totals(named).size, 64)
  })
})

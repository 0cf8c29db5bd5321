/** Which rollouts are too short to be learned from: the setting `min_trained_tokens`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema, Stream } from "effect"
import * as Environment from "../../src/Environment.ts"
import * as RolloutMetrics from "../../src/rollout/RolloutMetrics.ts"
import { maskFrom, type Trajectory } from "../../src/trajectory/Trajectory.ts"

const length = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))

/** Three tokens of a prompt, and an answer of so many. */
const answered = (trained: number): Trajectory => ({
  messages: [],
  completion: "x".repeat(trained),
  finishReason: "stop",
  tokens: new Int32Array(trained + 3),
  mask: maskFrom(3, trained + 3)
})

const groupOf = (trajectories: ReadonlyArray<Trajectory>, settings: { readonly minTrainedTokens?: number }) =>
  Environment.Environment.pipe(
    Effect.provide(
      Environment.layer("short", Environment.settings({}), () =>
        Effect.succeed({
          items: () => Stream.make("a"),
          collectTrajectories: () => Effect.succeed(trajectories),
          score: () =>
            Effect.succeed(
              trajectories.map((_, score): Environment.Score => ({ score, overrides: { temperature: score } }))
            )
        })
      )(settings),
      { local: true }
    ),
    Effect.flatMap(({ groups }) => Effect.map(Stream.runHead(groups), Option.getOrThrow))
  )

describe("min_trained_tokens", () => {
  it.effect.prop(
    "leaves alone just the rollouts with fewer trained tokens; their scores stay in the group",
    [Schema.NonEmptyArray(length), length],
    ([lengths, minTrainedTokens]) =>
      Effect.gen(function* () {
        const group = yield* groupOf(lengths.map(answered), { minTrainedTokens })
        assert.deepStrictEqual(Array.from(group.scores), Array.from(lengths.keys()))
        assert.deepStrictEqual(
          group.overrides,
          lengths.map((trained, index) => ({
            temperature: index,
            ...(trained < minTrainedTokens && { set_advantage_to_zero: true })
          }))
        )
        const metrics = RolloutMetrics.make("short")
        metrics.rolledOut(group, { maxTokenLength: 100, minTrainedTokens })
        assert.strictEqual(
          metrics.take()["train/too_short_fraction"],
          lengths.filter((trained) => trained < minTrainedTokens).length / lengths.length
        )
      })
  )

  it.effect.prop("is 0 unless it is set: every answer is learned from", [Schema.NonEmptyArray(length)], ([lengths]) =>
    Effect.map(groupOf(lengths.map(answered), {}), ({ overrides }) =>
      assert.isFalse(overrides?.some((one) => "set_advantage_to_zero" in one))
    )
  )
})

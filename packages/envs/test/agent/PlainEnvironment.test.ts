import { assert, describe, it } from "@effect/vitest"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { InferenceError } from "@atropos/core/inference/wire/Inference"
import * as EvaluationRun from "@atropos/core/rollout/EvaluationRun"
import { Effect, Layer, Option, Stream } from "effect"
import { defineEnvironment } from "../../src/agent/PlainEnvironment.ts"

const doubled = (item: number) => ({ role: "user", content: `${item} + ${item}?` })

const within = <A, E>(
  layer: Layer.Layer<Environment.Environment, unknown, ServerManager.ServerManager | Dataset.Dataset>,
  script: ServerManager.Script,
  use: (environment: Environment.EnvironmentShape) => Effect.Effect<A, E>
) =>
  Effect.flatMap(Environment.Environment, use).pipe(
    Effect.provide(
      layer.pipe(Layer.provide([ServerManager.layerScripted(script), Dataset.layer, Tokenizer.layerBytes]))
    )
  )

const first = ({ work }: Environment.EnvironmentShape) =>
  work(0).pipe(
    Stream.runHead,
    Effect.flatMap((one) => Option.getOrThrow(one).rollOut)
  )

describe("defineEnvironment", () => {
  it.effect("is plain async functions: several answers at once, and a score for each", () =>
    within(
      defineEnvironment({
        name: "doubles",
        items: () => [2],
        collectTrajectories: ({ count, item, model }) => model.chat([doubled(item)], { n: count }),
        score: async ({ item, trajectories }) =>
          trajectories.map(({ completion }) => ({ right: Number(completion) === 2 * item ? 1 : 0 })),
        gold: (item) => [`${2 * item}`],
        wrong: (item) => [`${2 * item + 1}`]
      })({ groupSize: 3, rewardWeights: { right: 2 } }),
      ["4", "5", "4"],
      (environment) =>
        Effect.gen(function* () {
          const { groups } = yield* first(environment)
          assert.deepStrictEqual(Array.from(groups[0]!.scores), [2, 0, 2])
          const { items } = Option.getOrThrow(environment.claims)
          const { gold, score, wrong } = Option.getOrThrow(yield* Stream.runHead(items))
          assert.deepStrictEqual(yield* score([...gold, ...wrong]), [2, 0])
        })
    )
  )

  it.effect("samples at temperature 1 in training and 0 in evaluations where a request names none", () => {
    const asked: Array<number | undefined> = []
    return within(
      defineEnvironment({
        name: "doubles",
        items: [2, 2],
        heldOut: [2],
        collectTrajectories: async ({ count, item, model }) => [
          ...(await model.chat([doubled(item)], { n: count })),
          ...(await model.chat([doubled(item)], { temperature: 0.3 }))
        ],
        score: ({ trajectories }) => trajectories.map(() => 1)
      })({ groupSize: 1 }),
      (request) => {
        asked.push(request.temperature)
        return "4"
      },
      (environment) =>
        Effect.gen(function* () {
          yield* first(environment)
          yield* EvaluationRun.evaluate(environment)
          assert.deepStrictEqual(asked, [1, 0.3, 0, 0.3])
        })
    )
  })

  it.effect("a session of several turns is one trajectory", () =>
    within(
      defineEnvironment({
        name: "turns",
        items: () => [1],
        collectTrajectories: async ({ count, item, model }) => {
          const play = async () => {
            const session = await model.session()
            const messages = [doubled(item)]
            const answer = await session.chat(messages)
            await session.chat([...messages, answer.message, { role: "user", content: "sure?" }])
            return session.trajectories()
          }
          return (await Promise.all(Array.from({ length: count }, play))).flat()
        },
        score: ({ trajectories }) => trajectories.map(({ messages }) => messages.length)
      })({ groupSize: 2 }),
      ["2"],
      (environment) =>
        Effect.map(first(environment), ({ groups }) => assert.deepStrictEqual(Array.from(groups[0]!.scores), [4, 4]))
    )
  )

  it.effect(
    "a failure of the servers stays one where its author lets it through, and a mistake is told with its place",
    () =>
      Effect.gen(function* () {
        const failing = (collect: (ask: () => Promise<ReadonlyArray<never>>) => Promise<ReadonlyArray<never>>) =>
          within(
            defineEnvironment({
              name: "failing",
              items: () => [1],
              collectTrajectories: ({ item, model }) => collect(async () => model.chat([doubled(item)]) as never),
              score: () => []
            })(),
            () => Effect.fail(new InferenceError({ reason: "rejected", server: "script", message: "not today" })),
            (environment) => Effect.flip(first(environment))
          )
        const outage = yield* failing((ask) => ask())
        assert.instanceOf((outage as Environment.EnvironmentError).cause, InferenceError)
        const mistake = yield* failing(() => Promise.reject(new RangeError("off by one")))
        assert.match(mistake.message, /collectTrajectories threw RangeError: off by one \(.*PlainEnvironment\.test\.ts/)
      })
  )
})

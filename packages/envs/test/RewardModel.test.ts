import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { RewardModel } from "@atropos/envs"
import { Effect, Layer, Option, Stream } from "effect"
import * as TestServer from "../../core/test/inference/TestServer.ts"

const rows = [{ prompt: "Hello?" }, { prompt: "Who is there?" }]

/** Runs a test with the environment, of a reward model at some address. */
const withEnvironment =
  (given: Parameters<typeof RewardModel.layer>[0], answers: ServerManager.Script = ["ab", "abcd", "a"]) =>
  <A, E, R>(use: (environment: Environment.EnvironmentShape) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(Environment.Environment, use).pipe(
      Effect.provide(
        RewardModel.layer({ source: "rows", testSource: "rows", groupSize: 3, maxTokenLength: 4, ...given }).pipe(
          Layer.provide([
            ServerManager.layerScripted(answers),
            Dataset.layerMemory({ rows }),
            Tokenizer.layerBytes,
            NodeHttpClient.layerUndici
          ])
        )
      )
    )

/** The reward of a text is minus the number of its answer's letters. */
const scoring = TestServer.make(({ body }) => ({
  json: {
    rewards: (body["messages"] as ReadonlyArray<ReadonlyArray<{ readonly content: string }>>).map(
      (chat) => -chat.at(-1)!.content.length
    )
  }
}))

const firstGroup = ({ groups }: Environment.EnvironmentShape) => Effect.map(Stream.runHead(groups), Option.getOrThrow)

describe("RewardModel", () => {
  it.live("scores a group with one request: the chat, and the same in the policy's template", () =>
    Effect.gen(function* () {
      const server = yield* scoring
      const group = yield* withEnvironment({ rewardUrl: server.url, systemPrompt: "Hi." })(firstGroup)
      assert.deepStrictEqual(Array.from(group.scores), [-2, -4, -1])
      assert.strictEqual(server.asked.length, 1)
      const { body } = server.asked[0]!
      assert.match((body["query"] as ReadonlyArray<string>)[0]!, /^<\|im_start\|>system\nHi\.[^]*assistant\nab$/)
      assert.deepStrictEqual(
        (body["messages"] as ReadonlyArray<ReadonlyArray<{ readonly role: string }>>)[0]!.map(({ role }) => role),
        ["system", "user", "assistant"]
      )
    })
  )

  it.live("scores an answer that was cut off, and has nobody learn from it", () =>
    Effect.gen(function* () {
      const server = yield* scoring
      const group = yield* withEnvironment({ rewardUrl: server.url }, ["abcdefgh", "abc", "a"])(firstGroup)
      assert.deepStrictEqual(Array.from(group.scores), [-4, -3, -1])
      assert.deepStrictEqual(group.overrides, [{ finish_reason: "length", set_advantage_to_zero: true }, {}, {}])
    })
  )

  it.live("evaluates held-out prompts, and claims nothing of what they are worth", () =>
    Effect.gen(function* () {
      const server = yield* scoring
      yield* withEnvironment({ rewardUrl: server.url })(({ claims, evaluation }) =>
        Effect.gen(function* () {
          const items = yield* Stream.runCollect(Option.getOrThrow(evaluation))
          const [evaluated] = yield* items[1]!.evaluate
          assert.strictEqual(evaluated?.score, -2)
          assert.notProperty(evaluated, "correct")
          assert.isDefined(Option.getOrThrow(claims).untestable)
        })
      )
    })
  )

  it.live("needs an address, and names the setting; a refusal fails the item with the reward model's words", () =>
    Effect.gen(function* () {
      const nowhere = yield* Effect.flip(withEnvironment({})(firstGroup))
      assert.include(String(nowhere), "--env.reward_url")
      const refusing = yield* TestServer.make(() => ({ status: 401, text: "who are you?" }))
      const error = yield* Effect.flip(withEnvironment({ rewardUrl: refusing.url })(firstGroup))
      assert.match(String(error), /the reward model at http.*responded with 401: who are you\?/)
    })
  )
})

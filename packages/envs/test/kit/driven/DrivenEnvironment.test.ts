/** Environments stepped from outside: single turns, games, tools, and those that cannot be. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import * as Environment from "@atropos/core/Environment"
import * as Driven from "../../../src/kit/driven/DrivenEnvironment.ts"
import * as Players from "../../../src/kit/Players.ts"
import * as Episode from "../../../src/kit/Episode.ts"
import * as Tool from "../../../src/kit/tools/Tool.ts"
import * as Toolbox from "../../../src/kit/tools/Toolbox.ts"
import * as ToolEpisode from "../../../src/kit/tools/ToolEpisode.ts"
import * as Message from "@atropos/core/trajectory/Message"
import { ServerManager } from "@atropos/core/inference/ServerManager"
import type { Trajectory } from "@atropos/core/trajectory/Trajectory"

const settings = Environment.settings({})
type Own = Omit<Environment.Definition<number, unknown, ServerManager>, "items" | "score">

/** Items 0, 1, …, 4, each worth what the last answer says it is. */
const named = (name: string, own: Own) =>
  Environment.layer(name, settings, () =>
    Effect.succeed({
      items: (cursor: number) => Stream.fromIterable([0, 1, 2, 3, 4].slice(cursor)),
      score: (item: number, group: ReadonlyArray<Trajectory>) =>
        Effect.succeed(
          group.map(({ completion }) => ({
            rewards: { right: completion === String(item) ? 1 : 0, short: completion.length < 3 ? 0.5 : 0 }
          }))
        ),
      ...own
    })
  )

const driven = (layer: ReturnType<typeof named>) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(layer({ groupSize: 1 }).pipe(Layer.provide(Driven.layerPolicy)))
    return yield* Driven.make(yield* Effect.provideContext(Environment.Environment, context))
  })

const asking = (n: number) =>
  named("asking", {
    collectTrajectories: (item) =>
      ServerManager.use((servers) => servers.chat({ messages: [Message.user(`which item? ${item}`)], n }))
  })

const counting: Episode.World<number> = {
  maxTurns: 5,
  opening: () => [Message.system("count"), Message.user("0")],
  step: (state, answer) => ({
    state: state + 1,
    reward: Number(answer),
    isOver: state === 2,
    observation: String(state + 1)
  })
}

const call = (args: string) => ({ id: "a", type: "function", function: { name: "twice", arguments: args } })

const said = (turn: Driven.Turn) => (turn.isOver ? [] : turn.messages.map(Message.text))

describe("an environment stepped from outside", () => {
  it.effect("asks once for a single turn, and gives its own score with its components", () =>
    Effect.gen(function* () {
      const environment = yield* driven(asking(1))
      assert.deepStrictEqual(said(yield* environment.check), ["which item? 0"])
      const episode = yield* environment.reset({ item: 3 })
      assert.deepStrictEqual(said(episode.first), ["which item? 3"])
      assert.deepStrictEqual(yield* episode.step({ text: "3" }), {
        isOver: true,
        score: 1.5,
        rewards: { right: 1, short: 0.5 }
      })
      const { message } = yield* Effect.flip(episode.step({ text: "3" }))
      assert.include(message, "the episode is over")
    })
  )

  it.effect("goes through its items in order, over and over, whoever else has numbered ones", () =>
    Effect.gen(function* () {
      const environment = yield* driven(asking(1))
      const seen: Array<string> = []
      for (let at = 0; at < 7; at++) {
        seen.push(...said((yield* environment.reset()).first))
        yield* environment.reset({ item: 4 })
      }
      assert.deepStrictEqual(
        seen,
        [0, 1, 2, 3, 4, 0, 1].map((item) => `which item? ${item}`)
      )
      assert.deepStrictEqual(said((yield* environment.reset({ item: 13 })).first), ["which item? 3"])
    })
  )

  it.effect("tells what is new in each turn of a game; episodes are independent", () =>
    Effect.gen(function* () {
      const environment = yield* driven(
        named("counting", {
          collectTrajectories: (item) =>
            Effect.map(Episode.live(counting, 0, { maxTokens: 5 }), ({ rewards, trajectory }) => ({
              groups: [{ trajectories: [trajectory], scores: [rewards.reduce((sum, one) => sum + one, item)] }]
            }))
        })
      )
      const [one, two] = [yield* environment.reset(), yield* environment.reset()]
      assert.deepStrictEqual(said(one.first), ["count", "0"])
      assert.deepStrictEqual(said(yield* one.step({ text: "10" })), ["1"])
      assert.deepStrictEqual(said(yield* two.step({ text: "1" })), ["1"])
      const turn = yield* one.step({ text: "20" })
      assert.deepStrictEqual(said(turn), ["2"])
      assert.strictEqual(turn.isOver ? 0 : turn.chat.length, 6)
      assert.deepStrictEqual(yield* one.step({ text: "30" }), { isOver: true, score: 60 })
      yield* two.step({ text: "1" })
      assert.deepStrictEqual(yield* two.step({ text: "1" }), { isOver: true, score: 4 })
    })
  )

  it.effect("offers tools, runs their calls, and is told the answer at the end", () =>
    Effect.gen(function* () {
      const twice = Tool.make({
        name: "twice",
        description: "Doubles.",
        parameters: Schema.Struct({ of: Schema.Int }),
        run: ({ of }) => Effect.succeed(String(2 * of))
      })
      const environment = yield* driven(
        named("doubling", {
          collectTrajectories: () =>
            ToolEpisode.playGroup(Toolbox.make([twice]), [Message.user("double 2")], {
              count: 1,
              limits: { turns: 4, calls: 4 },
              maxTokens: 9
            })
        })
      )
      const episode = yield* environment.reset({ item: 4 })
      assert.lengthOf(episode.first.isOver ? [] : episode.first.tools, 1)
      const turn = yield* episode.step({ text: "", toolCalls: [call('{"of":2}')] })
      assert.deepStrictEqual(turn.isOver ? [] : turn.messages, [
        { role: "tool", name: "twice", content: "4", tool_call_id: "a" }
      ])
      const wrong = yield* episode.step({ text: "", toolCalls: [call('{"of":"x"}')] })
      assert.match(said(wrong)[0] ?? "", /^error: wrong arguments for twice/)
      assert.deepInclude(yield* episode.step({ text: "4" }), { isOver: true, score: 1.5 })
    })
  )

  it.effect("says why an episode could not be judged, and what failed in it", () =>
    Effect.gen(function* () {
      const failing = yield* driven(
        named("failing", {
          collectTrajectories: (item) =>
            Effect.andThen(
              ServerManager.use((servers) => servers.chat({ messages: [Message.user("?")] })),
              Effect.fail(
                item === 0 ? new Environment.Unscorable({ message: "no reference" }) : new Error("the world is gone")
              )
            )
        })
      )
      const first = yield* failing.reset()
      assert.deepStrictEqual(yield* first.step({ text: "" }), { isOver: true, unscorable: "no reference" })
      const second = yield* failing.reset()
      const error = yield* Effect.flip(second.step({ text: "" }))
      assert.deepStrictEqual([error.isRefused, error.message], [false, "the world is gone"])
    })
  )

  it.effect("is refused by name where one answer at a time cannot step it", () =>
    Effect.gen(function* () {
      const refused = (layer: ReturnType<typeof named>) =>
        Effect.map(Effect.flip(Effect.flatMap(driven(layer), ({ check }) => check)), ({ message }) => message)
      assert.strictEqual(
        yield* refused(asking(8)),
        "asking cannot be stepped from outside: it requests 8 completions at the same time, but an outside policy returns one"
      )
      const solved: Trajectory = {
        messages: [Message.user("?"), Message.assistant("!")],
        completion: "!",
        finishReason: "stop",
        tokens: Int32Array.of(),
        mask: Uint8Array.of()
      }
      assert.include(
        yield* refused(named("solved", { collectTrajectories: () => Effect.succeed([solved]) })),
        "solved cannot be stepped from outside: it makes no requests to the policy"
      )
      assert.include(
        yield* refused(
          named("tokens", {
            collectTrajectories: () =>
              ServerManager.use((servers) => Effect.as(servers.promptLogprobs({ inputIds: [1], topK: 1 }), []))
          })
        ),
        "tokens cannot be stepped from outside: the policy outside does not support"
      )
    })
  )

  it.effect("has no one reward where several seats are played", () =>
    Effect.gen(function* () {
      const game: Players.SeatedGame<number> = {
        seats: 2,
        toMove: (state) => (state < 2 ? state : undefined),
        opening: (_, seat) => [Message.user(`seat ${seat}`)],
        observation: () => "",
        step: (state) => state + 1,
        returns: () => [1, -1],
        maxTurns: 4
      }
      const environment = yield* driven(
        named("seats", {
          collectTrajectories: () => Players.groups(game, 0, { players: ["policy", "policy"], n: 1, maxTokens: 5 })
        })
      )
      const episode = yield* environment.reset()
      assert.deepStrictEqual(said(yield* episode.step({ text: "a" })), ["seat 1"])
      const { isRefused, message } = yield* Effect.flip(episode.step({ text: "b" }))
      assert.isTrue(isRefused)
      assert.include(message, "2 separately scored sequences")
      const told = yield* driven(
        named("told", { collectTrajectories: () => Effect.succeed([]), scoresPerEpisode: "by seat" })
      )
      assert.include(yield* Effect.flip(told.check), {
        isRefused: true,
        message:
          "told cannot be stepped from outside: its episodes have no single reward, their sequences are scored separately: by seat"
      })
    })
  )
})

/** Games of TextArena, played to their end by answers drawn from the moves that the game names. */
import { assert, describe, it } from "@effect/vitest"
import { Environment, Message, SeededRandom, ServerManager } from "@atropos/core"
import { Opponent } from "@atropos/envs"
import { Effect, Layer, Stream } from "effect"
import * as TextArena from "../../../src/connected/TextArena.ts"
import { having, interpreter } from "../../../../core/test/Python.ts"

const { absence, isPresent } = having("textarena")

/** Games of different kinds, with their players. */
const games = [
  ["TicTacToe-v0", 2],
  ["ConnectFour-v0", 2],
  ["KuhnPoker-v0", 2],
  ["Nim-v0", 2],
  ["IteratedRockPaperScissors-v0", 2],
  ["IteratedPrisonersDilemma-v0", 2],
  ["GuessTheNumber-v0", 1],
  ["TowerOfHanoi-v0", 1],
  ["Mastermind-v0", 1],
  ["LightsOut-v0", 1]
] as const

/** One of the moves in brackets that the last message names, or a number. */
const player = ServerManager.layerScripted((request) => {
  const messages = "messages" in request ? request.messages : []
  const last = messages.map(Message.text).join("\n")
  const moves = Array.from(last.matchAll(/\[[\w ,]{1,12}\]/g), ([move]) => move)
  const random = SeededRandom.seeded(SeededRandom.hashOf(last), messages.length)
  return moves.length === 0 ? `[${random.between(0, 9)}]` : random.pick(moves.slice(-12))
})

describe.runIf(isPresent)(`textarena${absence}`, () => {
  for (const [game, players] of games) {
    it.live(`${game}: every seat is a sequence with the reward that the game paid it`, () =>
      Effect.gen(function* () {
        const { work } = yield* Environment.Environment
        const [first] = yield* Stream.runCollect(Stream.take(work(0), 1))
        const { groups } = yield* first!.rollOut
        assert.isAtMost(groups.length, players)
        assert.isAbove(groups.length, 0)
        for (const { masks, scores, tokens } of groups) {
          assert.isTrue(scores.every(Number.isFinite))
          assert.strictEqual(tokens.length, scores.length)
          for (const mask of masks) assert.include(Array.from(mask), 1)
        }
      }).pipe(
        Effect.provide(
          TextArena.layer({ game, players, python: interpreter, groupSize: 2, maxTokenLength: 100_000 }).pipe(
            Layer.provide([player, Opponent.layerNone])
          )
        )
      )
    )
  }
})

/**
 * Makes an environment from a game (`Episode`): its settings, its items, whole episodes or a group per turn, and
 * evaluation.
 *
 * All rollouts of a group start from the same state. Whole episodes are scored by replaying their answers, so `score`
 * is pure; groups of single turns bring their scores, the advantages of the alternatives.
 */
import { Effect, Schema, Stream } from "effect"
import * as Environment from "@atropos/core/Environment"
import * as Episode from "./Episode.ts"
import type { Common } from "@atropos/core/definition/EnvironmentSettings"
import type { InferenceError } from "@atropos/core/inference/wire/Inference"
import { seeded, type SeededRandom } from "@atropos/core/base/SeededRandom"
import type { Rewards } from "@atropos/core/reward/RewardComponents"
import { ServerManager } from "@atropos/core/inference/ServerManager"
import type { Trajectory } from "@atropos/core/trajectory/Trajectory"

const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const fields = {
  groupSize: Environment.field(positive, 8, "episodes per item, or alternatives per turn"),
  seed: Environment.field(Schema.Int, 0, "random seed for the games"),
  mode: Environment.field(
    Schema.Literals(["episode", "stepwise"]),
    "episode",
    "whole episodes, or a group of alternatives at each turn, continuing with the best one (stepwise)"
  ),
  maxAnswerTokens: Environment.field(positive, 512, "maximum tokens per turn"),
  historyTurns: Environment.field(positive, 8, "with stepwise: past turns kept in the prompt"),
  evaluationItems: Environment.field(positive, 64, "games per evaluation"),
  temperature: Environment.field(Environment.nonNegative, 1, "sampling temperature for training rollouts")
} as const

type Settings = Common & Schema.Struct.Type<typeof fields>

export interface PlayableGame<State> extends Episode.Game<State> {
  readonly start: (random: SeededRandom) => State
  /** V(s), from what the player can see. */
  readonly value: (state: State) => number
  readonly score: (start: State, played: Episode.Played<State>) => number
  /** The components of the score, if any; the environment's rule combines them to the same number. */
  readonly parts?: (start: State, played: Episode.Played<State>) => Rewards
  readonly form?: Episode.Form
  /** True if every answer has `maxAnswerTokens` tokens: one that ends there is complete, not truncated. */
  readonly isFixedLength?: boolean
}

/** A start, and a seed for the sampler, so that a run is reproducible. */
export interface Item<State> {
  readonly start: State
  readonly samplingSeed: number
}

const completed = (one: Trajectory): Trajectory =>
  one.finishReason === "length" ? { ...one, finishReason: "stop" } : one

const evaluationSeedOffset = 1_000_003

export const definition = Effect.fnUntraced(function* <State>(game: PlayableGame<State>, settings: Settings) {
  const servers = yield* ServerManager
  const { evaluationItems, groupSize, historyTurns, maxAnswerTokens, maxTokenLength, mode, seed, temperature } =
    settings
  const itemAt = (from: number, index: number): Item<State> => {
    const random = seeded(from, index)
    return { samplingSeed: random.between(0, 2 ** 30), start: game.start(random) }
  }
  const shared = {
    maxTokens: Math.min(maxAnswerTokens, maxTokenLength),
    ...(game.form !== undefined && { form: game.form })
  }
  const finished = (one: Trajectory): Trajectory => (game.isFixedLength === true ? completed(one) : one)
  const play = ({ samplingSeed, start }: Item<State>, index: number, sampling: Episode.Sampling) =>
    Effect.map(Episode.play(game, start, { ...shared, seed: samplingSeed + index, ...sampling }), finished)
  const collect = (
    item: Item<State>
  ): Effect.Effect<Environment.Rollouts<Item<State>>, InferenceError, ServerManager> =>
    mode === "episode"
      ? Effect.forEach(Array.from({ length: groupSize }).keys(), (index) => play(item, index, { temperature }), {
          concurrency: "unbounded"
        })
      : Effect.map(
          Episode.alternatives(game, item.start, {
            ...shared,
            n: groupSize,
            historyTurns,
            temperature,
            seed: item.samplingSeed
          }),
          (groups) => ({
            groups: groups.map((group) => ({ ...group, trajectories: group.trajectories.map(finished) }))
          })
        )
  const provide = Effect.provideService(ServerManager, servers)
  return {
    ...(mode === "stepwise" && {
      scoresPerEpisode: "a group for every turn (mode: stepwise; mode: episode has one score)",
      cannotRescore: "alternatives of a turn are scored by the state before it (mode: stepwise)"
    }),
    items: (cursor: number) =>
      Stream.range(cursor, Number.MAX_SAFE_INTEGER).pipe(Stream.map((index) => itemAt(seed, index))),
    collectTrajectories: (item: Item<State>) => provide(collect(item)),
    score: ({ start }: Item<State>, group: ReadonlyArray<Trajectory>) =>
      Effect.succeed(
        group.map((one): Environment.Score => {
          const played = Episode.replay(game, start, Episode.answersOf(one))
          return game.parts === undefined ? game.score(start, played) : { rewards: game.parts(start, played) }
        })
      ),
    evaluation: {
      items: Stream.range(0, evaluationItems - 1).pipe(
        Stream.map((index) => itemAt(seed + evaluationSeedOffset, index))
      ),
      collectTrajectories: (item: Item<State>) =>
        provide(Effect.map(play(item, 0, { temperature: 0, split: "eval" }), (one) => [one]))
    }
  }
})

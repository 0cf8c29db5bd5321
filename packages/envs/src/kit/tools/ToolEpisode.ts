/**
 * Runs an episode with tools: the model answers, its calls are run and answered, until it answers without a call or its
 * budget is used up.
 *
 * Exact tokens over all turns (`ServerManager.tracked`); an error in a call is an observation. Supports credit for
 * single turns: R_turn is the share of a turn's calls that succeeded (an answer without calls: 1), and `advantages` is
 * MT-GRPO's (2505.11821).
 */
import { Effect, Option, Result, type Scope } from "effect"
import * as Advantage from "@atropos/core/reward/TurnAdvantage"
import * as Budget from "../Budget.ts"
import type { Score } from "@atropos/core/Environment"
import { mean } from "@atropos/core/evaluation/Statistics"
import type { InferenceError, SamplingOptions } from "@atropos/core/inference/wire/Inference"
import { type Message, text } from "@atropos/core/trajectory/Message"
import { type Rewards, type Rule, scoreOf } from "@atropos/core/reward/RewardComponents"
import { ServerManager } from "@atropos/core/inference/ServerManager"
import type { Trajectory } from "@atropos/core/trajectory/Trajectory"
import type { Toolbox } from "./Toolbox.ts"

export interface Options extends Pick<SamplingOptions, "maxTokens" | "temperature" | "seed" | "split"> {
  /** Turns, tokens, calls and seconds that the episode may use. */
  readonly limits: Budget.Limits
  /** Returns true if the answered calls have ended the episode. Default: they never do. */
  readonly isOver?: () => boolean
}

/** The trajectory of an episode; undefined if its prompt leaves no tokens for an answer. */
export const play = Effect.fn("ToolEpisode.play")(function* <E, R>(
  toolbox: Toolbox<E, R>,
  prompt: ReadonlyArray<Message>,
  { isOver = () => false, limits, ...sampling }: Options
): Effect.fn.Return<Trajectory | undefined, InferenceError | E, ServerManager | R | Scope.Scope> {
  const servers = yield* ServerManager
  const session = yield* servers.tracked()
  const budget = yield* Budget.make(limits)
  let messages = prompt
  for (;;) {
    const answer = yield* budget.turn(session, { messages, tools: toolbox.definitions, ...sampling })
    if (Option.isNone(answer)) break
    const { message, toolCalls } = answer.value
    messages = [...messages, message]
    if (toolCalls.length === 0) break
    const answered = yield* Effect.forEach(
      toolCalls,
      (call) =>
        Effect.map(
          budget.call(toolbox.answer([call])),
          Option.match({
            onNone: (): Message => ({
              role: "tool",
              name: call.function.name,
              content: "error: there are no more calls: answer with what you know",
              ...(call.id !== undefined && { tool_call_id: call.id })
            }),
            onSome: ([one]) => one!.message
          })
        ),
      { concurrency: "unbounded" }
    )
    messages = [...messages, ...answered]
    if (isOver()) break
  }
  // If a template rewrote the chat, the last sequence contains the most of it.
  const trajectory = (yield* session.trajectories).at(-1)
  const last = messages.findLastIndex(({ role }) => role === "assistant")
  return trajectory === undefined ? undefined : { ...trajectory, messages: messages.slice(0, last + 1) }
}, Effect.scoped)

/** A group of episodes from one prompt, each with its own seed; those without tokens left for an answer are dropped. */
export const playGroup = <E, R>(
  toolbox: Toolbox<E, R>,
  prompt: ReadonlyArray<Message>,
  { count, seed, ...options }: Options & { readonly count: number }
): Effect.Effect<ReadonlyArray<Trajectory>, InferenceError | E, ServerManager | R> =>
  Effect.forEach(
    Array.from({ length: count }).keys(),
    (index) => play(toolbox, prompt, { ...options, ...(seed !== undefined && { seed: seed + index }) }),
    { concurrency: "unbounded" }
  ).pipe(Effect.map((episodes) => episodes.filter((one) => one !== undefined)))

const isRefused = (message: Message): boolean => text(message).startsWith("error: ")

/** For every answer of an episode the share of its calls that succeeded; 1 for one without calls. */
export const turnRewards = ({ messages }: Pick<Trajectory, "messages">): ReadonlyArray<number> => {
  const rewards: Array<number> = []
  for (const [index, { role, tool_calls: calls = [] }] of messages.entries()) {
    if (role !== "assistant") continue
    const next = messages.findIndex((later, at) => at > index && later.role !== "tool")
    const answers = messages.slice(index + 1, next === -1 ? messages.length : next)
    // Unanswered calls exhausted the budget.
    rewards.push(calls.length === 0 ? 1 : answers.filter((one) => !isRefused(one)).length / calls.length)
  }
  return rewards
}

export interface CreditOptions {
  /** Weight of the outcome relative to the turn. Default 1. */
  readonly outcomeWeight?: number
}

/**
 * Scores of a group of episodes with token-level advantages: for every turn its own, standardised over the group, plus
 * `outcomeWeight` times the outcome's. `turnRewards_G_K`: one number per answer of an episode. If the spans of a mask
 * do not match the answers, every answer gets the outcome's advantage alone. If nothing differs, the scores are plain
 * numbers, so that the group can be dropped.
 */
export const credited = (
  group: ReadonlyArray<Trajectory>,
  turnRewards_G_K: ReadonlyArray<ReadonlyArray<number>>,
  outcomes: ReadonlyArray<number>,
  { outcomeWeight = 1 }: CreditOptions = {}
): ReadonlyArray<Score> => {
  const advantages = Advantage.turnLevel(turnRewards_G_K, outcomes, { outcomeWeight })
  if (advantages.every((turns) => turns.every((advantage) => advantage === 0))) return outcomes
  const alone = Advantage.turnLevel(
    group.map(() => [0]),
    outcomes,
    { outcomeWeight }
  )
  return group.map(({ mask }, index) => {
    const score = outcomes[index]!
    return Result.match(Advantage.overTurns(mask, advantages[index]!), {
      // On the scale of the others: a plain score would be used as an advantage, 0 for a wrong answer.
      onFailure: (): Score => ({
        score,
        advantages: Float32Array.from(mask, (trained) => (trained === 1 ? alone[index]![0]! : 0))
      }),
      onSuccess: (spread) => ({ score, advantages: spread })
    })
  })
}

/** Like `credited`, with the share of successful calls as turn rewards. */
export const scored = (
  group: ReadonlyArray<Trajectory>,
  outcomes: ReadonlyArray<number>,
  options: CreditOptions = {}
): ReadonlyArray<Score> => credited(group, group.map(turnRewards), outcomes, options)

/** The rule of an episode that ends with an answer; `tools` is shown but has no weight. */
export const answeredRule: Rule = { weights: { tools: 0, correct: 1 } }

/** `tools`: the mean of `turnRewards`; `correct`: 1 if its answer is right. */
export const answered = (
  episode: Pick<Trajectory, "messages">,
  isRight: boolean
): { readonly tools: number; readonly correct: number } => {
  const turns = turnRewards(episode)
  return { tools: turns.length === 0 ? 0 : mean(turns), correct: isRight ? 1 : 0 }
}

/** Scores with components, whose number by a rule is the outcome. Default turn rewards: as in `scored`. */
export const scoredParts = (
  group: ReadonlyArray<Trajectory>,
  rewards: ReadonlyArray<Rewards>,
  rule: Rule,
  {
    turns = group.map(turnRewards),
    ...options
  }: CreditOptions & {
    readonly turns?: ReadonlyArray<ReadonlyArray<number>>
  } = {}
): ReadonlyArray<Score> => {
  const outcomes = rewards.map((parts) => scoreOf(parts, rule))
  return credited(group, turns, outcomes, options).map((one, index): Score => ({
    ...(typeof one === "number" ? {} : one),
    score: outcomes[index]!,
    rewards: rewards[index]!
  }))
}

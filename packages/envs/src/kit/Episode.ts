/**
 * Plays multi-turn episodes: a game, a simulator, a rule-based dialogue, or an external world.
 *
 * A game is a pure step function, independent of models and sampling, so that rules can be tested by replaying. `play`
 * gives whole episodes, one trajectory each with all answers trained and exact tokens over all turns; `alternatives`
 * gives a group for every turn, several answers to the same state, each judged by r + V(s') - V(s), and continues with
 * the best. Replaces the original's game environments (environments/game_environments/gymnasium), whose V knew the
 * cards to come.
 *
 * A world's step is an effect: a browser, a container, another model. It cannot be replayed, so `live` also returns the
 * rewards. Several players: `Players`.
 */
import { Effect, type Scope } from "effect"
import * as Advantage from "@atropos/core/reward/TurnAdvantage"
import type { RolloutGroup } from "@atropos/core/Environment"
import { InferenceError } from "@atropos/core/inference/wire/Inference"
import { assistant, type Message, text, user } from "@atropos/core/trajectory/Message"
import { ServerManager } from "@atropos/core/inference/ServerManager"
import { maskFrom, type Trajectory } from "@atropos/core/trajectory/Trajectory"
import * as PolicySeat from "./PolicySeat.ts"

/** The result of an answer. */
export interface Step<State> {
  readonly state: State
  readonly reward: number
  readonly isOver: boolean
  /** The model's next observation; unused once the episode is over. */
  readonly observation: string
}

/** A world whose step may be an effect; its resources are in the scope of the caller. */
export interface World<State, E = never, R = never> {
  /** The initial messages to the model; the last one is the user's. */
  readonly opening: (state: State) => ReadonlyArray<Message>
  /** Any text is an answer: an invalid one has a consequence, too. */
  readonly step: (state: State, answer: string) => Step<State> | Effect.Effect<Step<State>, E, R>
  readonly maxTurns: number
}

export interface Game<State> extends World<State> {
  readonly step: (state: State, answer: string) => Step<State>
}

export type { Form, Sampling } from "./PolicySeat.ts"
type Sampling = PolicySeat.Sampling

export interface Played<State> {
  readonly state: State
  /** One per turn. */
  readonly rewards: ReadonlyArray<number>
  /** True if the game has ended by itself. */
  readonly isOver: boolean
}

/** Plays a sequence of answers until the game ends. Pure. */
export const replay = <State>(
  { maxTurns, step }: Pick<Game<State>, "step" | "maxTurns">,
  start: State,
  answers: ReadonlyArray<string>
): Played<State> => {
  const rewards: Array<number> = []
  let state = start
  for (const answer of answers.slice(0, maxTurns)) {
    const next = step(state, answer)
    state = next.state
    rewards.push(next.reward)
    if (next.isOver) return { state, rewards, isOver: true }
  }
  return { state, rewards, isOver: false }
}

export const answersOf = ({ messages }: Pick<Trajectory, "messages">): ReadonlyArray<string> =>
  messages.filter(({ role }) => role === "assistant").map(text)

/** The episode that these answers would give, for claims and tests. One token per UTF-16 unit of its answers. */
export const episodeOf = <State>(game: Game<State>, start: State, answers: ReadonlyArray<string>): Trajectory => {
  const messages = Array.from(game.opening(start))
  let state = start
  for (const answer of answers) {
    const { isOver, observation, state: next } = game.step(state, answer)
    messages.push(assistant(answer))
    if (isOver) break
    messages.push(user(observation))
    state = next
  }
  if (messages.at(-1)?.role === "user") messages.pop()
  const units = answersOf({ messages }).join("")
  const tokens = Int32Array.from({ length: units.length }, (_, index) => units.charCodeAt(index))
  return {
    messages,
    completion: answersOf({ messages }).at(-1) ?? "",
    finishReason: "stop",
    tokens,
    mask: maskFrom(0, tokens.length)
  }
}

/** An episode played in a world. */
export interface Lived<State> extends Played<State> {
  readonly trajectory: Trajectory
}

/**
 * One whole episode from a state on, with its result; `tokens` limits its length (including the prompt), unlimited by
 * default.
 */
export const live = Effect.fn("Episode.live")(function* <State, E = never, R = never>(
  world: World<State, E, R>,
  start: State,
  { tokens, ...sampling }: Sampling & { readonly tokens?: number }
): Effect.fn.Return<Lived<State>, InferenceError | E, ServerManager | Scope.Scope | R> {
  const seat = yield* PolicySeat.make(sampling, {
    turns: world.maxTurns,
    ...(tokens !== undefined && { tokens })
  })
  const rewards: Array<number> = []
  let state = start
  let isOver = false
  let news = world.opening(start)
  for (let turn = 0; turn < world.maxTurns && !isOver; turn++) {
    const answer = yield* seat.answer(news)
    if (answer === undefined) break
    const taken = world.step(state, answer)
    const step = Effect.isEffect(taken) ? yield* taken : taken
    rewards.push(step.reward)
    state = step.state
    isOver = step.isOver
    news = [user(step.observation)]
  }
  const trajectory = yield* seat.trajectory
  if (trajectory === undefined) {
    const { modelName } = yield* ServerManager
    return yield* new InferenceError({
      reason: "unsupported",
      server: modelName,
      message:
        "the start of the episode leaves no room for an answer within the maximum sequence length (the trainer's seq_len)"
    })
  }
  return { trajectory, state, rewards, isOver }
}, Effect.scoped)

/** The trajectory of one whole episode of a game; replaying its answers gives the result. */
export const play = <State>(
  game: Game<State>,
  start: State,
  sampling: Sampling & { readonly tokens?: number }
): Effect.Effect<Trajectory, InferenceError, ServerManager> =>
  Effect.map(live(game, start, sampling), ({ trajectory }) => trajectory)

/**
 * A group of `n` alternatives for every turn of one episode, scored with their advantages. `value` is V(s), the
 * expected return from a state on: it must only depend on what the player can see. Only the last `historyTurns` turns
 * stay in the prompt.
 */
export const alternatives = Effect.fn("Episode.alternatives")(function* <State>(
  game: Game<State> & { readonly value: (state: State) => number },
  start: State,
  { historyTurns, n, ...sampling }: Sampling & { readonly n: number; readonly historyTurns: number }
): Effect.fn.Return<ReadonlyArray<RolloutGroup>, InferenceError, ServerManager> {
  const servers = yield* ServerManager
  const opening = game.opening(start)
  const groups: Array<RolloutGroup> = []
  let turns: ReadonlyArray<Message> = []
  let state = start
  for (let turn = 0; turn < game.maxTurns; turn++) {
    const messages = [...opening, ...turns.slice(-2 * historyTurns)]
    const { form = "chat", ...request } = { ...PolicySeat.seeded(sampling, turn), n }
    const sampled = yield* form === "text"
      ? servers.complete({ prompt: messages.map(text).join(""), ...request })
      : servers.chat({ messages, ...request })
    const steps = sampled.map(({ completion }) => game.step(state, completion))
    const advantages = Advantage.stepwise(
      steps.map(({ isOver, reward, state: next }) => ({ reward, nextValue: isOver ? 0 : game.value(next) })),
      game.value(state)
    )
    groups.push({
      trajectories: sampled.map((trajectory) => ({
        ...trajectory,
        messages: [...messages, assistant(trajectory.completion)]
      })),
      scores: advantages
    })
    // The shorter one of equal alternatives.
    const best = Advantage.bestIndex(
      advantages,
      sampled.map(({ tokens }) => tokens.length)
    )
    if (best === undefined || steps[best]!.isOver) break
    turns = [...turns, assistant(sampled[best]!.completion), user(steps[best]!.observation)]
    state = steps[best]!.state
  }
  return groups
})

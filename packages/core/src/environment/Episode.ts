/**
 * Episodes of several turns against a pure step function: a game, a simulator, a dialogue that answers by rule.
 *
 * A game knows nothing of models, and sampling knows nothing of the game, so rules are tested by replaying. Two ways to
 * make groups of it: `play` gives whole episodes, one trajectory with all its answers trained and exact tokens over all
 * turns; `alternatives` gives a group for every turn, several answers to the same state, each judged by r + V(s') -
 * V(s), and goes on with the best. Plays the part of the original's game environments
 * (environments/game_environments/gymnasium), whose V knew the cards to come.
 */
import { Effect, Option, type Scope } from "effect"
import * as Advantage from "../Advantage.ts"
import * as Budget from "./Budget.ts"
import type { RolloutGroup } from "../Environment.ts"
import { InferenceError, type SamplingOptions, type TrackedSession } from "../inference/backend/Inference.ts"
import { assistant, type Message, text, user } from "../Message.ts"
import { ServerManager } from "../inference/ServerManager.ts"
import { maskFrom, type Trajectory } from "../Trajectory.ts"

/** What an answer led to. */
export interface Step<State> {
  readonly state: State
  readonly reward: number
  readonly isOver: boolean
  /** What the model is told next; not used once the episode is over. */
  readonly observation: string
}

export interface Game<State> {
  /** What the model is told first; the last message is the user's. */
  readonly opening: (state: State) => ReadonlyArray<Message>
  /** Any text is an answer: what cannot be understood has a consequence, too. */
  readonly step: (state: State, answer: string) => Step<State>
  /** Turns after which an episode is over in any case. */
  readonly maxTurns: number
}

/** How the model is asked: a chat, or plain text (the messages put together), for models that know no chats. */
export type Form = "chat" | "text"

export interface Sampling extends Pick<SamplingOptions, "maxTokens" | "temperature" | "seed" | "split" | "stop"> {
  /** Default "chat". */
  readonly form?: Form
}

/** What a sequence of answers led to. */
export interface Played<State> {
  readonly state: State
  /** One for every turn. */
  readonly rewards: ReadonlyArray<number>
  /** Whether the game has ended by itself. */
  readonly isOver: boolean
}

/** Plays a sequence of answers, as far as the game goes. Pure. */
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

/** The answers of an episode, in order. */
export const answersOf = ({ messages }: Pick<Trajectory, "messages">): ReadonlyArray<string> =>
  messages.filter(({ role }) => role === "assistant").map(text)

/**
 * An episode as it would have been with these answers: for claims and tests. One token per UTF-16 unit of its answers.
 */
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

/** One whole episode from a state on; `tokens` limits its length (prompt included), none by default. */
export const play = Effect.fn("Episode.play")(function* <State>(
  game: Game<State>,
  start: State,
  { tokens, ...sampling }: Sampling & { readonly tokens?: number }
): Effect.fn.Return<Trajectory, InferenceError, ServerManager | Scope.Scope> {
  const servers = yield* ServerManager
  const session = yield* servers.tracked()
  const budget = yield* Budget.make({ turns: game.maxTurns, ...(tokens !== undefined && { tokens }) })
  let state = start
  let messages = game.opening(start)
  for (let turn = 0; turn < game.maxTurns; turn++) {
    const answer = yield* ask(session, budget, messages, seeded(sampling, turn))
    if (answer === undefined) break
    const { isOver, observation, state: next } = game.step(state, text(answer))
    messages = [...messages, answer]
    if (isOver || turn === game.maxTurns - 1) break
    messages = [...messages, user(observation)]
    state = next
  }
  // Where a template rewrote the chat, the last sequence holds the most of it.
  const trajectory = (yield* session.trajectories).at(-1)
  if (trajectory === undefined) {
    return yield* new InferenceError({
      reason: "unsupported",
      server: servers.modelName,
      message: "the opening of the episode leaves no room for an answer in the longest sequence (the trainer's seq_len)"
    })
  }
  return { ...trajectory, messages: messages.at(-1)?.role === "user" ? messages.slice(0, -1) : messages }
}, Effect.scoped)

/** The next answer; undefined where the budget is used up. */
const ask = Effect.fnUntraced(function* (
  session: TrackedSession,
  budget: Budget.Budget,
  messages: ReadonlyArray<Message>,
  { form = "chat", ...sampling }: Sampling
) {
  if (form === "text") {
    const [choice] = yield* session.complete({ prompt: messages.map(text).join(""), ...sampling }).pipe(
      Effect.catchIf(
        ({ reason }) => reason === "noRoom",
        () => Effect.succeed([])
      )
    )
    return choice && assistant(choice.text)
  }
  return Option.getOrUndefined(
    Option.map(yield* budget.turn(session, { messages, ...sampling }), ({ message }) => message)
  )
})

/** Same seed, same episode; every turn draws anew. */
const seeded = (sampling: Sampling, turn: number): Sampling =>
  sampling.seed === undefined ? sampling : { ...sampling, seed: (sampling.seed + turn * 7919) % 2 ** 31 }

/**
 * A group of `n` alternatives for every turn of one episode, scored with their advantages. `value` is V(s), the return
 * expected from a state on: it must look at nothing that the player cannot see. Only the last `historyTurns` turns stay
 * in the prompt.
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
    const { form = "chat", ...request } = { ...seeded(sampling, turn), n }
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
    // Of equals the shorter.
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

/**
 * Plays games of several players: the policy (self-play), another model (an opponent, a user simulator), or a rule.
 *
 * Every seat has its own conversation with only what it may know, so hidden cards stay hidden. Each seat of the policy
 * becomes its own sequence with exact tokens and the return of its seat. `groups` plays one start several times and
 * groups each of these seats, so that rollouts are compared in the same position with the same cards.
 *
 * A player without an answer (its sequence is full) ends the play; so does `maxTurns`. `returns` defines what that
 * means for every seat.
 */
import { Effect, type Scope } from "effect"
import type { RolloutGroup } from "@atropos/core/Environment"
import { InferenceError } from "@atropos/core/inference/wire/Inference"
import { ServerManager } from "@atropos/core/inference/ServerManager"
import { type Message, user } from "@atropos/core/trajectory/Message"
import type { Trajectory } from "@atropos/core/trajectory/Trajectory"
import * as PolicySeat from "./PolicySeat.ts"

/** Rules of a game for seats 0, 1, … `E` and `R` are those of a world whose step is an effect. */
export interface SeatedGame<State, E = never, R = never> {
  readonly seats: number
  /** The seat to move; undefined once the game is over. */
  readonly toMove: (state: State) => number | undefined
  /** A seat's messages before its first answer; the last one is the user's. */
  readonly opening: (state: State, seat: number) => ReadonlyArray<Message>
  /** A seat's observation before each later answer: what happened since its last one, as far as it may know. */
  readonly observation: (state: State, seat: number) => string
  /** Any text is an answer: an invalid one has a consequence, too. */
  readonly step: (state: State, seat: number, answer: string) => State | Effect.Effect<State, E, R>
  /** The return of every seat if the play ends here; in a zero-sum game they add up to 0. */
  readonly returns: (state: State) => ReadonlyArray<number>
  /** Max turns of all seats together. */
  readonly maxTurns: number
}

/** The information for a player other than the policy. */
export interface Turn<State> {
  readonly state: State
  readonly seat: number
  /** The conversation of its seat so far; the last message is the user's. */
  readonly messages: ReadonlyArray<Message>
}

/** The player of a seat: the policy, which is trained, or a function that answers. */
export type Player<State, E = never, R = never> = "policy" | ((turn: Turn<State>) => Effect.Effect<string, E, R>)

export interface Play<State> {
  readonly state: State
  /** One per seat: the return of the whole play. */
  readonly returns: ReadonlyArray<number>
  /** One per seat: the policy's trajectory; undefined for other players, and without any turn. */
  readonly trajectories: ReadonlyArray<Trajectory | undefined>
}

export interface PlayOptions<State, E = never, R = never> extends PolicySeat.Sampling {
  readonly players: ReadonlyArray<Player<State, E, R>>
  /** Max tokens of a seat's sequence, including the prompt. */
  readonly tokens?: number
}

const wrong = (server: string, message: string) => new InferenceError({ reason: "unsupported", server, message })

const noRoom =
  "the start of the game leaves no room for an answer within the maximum sequence length (the trainer's seq_len)"

export const play = Effect.fn("Players.play")(function* <State, E = never, R = never, F = never, S = never>(
  game: SeatedGame<State, E, R>,
  start: State,
  { players, tokens, ...sampling }: PlayOptions<State, F, S>
): Effect.fn.Return<Play<State>, InferenceError | E | F, ServerManager | Scope.Scope | R | S> {
  const { modelName } = yield* ServerManager
  if (players.length !== game.seats) {
    return yield* wrong(modelName, `the game has ${game.seats} seats, but ${players.length} players`)
  }
  const seats = yield* Effect.forEach(players, (player, seat) =>
    player === "policy"
      ? PolicySeat.make(PolicySeat.seeded(sampling, 104_729 * seat), {
          turns: game.maxTurns,
          ...(tokens !== undefined && { tokens })
        })
      : Effect.succeed(undefined)
  )
  /** Conversations of players other than the policy; the policy's seats have their own. */
  const chats = players.map((): ReadonlyArray<Message> => [])
  const hasSpoken = players.map(() => false)
  let state = start
  for (let turn = 0; turn < game.maxTurns; turn++) {
    const seat = game.toMove(state)
    if (seat === undefined) break
    const news = hasSpoken[seat] ? [user(game.observation(state, seat))] : game.opening(state, seat)
    const player = players[seat]
    if (player === undefined) {
      return yield* wrong(modelName, `it is the turn of seat ${seat}, but the game has seats 0 to ${game.seats - 1}`)
    }
    hasSpoken[seat] = true
    let answer: string | undefined
    if (player === "policy") answer = yield* seats[seat]!.answer(news)
    else {
      const messages = [...chats[seat]!, ...news]
      answer = yield* player({ state, seat, messages })
      chats[seat] = [...messages, { role: "assistant", content: answer }]
    }
    if (answer === undefined) {
      if ((yield* seats[seat]!.trajectory) === undefined) return yield* wrong(modelName, noRoom)
      break
    }
    const next = game.step(state, seat, answer)
    state = Effect.isEffect(next) ? yield* next : next
  }
  const trajectories = yield* Effect.forEach(seats, (seat) => seat?.trajectory ?? Effect.succeed(undefined))
  const returns = game.returns(state)
  if (returns.length !== game.seats) {
    return yield* wrong(modelName, `the game has ${game.seats} seats, but ${returns.length} returns`)
  }
  return { state, returns, trajectories }
}, Effect.scoped)

export interface Groups<State> {
  readonly plays: ReadonlyArray<Play<State>>
  /** One per seat of the policy that had a turn in any play, in the order of seats; their scores are returns. */
  readonly groups: ReadonlyArray<RolloutGroup>
}

/** Groups plays from the same start: for each seat its trajectories, with its returns as scores. */
export const grouped = <State>(plays: ReadonlyArray<Play<State>>): Groups<State> => ({
  plays,
  groups: Array.from({ length: Math.max(0, ...plays.map(({ returns }) => returns.length)) }, (_, seat) =>
    plays.flatMap(({ returns, trajectories }) => {
      const trajectory = trajectories[seat]
      return trajectory === undefined ? [] : [{ trajectory, score: returns[seat]! }]
    })
  )
    .filter((sat) => sat.length > 0)
    .map((sat) => ({
      trajectories: sat.map(({ trajectory }) => trajectory),
      scores: sat.map(({ score }) => score),
      ...(sat.length !== plays.length && { groupOverrides: { group_size: sat.length } })
    }))
})

/** The seed of play number `index`: plays are sampled independently. */
export const seedOf = (seed: number, index: number): number => (seed + index * 15_485_863) % 2 ** 31

/** `n` independent plays from the same state, and a group for every seat of the policy. */
export const groups = <State, E = never, R = never, F = never, S = never>(
  game: SeatedGame<State, E, R>,
  start: State,
  { n, ...options }: PlayOptions<State, F, S> & { readonly n: number }
): Effect.Effect<Groups<State>, InferenceError | E | F, ServerManager | Exclude<R | S, Scope.Scope>> =>
  Effect.map(
    Effect.forEach(
      Array.from({ length: n }).keys(),
      (index) =>
        play(game, start, { ...options, ...(options.seed !== undefined && { seed: seedOf(options.seed, index) }) }),
      { concurrency: "unbounded" }
    ),
    grouped
  )

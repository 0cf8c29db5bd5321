/**
 * Games of several players: seats of the policy (self-play), of another model (an opponent, a user simulator), or of a
 * rule.
 *
 * Every seat has a conversation of its own: it is told what it may know, so hidden cards stay hidden. Each seat of the
 * policy becomes a sequence of its own with exact tokens and the return of its seat. `groups` plays one start several
 * times and makes a group of each of these seats, so that a rollout is compared with others that sat in the same place
 * with the same cards.
 *
 * A player that says nothing more (its sequence is full) ends the play where it stands; so do `maxTurns`. What that
 * means to every seat is for `returns` to say.
 */
import { Effect, type Scope } from "effect"
import type { RolloutGroup } from "../Environment.ts"
import { InferenceError } from "../inference/backend/Inference.ts"
import { ServerManager } from "../inference/ServerManager.ts"
import { type Message, user } from "../Message.ts"
import type { Trajectory } from "../Trajectory.ts"
import * as PolicySeat from "./PolicySeat.ts"

/** Rules of a game for seats 0, 1, … `E` and `R` are those of a world whose step is an effect. */
export interface SeatedGame<State, E = never, R = never> {
  readonly seats: number
  /** Whose turn it is; undefined once the game is over. */
  readonly toMove: (state: State) => number | undefined
  /** What a seat is told before its first answer; the last message is the user's. */
  readonly opening: (state: State, seat: number) => ReadonlyArray<Message>
  /** What a seat is told before each later answer: what happened since its last one, as far as it may know. */
  readonly observation: (state: State, seat: number) => string
  /** Any text is an answer: what cannot be understood has a consequence, too. */
  readonly step: (state: State, seat: number, answer: string) => State | Effect.Effect<State, E, R>
  /** What a play that ended here is worth to each seat; of a zero-sum game they add up to 0. */
  readonly returns: (state: State) => ReadonlyArray<number>
  /** Turns of all seats together after which a play ends in any case. */
  readonly maxTurns: number
}

/** What a player that is not the policy knows when it is asked. */
export interface Turn<State> {
  readonly state: State
  readonly seat: number
  /** The conversation of its seat so far; the last message is the user's. */
  readonly messages: ReadonlyArray<Message>
}

/** Who sits at a seat: the policy, which is trained, or anybody who answers. */
export type Player<State, E = never, R = never> = "policy" | ((turn: Turn<State>) => Effect.Effect<string, E, R>)

export interface Play<State> {
  readonly state: State
  /** One for each seat: the return of the whole play. */
  readonly returns: ReadonlyArray<number>
  /** One for each seat: what the policy said there; undefined for other players, and where it had no turn. */
  readonly trajectories: ReadonlyArray<Trajectory | undefined>
}

export interface PlayOptions<State, E = never, R = never> extends PolicySeat.Sampling {
  /** One for each seat. */
  readonly players: ReadonlyArray<Player<State, E, R>>
  /** Most tokens of a seat's sequence, prompt included. */
  readonly tokens?: number
}

const wrong = (server: string, message: string) => new InferenceError({ reason: "unsupported", server, message })

const noRoom = "the opening of the game leaves no room for an answer in the longest sequence (the trainer's seq_len)"

/** One play from a state on. */
export const play = Effect.fn("Seats.play")(function* <State, E = never, R = never, F = never, S = never>(
  game: SeatedGame<State, E, R>,
  start: State,
  { players, tokens, ...sampling }: PlayOptions<State, F, S>
): Effect.fn.Return<Play<State>, InferenceError | E | F, ServerManager | Scope.Scope | R | S> {
  const { modelName } = yield* ServerManager
  if (players.length !== game.seats) {
    return yield* wrong(modelName, `the game has ${game.seats} seats, and there are ${players.length} players`)
  }
  const seats = yield* Effect.forEach(players, (player, seat) =>
    player === "policy"
      ? PolicySeat.make(PolicySeat.seeded(sampling, 104_729 * seat), {
          turns: game.maxTurns,
          ...(tokens !== undefined && { tokens })
        })
      : Effect.succeed(undefined)
  )
  /** Conversations of those who are not the policy; the policy's seats keep their own. */
  const chats = players.map((): ReadonlyArray<Message> => [])
  const hasSpoken = players.map(() => false)
  let state = start
  for (let turn = 0; turn < game.maxTurns; turn++) {
    const seat = game.toMove(state)
    if (seat === undefined) break
    const told = hasSpoken[seat] ? [user(game.observation(state, seat))] : game.opening(state, seat)
    const player = players[seat]
    if (player === undefined) {
      return yield* wrong(modelName, `it is the turn of seat ${seat}, and the game has seats 0 to ${game.seats - 1}`)
    }
    hasSpoken[seat] = true
    let answer: string | undefined
    if (player === "policy") answer = yield* seats[seat]!.answer(told)
    else {
      const messages = [...chats[seat]!, ...told]
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
    return yield* wrong(modelName, `the game has ${game.seats} seats, and gives ${returns.length} returns`)
  }
  return { state, returns, trajectories }
}, Effect.scoped)

export interface Groups<State> {
  readonly plays: ReadonlyArray<Play<State>>
  /** One for each seat of the policy that had a turn in any play, in the order of seats; their scores are returns. */
  readonly groups: ReadonlyArray<RolloutGroup>
}

/** Plays from the same start as groups: of each seat the trajectories there, with its returns as their scores. */
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

/** The seed of play number `index`: each draws anew. */
export const seedOf = (seed: number, index: number): number => (seed + index * 15_485_863) % 2 ** 31

/** `n` plays from the same state, each drawn anew, and a group of every seat of the policy. */
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

/**
 * Represents the policy as a player of a game: a chat that grows turn by turn, with exact tokens over all of them.
 *
 * A seat is one tracked session on one server. An answer is requested with the messages since its last one; there is
 * none once its budget, or the max sequence length, is used up.
 */
import { Effect, Option, type Scope } from "effect"
import * as Budget from "./Budget.ts"
import type { InferenceError, SamplingOptions } from "@atropos/core/inference/wire/Inference"
import { ServerManager } from "@atropos/core/inference/ServerManager"
import { assistant, type Message, text } from "@atropos/core/trajectory/Message"
import type { Trajectory } from "@atropos/core/trajectory/Trajectory"

/** The form of the prompt: a chat, or plain text (the concatenated messages), for models without chat support. */
export type Form = "chat" | "text"

export interface Sampling extends Pick<SamplingOptions, "maxTokens" | "temperature" | "seed" | "split" | "stop"> {
  /** Default "chat". */
  readonly form?: Form
}

/** Max turns of a seat and max tokens of its sequence including the prompt (default: only the trainer's limit). */
export interface Limits {
  readonly turns: number
  readonly tokens?: number
}

export interface PolicySeat {
  /** The next answer; undefined if a limit is reached. */
  readonly answer: (news: ReadonlyArray<Message>) => Effect.Effect<string | undefined, InferenceError>
  /** The answers so far as one trajectory, whose messages end with the last answer; undefined if there was none. */
  readonly trajectory: Effect.Effect<Trajectory | undefined, InferenceError>
}

/** Derives a turn's seed: the same episode seed gives the same episode, with independent turns. */
export const seeded = <S extends { readonly seed?: number }>(sampling: S, turn: number): S =>
  sampling.seed === undefined ? sampling : { ...sampling, seed: (sampling.seed + turn * 7919) % 2 ** 31 }

export const make = Effect.fn("PolicySeat.make")(function* (
  { form = "chat", ...sampling }: Sampling,
  limits: Limits
): Effect.fn.Return<PolicySeat, InferenceError, ServerManager | Scope.Scope> {
  const servers = yield* ServerManager
  const session = yield* servers.tracked()
  const budget = yield* Budget.make(limits)
  let messages: ReadonlyArray<Message> = []
  let turn = 0

  const ask = Effect.fnUntraced(function* (chat: ReadonlyArray<Message>) {
    const options = seeded(sampling, turn++)
    if (form === "text") {
      const [choice] = yield* session.complete({ prompt: chat.map(text).join(""), ...options }).pipe(
        Effect.catchIf(
          ({ reason }) => reason === "noRoom",
          () => Effect.succeed([])
        )
      )
      return choice && assistant(choice.text)
    }
    const choice = yield* budget.turn(session, { messages: chat, ...options })
    return Option.getOrUndefined(Option.map(choice, ({ message }) => message))
  })

  return {
    answer: Effect.fnUntraced(function* (news) {
      const chat = [...messages, ...news]
      const answer = yield* ask(chat)
      if (answer === undefined) return undefined
      messages = [...chat, answer]
      return text(answer)
    }),
    trajectory: Effect.map(
      Effect.suspend(() => (messages.length === 0 ? Effect.succeed([]) : session.trajectories)),
      // If a template rewrote the chat, the last sequence contains the most of it.
      (all) => (all.length === 0 ? undefined : { ...all.at(-1)!, messages })
    )
  }
})

/**
 * Steps one episode of an environment from outside: the policy's requests, its answers, and the score.
 *
 * The environment rolls its item out in its own fiber (`OutsidePolicy`), which is suspended between a question and its
 * answer, and ends with the scope. A step gives the next question, or the end with the environment's own score.
 */
import { Cause, Effect, Equal, Exit, Fiber, Queue, Schema, type Scope } from "effect"
import * as Reason from "@atropos/core/base/Reason"
import type { RolledOut, Work } from "@atropos/core/Environment"
import { EnvironmentError, Unscorable } from "@atropos/core/definition/EnvironmentError"
import { InferenceError } from "@atropos/core/inference/wire/Inference"
import type { Message } from "@atropos/core/trajectory/Message"
import type { Rewards } from "@atropos/core/reward/RewardComponents"
import * as OutsidePolicy from "./OutsidePolicy.ts"

/** A request to the policy. */
export interface Asked {
  readonly isOver: false
  /** New messages since the policy's last answer; the whole chat at first, or if it was rewritten. */
  readonly messages: ReadonlyArray<Message>
  readonly chat: ReadonlyArray<Message>
  /** Available tools, in the form of chat requests. */
  readonly tools: ReadonlyArray<unknown>
}

export interface Over {
  readonly isOver: true
  /** Absent if the environment could not judge the episode. */
  readonly score?: number
  readonly rewards?: Rewards
  readonly unscorable?: string
}

export type Turn = Asked | Over

/** Why an episode, or its environment, cannot be stepped. */
export class DrivenError extends Schema.TaggedError<DrivenError>()("DrivenError", {
  /** True if the environment as such cannot be stepped from outside; otherwise only this episode, or this step. */
  isRefused: Schema.Boolean,
  message: Schema.String
}) {}

export interface DrivenEpisode {
  /** The first question; the end, if the environment requests nothing. */
  readonly first: Turn
  /** Answers the current question, and returns what follows. */
  readonly step: (reply: OutsidePolicy.Said) => Effect.Effect<Turn, DrivenError>
}

const broken = (message: string) => new DrivenError({ isRefused: false, message })

const endOf = ({ groups, requeued, unscorable }: RolledOut): Effect.Effect<Turn, DrivenError> => {
  const count = groups.reduce((sum, { scores }) => sum + scores.length, 0)
  const [group] = groups
  if (group !== undefined && count === 1) {
    const rewards = group.rewards?.[0]
    return Effect.succeed({ isOver: true, score: group.scores[0]!, ...(rewards !== undefined && { rewards }) })
  }
  if (count === 0) {
    const why = unscorable[0]?.message ?? (requeued.length > 0 ? "its item was requeued" : "it made no rollout")
    return Effect.succeed({ isOver: true, unscorable: why })
  }
  return Effect.fail(
    new DrivenError({
      isRefused: true,
      message: `this episode has ${count} separately scored sequences (several seats, or a group for every turn), so it has no single reward`
    })
  )
}

/** True if the environment requested something that an outside policy does not support. */
const isUnsupported = (error: unknown): boolean =>
  error instanceof EnvironmentError && error.cause instanceof InferenceError && error.cause.reason === "unsupported"

const failureOf = (error: unknown, { refusal }: OutsidePolicy.Asking): DrivenError =>
  new DrivenError({
    isRefused: refusal !== undefined || isUnsupported(error),
    message: refusal ?? Reason.of(error)
  })

/** Messages not in the previous chat, which includes the answer. */
const newIn = (chat: ReadonlyArray<Message>, before: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const continues = before.length < chat.length && before.every((message, at) => Equal.equals(message, chat[at]))
  if (!continues) return chat
  const rest = chat.slice(before.length)
  return rest[0]?.role === "assistant" ? rest.slice(1) : rest
}

/** Starts an episode; it is abandoned when the scope closes. `onEnd` gets the item's rollout once it is over. */
export const start = Effect.fn("DrivenEpisode.start")(function* (
  work: Work,
  onEnd: (rolledOut: RolledOut) => Effect.Effect<void> = () => Effect.void
): Effect.fn.Return<DrivenEpisode, DrivenError, Scope.Scope> {
  const asking: OutsidePolicy.Asking = { questions: yield* Queue.unbounded<OutsidePolicy.Question>() }
  const fiber = yield* work.rollOut.pipe(
    Effect.tap(onEnd),
    Effect.provideService(OutsidePolicy.Current, asking),
    Effect.forkScoped
  )
  const ended: Effect.Effect<Turn, DrivenError> = Effect.flatMap(Fiber.await(fiber), (exit) =>
    Exit.match(exit, {
      onSuccess: endOf,
      onFailure: (cause) => {
        const error = Cause.squash(cause)
        return error instanceof Unscorable
          ? Effect.succeed<Turn>({ isOver: true, unscorable: error.message })
          : Effect.fail(failureOf(error, asking))
      }
    })
  )
  let standing: OutsidePolicy.Question | undefined
  let seen: ReadonlyArray<Message> = []
  const question = Effect.map(Queue.take(asking.questions), (next): Turn => {
    standing = next
    const messages = newIn(next.messages, seen)
    seen = next.messages
    return { isOver: false, messages, chat: next.messages, tools: next.tools }
  })
  const following = Effect.raceFirst(question, ended)
  const step = Effect.fn("DrivenEpisode.step")(function* (reply: OutsidePolicy.Said) {
    if (standing === undefined) return yield* broken("the episode is over: call reset to start another one")
    const { answer } = standing
    standing = undefined
    yield* answer(reply)
    return yield* following
  })
  return { first: yield* following, step }
})

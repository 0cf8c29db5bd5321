/**
 * Runs the user of one or more gateway sessions: a function in this process, or a program in another. A rollout with
 * several seats has one session for each.
 *
 * A session is closed when its user has ended, thrown or timed out; what was recorded until then is kept. If the user
 * failed after the inference servers had, it is the servers' failure (an error: the item is retried); otherwise it is
 * the user's own, which is data.
 */
import type { InferenceError } from "@atropos/core/inference/wire/Inference"
import type * as Gateway from "@atropos/core/gateway/Gateway"
import * as TotalReward from "@atropos/core/gateway/session/TotalReward"
import { Effect, Option, Result } from "effect"
import * as Outcome from "./Outcome.ts"

export interface UserFailure {
  /** For example `the agent threw TypeError: …`. */
  readonly message: string
  readonly cause: unknown
}

export interface Options<A, R> {
  readonly gateway: Gateway.GatewayShape
  /** One per session, at least one. */
  readonly sessions: readonly [Gateway.SessionOptions, ...ReadonlyArray<Gateway.SessionOptions>]
  /** 0 or less: no limit. */
  readonly timeoutSeconds: number
  /** Interrupted at the timeout. */
  readonly use: (session: Gateway.Session, all: ReadonlyArray<Gateway.Session>) => Effect.Effect<A, UserFailure, R>
}

export interface Ran<A> {
  readonly outcome: Outcome.Outcome<A>
  readonly counts: ReadonlyArray<Gateway.SessionCounts>
}

const silent =
  "the agent ended without a response of the model: it must send its requests to model.baseURL (OpenAI's SDKs) or model.anthropicBaseURL (Anthropic's), and await them"

const refused = "the agent ended without a response of the model, because its requests were rejected"

export const run = Effect.fn("SessionRun.run")(function* <A, R>({
  gateway,
  sessions: [first, ...others],
  timeoutSeconds,
  use
}: Options<A, R>): Effect.fn.Return<Ran<A>, InferenceError | Gateway.GatewayError, R> {
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const session = yield* gateway.open(first)
      const all = [session, ...(yield* Effect.forEach(others, gateway.open))]
      const read = <B, E>(part: (one: Gateway.Session) => Effect.Effect<B, E>) => Effect.forEach(all, part)
      const used = Effect.result(use(session, all))
      const ended = yield* timeoutSeconds > 0 ? Effect.timeoutOption(used, timeoutSeconds * 1000) : Effect.asSome(used)
      const isWell = Option.isSome(ended) && Result.isSuccess(ended.value)
      const outage = (yield* read(({ failures }) => failures)).flat().at(-1)
      if (!isWell && outage !== undefined) return yield* outage
      const bySession = yield* read(({ trajectories }) => trajectories)
      const chats = yield* read(({ messages }) => messages)
      const recorded: Outcome.Recorded = {
        trajectories: bySession.flat(),
        bySession,
        messages: chats.reduce((longest, chat) => (chat.length > longest.length ? chat : longest)),
        reported: TotalReward.of((yield* read(({ rewards }) => rewards)).flat())
      }
      const counts = yield* read(({ counts }) => counts)
      const [refusal] = (yield* read(({ lastFailure }) => lastFailure)).filter((one) => one !== undefined)
      return { outcome: outcomeOf(ended, recorded, timeoutSeconds, refusal), counts }
    })
  )
})

const outcomeOf = <A>(
  ended: Option.Option<Result.Result<A, UserFailure>>,
  recorded: Outcome.Recorded,
  timeoutSeconds: number,
  refusal: string | undefined
): Outcome.Outcome<A> => {
  if (Option.isNone(ended)) {
    return Outcome.failed(recorded, "timeout", `the agent took longer than ${timeoutSeconds} seconds (session_timeout)`)
  }
  if (Result.isFailure(ended.value)) {
    const { cause, message } = ended.value.failure
    return Outcome.failed(recorded, "threw", message, cause)
  }
  return recorded.trajectories.length === 0
    ? Outcome.failed(recorded, "silent", refusal === undefined ? silent : `${refused}: ${refusal}`)
    : { _tag: "Ended", result: ended.value.success, ...recorded }
}

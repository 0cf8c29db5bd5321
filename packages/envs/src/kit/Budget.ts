/**
 * Limits the resources of one multi-turn episode: turns, tokens, tool calls, seconds (from `make` on).
 *
 * `turn` requests the next answer from a tracked session and counts; it returns none once a limit is reached, and the
 * episode is over. Tokens are those of the trained sequence, including prompts and observations; the trainer's
 * `seq_len` always bounds them (`SequenceLimit`). The text between two answers is counted with the `Tokenizer` of the
 * context before the request, or afterwards if none. `call` runs a tool within the remaining calls and time;
 * reporting exhausted calls to the model is up to the environment, whose turns may continue.
 */
import { Clock, Effect, Option } from "effect"
import type { ChatRequest, Choice, InferenceError, TrackedSession } from "@atropos/core/inference/wire/Inference"
import { SequenceLimit } from "@atropos/core/inference/sequences/SequenceLimit"
import { Tokenizer } from "@atropos/core/inference/tokenizer/Tokenizer"

/** Limits of an episode; absent ones are unlimited. */
export interface Limits {
  readonly turns?: number
  readonly tokens?: number
  readonly calls?: number
  readonly seconds?: number
}

export type Limit = "turns" | "tokens" | "seconds"

export interface Budget {
  /** The reason if no turns are left. */
  readonly exhausted: Effect.Effect<Option.Option<Limit>>
  /** The next answer of a session; None if a limit is reached before it, or the time during it. */
  readonly turn: (session: TrackedSession, request: ChatRequest) => Effect.Effect<Option.Option<Choice>, InferenceError>
  /** Runs a tool as one call; None if no calls are left, or the time ends before it does. */
  readonly call: <A, E, R>(tool: Effect.Effect<A, E, R>) => Effect.Effect<Option.Option<A>, E, R>
  readonly used: Effect.Effect<Required<Limits>>
}

/** The budget of one episode. */
export const make = Effect.fn("Budget.make")(function* (limits: Limits) {
  const tokenizer = yield* Effect.serviceOption(Tokenizer)
  const started = yield* Clock.currentTimeMillis
  const { calls: maxCalls, seconds: maxSeconds, tokens, turns: maxTurns } = { ...unbounded, ...limits }
  const tokenLimit = Math.min(tokens, yield* SequenceLimit)
  let turns = 0
  let used = 0
  let calls = 0

  const seconds = Effect.map(Clock.currentTimeMillis, (now) => (now - started) / 1000)
  const exhausted = Effect.map(seconds, (passed): Option.Option<Limit> => {
    if (turns >= maxTurns) return Option.some("turns")
    if (used >= tokenLimit) return Option.some("tokens")
    return passed >= maxSeconds ? Option.some("seconds") : Option.none()
  })
  const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    Number.isFinite(maxSeconds)
      ? Effect.flatMap(seconds, (passed) => Effect.timeoutOption(effect, Math.max(0, maxSeconds - passed) * 1000))
      : Effect.asSome(effect)

  /** Tokens of the sequence at the time of the request. */
  const prompted = ({ messages, tools = [] }: ChatRequest): number => {
    if (Option.isNone(tokenizer)) return used
    const { applyChatTemplate, encode } = tokenizer.value
    const prompt = applyChatTemplate(messages, { addGenerationPrompt: true, ...(tools.length > 0 && { tools }) })
    // A template may drop reasoning of earlier turns, which is still in the sequence.
    return Math.max(used, encode(prompt, { addSpecialTokens: false }).length)
  }

  const turn: Budget["turn"] = Effect.fn("Budget.turn")(function* (session, request) {
    if (Option.isSome(yield* exhausted)) return Option.none()
    const left = Number.isFinite(tokenLimit) ? tokenLimit - prompted(request) : tokenLimit
    if (left <= 0) {
      used = tokenLimit
      return Option.none()
    }
    const maxTokens = Math.min(left, request.maxTokens ?? Number.POSITIVE_INFINITY)
    const answered = yield* inTime(session.chat({ ...request, ...(Number.isFinite(maxTokens) && { maxTokens }) }))
    turns++
    if (Option.isNone(answered)) return Option.none()
    used = Math.max(used, yield* lengthOf(session, answered.value))
    return Option.fromUndefinedOr(answered.value[0])
  })
  const budget: Budget = {
    exhausted,
    turn,
    call: (tool) =>
      Effect.suspend(() => {
        calls++
        return calls > maxCalls ? Effect.succeedNone : inTime(tool)
      }),
    used: Effect.map(seconds, (passed) => ({ turns, tokens: used, calls: Math.min(calls, maxCalls), seconds: passed }))
  }
  return budget
})

/** Tokens of the longest sequence that the answers end. */
const lengthOf = (session: TrackedSession, answers: ReadonlyArray<Choice>): Effect.Effect<number, InferenceError> => {
  const counted = answers.flatMap(({ usage }) =>
    usage === undefined ? [] : usage.promptTokens + usage.completionTokens
  )
  return counted.length === answers.length
    ? Effect.succeed(Math.max(0, ...counted))
    : Effect.map(session.trajectories, (all) => Math.max(0, ...all.map(({ tokens }) => tokens.length)))
}

const unbounded: Required<Limits> = {
  turns: Number.POSITIVE_INFINITY,
  tokens: Number.POSITIVE_INFINITY,
  calls: Number.POSITIVE_INFINITY,
  seconds: Number.POSITIVE_INFINITY
}

/**
 * How long a sequence may become: prompt, answers and all between, in tokens; the `seq_len` that the trainer announces
 * for its run.
 *
 * What runs inside a rollout finds it in its context. Who asks for more tokens than are left after the prompt gets what
 * is left; an episode of several turns is over when nothing is. (`max_token_length` of an environment is something
 * else: the longest generation.)
 */
import { Context, Effect } from "effect"
import { InferenceError } from "./backend/Inference.ts"

/** Tokens; infinite outside of rollouts. */
export const SequenceLimit = Context.Reference<number>("@atropos/core/SequenceLimit", {
  defaultValue: () => Number.POSITIVE_INFINITY
})

/**
 * Longest answer to one request, tokens, beside what the environment asks for; looked at with every request, since a
 * run may set it once it knows how long answers are.
 */
export const AnswerLimit = Context.Reference<() => number>("@atropos/core/SequenceLimit/AnswerLimit", {
  defaultValue: () => () => Number.POSITIVE_INFINITY
})

/** Runs with a limit beside the one that holds already; 0 or less is none. */
export const within =
  (tokens: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    tokens > 0
      ? Effect.flatMap(SequenceLimit, (outer) => Effect.provideService(effect, SequenceLimit, Math.min(outer, tokens)))
      : effect

/**
 * What a request may ask for after a prompt of `promptTokens`: what it wants, as far as there is room; absent where
 * nothing limits it.
 */
export const maxTokens = (
  server: string,
  promptTokens: number,
  wanted: number | undefined
): Effect.Effect<number | undefined, InferenceError> =>
  Effect.gen(function* () {
    const limit = yield* SequenceLimit
    const most = Math.min(limit - promptTokens, (yield* AnswerLimit)())
    if (most === Number.POSITIVE_INFINITY) return wanted
    if (most > 0) return Math.min(wanted ?? most, most)
    return yield* new InferenceError({
      reason: "noRoom",
      server,
      message:
        `a prompt of ${promptTokens} tokens leaves no room for an answer: sequences end at ${limit} tokens ` +
        "(the trainer's seq_len): raise it, or give the environment shorter prompts; an episode ends there if it asks through Budget"
    })
  })

/**
 * Limits the length of a sequence in tokens (prompt, answers and everything between): the `seq_len` that the trainer
 * announces for its run.
 *
 * A rollout reads it from its context. A request for more tokens than remain after the prompt gets what remains; a
 * multi-turn episode ends when none remain. (`max_token_length` of an environment is different: the max generation
 * length.)
 */
import { Context, Effect } from "effect"
import type { Backend } from "../backend/Backend.ts"
import { InferenceError } from "../wire/Inference.ts"

/** Tokens; Infinity outside of rollouts. */
export const SequenceLimit = Context.Reference<number>("@atropos/core/SequenceLimit", {
  defaultValue: () => Number.POSITIVE_INFINITY
})

/**
 * Max answer length of one request, tokens, in addition to the environment's own limit; read with every request,
 * because a run may set it once it knows how long answers are.
 */
export const AnswerLimit = Context.Reference<() => number>("@atropos/core/SequenceLimit/AnswerLimit", {
  defaultValue: () => () => Number.POSITIVE_INFINITY
})

/** Runs with an additional limit; 0 or less is none. */
export const within =
  (tokens: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    tokens > 0
      ? Effect.flatMap(SequenceLimit, (outer) => Effect.provideService(effect, SequenceLimit, Math.min(outer, tokens)))
      : effect

/**
 * Tokens that a request may ask for after a prompt of `promptTokens`: the requested number, capped at what remains of
 * the sequence and of the server's context; absent without any limit.
 */
export const maxTokens = (
  { contextLength = Number.POSITIVE_INFINITY, server }: Pick<Backend, "server" | "contextLength">,
  promptTokens: number,
  wanted: number | undefined
): Effect.Effect<number | undefined, InferenceError> =>
  Effect.gen(function* () {
    const limit = yield* SequenceLimit
    const most = Math.min(Math.min(limit, contextLength) - promptTokens, (yield* AnswerLimit)())
    if (most === Number.POSITIVE_INFINITY) return wanted
    if (most > 0) return Math.min(wanted ?? most, most)
    return yield* new InferenceError({
      reason: "noRoom",
      server,
      message:
        `a prompt of ${promptTokens} tokens leaves no tokens for an answer: ` +
        (limit <= contextLength
          ? `sequences are limited to ${limit} tokens (the trainer's seq_len): raise it, or shorten the prompts; an ` +
            "episode that uses Budget ends there"
          : `the server's context has ${contextLength} tokens: raise it (vLLM: --max-model-len), or shorten the prompts`)
    })
  })

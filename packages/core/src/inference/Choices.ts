/**
 * Splits a request for n choices into concurrent requests of a limited size; into single ones for servers that ignore
 * `n`.
 *
 * A split request with a seed gives each part a different one: the part that starts with choice i uses seed + i. vLLM
 * seeds the choices of one request in this way, so there a group is the same, split or not.
 */
import { Effect } from "effect"
import type { Answer, Usage } from "./backend/Backend.ts"
import type { InferenceError, SamplingOptions } from "./wire/Inference.ts"
import type { AnswerTo, Question } from "./Attempts.ts"
import type { InferenceServer } from "./InferenceServer.ts"

/** Requests all choices; answers are in order. */
export const ask = <R extends SamplingOptions, A>(
  answerTo: AnswerTo,
  /** Max choices per request. */
  most: number,
  request: R,
  question: (part: R & { readonly n: number }) => Question<A>,
  count: (answer: A) => number
): Effect.Effect<ReadonlyArray<A>, InferenceError> => {
  const n = request.n ?? 1
  const askFor = (first: number, size: number) => answerTo(question(partOf(request, first, size)))
  const part = (first: number, size: number): Effect.Effect<ReadonlyArray<A>, InferenceError> =>
    Effect.flatMap(askFor(first, size), (answer) => {
      const got = count(answer)
      if (got >= size) return Effect.succeed([answer])
      const rest = Array.from({ length: size - got }, (_, i) => askFor(first + got + i, 1))
      return Effect.map(Effect.all(rest, { concurrency: "unbounded" }), (others) => [answer, ...others])
    })
  if (n <= most) return part(0, n)
  const firsts = Array.from({ length: Math.ceil(n / most) }, (_, i) => i * most)
  return Effect.map(
    Effect.forEach(firsts, (first) => part(first, Math.min(most, n - first)), { concurrency: "unbounded" }),
    (parts) => parts.flat()
  )
}

/** Choices `first` to `first + n - 1` of a request, as a separate request. */
const partOf = <R extends SamplingOptions>(request: R, first: number, n: number): R & { readonly n: number } => {
  const { seed } = request
  if (seed === undefined || first === 0) return { ...request, n }
  // Beyond the max safe integer, seeds would collide again.
  return { ...request, n, seed: seed + first <= Number.MAX_SAFE_INTEGER ? seed + first : seed - first }
}

/** Records that a server returned one choice when several were requested. */
export const noticeIgnoredN = <A>(
  server: InferenceServer,
  n: number,
  asking: Effect.Effect<A, InferenceError>,
  count: (answer: A) => number
): Effect.Effect<A, InferenceError> =>
  n === 1
    ? asking
    : Effect.tap(asking, (answer) => {
        if (count(answer) === n || server.ignoresN) return Effect.void
        server.ignoresN = true
        // For some kinds this is already known.
        if (server.backend.identity?.takesN === false) return Effect.void
        return Effect.logWarning("the server ignores n; requesting completions one at a time", {
          server: server.backend.server
        })
      })

export const merged = (answers: ReadonlyArray<Answer>): Answer => {
  const [first] = answers
  if (first !== undefined && answers.length === 1) return first
  const usages = answers.flatMap(({ usage }): ReadonlyArray<Usage> => (usage === undefined ? [] : [usage]))
  return {
    choices: answers.flatMap(({ choices }) => choices),
    ...(first?.promptTokens === undefined ? {} : { promptTokens: first.promptTokens }),
    ...(usages.length === 0
      ? {}
      : {
          usage: {
            promptTokens: usages.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
            completionTokens: usages.reduce((sum, { completionTokens }) => sum + completionTokens, 0)
          }
        })
  }
}

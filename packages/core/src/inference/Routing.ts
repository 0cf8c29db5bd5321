/**
 * Requests over a fleet: split by `n`, sent to the roomiest healthy server, timed, tried again, elsewhere where
 * possible.
 *
 * This is the one place that retries. Tried again: connections that fail, timeouts, 5xx, 408, 429, and (twice) answers
 * that make no sense. Never tried again: any other 4xx and what a server cannot do. The next attempt goes to another
 * healthy server at once; where there is none it waits, exponentially longer with jitter, at most 10 s, or as long as
 * the server's Retry-After says.
 *
 * A request with a seed that is split keeps its rollouts apart: the part that gives choice i and those after it has the
 * seed plus i. That is how vLLM seeds the choices of one request, so that there a group is the same, split or not.
 */
import { Cause, Clock, Duration, Effect, Exit, Option, Random, Schedule } from "effect"
import { InferenceError, type SamplingOptions, type Split } from "./backend/Inference.ts"
import { type Answer, type Backend, unsupported, type Usage } from "./backend/Backend.ts"
import type { Fleet, Member, Outcome, Want } from "./Fleet.ts"

export interface Options {
  /** Completions asked for in one request. */
  readonly maxNCompletions: number
  /** Attempts at one request; each server beyond the first adds one. */
  readonly maxAttempts: number
}

/** A server that wants to be left alone for longer than this is not waited for. */
const longestRetryAfterMillis = 300_000
const firstDelayMillis = 250
const longestDelayMillis = 10_000
const malformedRetries = 2

const isRetryable = ({ reason }: InferenceError): boolean =>
  reason === "unreachable" ||
  reason === "timeout" ||
  reason === "overloaded" ||
  reason === "failed" ||
  reason === "malformed"

/** One request, whoever answers it. */
interface Question<A> {
  readonly split: Split
  readonly isEligible: (member: Member) => boolean
  /** What it asks for, in words, for when no server can do it. */
  readonly what: string
  readonly ask: (member: Member) => Effect.Effect<A, InferenceError>
  /** Tokens an answer cost the server to generate. */
  readonly tokens: (answer: A) => number
}

const anyone = (): boolean => true
const givesTokens = ({ backend }: Member): boolean => backend.capabilities.tokens
const givesPromptLogprobs = ({ backend }: Member): boolean => backend.capabilities.promptLogprobs

const isKnown = ({ backend }: Member): boolean => backend.identify === undefined || backend.identity !== undefined

/** The fleet as one back end; `prefer` is the server to stay with while it is healthy. */
export const backend = (
  fleet: Fleet,
  options: Options,
  prefer?: Member
): Backend & { readonly identify: Effect.Effect<unknown, InferenceError> } => {
  const named = prefer === undefined ? fleet.members : [prefer]

  const attempt = <A>(question: Question<A>, want: Want, state: Attempts): Effect.Effect<A, InferenceError> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const member = yield* Effect.withSpan(fleet.take(want, restore), "Inference.wait")
        const startedAt = yield* Clock.currentTimeMillis
        const isRetry = state.count++ > 0
        return yield* restore(withinTime(question.ask(member), member)).pipe(
          Effect.tap((answer) => Effect.annotateCurrentSpan("inference.tokens", question.tokens(answer))),
          Effect.withSpan("Inference.request", {
            attributes: { "inference.server": member.backend.server, "inference.attempt": state.count }
          }),
          Effect.onExit((exit) => {
            const outcome = outcomeOf(exit, question.tokens)
            // Interrupted: nothing was learnt.
            if (outcome === undefined) return Effect.void
            if (outcome.error !== undefined) state.failed.add(member)
            return fleet.learn(member, want.split, { startedAt, isRetry, ...outcome })
          }),
          Effect.ensuring(fleet.release(member, want.split))
        )
      })
    )

  const answerTo = <A>(question: Question<A>): Effect.Effect<A, InferenceError> =>
    Effect.suspend(() => {
      const { isEligible, split, what } = question
      if (!fleet.members.some(isEligible)) return cannot(fleet, what)
      const state: Attempts = { count: 0, rounds: 0, failed: new Set() }
      const want: Want = { split, isEligible, prefer, avoid: state.failed }
      let senseless = 0
      return attempt(question, want, state).pipe(
        Effect.retry({
          times: options.maxAttempts - 1 + fleet.members.length - 1,
          while: (error) => {
            if (!isRetryable(error) || (error.reason === "malformed" && ++senseless > malformedRetries)) return false
            return (error.retryAfterMillis ?? 0) <= longestRetryAfterMillis || fleet.hasAlternative(want)
          },
          schedule: Schedule.modifyDelay(Schedule.forever, () =>
            Effect.suspend(() => {
              // While nobody is healthy `take` waits, and knows for whom.
              if (fleet.hasAlternative(want) || !fleet.members.some(({ isUp }) => isUp))
                return Effect.succeed(Duration.zero)
              // Everyone was tried: the next round begins, after a while.
              state.failed.clear()
              return backoff(state.rounds++)
            })
          )
        }),
        Effect.mapError((error) => (state.count > 1 ? afterAttempts(error, state.count) : error))
      )
    })

  /** What any server can do is known once the first of them was asked. */
  const identified = (split: Split) =>
    Effect.suspend(() =>
      fleet.members.some(isKnown)
        ? Effect.void
        : answerTo<unknown>({
            split,
            isEligible: anyone,
            what: "anything",
            ask: ({ backend }) => backend.identify ?? Effect.void,
            tokens: () => 0
          })
    )

  /**
   * n choices in requests of at most `maxNCompletions` side by side, in their order; one by one of servers that ignore
   * `n`.
   */
  const spread = <R extends SamplingOptions, A>(
    request: R,
    question: (part: R & { readonly n: number }) => Question<A>,
    count: (answer: A) => number
  ): Effect.Effect<ReadonlyArray<A>, InferenceError> =>
    Effect.suspend(() => {
      const n = request.n ?? 1
      const most = fleet.members.some(({ ignoresN }) => ignoresN) ? 1 : options.maxNCompletions
      const ask = (first: number, size: number) => answerTo(question(partOf(request, first, size)))
      const part = (first: number, size: number): Effect.Effect<ReadonlyArray<A>, InferenceError> =>
        Effect.flatMap(ask(first, size), (answer) => {
          const got = count(answer)
          if (got >= size) return Effect.succeed([answer])
          const rest = Array.from({ length: size - got }, (_, i) => ask(first + got + i, 1))
          return Effect.map(Effect.all(rest, { concurrency: "unbounded" }), (others) => [answer, ...others])
        })
      if (n <= most) return part(0, n)
      const firsts = Array.from({ length: Math.ceil(n / most) }, (_, i) => i * most)
      return Effect.map(
        Effect.forEach(firsts, (first) => part(first, Math.min(most, n - first)), { concurrency: "unbounded" }),
        (parts) => parts.flat()
      )
    })

  const text = <R extends SamplingOptions>(
    request: R,
    ask: (member: Member, request: R) => Effect.Effect<Answer, InferenceError>
  ) =>
    Effect.map(
      spread(
        request,
        (part) => ({
          split: request.split ?? "train",
          isEligible: anyone,
          what: "completions",
          ask: (member) => noticeIgnoredN(member, part.n, ask(member, part), ({ choices }) => choices.length),
          tokens: ({ usage }) => usage?.completionTokens ?? 0
        }),
        ({ choices }) => choices.length
      ),
      merged
    )

  return {
    server: named.map(({ backend }) => backend.server).join(", "),
    modelName: named[0]?.backend.modelName ?? "default",
    get capabilities() {
      return { tokens: named.some(givesTokens), promptLogprobs: named.some(givesPromptLogprobs) }
    },
    identify: identified("train"),
    chat: (request) => text(request, (member, asked) => member.backend.chat(asked)),
    complete: (request) => text(request, (member, asked) => member.backend.complete(asked)),
    tokens: (request) =>
      Effect.map(
        spread(
          request,
          (part) => ({
            split: request.split ?? "train",
            isEligible: givesTokens,
            what: "token-level completions",
            ask: (member) => noticeIgnoredN(member, part.n, member.backend.tokens(part), ({ length }) => length),
            tokens: (choices) => choices.reduce((sum, { tokens }) => sum + tokens.length, 0)
          }),
          ({ length }) => length
        ),
        (answers) => answers.flat()
      ).pipe((asking) => Effect.andThen(identified(request.split ?? "train"), asking)),
    promptLogprobs: (request) =>
      answerTo({
        split: request.split ?? "train",
        isEligible: givesPromptLogprobs,
        what: "prompt logprobs",
        ask: (member) => member.backend.promptLogprobs(request),
        tokens: () => 0
      }).pipe((asking) => Effect.andThen(identified(request.split ?? "train"), asking)),
    health: Effect.suspend(() => {
      const sick = named.find(({ isUp }) => !isUp)
      return sick === undefined || named.some(({ isUp }) => isUp)
        ? Effect.void
        : Effect.fail(
            sick.lastError ??
              new InferenceError({ reason: "noServer", server: sick.backend.server, message: "no server is healthy" })
          )
    })
  }
}

/** Choices `first` to `first + n - 1` of a request, as a request of its own. */
const partOf = <R extends SamplingOptions>(request: R, first: number, n: number): R & { readonly n: number } => {
  const { seed } = request
  if (seed === undefined || first === 0) return { ...request, n }
  // Beyond the largest whole number there is, seeds would be equal again.
  return { ...request, n, seed: seed + first <= Number.MAX_SAFE_INTEGER ? seed + first : seed - first }
}

interface Attempts {
  count: number
  /** Times every server was tried in vain. */
  rounds: number
  /** Servers that failed in this round. */
  readonly failed: Set<Member>
}

/** 250 ms, 500 ms, 1 s, … at most 10 s, give or take a fifth. */
const backoff = (round: number): Effect.Effect<Duration.Duration> =>
  Effect.map(Random.nextBetween(0.8, 1.2), (jitter) =>
    Duration.millis(Math.min(longestDelayMillis, firstDelayMillis * 2 ** round * jitter))
  )

const withinTime = <A>(asking: Effect.Effect<A, InferenceError>, { backend, timeout }: Member) =>
  Duration.isFinite(timeout)
    ? Effect.timeoutOrElse(asking, {
        duration: timeout,
        orElse: () =>
          Effect.fail(
            new InferenceError({
              reason: "timeout",
              server: backend.server,
              message: `${backend.server} gave no answer within ${Duration.toSeconds(timeout)} s (setting: timeout)`
            })
          )
      })
    : asking

const outcomeOf = <A>(exit: Exit.Exit<A, InferenceError>, tokens: (answer: A) => number): Outcome | undefined =>
  Exit.isSuccess(exit)
    ? { tokens: tokens(exit.value) }
    : Option.match(Cause.findErrorOption(exit.cause), {
        onNone: () => undefined,
        onSome: (error) => ({ tokens: 0, error })
      })

/** Remembers of a server that gave one choice where several were asked for. */
const noticeIgnoredN = <A>(
  member: Member,
  n: number,
  asking: Effect.Effect<A, InferenceError>,
  count: (answer: A) => number
): Effect.Effect<A, InferenceError> =>
  n === 1
    ? asking
    : Effect.tap(asking, (answer) => {
        if (count(answer) === n || member.ignoresN) return Effect.void
        member.ignoresN = true
        // Of some kinds that is known.
        if (member.backend.identity?.takesN === false) return Effect.void
        return Effect.logWarning("the server ignores n: completions are asked for one by one from now on", {
          server: member.backend.server
        })
      })

const merged = (answers: ReadonlyArray<Answer>): Answer => {
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

const afterAttempts = (error: InferenceError, attempts: number): InferenceError =>
  new InferenceError({
    reason: error.reason,
    server: error.server,
    message: `${error.message} (after ${attempts} attempts)`,
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.retryAfterMillis === undefined ? {} : { retryAfterMillis: error.retryAfterMillis }),
    cause: error
  })

const cannot = (fleet: Fleet, what: string): Effect.Effect<never, InferenceError> =>
  unsupported(
    fleet.members.map(({ backend }) => backend.server).join(", "),
    what,
    "vLLM and atropos policy give token-level completions and prompt logprobs, SGLang token-level completions"
  )

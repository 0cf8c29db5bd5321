/**
 * Measures rollout lengths before a run: evaluates a few held-out items for a few seconds, and counts the sampled
 * tokens. Has no effect on later evaluations. Answers a slow model has not finished are abandoned: only their prompt
 * lengths are known.
 */
import { type Environment, SequenceLimit, Trajectory } from "@atropos/core"
import { Duration, Effect, Exit, Option, Stream } from "effect"
import type { PromptTally } from "./PromptTally.ts"

/** One rollout, in tokens. */
export interface Rollout {
  /** Everything that was not sampled, including tool results in multi-turn rollouts. */
  readonly prompt: number
  readonly answer: number
}

export interface Lengths {
  /** The rollouts that finished in time. */
  readonly rollouts: ReadonlyArray<Rollout>
  /** Mean prompt tokens; undefined if no prompt was seen. */
  readonly prompt: number | undefined
  /** True if some did not finish in time: those that did are biased towards shorter ones. */
  readonly areCut: boolean
  /** Number of held-out items of all environments. */
  readonly heldOut: number
}

/** The initial trial, and the larger one if that finishes soon. */
const few = { items: 2, seconds: 3 }
const more = { items: 30, seconds: 5 }
const soon = 2

const meanOf = (values: ReadonlyArray<number>): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length

export const rolloutOf = (trajectory: Trajectory.Trajectory): Rollout => {
  const answer = Trajectory.trainedTokens(trajectory)
  return { prompt: trajectory.tokens.length - answer, answer }
}

/** Evaluates some items; returns true if all finished in time. */
const ask = Effect.fnUntraced(function* (
  works: ReadonlyArray<Environment.EvaluationWork>,
  limit: { readonly seqLen: number; readonly seconds: number },
  onRollout: (rollout: Rollout) => void
) {
  const all = Effect.forEach(
    works,
    ({ evaluate }) =>
      // The evaluation itself reports failures.
      Effect.map(Effect.exit(SequenceLimit.within(limit.seqLen)(evaluate)), (exit) => {
        for (const { trajectory } of Exit.isSuccess(exit) ? exit.value : []) {
          if (trajectory.tokens.length > 0) onRollout(rolloutOf(trajectory))
        }
      }),
    { concurrency: "unbounded", discard: true }
  )
  return Option.isSome(yield* Effect.timeoutOption(all, limit.seconds * 1000))
})

/**
 * Evaluates a few held-out items of each environment, for at most about eight seconds. `prompts` is the tally of the
 * engine used.
 */
export const look = Effect.fn("Lengths.look")(function* (
  environments: ReadonlyArray<Environment.EnvironmentShape>,
  { prompts, seqLen }: { readonly prompts: Readonly<PromptTally>; readonly seqLen: number }
) {
  const evaluations = yield* Effect.forEach(environments, ({ evaluation }) =>
    Option.match(evaluation, {
      onNone: () => Effect.succeed<ReadonlyArray<Environment.EvaluationWork>>([]),
      onSome: (items) => Effect.orElseSucceed(Stream.runCollect(items), () => [])
    })
  )
  const take = (from: number, items: number) => evaluations.flatMap((works) => works.slice(from, from + items))
  const rollouts: Array<Rollout> = []
  const before = { ...prompts }
  const [took, areFirstDone] = yield* Effect.timed(
    ask(take(0, few.items), { seqLen, seconds: few.seconds }, (rollout) => rollouts.push(rollout))
  )
  const isSoonDone = areFirstDone && Duration.toSeconds(took) <= soon
  const others = isSoonDone ? take(few.items, more.items) : []
  const areFurtherDone = yield* ask(others, { seqLen, seconds: more.seconds }, (rollout) => rollouts.push(rollout))
  const requests = prompts.requests - before.requests
  return {
    rollouts,
    prompt:
      meanOf(rollouts.map((one) => one.prompt)) ??
      (requests > 0 ? (prompts.tokens - before.tokens) / requests : undefined),
    areCut: !(areFirstDone && areFurtherDone),
    heldOut: evaluations.reduce((sum, { length }) => sum + length, 0)
  } satisfies Lengths
})

/**
 * How long rollouts are, known before a run begins: a few held-out items are asked, through the environment's own
 * template and for no longer than a few seconds, and what was sampled is counted.
 *
 * Evaluations change nothing of an environment, and the items are asked again for their score. What a slow model has
 * not ended by then is not waited for: its prompts are known all the same, its answers are not.
 */
import { type Environment, SequenceLimit, Trajectory } from "@atropos/core"
import { Duration, Effect, Exit, Option, Stream } from "effect"
import type { PromptTally } from "./PromptTally.ts"

/** One rollout, tokens. */
export interface Rollout {
  /** All that was not sampled: of several turns, what tools said too. */
  readonly prompt: number
  readonly answer: number
}

export interface Lengths {
  /** Those that ended in time. */
  readonly rollouts: ReadonlyArray<Rollout>
  /** Mean tokens of a prompt; undefined where none was seen. */
  readonly prompt: number | undefined
  /** Whether some did not end in time: those that did are the shorter ones. */
  readonly areCut: boolean
  /** Held-out items of all environments. */
  readonly heldOut: number
}

/** Asked to begin with; and where these are soon done. */
const few = { items: 2, seconds: 3 }
const more = { items: 30, seconds: 5 }
const soon = 2

const meanOf = (values: ReadonlyArray<number>): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length

/** What a rollout was. */
export const rolloutOf = (trajectory: Trajectory.Trajectory): Rollout => {
  const answer = Trajectory.trainedTokens(trajectory)
  return { prompt: trajectory.tokens.length - answer, answer }
}

/** Asks some; whether all have ended in time. */
const ask = Effect.fnUntraced(function* (
  works: ReadonlyArray<Environment.EvaluationWork>,
  limit: { readonly seqLen: number; readonly seconds: number },
  onRollout: (rollout: Rollout) => void
) {
  const all = Effect.forEach(
    works,
    ({ evaluate }) =>
      // Of what fails the evaluation itself tells.
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
 * Asks a few held-out items of each environment; about eight seconds at most. `prompts`: of the engine that is asked.
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
  const further = isSoonDone ? take(few.items, more.items) : []
  const areFurtherDone = yield* ask(further, { seqLen, seconds: more.seconds }, (rollout) => rollouts.push(rollout))
  const asked = prompts.requests - before.requests
  return {
    rollouts,
    prompt:
      meanOf(rollouts.map((one) => one.prompt)) ?? (asked > 0 ? (prompts.tokens - before.tokens) / asked : undefined),
    areCut: !(areFirstDone && areFurtherDone),
    heldOut: evaluations.reduce((sum, { length }) => sum + length, 0)
  } satisfies Lengths
})

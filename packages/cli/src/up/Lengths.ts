/**
 * How long rollouts are, known before a run begins: a few held-out items are asked, through the environment's own
 * template and for no longer than a few seconds, and what was sampled is counted.
 *
 * Evaluations change nothing of an environment, and the items are asked again for their score. What a slow model has
 * not ended by then is not waited for: its prompts are known all the same, its answers are not.
 */
import { type Environment, SequenceLimit, Trajectory } from "@atropos/core"
import * as Engine from "@atropos/trainer/engine/Engine"
import { Duration, Effect, Exit, Option, Stream } from "effect"

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
const few = { items: 2, seconds: 6 }
const more = { items: 30, seconds: 5 }
const soon = 2

const meanOf = (values: ReadonlyArray<number>): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length

/** What a rollout was. */
export const rolloutOf = (trajectory: Trajectory.Trajectory): Rollout => {
  const answer = Trajectory.trainedTokens(trajectory)
  return { prompt: trajectory.tokens.length - answer, answer }
}

/** Mean tokens of a prompt and of an answer. */
export const means = (rollouts: ReadonlyArray<Rollout>): Rollout | undefined => {
  const prompt = meanOf(rollouts.map((one) => one.prompt))
  const answer = meanOf(rollouts.map((one) => one.answer))
  return prompt === undefined || answer === undefined ? undefined : { prompt, answer }
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

/** Asks a few held-out items of each environment; about ten seconds at most. */
export const look = Effect.fn("Lengths.look")(function* (
  environments: ReadonlyArray<Environment.EnvironmentShape>,
  { seqLen }: { readonly seqLen: number }
): Effect.fn.Return<Lengths, never, Engine.Engine> {
  const engine = yield* Engine.Engine
  const evaluations = yield* Effect.forEach(environments, ({ evaluation }) =>
    Option.match(evaluation, {
      onNone: () => Effect.succeed<ReadonlyArray<Environment.EvaluationWork>>([]),
      onSome: (items) => Effect.orElseSucceed(Stream.runCollect(items), () => [])
    })
  )
  const take = (from: number, items: number) => evaluations.flatMap((works) => works.slice(from, from + items))
  const rollouts: Array<Rollout> = []
  const status = Effect.orElseSucceed(engine.status, () => undefined)
  const before = yield* status
  const first = take(0, few.items)
  // Looked at while they are under way: what is known of those that do not end.
  let during = before
  const watch = Effect.forever(
    Effect.delay(
      Effect.map(status, (now) => void (during = now)),
      "250 millis"
    )
  )
  const [took, areFirstDone] = yield* Effect.timed(
    Effect.raceFirst(
      ask(first, { seqLen, seconds: few.seconds }, (rollout) => rollouts.push(rollout)),
      watch
    )
  )
  const isSoonDone = areFirstDone && Duration.toSeconds(took) <= soon
  const further = isSoonDone ? take(few.items, more.items) : []
  const areFurtherDone = yield* ask(further, { seqLen, seconds: more.seconds }, (rollout) => rollouts.push(rollout))
  const processed =
    before === undefined || during === undefined
      ? 0
      : during.promptTokens + during.cachedPromptTokens - before.promptTokens - before.cachedPromptTokens
  const guessed = !areFirstDone && processed > 0 && first.length > 0 ? processed / first.length : undefined
  return {
    rollouts,
    prompt: means(rollouts)?.prompt ?? guessed,
    areCut: !(areFirstDone && areFurtherDone),
    heldOut: evaluations.reduce((sum, { length }) => sum + length, 0)
  }
})

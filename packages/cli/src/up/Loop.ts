/** The closed loop, and the held-out items asked before and after. */
import { Environment } from "@atropos/core"
import * as ClosedLoop from "@atropos/trainer/run/ClosedLoop"
import type * as Engine from "@atropos/trainer/engine/Engine"
import type * as Trainer from "@atropos/trainer/run/Trainer"
import type { StepMetrics } from "@atropos/trainer/run/StepMetrics"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import { Effect, type FileSystem, Option, type Path, type Scope, Stream } from "effect"
import type { PlatformError } from "effect/PlatformError"
import type { Curve, SolvedBy } from "./Curve.ts"
import * as HeldOut from "./HeldOut.ts"

export interface Options {
  readonly settings: TrainerSettings
  /** What training begins with, where that is not the engine's model as it is. */
  readonly initial: ClosedLoop.Options["initial"]
  /** In place of the settings' preset. */
  readonly objective: ClosedLoop.Options["objective"] | undefined
  readonly stepsAhead: number
  /** Called before anything is sampled or trained; what it gives is told of every step. */
  readonly onReady?: (
    trainer: Trainer.Trainer,
    environments: ReadonlyArray<Environment.EnvironmentShape>
  ) => Effect.Effect<Options["onStep"], unknown, Engine.Engine>
  readonly onStep: (metrics: StepMetrics) => Effect.Effect<void>
  readonly health: ClosedLoop.Options["health"]
  /**
   * What an earlier process of the same run had come to; the items it asked before the first step are not asked again.
   */
  readonly earlier: { readonly curve: Curve; readonly before: Option.Option<ReadonlyArray<SolvedBy>> }
  /** Told of the held-out items before the first step. */
  readonly onBefore: (
    solved: ReadonlyArray<SolvedBy>
  ) => Effect.Effect<void, PlatformError, FileSystem.FileSystem | Path.Path>
}

export interface Outcome {
  readonly curve: Curve
  /** One for each environment that has held-out items. */
  readonly before: ReadonlyArray<SolvedBy>
  readonly after: ReadonlyArray<SolvedBy>
}

/** The held-out items of all environments: asked at a step, and told to whoever records figures. */
const heldOutOf = Effect.fnUntraced(function* (
  environments: ReadonlyArray<Environment.EnvironmentShape>,
  { seqLen, start }: { readonly seqLen: number; readonly start: number }
) {
  const all = yield* Effect.forEach(environments, (environment) =>
    // Made with the first step: the run is registered then.
    Effect.map(Effect.cached(HeldOut.recorder(environment, { isResumed: start > 0 })), (recorder) => ({
      environment,
      recorder
    }))
  )
  return (step: number) =>
    Effect.map(
      Effect.forEach(all, ({ environment, recorder }) =>
        Effect.map(
          HeldOut.ask(environment, { seqLen, step }),
          Option.map((evaluated) => ({
            solved: { environment: environment.name, ...HeldOut.solvedOf(evaluated) } satisfies SolvedBy,
            tell: Effect.flatMap(recorder, (tell) => tell(step, evaluated))
          }))
        )
      ),
      (asked) => {
        const answered = asked.flatMap(Option.toArray)
        return {
          solved: answered.map(({ solved }) => solved),
          tell: Effect.forEach(answered, ({ tell }) => tell, { discard: true })
        }
      }
    )
})

/** Runs until the trainer's steps are done. */
export const run = Effect.fn("Loop.run")(function* (
  options: Options
): Effect.fn.Return<Outcome, unknown, ClosedLoop.Needs | Engine.Engine | Environment.Environments | Scope.Scope> {
  const { earlier, health, initial, objective, onBefore, onReady, onStep, settings, stepsAhead } = options
  const environments = yield* Environment.Environments
  const { steps, trainer } = yield* ClosedLoop.makeOf(environments, {
    settings,
    initial,
    health,
    ...(objective && { objective }),
    stepsAhead,
    owner: "atropos up"
  })
  const forecast = yield* onReady?.(trainer, environments) ?? Effect.undefined
  const start = yield* trainer.step
  const ask = yield* heldOutOf(environments, { seqLen: settings.trainer.seqLen, start })
  const first = Option.isSome(earlier.before)
    ? { solved: earlier.before.value, tell: Effect.void }
    : yield* Effect.tap(ask(start), ({ solved }) => onBefore(solved))
  const curve = yield* steps.pipe(
    Stream.runFoldEffect(
      () => earlier.curve,
      Effect.fnUntraced(function* (sum, metrics) {
        if (sum === earlier.curve) yield* first.tell
        yield* onStep(metrics)
        yield* forecast?.(metrics) ?? Effect.void
        return {
          // A step that an engine lost with its weights comes again.
          rewards: [...sum.rewards.slice(0, metrics.step - 1), metrics.rewardMean],
          tokens: sum.tokens + metrics.trainedTokens,
          sequences: sum.sequences + metrics.sequences,
          seconds: sum.seconds + metrics.stepSeconds
        }
      })
    )
  )
  const end = yield* trainer.step
  const last = yield* ask(end)
  if (end > start) yield* last.tell
  return { before: first.solved, curve, after: last.solved } satisfies Outcome
}, Effect.scoped)

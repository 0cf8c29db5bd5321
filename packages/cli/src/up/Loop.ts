/** Runs the closed loop, and evaluates the held-out items before, after and, if that is cheap, between its steps. */
import { Environment } from "@atropos/core"
import * as ClosedLoop from "@atropos/trainer/run/ClosedLoop"
import type * as Trainer from "@atropos/trainer/run/Trainer"
import type { StepMetrics } from "@atropos/trainer/run/StepMetrics"
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import { Console, Effect, type FileSystem, Option, type Path, type Scope, Stream } from "effect"
import type { PlatformError } from "effect/PlatformError"
import * as Heartbeat from "../base/Heartbeat.ts"
import * as LongStep from "../train/LongStep.ts"
import * as ProgressFigures from "../train/ProgressFigures.ts"
import { type Curve, showSolved, type SolvedBy } from "./Curve.ts"
import * as HeldOut from "./HeldOut.ts"

export interface Options {
  readonly settings: TrainerSettings
  /** Initial weights of training, if they differ from the engine's model. */
  readonly initial: ClosedLoop.Options["initial"]
  /** Replaces the preset of the settings. */
  readonly objective: ClosedLoop.Options["objective"] | undefined
  readonly stepsAhead: number
  readonly onReady?: (
    trainer: Trainer.Trainer,
    environments: ReadonlyArray<Environment.EnvironmentShape>
  ) => Effect.Effect<Ready, unknown, FileSystem.FileSystem | Path.Path>
  readonly onStep: (metrics: StepMetrics) => Effect.Effect<void>
  readonly health: ClosedLoop.Options["health"]
  /** Results of an earlier process of the same run; an existing initial evaluation is not repeated. */
  readonly earlier: { readonly curve: Curve; readonly before: Option.Option<ReadonlyArray<SolvedBy>> }
  /** Called with the held-out results before the first step. */
  readonly onBefore: (
    solved: ReadonlyArray<SolvedBy>
  ) => Effect.Effect<void, PlatformError, FileSystem.FileSystem | Path.Path>
}

/** Callbacks and choices that depend on the run's parts. */
export interface Ready {
  readonly onStep: Options["onStep"]
  /** Steps between evaluations of the held-out items; undefined: only before and after the run. */
  readonly evaluateEvery?: number | undefined
}

export interface Outcome {
  readonly curve: Curve
  /** One for each environment with held-out items. */
  readonly before: ReadonlyArray<SolvedBy>
  readonly after: ReadonlyArray<SolvedBy>
}

interface Answered {
  readonly solved: SolvedBy
  /** How answers were sampled; undefined if that is unknown, or differs. */
  readonly sampled: string | undefined
}

const print = ({ sampled, solved }: Answered, when: string) =>
  Console.log(
    `held out ${when}: ${showSolved(solved)}${solved.measure === undefined ? " solved" : ` mean ${solved.measure}`} ` +
      `(${[solved.environment, ...(sampled === undefined ? [] : [sampled])].join(", ")})`
  )

/** Evaluates the held-out items of all environments at a step, and records the results. */
const heldOutOf = Effect.fnUntraced(function* (
  environments: ReadonlyArray<Environment.EnvironmentShape>,
  { seqLen, start }: { readonly seqLen: number; readonly start: number }
) {
  const all = yield* Effect.forEach(environments, (environment) =>
    // Created at the first step: the run is registered by then.
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
            sampled: HeldOut.sampledOf(evaluated),
            report: Effect.flatMap(recorder, (report) => report(step, evaluated))
          }))
        )
      ),
      (request) => {
        const answered = request.flatMap(Option.toArray)
        return {
          solved: answered.map(({ solved }) => solved),
          print: (when: string) => Effect.forEach(answered, (one) => print(one, when), { discard: true }),
          report: Effect.forEach(answered, ({ report }) => report, { discard: true })
        }
      }
    )
})

export const run = Effect.fn("Loop.run")(function* (
  options: Options
): Effect.fn.Return<Outcome, unknown, ClosedLoop.Needs | Environment.Environments | Scope.Scope> {
  const { earlier, health, initial, objective, onBefore, onReady, onStep, settings, stepsAhead } = options
  const environments = yield* Environment.Environments
  const { steps, trainer } = yield* ClosedLoop.makeOf(environments, {
    settings,
    initial,
    health,
    ...(objective && { objective }),
    stepsAhead,
    owner: "atropos up"
  }).pipe(Heartbeat.during("loading the model for sampling and training"))
  const ready = yield* onReady?.(trainer, environments) ?? Effect.undefined
  const { trainingSteps } = settings.trainer
  const isDue = (step: number): boolean =>
    ready?.evaluateEvery !== undefined && step % ready.evaluateEvery === 0 && step < trainingSteps
  const start = yield* trainer.step
  const ask = yield* heldOutOf(environments, { seqLen: settings.trainer.seqLen, start })
  const first = Option.isSome(earlier.before)
    ? { solved: earlier.before.value, report: Effect.void }
    : yield* Effect.tap(ask(start), ({ print, solved }) =>
        Effect.andThen(onBefore(solved), print(start === 0 ? "before the first step" : `after step ${start}`))
      )
  const curve = yield* steps.pipe(
    LongStep.reported({ done: start, total: trainingSteps, waiting: "sampling" }),
    Stream.runFoldEffect(
      () => earlier.curve,
      Effect.fnUntraced(function* (sum, metrics) {
        if (sum === earlier.curve) yield* first.report
        yield* onStep(metrics)
        yield* ready?.onStep(metrics) ?? Effect.void
        if (isDue(metrics.step)) {
          const { print, report } = yield* ask(metrics.step)
          yield* Effect.andThen(report, print(`after step ${metrics.step}`))
        }
        return {
          // A step that an engine lost with its weights is repeated.
          rewards: [...sum.rewards.slice(0, metrics.step - 1), metrics.rewardMean],
          losses: [...sum.losses.slice(0, metrics.step - 1), ProgressFigures.supervisedLoss(metrics)],
          tokens: sum.tokens + metrics.trainedTokens,
          sequences: sum.sequences + metrics.sequences,
          seconds: sum.seconds + metrics.stepSeconds
        }
      })
    )
  )
  const end = yield* trainer.step
  const last = yield* ask(end)
  if (end > start) yield* last.report
  return { before: first.solved, curve, after: last.solved } satisfies Outcome
}, Effect.scoped)

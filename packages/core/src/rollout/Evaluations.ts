/**
 * Runs evaluations of an environment one at a time; results go to the service, files and the log.
 *
 * One that falls due while another runs starts after it, for the newest step. A failed evaluation is logged and stops
 * nothing.
 */
import { Effect, FileSystem, Latch, Option, Path } from "effect"
import type { EnvironmentShape } from "../Environment.ts"
import * as SequenceLimit from "../inference/sequences/SequenceLimit.ts"
import { ServerManager } from "../inference/ServerManager.ts"
import * as Trace from "../base/Trace.ts"
import type { TelemetryClientShape } from "../service/TelemetryClient.ts"
import * as EvaluationRun from "./EvaluationRun.ts"
import * as Reason from "../base/Reason.ts"

export interface Evaluations {
  readonly request: (step: number) => void
  readonly isRunning: () => boolean
  /** Waits until none is running or due. */
  readonly idle: Effect.Effect<void>
  readonly finished: () => number
  readonly run: Effect.Effect<never>
}

export interface EvaluationsOptions {
  readonly environment: EnvironmentShape
  /** Max sequence length, tokens; 0 or less: no known limit. */
  readonly sequenceLimit: () => number
  readonly record: (step: number, figures: { readonly [name: string]: number }) => Effect.Effect<void>
  /** Also receives samples, under the environment's registered name. */
  readonly telemetry: TelemetryClientShape
  readonly registeredName: () => string
  readonly onChange: () => void
}

/** Evaluations of an environment; requests are ignored if it has no held-out items. */
export const make = Effect.fn("Evaluations.make")(function* (options: EvaluationsOptions) {
  const { environment, onChange, record, sequenceLimit } = options
  const servers = yield* ServerManager
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const requested = Latch.makeUnsafe(false)
  const idle = Latch.makeUnsafe(true)
  let due: number | undefined
  let isRunning = false
  let finished = 0

  const evaluateAt = Effect.fnUntraced(
    function* (step: number) {
      yield* Effect.logInfo("evaluation started", { step })
      const evaluated = yield* SequenceLimit.within(sequenceLimit())(EvaluationRun.evaluate(environment))
      if (Option.isNone(evaluated)) return
      const figures = EvaluationRun.metrics(evaluated.value)
      yield* Effect.logInfo("evaluation finished", { step, ...figures })
      yield* record(step, figures)
      yield* EvaluationRun.sendToService(options.telemetry, () =>
        EvaluationRun.recordOf(evaluated.value, { name: options.registeredName(), model: servers.modelName, step })
      )
      const { dataDirToSaveEvals: directory, maxTokenLength } = environment.settings
      if (directory !== null) {
        const { name } = environment
        const { modelName } = servers
        yield* EvaluationRun.save(evaluated.value, { directory, name, step, modelName, maxTokenLength })
      }
      finished++
    },
    (effect, step) =>
      effect.pipe(
        Effect.withSpan(Trace.roots.evaluation, {
          root: true,
          attributes: { "environment.name": environment.name, "trainer.step": step }
        }),
        Effect.catchCause((cause) => Effect.logError("evaluation failed", { step, reason: Reason.ofCause(cause) }))
      ),
    Effect.provideContext(context)
  )

  const run = Effect.gen(function* () {
    for (;;) {
      requested.closeUnsafe()
      const step = due
      if (step === undefined) {
        idle.openUnsafe()
        yield* requested.await
        continue
      }
      due = undefined
      isRunning = true
      onChange()
      yield* evaluateAt(step)
      isRunning = false
      onChange()
    }
  })

  const evaluations: Evaluations = {
    request: (step) => {
      if (Option.isNone(environment.evaluation)) return
      due = step
      idle.closeUnsafe()
      requested.openUnsafe()
    },
    isRunning: () => isRunning || due !== undefined,
    idle: idle.await,
    finished: () => finished,
    run
  }
  return evaluations
})

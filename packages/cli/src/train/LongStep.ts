/** Reports the phase of a long step every five seconds, unless the board shows the run's progress. */
import type { StepMetrics } from "@atropos/trainer/run/StepMetrics"
import { OnPart } from "@atropos/trainer/run/Trainer"
import { Effect, Stream } from "effect"
import * as Heartbeat from "../base/Heartbeat.ts"
import * as ProgressDisplay from "./ProgressDisplay.ts"

/** Wording of the board. */
const words: { readonly [part: string]: string } = { publish: "sync", save: "saving" }

export interface Options {
  /** Finished steps, and total steps of the run. */
  readonly done: number
  readonly total: number
  /** Text while waiting for a batch, if that is to be reported. */
  readonly waiting?: string
}

/** Passes the steps through; a step is in progress while it is pulled. */
export const reported =
  ({ done: before, total, waiting }: Options) =>
  <E, R>(steps: Stream.Stream<StepMetrics, E, R>): Stream.Stream<StepMetrics, E, R> =>
    Stream.unwrap(
      Effect.gen(function* () {
        if (yield* ProgressDisplay.isShown) return steps
        let done = before
        let part: string | undefined
        const describe = (): string | undefined => {
          const now = part === undefined ? waiting : (words[part] ?? "training")
          return now && `step ${done + 1}/${total}, ${now}`
        }
        const observed = steps.pipe(
          Stream.tap(({ step }) => Effect.sync(() => void (done = step))),
          Stream.provideService(OnPart, (name) => void (part = name))
        )
        return Stream.transformPull(observed, (pull) =>
          Effect.succeed(
            Effect.suspend(() => {
              part = undefined
              return Heartbeat.during(describe)(pull)
            })
          )
        )
      })
    )

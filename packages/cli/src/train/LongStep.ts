/** Reports what a step is doing, every five seconds that it takes, where no board shows how far the run is. */
import type { StepMetrics } from "@atropos/trainer/run/StepMetrics"
import { OnPart } from "@atropos/trainer/run/Trainer"
import { Effect, Stream } from "effect"
import * as Heartbeat from "../base/Heartbeat.ts"
import * as Board from "./Board.ts"

/** As on the board. */
const words: { readonly [part: string]: string } = { publish: "sync", save: "saving" }

export interface Options {
  /** Steps so far, and of the run. */
  readonly done: number
  readonly total: number
  /** What it does without a batch, if that is to be reported. */
  readonly waiting?: string
}

/** The same steps: one is under way while it is pulled. */
export const reported =
  ({ done: before, total, waiting }: Options) =>
  <E, R>(steps: Stream.Stream<StepMetrics, E, R>): Stream.Stream<StepMetrics, E, R> =>
    Stream.unwrap(
      Effect.gen(function* () {
        if (yield* Board.isShown) return steps
        let done = before
        let part: string | undefined
        const describe = (): string | undefined => {
          const now = part === undefined ? waiting : (words[part] ?? "training")
          return now && `step ${done + 1}/${total}, ${now}`
        }
        const told = steps.pipe(
          Stream.tap(({ step }) => Effect.sync(() => void (done = step))),
          Stream.provideService(OnPart, (name) => void (part = name))
        )
        return Stream.transformPull(told, (pull) =>
          Effect.succeed(
            Effect.suspend(() => {
              part = undefined
              return Heartbeat.during(describe)(pull)
            })
          )
        )
      })
    )

/**
 * How far a long job is, on standard error: one bar that redraws itself on a terminal, a line now and then elsewhere.
 */
import { Clock, Console, Context, Effect, Layer } from "effect"
import * as Terminal from "./Terminal.ts"

export interface Progress {
  /** `detail` is shown beside the bar. */
  readonly update: (done: number, detail: string) => Effect.Effect<void>
}

export interface ProgressOptions {
  /** What is counted: "groups", "items". */
  readonly unit: string
  readonly total: number
  /** Where a resumed job begins. */
  readonly done: number
}

/** Makes the progress of one job, ended with its scope. */
export const Presenter = Context.Reference<"bar" | "lines">("@atropos/cli/Progress/Presenter", {
  defaultValue: () => (process.stderr.isTTY ? "bar" : "lines")
})

/** Lines instead of a bar, whatever the terminal. */
export const layerLines = Layer.succeed(Presenter, "lines")

const lineEveryMillis = 5_000
const lineEveryShare = 0.1

const bar = Effect.fnUntraced(function* ({ done, total, unit }: ProgressOptions) {
  const { default: cliProgress } = yield* Effect.promise(() => import("cli-progress"))
  const stream = yield* Terminal.Stderr
  const shown = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const single = new cliProgress.SingleBar({
        format: `{bar} {percentage}% {value}/{total} ${unit} | {eta_formatted} left | {detail}`,
        barCompleteChar: "█",
        barIncompleteChar: "░",
        barsize: 24,
        stream,
        fps: 5,
        etaBuffer: 20
      })
      single.start(total, done, { detail: "" })
      return single
    }),
    (single) => Effect.sync(() => single.stop())
  )
  const update: Progress["update"] = (value, detail) =>
    Effect.sync(() => shown.update(value, { detail: Terminal.escape(detail) }))
  return { update }
})

const lines = Effect.fnUntraced(function* ({ done: first, total, unit }: ProgressOptions) {
  let lastDone = first
  let lastMillis = yield* Clock.currentTimeMillis
  const update: Progress["update"] = Effect.fnUntraced(function* (done, detail) {
    const now = yield* Clock.currentTimeMillis
    const isLater = now - lastMillis >= lineEveryMillis
    const isFurther = total > 0 && (done - lastDone) / total >= lineEveryShare
    if (done === lastDone || (!isLater && !isFurther && done < total)) return
    lastDone = done
    lastMillis = now
    yield* Console.error(`${done}/${total} ${unit}  ${detail}`)
  })
  return { update }
})

/** Progress of one job, until the scope closes. */
export const make = Effect.fn("Progress.make")(function* (options: ProgressOptions) {
  return (yield* Presenter) === "bar" ? yield* bar(options) : yield* lines(options)
})

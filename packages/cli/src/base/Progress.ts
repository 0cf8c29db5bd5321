/**
 * How far a long job is, on standard error: one bar that redraws itself on a terminal, a line now and then elsewhere.
 */
import { Clock, Console, Context, Effect } from "effect"
import * as Terminal from "./Terminal.ts"

export interface Progress {
  /** `detail` is shown beside the bar; a function is called when it is. */
  readonly update: (done: number, detail: string | (() => string)) => Effect.Effect<void>
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

const barEveryMillis = 1_000
const lineEveryMillis = 5_000
const lineEveryShare = 0.1

const textOf = (detail: string | (() => string)): string => (typeof detail === "string" ? detail : detail())

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
  let shownAt = Number.NEGATIVE_INFINITY
  const update: Progress["update"] = Effect.fnUntraced(function* (value, detail) {
    const now = yield* Clock.currentTimeMillis
    // Figures that change at every redrawing cannot be read.
    if (now - shownAt < barEveryMillis && value < total) return shown.update(value)
    shownAt = now
    shown.update(value, { detail: Terminal.escape(textOf(detail)) })
  })
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
    yield* Console.error(`${done}/${total} ${unit}  ${textOf(detail)}`)
  })
  return { update }
})

/** Progress of one job, until the scope closes. */
export const make = Effect.fn("Progress.make")(function* (options: ProgressOptions) {
  return (yield* Presenter) === "bar" ? yield* bar(options) : yield* lines(options)
})

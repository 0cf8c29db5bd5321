/**
 * Shows the progress of a long job on standard error: on a terminal one bar that redraws itself below other output,
 * elsewhere an occasional line.
 */
import { Clock, Console, Context, Effect } from "effect"
import { time } from "./Duration.ts"
import * as Terminal from "./Terminal.ts"
import { wrap } from "./Wrap.ts"

export interface Progress {
  /** `detail` is shown next to the bar; a function is called only when the bar is drawn. */
  readonly update: (done: number, detail: string | (() => string)) => Effect.Effect<void>
}

export interface ProgressOptions {
  /** The unit counted: "groups", "items". */
  readonly unit: string
  readonly total: number
  /** Initial count of a resumed job. */
  readonly done: number
}

export const Presenter = Context.Reference<"bar" | "lines">("@atropos/cli/Progress/Presenter", {
  defaultValue: () => (process.stderr.isTTY ? "bar" : "lines")
})

const barEveryMillis = 1_000
const lineEveryMillis = 5_000
const lineEveryShare = 0.1

const textOf = (detail: string | (() => string)): string => (typeof detail === "string" ? detail : detail())

const size = 24

/** Renders `████░░ 40% 4/10 groups | 12 s left | detail` as terminal rows. */
const render = (
  { total, unit }: Pick<ProgressOptions, "total" | "unit">,
  { detail, done, millisLeft }: { readonly done: number; readonly detail: string; readonly millisLeft?: number },
  width: number
): ReadonlyArray<string> => {
  const share = total > 0 ? Math.min(1, Math.max(0, done / total)) : 0
  const full = Math.round(size * share)
  const parts = [
    `${"█".repeat(full)}${"░".repeat(size - full)} ${Math.floor(100 * share)}% ${done}/${total} ${unit}`,
    ...(millisLeft === undefined ? [] : [`${time(millisLeft)} left`]),
    ...(detail === "" ? [] : [Terminal.escape(detail).replaceAll("\n", " ")])
  ]
  return wrap(parts.join(" | "), width, 2)
}

const bar = Effect.fnUntraced(function* (options: ProgressOptions, footer: Terminal.Footer, columns: () => number) {
  const { done: first, total } = options
  const started = yield* Clock.currentTimeMillis
  const lines = (done: number, detail: string, now: number) =>
    render(
      options,
      {
        done,
        detail,
        // Extrapolates the average pace so far.
        ...(done > first && done < total && { millisLeft: ((now - started) / (done - first)) * (total - done) })
      },
      Math.max(size, columns() - 1)
    )
  let last = lines(first, "", started)
  yield* Effect.acquireRelease(
    Effect.sync(() => footer.show(last)),
    () => Effect.sync(() => footer.leave(last))
  )
  let shownAt = Number.NEGATIVE_INFINITY
  const update: Progress["update"] = Effect.fnUntraced(function* (value, detail) {
    const now = yield* Clock.currentTimeMillis
    // Numbers that change on every redraw are unreadable.
    if (now - shownAt < barEveryMillis && value < total) return
    shownAt = now
    last = lines(value, textOf(detail), now)
    footer.show(last)
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

/** Creates the progress of one job; it ends with the scope. */
export const make = Effect.fn("Progress.make")(function* (options: ProgressOptions) {
  const footer = yield* Terminal.Footer
  const { columns } = footer
  return (yield* Presenter) === "bar" && columns !== undefined
    ? yield* bar(options, footer, columns)
    : yield* lines(options)
})

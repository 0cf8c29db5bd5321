/**
 * Reads curves for a saved page: the lines of `metrics.jsonl` and `<name>.metrics.jsonl` (`metrics/FileSink`) as the
 * service's rows. For a repeated step, as after a crash, the page shows the last one.
 *
 * Lines have no times. The trainer's are cumulative sums of `train/step_time`; other sources use the trainer's time of
 * the same step; without these, all have the file's time.
 */
import * as JsonLines from "@atropos/core/data/JsonLines"
import * as FileSink from "@atropos/core/metrics/FileSink"
import * as Readings from "@atropos/core/service/Readings"
import { Effect, FileSystem, Option, Path, Stream } from "effect"
import { UsageError } from "../base/Failure.ts"

/** In the viewer's format (`Wire.MetricsRow`). */
export interface Row {
  readonly id: string
  readonly source: string
  readonly step: number
  readonly at: number
  readonly values: { readonly [name: string]: number | string }
}

const expected = "metrics of a step, as in metrics.jsonl"

interface Point {
  readonly source: string
  readonly step: number
  readonly values: Row["values"]
}

const pointOf = (source: string, text: string): Point | undefined => {
  const line = FileSink.readLine(text)
  return line && { source, step: line.step, values: Readings.encode(line.values) }
}

/** `runs/a/metrics.jsonl` is the trainer's, `runs/a/sums.metrics.jsonl` that of `sums`. */
const sourceOf = (name: string): string => name.replace(/\.?metrics\.jsonl$/, "").replace(/\.jsonl$/, "") || "trainer"

/** Milliseconds from the first step to each step. */
const clockOf = (points: ReadonlyArray<Point>): ReadonlyMap<number, number> => {
  const seconds = new Map<number, number>()
  for (const { source, step, values } of points) {
    const time = values["train/step_time"]
    if (source === "trainer" && typeof time === "number") seconds.set(step, time)
  }
  let sum = 0
  return new Map(
    [...seconds]
      .sort(([left], [right]) => left - right)
      .map(([step, time], place) => {
        sum += place === 0 ? 0 : time * 1000
        return [step, sum]
      })
  )
}

/** The rows of all files, in order; invalid lines are reported. */
export const read = Effect.fn("SavedMetrics.read")(function* (
  files: ReadonlyArray<string>,
  onFault: (fault: string) => Effect.Effect<void>
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const usage = Effect.mapError(({ message }: { readonly message: string }) => new UsageError({ message }))
  const points: Array<Point> = []
  let newest = 0
  for (const file of files) {
    yield* usage(JsonLines.inspect(file, expected))
    const { mtime } = yield* usage(fs.stat(file))
    newest = Math.max(newest, Option.match(mtime, { onNone: () => 0, onSome: (time) => time.getTime() }))
    const source = sourceOf(path.basename(file))
    yield* JsonLines.read(file).pipe(
      Stream.runForEach((line) => {
        const point = line._tag === "Text" ? pointOf(source, line.text) : undefined
        if (point !== undefined) return Effect.sync(() => void points.push(point))
        return onFault(`${file}, line ${line.number}: expected ${expected}`)
      }),
      usage
    )
  }
  const clock = clockOf(points)
  const last = Math.max(0, ...clock.values())
  return points.map((point, index): Row => ({
    id: String(index + 1),
    at: newest - last + (clock.get(point.step) ?? last),
    ...point
  }))
})

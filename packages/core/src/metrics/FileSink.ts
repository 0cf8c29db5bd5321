/**
 * Writes metrics as JSON lines: `metrics.jsonl` of a trainer, `<name>.metrics.jsonl` of an environment, in one folder.
 *
 * A line has the step, the labels (a trainer's `policy_version` and `batch`) and the metrics by name (`Readings`:
 * `"NaN"` is a string). Lines are appended: a resumed run continues its file, and steps of a killed process after its
 * last checkpoint appear twice. Tables are not written: the service stores rollouts, and `data_path_to_save_groups`
 * writes them.
 */
import { Context, Effect, FileSystem, Path, type PlatformError } from "effect"
import * as AppendFile from "./AppendFile.ts"
import * as Reason from "../base/Reason.ts"
import * as Readings from "../service/Readings.ts"
import { type Entry, type Sink, SinkError, type Source } from "./Sink.ts"

/** Keeps letters, digits, dots and dashes; replaces all else by `_`. */
export const fileName = (name: string): string => name.replaceAll(/[^\w.-]/g, "_")

/** The file of a source. */
export const nameOf = ({ kind, key }: Pick<Source, "key" | "kind">): string =>
  kind === "trainer" ? "metrics.jsonl" : `${fileName(key)}.metrics.jsonl`

/** Fields of a line that are not metrics. */
const labels: ReadonlySet<string> = new Set(["step", "policy_version", "batch"])

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The step and the metrics of a line; undefined if it is something else. */
export const readLine = (text: string): { readonly step: number; readonly values: Readings.Values } | undefined => {
  const value = parsed(text)
  if (typeof value !== "object" || value === null || !("step" in value) || !Number.isSafeInteger(value.step)) return
  const figures = Object.fromEntries(Object.entries(value).filter(([name]) => !labels.has(name)))
  return { step: Number(value.step), values: Readings.decode(figures).values }
}

const lineOf = (entry: Entry): string =>
  entry._tag === "Table"
    ? ""
    : `${JSON.stringify({ step: entry.step, ...entry.labels, ...Readings.encode(entry.values) })}\n`

const encoder = new TextEncoder()

const failing = (file: string) =>
  Effect.mapError(
    (cause: PlatformError.PlatformError) =>
      new SinkError({ reason: "passing", message: `${file} cannot be written: ${Reason.ofFile(cause)}`, cause })
  )

export const make = Effect.fnUntraced(function* (folder: string) {
  // Not the whole context: its scope is not that of what is opened.
  const context = yield* Effect.map(
    Effect.context<FileSystem.FileSystem | Path.Path>(),
    Context.pick(FileSystem.FileSystem, Path.Path)
  )
  const path = yield* Path.Path
  const sink: Sink = {
    name: "file",
    takesTables: false,
    batch: 1000,
    open: Effect.fnUntraced(function* (source) {
      const name = path.join(folder, nameOf(source))
      const file = yield* failing(name)(AppendFile.open(name, { lines: true }))
      return {
        write: (entries: ReadonlyArray<Entry>) =>
          failing(name)(file.append(encoder.encode(entries.map(lineOf).join("")))),
        finish: () => Effect.void
      }
    }, Effect.provideContext(context))
  }
  return sink
})

/**
 * Writes TensorBoard event files: `<folder>/tensorboard/<source>/events.out.tfevents.…`, one per recording process,
 * with one TensorBoard run per source.
 *
 * Metrics are scalars (32-bit, as TensorBoard stores them), tables and settings are texts. Run `tensorboard --logdir
 * <folder>/tensorboard`.
 */
import { Clock, Context, Effect, FileSystem, Path, type PlatformError } from "effect"
import { hostname } from "node:os"
import * as AppendFile from "./AppendFile.ts"
import * as Reason from "../base/Reason.ts"
import * as EventFile from "./EventFile.ts"
import { fileName } from "./FileSink.ts"
import { type Entry, type Sink, SinkError, type Source, type Table } from "./Sink.ts"

const cell = (value: string | number): string =>
  typeof value === "number" ? String(value) : value.replaceAll("|", "\\|").replaceAll(/\r\n|\r|\n/g, "<br>")

const markdown = ({ columns, rows }: Pick<Table, "columns" | "rows">): string =>
  [columns, columns.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n")

const events = (entry: Entry): ReadonlyArray<EventFile.Event> => {
  const { at, step } = entry
  const wallTime = at / 1000
  if (entry._tag === "Table") return [{ wallTime, step, tag: entry.name, value: { texts: [markdown(entry)] } }]
  return Object.entries(entry.values).map(([tag, scalar]) => ({ wallTime, step, tag, value: { scalar } }))
}

const settings = ({ config }: Source): string =>
  markdown({
    columns: ["setting", "value"],
    rows: Object.entries(config).map(([name, value]) => [name, JSON.stringify(value) ?? "null"])
  })

/** Files below this folder. */
export const make = Effect.fnUntraced(function* (folder: string) {
  // Not the whole context: its scope is not that of what is opened.
  const context = yield* Effect.map(
    Effect.context<FileSystem.FileSystem | Path.Path>(),
    Context.pick(FileSystem.FileSystem, Path.Path)
  )
  const path = yield* Path.Path
  const failing = <A, R>(effect: Effect.Effect<A, PlatformError.PlatformError, R>) =>
    Effect.mapError(
      effect,
      (cause) =>
        new SinkError({
          reason: "passing",
          message: `event files in ${folder} cannot be written: ${Reason.ofFile(cause)}`,
          cause
        })
    )
  const sink: Sink = {
    name: "tensorboard",
    takesTables: true,
    batch: 1000,
    open: Effect.fnUntraced(function* (source) {
      const at = yield* Clock.currentTimeMillis
      // TensorBoard reads a folder's files in name order.
      const name = `events.out.tfevents.${String(Math.floor(at / 1000)).padStart(10, "0")}.${hostname()}.${process.pid}.${at % 1000}`
      const file = yield* failing(AppendFile.open(path.join(folder, "tensorboard", fileName(source.key), name)))
      let begins: ReadonlyArray<Uint8Array> = [
        EventFile.head(at / 1000),
        EventFile.encode({ wallTime: at / 1000, step: 0, tag: "settings", value: { texts: [settings(source)] } })
      ]
      const write = (records: ReadonlyArray<Uint8Array>) =>
        Effect.map(failing(file.append(Buffer.concat([...begins, ...records]))), () => {
          begins = []
        })
      return {
        write: (entries: ReadonlyArray<Entry>) => write(entries.flatMap(events).map(EventFile.encode)),
        finish: () => write([])
      }
    }, Effect.provideContext(context))
  }
  return sink
})

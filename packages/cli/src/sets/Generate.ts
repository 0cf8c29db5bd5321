/**
 * Generates a data set: passes a source's groups through the builder into files (or standard output), until there are
 * enough rows or no more groups. If interrupted, the same command resumes.
 */
import { Console, Effect, FileSystem, Option } from "effect"
import { CommandFailed, type Failure } from "../base/Failure.ts"
import * as FaultLog from "../base/FaultLog.ts"
import * as Progress from "../base/Progress.ts"
import * as Builder from "./Builder.ts"
import * as Counts from "./Counts.ts"
import * as Layout from "./Layout.ts"
import type { Row } from "./Layout.ts"
import * as Report from "./Report.ts"
import type * as RowFile from "./RowFile.ts"
import { lineOf } from "./RowFile.ts"
import type * as Sample from "./Sample.ts"
import * as SetFiles from "./SetFiles.ts"
import type { WrittenFile } from "./SetPart.ts"
import type { Sink, Source } from "./source/Source.ts"
import * as TokenizerMatch from "./TokenizerMatch.ts"

/** Streams rows to standard output; the reader may stop early (`| head`). */
const isClosed = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "EPIPE" || error.code === "ERR_STREAM_DESTROYED")

/** A write error is passed to its callback and then emitted as an event, which ends the process without a listener. */
const ignore = (): void => {}

const listen = (): void => {
  if (!process.stdout.listeners("error").includes(ignore)) process.stdout.on("error", ignore)
}

/** Writes rows; false once the reader has closed the pipe. */
const writeStdout = (rows: ReadonlyArray<Row>): Effect.Effect<boolean, CommandFailed> =>
  rows.length === 0
    ? Effect.succeed(true)
    : Effect.callback((resume) => {
        listen()
        process.stdout.write(rows.map((row) => `${lineOf(row)}\n`).join(""), (error) => {
          if (error === null || error === undefined) resume(Effect.succeed(true))
          else if (isClosed(error)) resume(Effect.succeed(false))
          else resume(Effect.fail(new CommandFailed({ message: `cannot write to standard output: ${error.message}` })))
        })
      })

export interface GenerateOptions {
  readonly command: string
  /** `-`: standard output. */
  readonly out: string
  readonly container: RowFile.Container
  readonly number: number
  readonly appends: boolean
  readonly resumes: boolean
  readonly builder: Builder.BuilderOptions
  /** The builder's options by flag, for checkpoints and reports. */
  readonly flagValues: { readonly [name: string]: unknown }
  readonly report: Option.Option<string>
}

/** The sink for a source; `write` returns false once its reader wants no more rows. */
const sinkOf = (
  builder: Builder.Builder,
  form: Sample.Form,
  number: number,
  write: (rows: ReadonlyArray<Builder.MadeRow>, cursor: unknown) => Effect.Effect<boolean, Failure>
) => {
  const faults = FaultLog.make()
  const mismatchOf = TokenizerMatch.make(form)
  const noted = new Set<string>()
  const room = (): number => Math.max(0, number - Counts.rows(builder.counts()))
  const sink: Sink = {
    wants: builder.wants,
    pass: (scores, cursor) =>
      Effect.suspend(() => {
        builder.pass(scores)
        return write([], cursor)
      }),
    take: (groups, cursor) =>
      Effect.suspend(() => {
        const mismatch = groups.map(mismatchOf).find((one) => one !== undefined)
        if (mismatch !== undefined) return Effect.fail(new CommandFailed({ message: mismatch }))
        const rows = groups.flatMap((group) => builder.take(group, room()))
        return Effect.map(write(rows, cursor), (isRead) => isRead && room() > 0)
      }),
    fault: (fault) => Effect.andThen(Effect.sync(builder.fault), faults.report(fault)),
    gone: (sequences) => builder.drop("gone", sequences),
    note: (note) => {
      if (noted.has(note)) return Effect.void
      noted.add(note)
      return Console.error(note)
    }
  }
  return { sink, faults }
}

const toStdout = Effect.fnUntraced(function* <R>(options: GenerateOptions, source: Source<R>) {
  const builder = Builder.make(options.builder)
  const { faults, sink } = sinkOf(builder, options.builder.form, options.number, (rows) =>
    writeStdout(rows.map(({ row }) => row))
  )
  yield* source.run(sink, Option.none())
  return { builder, faults: faults.first(), files: [] as ReadonlyArray<WrittenFile> }
})

const toFiles = Effect.fnUntraced(function* <R>(options: GenerateOptions, source: Source<R>) {
  const { builder: rules, number, out } = options
  const seen = new Set<string>()
  const files = yield* SetFiles.open({
    out,
    container: options.container,
    splits: rules.validationFraction > 0 ? ["train", "validation"] : ["train"],
    identity: { ...options.flagValues, ...source.identity },
    appends: options.appends,
    resumes: options.resumes,
    columns: Layout.columns(rules.kind, rules.format, rules.form._tag),
    ...(rules.dedupe && { onRow: (row: Layout.Row) => void seen.add(Builder.digest(row)) }),
    checkpointEvery: source.checkpointEvery
  })
  const before = Option.getOrUndefined(files.before)
  const builder = Builder.make(rules, { counts: before?.counts ?? Counts.empty, seen })
  const done = Counts.rows(builder.counts())
  if (done > 0) yield* Console.error(`resuming with ${done} rows of an earlier run`)
  const progress = yield* Progress.make({ unit: "rows", total: number, done })
  let cursor: unknown = before?.cursor ?? null
  const { faults, sink } = sinkOf(builder, rules.form, number, (rows, next) => {
    cursor = next
    const counts = builder.counts()
    return files
      .append(rows, { cursor, counts })
      .pipe(Effect.andThen(progress.update(Counts.rows(counts), `${counts.groups} groups read`)), Effect.as(true))
  })
  if (done < number && !files.isFinishing) {
    yield* source.run(sink, Option.fromNullishOr(before?.cursor)).pipe(
      Effect.ensuring(Effect.ignore(files.flush)),
      Effect.onInterrupt(() => Console.error(stopped(Counts.rows(builder.counts()))))
    )
  }
  const written = yield* files.finish({ cursor, counts: builder.counts() })
  return { builder, faults: faults.first(), files: written }
})

export const run = Effect.fn("Generate.run")(function* <R>(options: GenerateOptions, source: Source<R>) {
  const fs = yield* FileSystem.FileSystem
  const { command, number, out, flagValues } = options
  const isStdout = out === "-"
  const { builder, faults, files } = yield* isStdout ? toStdout(options, source) : toFiles(options, source)
  const counts = builder.counts()
  const report: Report.Report = {
    command,
    source: source.name,
    options: { ...flagValues, ...source.identity },
    counts,
    files,
    faults,
    wanted: number
  }
  const rows = Counts.rows(counts)
  // Without any group there is nothing to report.
  const defaultReport = isStdout || counts.groups === 0 ? Option.none() : Option.some(Report.pathOf(out))
  const reportFile = Option.orElse(options.report, () => defaultReport)
  if (Option.isSome(reportFile)) {
    const file = reportFile.value
    yield* fs.writeFileString(`${file}.new`, Report.json(report)).pipe(
      Effect.andThen(fs.rename(`${file}.new`, file)),
      Effect.mapError((cause) => new CommandFailed({ message: `cannot write ${file}: ${cause.message}`, cause }))
    )
  }
  const print = isStdout ? Console.error : Console.log
  yield* print(Report.table(report))
  if (Option.isSome(reportFile) && !isStdout) yield* print(`\nreport: ${reportFile.value}`)
  if (rows === 0) {
    return yield* new CommandFailed({ message: `${source.name} yielded no rows: nothing was written` })
  }
  if (rows < number && !isStdout) {
    yield* Console.error(`${rows} of the ${number} requested rows: no more groups`)
  }
}, Effect.scoped)

const stopped = (rows: number): string => {
  const again = `stopped with ${rows} rows: run the same command again to continue`
  return rows === 0 ? again : `${again}; with --num-seqs-to-save ${rows} it finishes with these rows`
}

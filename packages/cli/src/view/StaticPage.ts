/**
 * Writes saved groups to one self-contained HTML file, the viewer's page with `StaticData` of the viewer, which opens
 * from disk without a network.
 *
 * The data are base64 of gzipped parts, one per line: the JSON, and the columns of per-token numbers (`PackedPage`).
 * Logprobs and advantages are rounded to three digits. Groups beyond a size that browsers open quickly are counted and
 * skipped, in file order. The file is complete or absent.
 */
import * as PackedPage from "@atropos/api/rollout/PackedPage"
import * as ViewerPage from "@atropos/api/ViewerPage"
import { SavedGroup, type Tokenizer } from "@atropos/core"
import { Effect, FileSystem, Option, Path, type Scope, Stream } from "effect"
import { createGzip } from "node:zlib"
import { CommandFailed, type Failure, UsageError } from "../base/Failure.ts"
import { cannot } from "../base/FileFailure.ts"
import * as FileReader from "./FileReader.ts"
import type * as SavedMetrics from "./SavedMetrics.ts"
import * as StaticGroup from "./StaticGroup.ts"
import * as StaticSamples from "./StaticSamples.ts"

export interface PageOptions {
  readonly title: string
  readonly files: ReadonlyArray<string>
  readonly out: string
  /** Curves of the first file's run. */
  readonly metrics?: ReadonlyArray<SavedMetrics.Row>
  readonly tokenizer: Option.Option<Tokenizer.TokenizerShape>
  /** Re-scoring results of the first file's groups (`Reverified` of the viewer). */
  readonly reverified?: object
  /** Receives every line that is not a group. */
  readonly onFault: (fault: string) => Effect.Effect<void>
  readonly onNote: (note: string) => Effect.Effect<void>
}

export interface WrittenPage {
  readonly path: string
  readonly bytes: number
  readonly groups: number
  /** Groups that did not fit. */
  readonly leftOut: number
}

export const summary = ({ bytes, groups, leftOut, path }: WrittenPage): string => {
  const size = `${(bytes / 1024 ** 2).toFixed(1)} MB`
  const rest =
    leftOut === 0 ? "" : `; ${leftOut.toLocaleString("en-US")} more did not fit: npx @atropos/cli view shows them all`
  return `${path} (${groups.toLocaleString("en-US")} groups, ${size})${rest}`
}

/** Max bytes of compressed groups: a browser shows the first of them after a second or two. */
const room = 24 * 1024 * 1024

const emptyData = /<script\b[^>]*\bid="atropos-data"[^>]*>(?=<\/script>)/

/** Compresses everything written to it, and keeps it in memory: a page is small. */
const compressor = Effect.fnUntraced(function* () {
  const gzip = yield* Effect.acquireRelease(
    Effect.sync(() => createGzip({ level: 9, memLevel: 9 })),
    (gzip) => Effect.sync(() => gzip.destroy())
  )
  const chunks: Array<Buffer> = []
  let bytes = 0
  gzip.on("data", (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
  })
  return {
    bytes: () => bytes,
    write: (data: string | Uint8Array) =>
      Effect.callback<void>((resume) => {
        gzip.write(data, () => resume(Effect.void))
      }),
    /** The complete output, as base64 chunks. */
    end: Stream.unwrap(
      Effect.callback<Stream.Stream<string>>((resume) => {
        gzip.on("end", () => resume(Effect.succeed(inBase64(Buffer.concat(chunks)))))
        gzip.end()
      })
    )
  }
})

/** Split at multiples of three bytes. */
const inBase64 = (bytes: Buffer): Stream.Stream<string> => {
  const piece = 3 * 2 ** 18
  return Stream.fromIterable(Array.from({ length: Math.ceil(bytes.length / piece) }, (_, index) => index * piece)).pipe(
    Stream.map((from) => bytes.subarray(from, from + piece).toString("base64"))
  )
}

/** The built page, in two parts around the data. */
const template = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const file = yield* ViewerPage.PageFile
  const html = yield* fs.readFileString(file).pipe(
    Effect.mapError(
      () =>
        new CommandFailed({
          message: `the viewer has not been built: run npm run build:viewer (expected at ${file})`
        })
    )
  )
  const place = emptyData.exec(html)
  if (place === null) {
    return yield* new CommandFailed({
      message: `${file} is not a viewer page: it has no empty script with the id atropos-data`
    })
  }
  const middle = place.index + place[0].length
  return { before: html.slice(0, middle), after: html.slice(middle) }
})

/** An existing file is only replaced if it is such a page. */
const mayWrite = Effect.fnUntraced(function* (out: string) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(out).pipe(Effect.mapError(cannot("access", out))))) return
  const html = yield* fs.readFileString(out).pipe(Effect.mapError(cannot("read", out)))
  if (!html.includes('id="atropos-data"')) {
    return yield* new UsageError({ message: `${out} exists and is not a page of saved groups: use another path` })
  }
})

export const write = Effect.fn("StaticPage.write")(function* (
  options: PageOptions
): Effect.fn.Return<WrittenPage, Failure, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const { files, metrics = [], onFault, onNote, out, reverified, title, tokenizer } = options
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* mayWrite(out)
  const { after, before } = yield* template
  yield* fs
    .makeDirectory(path.dirname(out), { recursive: true })
    .pipe(Effect.mapError(cannot("make the folder of", out)))
  const names = FileReader.runNames(files)
  const unknownFields = SavedGroup.unknownFields()
  const packing = PackedPage.writer()
  const [json, ids, high, low] = yield* Effect.all([compressor(), compressor(), compressor(), compressor()])
  const parts = [json, ids, high, low]
  const compressed = () => parts.reduce((sum, { bytes }) => sum + bytes(), 0)
  let groups = 0
  let leftOut = 0
  const evaluations: Array<object> = []

  const runOf = (file: string, index: number) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const info = yield* fs
          .stat(file)
          .pipe(Effect.mapError(() => new UsageError({ message: `file not found: ${file}` })))
        const createdAt = Option.match(info.mtime, { onNone: () => 0, onSome: (time) => time.getTime() })
        const rows: Array<StaticGroup.Row> = []
        const used = new Set<number>()
        const samples: Array<StaticSamples.StaticSample> = []
        const body = SavedGroup.read(file).pipe(
          Stream.mapError(({ message }) => new UsageError({ message })),
          Stream.mapEffect(
            Effect.fnUntraced(function* (entry) {
              if (entry._tag === "Fault") {
                yield* onFault(`${file}, line ${entry.line}: ${entry.problem}`)
                return ""
              }
              if (compressed() > room) {
                leftOut++
                return ""
              }
              const id = String(entry.line)
              for (const row of entry.group.tokens) for (const token of row) used.add(token)
              rows.push(StaticGroup.rowOf(id, entry.group, createdAt))
              samples.push(...StaticSamples.ofLine(entry))
              groups++
              const separator = rows.length === 1 ? "" : ","
              const text = `${separator}"${id}":${JSON.stringify(StaticGroup.groupOf(entry, packing))}`
              const columns = packing.take()
              yield* Effect.all([ids.write(columns.ids), high.write(columns.high), low.write(columns.low)], {
                concurrency: "unbounded"
              })
              const note = unknownFields(file, entry)
              if (note !== undefined) yield* onNote(note)
              return text
            })
          )
        )
        const end = Stream.suspend(() => {
          evaluations.unshift(...StaticSamples.evaluationOf({ file, name: names[index] ?? file, index }, samples))
          const curves = index === 0 && metrics.length > 0 ? `,"metrics":${JSON.stringify(metrics)}` : ""
          const pieces = Option.match(tokenizer, {
            onNone: () => ({}),
            onSome: ({ decode }) => Object.fromEntries([...used].map((id) => [id, decode([id])]))
          })
          const again = index === 0 && reverified !== undefined ? `,"reverified":${JSON.stringify(reverified)}` : ""
          // Newest first, as in the service.
          return Stream.succeed(
            `},"rows":${JSON.stringify(rows.toReversed())},"pieces":${JSON.stringify(pieces)}${curves}${again}}`
          )
        })
        const start = `${index === 0 ? "" : ","}{"name":${JSON.stringify(names[index])},"groups":{`
        return Stream.concat(Stream.concat(Stream.succeed(start), body), end)
      })
    )
  yield* Stream.fromIterable(files.entries()).pipe(
    Stream.flatMap(([index, file]) => runOf(file, index)),
    (runs) => Stream.concat(Stream.succeed(`{"title":${JSON.stringify(title)},"runs":[`), runs),
    (runs) =>
      Stream.concat(
        runs,
        Stream.suspend(() => endOf(packing.tables(), evaluations))
      ),
    Stream.runForEach(json.write)
  )

  if (groups === 0) {
    return yield* new CommandFailed({
      message: `${files.join(", ")} contains no groups, so no page was written: each line should be ${SavedGroup.expected}`
    })
  }
  const unfinished = `${out}.new`
  const lines = Stream.fromIterable(parts).pipe(Stream.flatMap(({ end }) => Stream.concat(end, Stream.succeed("\n"))))
  yield* Stream.concat(Stream.succeed(before), Stream.concat(lines, Stream.succeed(after))).pipe(
    Stream.encodeText,
    Stream.run(fs.sink(unfinished)),
    Effect.mapError(cannot("write", out)),
    Effect.onError(() => Effect.ignore(fs.remove(unfinished, { force: true })))
  )
  yield* fs.rename(unfinished, out).pipe(Effect.mapError(cannot("write", out)))
  const { size } = yield* fs.stat(out).pipe(Effect.mapError(cannot("access", out)))
  return { path: out, bytes: Number(size), groups, leftOut }
}, Effect.scoped)

/** The shared tables of the groups, streamed text by text because they are large. */
const endOf = ({ ids, texts }: PackedPage.Tables, evaluations: ReadonlyArray<object>): Stream.Stream<string> =>
  Stream.fromIterable(texts.entries()).pipe(
    Stream.map(([index, text]) => `${index === 0 ? "" : ","}${JSON.stringify(text)}`),
    (texts) =>
      Stream.concat(
        Stream.succeed(
          `],"evaluations":${JSON.stringify(evaluations)},"tables":{"ids":${JSON.stringify(ids)},"texts":[`
        ),
        texts
      ),
    (all) => Stream.concat(all, Stream.succeed("]}}"))
  )

/**
 * Saved groups in one HTML file that needs nothing else: the viewer's page with the groups in it, as base64 of gzipped JSON
 * (`StaticData` of the viewer). It opens from disk, without a network.
 *
 * Numbers that are only looked at are rounded (logprobs and advantages to four digits). A page ends at a size that browsers still
 * open at once: what is beyond is counted and left out, in the order of the files. The file is whole or absent.
 */
import * as Payloads from "@atropos/api/Payloads"
import * as RolloutText from "@atropos/api/RolloutText"
import * as ViewerPage from "@atropos/api/ViewerPage"
import { SavedGroup, ScoredGroup, type Tokenizer } from "@atropos/core"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, FileSystem, Option, Path, Stream } from "effect"
import type { PlatformError } from "effect/PlatformError"
import { createWriteStream } from "node:fs"
import { Transform } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createGzip } from "node:zlib"
import { CommandFailed, type Failure, UsageError } from "../Failure.ts"
import * as FileReader from "./FileReader.ts"

export interface PageOptions {
  readonly title: string
  readonly files: ReadonlyArray<string>
  readonly out: string
  /** Gives tokens their text, where it is known. */
  readonly tokenizer: Option.Option<Tokenizer.TokenizerShape>
  /** Sees every line that is no group. */
  readonly onFault: (fault: string) => Effect.Effect<void>
  /** Sees what else there is to tell. */
  readonly onNote: (note: string) => Effect.Effect<void>
}

export interface WrittenPage {
  readonly path: string
  readonly bytes: number
  readonly groups: number
  /** Groups that had no room. */
  readonly leftOut: number
}

/** What was written, in a line. */
export const summary = ({ bytes, groups, leftOut, path }: WrittenPage): string => {
  const size = `${(bytes / 1024 ** 2).toFixed(1)} MB`
  const rest = leftOut === 0 ? "" : `; ${leftOut.toLocaleString("en-US")} more had no room: atropos view shows them all`
  return `${path} (${groups.toLocaleString("en-US")} groups, ${size})${rest}`
}

/** Bytes of compressed groups in a page: a browser shows the first of them after a second or two. */
const room = 24 * 1024 * 1024

const emptyData = /<script\b[^>]*\bid="atropos-data"[^>]*>(?=<\/script>)/

const cannot = (what: string, file: string) => (cause: PlatformError) =>
  new CommandFailed({ message: `cannot ${what} ${file}: ${cause.message}`, cause })

/** Four digits are more than a colour shows. */
const rounded = (rows: ReadonlyArray<Float32Array> | undefined) =>
  rows?.map((row) => Array.from(row, (value) => Number(value.toPrecision(4))))

const plain = (rows: ReadonlyArray<Int32Array>) => rows.map((row) => Array.from(row))

/** A group as the page has it: what it lacks is left out. */
const groupOf = (group: ScoredGroup.ScoredGroup) => ({
  tokens: plain(group.tokens),
  masks: plain(group.masks),
  scores: Array.from(group.scores),
  advantages: rounded(group.advantages),
  ref_logprobs: rounded(group.refLogprobs),
  messages: group.messages,
  generation_params: group.generationParams,
  inference_logprobs: rounded(group.inferenceLogprobs),
  overrides: group.overrides,
  group_overrides: group.groupOverrides,
  images: group.images,
  env_id: group.envId,
  distill_token_ids: group.distillTokenIds?.map(plain),
  distill_logprobs: group.distillLogprobs?.map(rounded),
  policy_versions: group.policyVersions
})

const rowOf = (id: string, group: ScoredGroup.ScoredGroup, createdAt: number) => ({
  id,
  environment: null,
  env_id: group.envId ?? null,
  step: null,
  state: "consumed",
  created_at: createdAt,
  sequences: ScoredGroup.size(group),
  tokens: ScoredGroup.tokenCount(group),
  scores: Array.from(group.scores),
  policy_step: Payloads.policyStep(group.policyVersions),
  preview: RolloutText.ofMessages(group.messages).preview
})

/** Bytes as base64, cut at multiples of three. */
const toBase64 = (): Transform => {
  let rest: Buffer = Buffer.alloc(0)
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const bytes = Buffer.concat([rest, chunk])
      const whole = bytes.length - (bytes.length % 3)
      rest = bytes.subarray(whole)
      done(null, bytes.subarray(0, whole).toString("base64"))
    },
    flush(done) {
      done(null, rest.toString("base64"))
    }
  })
}

/** The built page, in two parts, between which the data belong. */
const template = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const file = yield* ViewerPage.PageFile
  const html = yield* fs.readFileString(file).pipe(
    Effect.mapError(
      () =>
        new CommandFailed({
          message: `the viewer has not been built, so there is no page to put groups into: npm run build:viewer (it belongs at ${file})`
        })
    )
  )
  const place = emptyData.exec(html)
  if (place === null) {
    return yield* new CommandFailed({
      message: `${file} has no place for groups (an empty script with the id atropos-data)`
    })
  }
  const middle = place.index + place[0].length
  return { before: html.slice(0, middle), after: html.slice(middle) }
})

/** A file that is there is replaced only where it is such a page. */
const mayWrite = Effect.fnUntraced(function* (out: string) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(out).pipe(Effect.mapError(cannot("look at", out))))) return
  const html = yield* fs.readFileString(out).pipe(Effect.mapError(cannot("read", out)))
  if (!html.includes('id="atropos-data"')) {
    return yield* new UsageError({ message: `${out} exists and is no page of saved groups: give another path` })
  }
})

/** Writes the page. */
export const write = Effect.fn("StaticPage.write")(function* (
  options: PageOptions
): Effect.fn.Return<WrittenPage, Failure, FileSystem.FileSystem | Path.Path> {
  const { files, onFault, onNote, out, title, tokenizer } = options
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* mayWrite(out)
  const { after, before } = yield* template
  yield* fs
    .makeDirectory(path.dirname(out), { recursive: true })
    .pipe(Effect.mapError(cannot("make the folder of", out)))
  const names = FileReader.runNames(files)
  const unknownFields = SavedGroup.unknownFields()
  const gzip = createGzip({ level: 9 })
  let compressed = 0
  gzip.on("data", (chunk: Buffer) => {
    compressed += chunk.length
  })
  let groups = 0
  let leftOut = 0

  const runOf = (file: string, index: number) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const info = yield* fs
          .stat(file)
          .pipe(Effect.mapError(() => new UsageError({ message: `${file}: there is no such file` })))
        const createdAt = Option.match(info.mtime, { onNone: () => 0, onSome: (time) => time.getTime() })
        const rows: Array<ReturnType<typeof rowOf>> = []
        const used = new Set<number>()
        const body = SavedGroup.read(file).pipe(
          Stream.mapError(({ message }) => new UsageError({ message })),
          Stream.mapEffect((entry) => {
            if (entry._tag === "Fault") {
              return Effect.as(onFault(`${file}, line ${entry.line}: ${entry.problem}`), "")
            }
            if (compressed > room) {
              leftOut++
              return Effect.succeed("")
            }
            const id = String(entry.line)
            for (const row of entry.group.tokens) for (const token of row) used.add(token)
            rows.push(rowOf(id, entry.group, createdAt))
            groups++
            const separator = rows.length === 1 ? "" : ","
            const text = `${separator}"${id}":${JSON.stringify(groupOf(entry.group))}`
            const note = unknownFields(file, entry)
            return note === undefined ? Effect.succeed(text) : Effect.as(onNote(note), text)
          })
        )
        const end = Stream.suspend(() => {
          const pieces = Option.match(tokenizer, {
            onNone: () => ({}),
            onSome: ({ decode }) => Object.fromEntries([...used].map((id) => [id, decode([id])]))
          })
          return Stream.succeed(`},"rows":${JSON.stringify(rows)},"pieces":${JSON.stringify(pieces)}}`)
        })
        const start = `${index === 0 ? "" : ","}{"name":${JSON.stringify(names[index])},"groups":{`
        return Stream.concat(Stream.concat(Stream.succeed(start), body), end)
      })
    )
  const json = Stream.fromIterable(files.entries()).pipe(
    Stream.flatMap(([index, file]) => runOf(file, index)),
    (runs) => Stream.concat(Stream.succeed(`{"title":${JSON.stringify(title)},"runs":[`), runs),
    (runs) => Stream.concat(runs, Stream.succeed("]}"))
  )

  const unfinished = `${out}.new`
  // A stream that fails destroys the pipeline with its error: that one is told, not the pipeline's.
  let failure: Failure | undefined
  const readable = yield* NodeStream.toReadable(
    json.pipe(
      Stream.tapError((error) =>
        Effect.sync(() => {
          failure = error
        })
      )
    )
  )
  yield* Effect.tryPromise({
    try: (signal) =>
      pipeline(readable, gzip, toBase64(), wrapped(before, after), createWriteStream(unfinished), { signal }),
    catch: (cause) =>
      failure ??
      new CommandFailed({
        message: `cannot write ${out}: ${cause instanceof Error ? cause.message : String(cause)}`,
        cause
      })
  }).pipe(Effect.onError(() => Effect.ignore(fs.remove(unfinished, { force: true }))))
  yield* fs.rename(unfinished, out).pipe(Effect.mapError(cannot("write", out)))
  const { size } = yield* fs.stat(out).pipe(Effect.mapError(cannot("look at", out)))
  return { path: out, bytes: Number(size), groups, leftOut }
})

/** Puts a text before and one behind what comes. */
const wrapped = (before: string, after: string): Transform => {
  let hasBegun = false
  const begin = (transform: Transform): void => {
    if (!hasBegun) transform.push(before)
    hasBegun = true
  }
  return new Transform({
    transform(chunk: Buffer, _, done) {
      begin(this)
      done(null, chunk)
    },
    flush(done) {
      begin(this)
      done(null, after)
    }
  })
}

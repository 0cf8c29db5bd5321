/**
 * Converts saved groups to documents of a format, one per sequence, and documents to saved groups, one group each.
 *
 * Inputs that cannot be converted are reported with their location and skipped. Existing files are never overwritten.
 */
import { ExactJson, SavedGroup, type ScoredGroup } from "@atropos/core"
import * as Atif from "@atropos/core/service/documents/Atif"
import * as TrainingTrace from "@atropos/core/service/documents/TrainingTrace"
import * as JsonLines from "@atropos/core/data/JsonLines"
import * as Reason from "@atropos/core/base/Reason"
import * as WireGroup from "@atropos/core/service/WireGroup"
import { Effect, FileSystem, Path, Result, Stream } from "effect"
import { CommandFailed, UsageError } from "../base/Failure.ts"

/** A format of documents: ATIF, or OpenEnv's training traces. */
export interface Format {
  /** Names of the members that contain chats or arguments of calls, whose numbers are kept as written. */
  readonly written: ReadonlySet<string>
  readonly ofSequence: (sequence: Atif.Sequence) => Effect.Effect<object, { readonly message: string }>
  readonly toSequences: (json: unknown) => Effect.Effect<ReadonlyArray<Atif.Sequence>, { readonly message: string }>
}

export const atif = (agent: Parameters<typeof Atif.ofSequence>[1]): Format => ({
  written: new Set(["arguments"]),
  ofSequence: (sequence) => Atif.ofSequence(sequence, agent),
  toSequences: (json) => Effect.map(Atif.toSequence(json), (sequence) => [sequence])
})

export const trainingTrace: Format = { ...TrainingTrace, written: new Set(["request", "response"]) }

export interface Converted {
  readonly written: number
  readonly passedOver: ReadonlyArray<string>
}

const encoder = new TextEncoder()

const cannotWrite = (file: string) => (cause: unknown) =>
  new CommandFailed({ message: `cannot write ${file}: ${Reason.of(cause)}` })

const sequencesOf = ({ inferenceLogprobs, masks, messages, scores, tokens }: ScoredGroup.ScoredGroup, name: string) =>
  tokens.map((ids, index): Atif.Sequence => {
    const logprobs = inferenceLogprobs?.[index]
    return {
      messages: messages?.[index] ?? [],
      tokens: ids,
      mask: masks[index]!,
      score: scores[index]!,
      sessionId: `${name}-${index}`,
      ...(logprobs !== undefined && { logprobs })
    }
  })

/** Writes `<line>-<sequence>.json` into the folder for each sequence of the files. */
export const toDocuments = Effect.fn("Conversion.toDocuments")(function* (
  files: ReadonlyArray<string>,
  folder: string,
  format: Format
) {
  const fs = yield* FileSystem.FileSystem
  const { basename, extname, join } = yield* Path.Path
  const passedOver: Array<string> = []
  let written = 0
  for (const file of files) {
    yield* Effect.mapError(JsonLines.inspect(file, SavedGroup.expected), ({ message }) => new UsageError({ message }))
    const name = basename(file, extname(file))
    yield* SavedGroup.read(file).pipe(
      Stream.mapError((cause) => new CommandFailed({ message: `${file}: ${Reason.of(cause)}` })),
      Stream.runForEach(
        Effect.fnUntraced(function* (entry) {
          const at = `${file}, line ${entry.line}`
          if (entry._tag === "Fault") return void passedOver.push(`${at}: ${entry.problem}`)
          for (const [index, sequence] of sequencesOf(entry.group, `${name}-${entry.line}`).entries()) {
            const document = yield* Effect.result(format.ofSequence(sequence))
            if (Result.isFailure(document)) {
              passedOver.push(`${at}, sequence ${index}: ${document.failure.message}`)
              continue
            }
            if (written === 0) {
              yield* Effect.mapError(fs.makeDirectory(folder, { recursive: true }), cannotWrite(folder))
            }
            const path = join(folder, `${name}-${entry.line}-${index}.json`)
            const text = encoder.encode(`${ExactJson.writeIndented(document.success)}\n`)
            yield* Effect.mapError(fs.writeFile(path, text, { flag: "wx" }), cannotWrite(path))
            written += 1
          }
        })
      )
    )
  }
  return { written, passedOver } satisfies Converted
})

/** Writes each document as a group of one into a file of saved groups; `score` applies to documents without one. */
export const toGroups = Effect.fn("Conversion.toGroups")(function* (
  files: ReadonlyArray<string>,
  out: string,
  format: Format,
  score: number | undefined
) {
  const fs = yield* FileSystem.FileSystem
  const { dirname } = yield* Path.Path
  const passedOver: Array<string> = []
  const lines: Array<string> = []
  for (const file of files) {
    const text = yield* Effect.mapError(
      fs.readFileString(file),
      (cause) => new UsageError({ message: `${file} cannot be read: ${Reason.of(cause)}` })
    )
    const sequences = yield* Effect.result(
      Effect.try({
        try: () => ExactJson.parseKeeping(text, format.written),
        catch: () => ({ message: "is not JSON" })
      }).pipe(Effect.flatMap(format.toSequences))
    )
    if (Result.isFailure(sequences)) {
      passedOver.push(`${file} ${sequences.failure.message}`)
      continue
    }
    const all = sequences.success
    const scores = all.map(({ score: own = score }) => own).filter((one) => one !== undefined)
    if (scores.length < all.length) {
      passedOver.push(`${file} contains no score: give one with --score`)
      continue
    }
    const logprobs = all.map((one) => one.logprobs).filter((one) => one !== undefined)
    lines.push(
      WireGroup.encode({
        tokens: all.map(({ tokens }) => tokens),
        masks: all.map(({ mask }) => mask),
        scores: Float64Array.from(scores),
        messages: all.map(({ messages }) => messages),
        ...(logprobs.length === all.length && { inferenceLogprobs: logprobs })
      })
    )
  }
  yield* Effect.mapError(fs.makeDirectory(dirname(out), { recursive: true }), cannotWrite(out))
  const bytes = encoder.encode(lines.map((line) => `${line}\n`).join(""))
  yield* Effect.mapError(fs.writeFile(out, bytes, { flag: "wx" }), cannotWrite(out))
  return { written: lines.length, passedOver } satisfies Converted
})

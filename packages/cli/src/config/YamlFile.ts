/**
 * Reads a YAML file written by a person: every defect is a `UsageError` with location and reason. Rejects files that
 * are not UTF-8, contain NUL, are too large (parsing is quadratic in the number of keys), nest too deeply, expand
 * aliases excessively, or name unknown anchors. Returns a tree of plain values.
 */
import { Effect, FileSystem, Result } from "effect"
import type { Document, LineCounter } from "yaml"
import { UsageError } from "../base/Failure.ts"

export interface YamlFile {
  readonly content: unknown
  readonly document: Document
  readonly lines: LineCounter
}

/** Settings take a few kilobytes. */
const maxBytes = 128 * 1024
/** Settings nest three levels deep. */
const maxLevels = 50

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Rephrases the parser's messages that address programmers. */
const inPlainWords = (message: string): string => {
  if (message.includes("call stack")) return `it is nested more than ${maxLevels} levels deep`
  if (message.includes("multiple documents")) return "a second document starts here (---); only one is allowed"
  if (message.includes("Excessive alias count")) return "its aliases (*name) expand to too much"
  return `this is not valid YAML: ${message}`
}

/** The reason why a value cannot be settings: nested too deeply, or circular. */
const flawOf = (value: unknown, above: ReadonlyArray<unknown> = []): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  if (above.includes(value)) return "an alias (*name) refers to a value that contains it"
  if (above.length >= maxLevels) return inPlainWords("call stack")
  for (const inner of Object.values(value)) {
    const flaw = flawOf(inner, [...above, value])
    if (flaw !== undefined) return flaw
  }
  return undefined
}

const textOf = Effect.fnUntraced(function* (file: string, fail: (problem: string) => UsageError) {
  const fs = yield* FileSystem.FileSystem
  const unreadable = (reason: string) => fail(`cannot be read: ${reason}`)
  const { size, type } = yield* Effect.mapError(fs.stat(file), ({ reason }) =>
    unreadable(reason._tag === "NotFound" ? "file not found" : reason._tag)
  )
  if (type === "Directory") return yield* unreadable("it is a folder")
  const tooLarge = fail(`is larger than ${maxBytes / 1024} KiB, the limit for settings`)
  if (size > maxBytes) return yield* tooLarge
  const bytes = yield* Effect.mapError(fs.readFile(file), ({ reason }) => unreadable(reason._tag))
  // The size of a pipe is not known beforehand.
  if (bytes.length > maxBytes) return yield* tooLarge
  const text = Result.try(() => utf8.decode(bytes))
  if (Result.isFailure(text)) return yield* fail("is not UTF-8 text: expected YAML with settings")
  if (text.success.includes("\0")) return yield* fail("contains a NUL character: expected YAML with settings")
  return text.success
})

/** Reads the content of `file`, which `flag` named, with the means to locate values. */
export const read = Effect.fn("YamlFile.read")(function* (file: string, flag: string = "--config") {
  const fail = (problem: string) => new UsageError({ message: `${flag} ${file}: ${problem}` })
  const text = yield* textOf(file, fail)
  const { LineCounter, parseDocument } = yield* Effect.promise(() => import("yaml"))
  const lines = new LineCounter()
  const document = yield* Effect.try({
    try: () => parseDocument(text, { lineCounter: lines, prettyErrors: false }),
    catch: (cause) => fail(inPlainWords(String(cause)))
  })
  const [mistake] = document.errors
  if (mistake !== undefined) {
    const { col, line } = lines.linePos(mistake.pos[0])
    return yield* new UsageError({ message: `${file}:${line}:${col}: ${inPlainWords(mistake.message)}` })
  }
  const content = yield* Effect.try({
    try: (): unknown => document.toJS(),
    catch: (cause) => fail(inPlainWords(cause instanceof Error ? cause.message : String(cause)))
  })
  const flaw = flawOf(content)
  if (flaw !== undefined) return yield* fail(flaw)
  return { content, document, lines } satisfies YamlFile
})

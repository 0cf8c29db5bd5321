/**
 * Keeps control sequences in untrusted text (servers, model folders, tools, file names, variables) away from the
 * terminal: they could set the title, clear the screen, overwrite lines or inject input.
 *
 * Escaped as in JSON (`\u001b[2J`, so that a line of JSON keeps its meaning) are all control characters except line
 * feed and tab, including 8-bit ones, and the marks that change text direction.
 */
import { Console } from "node:console"
import { stripVTControlCharacters } from "node:util"
import { StringDecoder } from "node:string_decoder"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Terminal from "effect/Terminal"

/** C0 without tab and line feed, DEL and C1; bidirectional embeddings, overrides and isolates. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const commands = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g
/** Matches the same, but captures colour and weight sequences (SGR), which are kept. */
// oxlint-disable-next-line no-control-regex -- as above
const commandsBesideColours = /(\u001b\[[0-9;]*m)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

const escapeCommand = (command: string): string => `\\u${command.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Escapes all control sequences; CRLF becomes LF. */
export const escape = (text: string): string => text.replaceAll("\r\n", "\n").replaceAll(commands, escapeCommand)

/** Text with our own colours; other control sequences in it are escaped too. */
export class Coloured {
  readonly text: string
  constructor(text: string) {
    this.text = text
      .replaceAll("\r\n", "\n")
      .replaceAll(commandsBesideColours, (found, colour) => colour ?? escapeCommand(found))
  }
}

/** The foot of a terminal: lines that stay below everything printed above them. */
export interface Footer {
  /** True if a person may be watching, including at a terminal that cannot redraw (`TERM=dumb`). */
  readonly isWatched: boolean
  /** Width of the terminal; undefined without one. */
  readonly columns: (() => number) | undefined
  readonly show: (lines: ReadonlyArray<string>) => void
  /** Replaces the shown lines and leaves them there. */
  readonly leave: (lines: ReadonlyArray<string>) => void
  readonly above: (stream: NodeJS.WriteStream, chunk: Uint8Array | string, write: () => boolean) => boolean
}

const noFooter = (isWatched: boolean): Footer => ({
  isWatched,
  columns: undefined,
  show: () => undefined,
  leave: () => undefined,
  above: (_stream, _chunk, write) => write()
})

/** True if the terminal supports neither colours nor cursor movement. */
const isDumb = (): boolean => process.env["TERM"] === "dumb"

/** True if our own output may be coloured (https://no-color.org). */
export const hasColours = (): boolean => !process.env["NO_COLOR"] && !isDumb()

/** Terminals that know it show what is between only when it is complete; others ignore it. */
const together = (text: string): string => (text === "" ? "" : `\u001b[?2026h${text}\u001b[?2026l`)

/** The foot of the terminal on standard error, if that is a terminal with cursor movement. */
export const footerOn = (stderr: NodeJS.WriteStream): Footer => {
  if (!stderr.isTTY) return noFooter(false)
  if (isDumb()) return noFooter(true)
  const write = stderr.write.bind(stderr)
  const width = (): number => Math.max(1, stderr.columns || 80)
  let lines: ReadonlyArray<string> = []
  let shown: ReadonlyArray<string> = []
  // The output above ended with a newline.
  let isFree = true
  const erased = (): string => {
    if (shown.length === 0) return ""
    // A terminal that became narrower has wrapped them.
    const rows = shown.reduce((sum, line) => {
      return sum + Math.max(1, Math.ceil(stripVTControlCharacters(line).length / width()))
    }, 0)
    shown = []
    return `\r\u001b[${rows}A\u001b[J`
  }
  const drawn = (): string => {
    if (!isFree) return ""
    // What does not fit could not be erased.
    shown = lines.slice(0, Math.max(0, (stderr.rows || 24) - 1))
    return shown.length === 0 ? "" : `${shown.join("\n")}\n`
  }
  const put = (text: string): void => {
    if (text !== "") write(text)
  }
  const show = (next: ReadonlyArray<string>): void => {
    const before = erased()
    lines = next
    put(together(before + drawn()))
  }
  return {
    isWatched: true,
    columns: width,
    show,
    leave: (last) => {
      show(last)
      lines = []
      shown = []
    },
    above: (stream, chunk, writeAbove) => {
      if (lines.length === 0 || !stream.isTTY) return writeAbove()
      put(erased())
      const isAccepted = writeAbove()
      if (chunk.length > 0) isFree = typeof chunk === "string" ? chunk.endsWith("\n") : chunk.at(-1) === 0x0a
      put(drawn())
      return isAccepted
    }
  }
}

export const Footer = Context.Reference<Footer>("@atropos/cli/Terminal/Footer", { defaultValue: () => noFooter(false) })

/**
 * Escapes everything written to the stream from here on, by any writer. Returns the unguarded stream for output known
 * to be clean. Both write above the lines of the footer.
 */
export const guard = (stream: NodeJS.WriteStream, footer: Footer = noFooter(false)): NodeJS.WriteStream => {
  const own = stream.write.bind(stream)
  const write: typeof own = (chunk: Uint8Array | string, ...more: ReadonlyArray<never>): boolean =>
    footer.above(stream, chunk, () => own(chunk, ...more))
  const decoder = new StringDecoder("utf8")
  stream.write = (chunk: Uint8Array | string, ...more: ReadonlyArray<never>): boolean =>
    write(escape(typeof chunk === "string" ? chunk : decoder.write(chunk)), ...more)
  return Object.create(stream, { write: { value: write } })
}

/** A console on two unguarded streams. */
export const consoleOn = (stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream): Console =>
  new Console({ stdout, stderr })

/** A terminal that draws our own prompts on an unguarded stream. */
export const drawingOn = (terminal: Terminal.Terminal, stdout: NodeJS.WriteStream): Terminal.Terminal => ({
  ...terminal,
  display: (text) =>
    Effect.callback((resume) => {
      stdout.write(text, () => resume(Effect.void))
    })
})

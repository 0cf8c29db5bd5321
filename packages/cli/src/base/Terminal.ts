/**
 * What may reach a terminal: text, and no commands to it.
 *
 * Whatever a server, a model's folder, a tool, a file's name or a variable says can hold control sequences: they set a
 * window's title, clear the screen, write over what stands there, or answer in the user's name. They are shown as what
 * they are: `\u001b[2J`. Escaped are all control characters but line feed and tab, those of eight bits among them, and
 * the marks that turn a line's direction round. The form is that of JSON, so that a line of JSON with an escape in it
 * means what it meant.
 */
import { Console } from "node:console"
import { stripVTControlCharacters } from "node:util"
import { StringDecoder } from "node:string_decoder"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Terminal from "effect/Terminal"

/** C0 without tab and line feed, DEL and C1; embeddings, overrides and isolates of direction. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const commands = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g
/** A command, or a sequence that sets colour and weight (SGR), which stays. */
// oxlint-disable-next-line no-control-regex -- as above
const commandsBesideColours = /(\u001b\[[0-9;]*m)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

const spelled = (command: string): string => `\\u${command.charCodeAt(0).toString(16).padStart(4, "0")}`

/** The text without a command in it; a line's end of two characters is one. */
export const escape = (text: string): string => text.replaceAll("\r\n", "\n").replaceAll(commands, spelled)

/** Text whose colours are our own; anything else that is a command is escaped in it too. */
export class Coloured {
  readonly text: string
  constructor(text: string) {
    this.text = text
      .replaceAll("\r\n", "\n")
      .replaceAll(commandsBesideColours, (found, colour) => colour ?? spelled(found))
  }
}

/** The foot of a terminal: lines that stay below what is printed above them. */
export interface Place {
  /** Whether a person may be looking: also at a terminal on which nothing can be drawn (`TERM=dumb`). */
  readonly isWatched: boolean
  /** Width of the terminal; undefined where there is none. */
  readonly columns: (() => number) | undefined
  /** Puts these lines there, in place of those that are. */
  readonly show: (lines: ReadonlyArray<string>) => void
  /** Puts these lines there for good. */
  readonly leave: (lines: ReadonlyArray<string>) => void
  /** Writes around the lines. */
  readonly above: (stream: NodeJS.WriteStream, chunk: Uint8Array | string, write: () => boolean) => boolean
}

const nowhere = (isWatched: boolean): Place => ({
  isWatched,
  columns: undefined,
  show: () => undefined,
  leave: () => undefined,
  above: (_stream, _chunk, write) => write()
})

/** Whether the terminal says that it does nothing but print: no colours, no going back. */
const isDumb = (): boolean => process.env["TERM"] === "dumb"

/** Whether our own words may have colours on a terminal (https://no-color.org). */
export const hasColours = (): boolean => !process.env["NO_COLOR"] && !isDumb()

/** The foot of the terminal that standard error is, where it is one that can go back to a line. */
export const placeOn = (stderr: NodeJS.WriteStream): Place => {
  if (!stderr.isTTY) return nowhere(false)
  if (isDumb()) return nowhere(true)
  const write = stderr.write.bind(stderr)
  const width = (): number => Math.max(1, stderr.columns || 80)
  let lines: ReadonlyArray<string> = []
  let isDrawn = false
  // What was written above has ended its line.
  let isFree = true
  const erase = (): void => {
    if (!isDrawn) return
    isDrawn = false
    // A terminal that became narrower has wrapped them.
    const rows = lines.reduce((sum, line) => {
      return sum + Math.max(1, Math.ceil(stripVTControlCharacters(line).length / width()))
    }, 0)
    write(`\r\u001b[${rows}A\u001b[J`)
  }
  const draw = (): void => {
    if (!isFree || lines.length === 0 || lines.length >= (stderr.rows || 24)) return
    isDrawn = true
    write(`${lines.join("\n")}\n`)
  }
  const show = (next: ReadonlyArray<string>): void => {
    erase()
    lines = next
    draw()
  }
  return {
    isWatched: true,
    columns: width,
    show,
    leave: (last) => {
      show(last)
      lines = []
      isDrawn = false
    },
    above: (stream, chunk, writeAbove) => {
      if (lines.length === 0 || !stream.isTTY) return writeAbove()
      erase()
      const isAccepted = writeAbove()
      if (chunk.length > 0) isFree = typeof chunk === "string" ? chunk.endsWith("\n") : chunk.at(-1) === 0x0a
      draw()
      return isAccepted
    }
  }
}

/** Where a live board goes. */
export const Place = Context.Reference<Place>("@atropos/cli/Terminal/Place", { defaultValue: () => nowhere(false) })

/**
 * From here on a stream escapes what is written to it, by whomever; the result is the stream as it was, for what is
 * known to be clean. Both write above the lines of the place.
 */
export const guard = (stream: NodeJS.WriteStream, place: Place = nowhere(false)): NodeJS.WriteStream => {
  const own = stream.write.bind(stream)
  const write: typeof own = (chunk: Uint8Array | string, ...more: ReadonlyArray<never>): boolean =>
    place.above(stream, chunk, () => own(chunk, ...more))
  const decoder = new StringDecoder("utf8")
  stream.write = (chunk: Uint8Array | string, ...more: ReadonlyArray<never>): boolean =>
    write(escape(typeof chunk === "string" ? chunk : decoder.write(chunk)), ...more)
  return Object.create(stream, { write: { value: write } })
}

/** A console on two streams that were taken out of their guard. */
export const consoleOn = (stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream): Console =>
  new Console({ stdout, stderr })

/** A terminal whose questions, which are ours, are drawn on a stream that was taken out of its guard. */
export const drawingOn = (terminal: Terminal.Terminal, stdout: NodeJS.WriteStream): Terminal.Terminal => ({
  ...terminal,
  display: (text) =>
    Effect.callback((resume) => {
      stdout.write(text, () => resume(Effect.void))
    })
})

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

/**
 * From here on a stream escapes what is written to it, by whomever; the result is the stream as it was, for what is
 * known to be clean.
 */
export const guard = (stream: NodeJS.WriteStream): NodeJS.WriteStream => {
  const write = stream.write.bind(stream)
  const decoder = new StringDecoder("utf8")
  stream.write = (chunk: Uint8Array | string, ...more: ReadonlyArray<never>): boolean =>
    write(escape(typeof chunk === "string" ? chunk : decoder.write(chunk)), ...more)
  return Object.create(stream, { write: { value: write } })
}

/**
 * Standard error for what draws on it: a bar that goes back to the line's beginning. Whoever writes here escapes what
 * is not its own.
 */
export const Stderr = Context.Reference<NodeJS.WriteStream>("@atropos/cli/Terminal/Stderr", {
  defaultValue: () => process.stderr
})

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

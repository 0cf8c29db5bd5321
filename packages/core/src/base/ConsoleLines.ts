/**
 * Keeps the last lines that this process printed, for the page of the service that runs in it. The `atropos` command
 * adds all that it prints, without secrets; other programs add nothing.
 */
// Not of the whole library: the command loads this before it knows what it is asked for.
import * as Context from "effect/Context"

export interface ConsoleLine {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly text: string
}

export interface ConsoleLines {
  /** Adds each line of a text. */
  readonly add: (at: number, text: string) => void
  /** Oldest first. */
  readonly last: () => ReadonlyArray<ConsoleLine>
}

export const maxLines = 200
export const maxLineLength = 1_000

export const make = (): ConsoleLines => {
  let kept: ReadonlyArray<ConsoleLine> = []
  return {
    add: (at, text) => {
      const lines = text.split("\n").slice(-maxLines)
      const added = lines.map((line) => ({ at, text: line.slice(0, maxLineLength) }))
      kept = [...kept, ...added].slice(-maxLines)
    },
    last: () => kept
  }
}

/** One for the process, unless another is provided. */
export const ConsoleLines = Context.Reference<ConsoleLines>("@atropos/core/ConsoleLines", { defaultValue: make })

/**
 * Applies stop strings to streamed text: cuts it before the first stop string, independent of how the text is split.
 *
 * The stop string that is completed first wins; among those that end at the same character, the longest. Text that may
 * be the start of one is held back until that is decided.
 */

import * as StopString from "@atropos/core/inference/wire/StopString"

export interface Fed {
  /** Text that can be emitted now. */
  readonly text: string
  /** The stop string that ended the text; nothing follows it. */
  readonly stop?: string
}

export interface StopStrings {
  readonly feed: (piece: string) => Fed
  readonly rest: () => string
}

export interface Options {
  /** Emit the stop string too. Default: no. */
  readonly included?: boolean
}

/** Handles one text. Empty stop strings are ignored. */
export const make = (stops: ReadonlyArray<string>, { included = false }: Options = {}): StopStrings => {
  const watched = stops.filter((stop) => stop !== "")
  let held = ""
  const feed = (piece: string): Fed => {
    const text = held + piece
    const match = StopString.first(text, watched)
    if (match !== undefined) {
      held = ""
      return { text: text.slice(0, match.at + (included ? match.stop.length : 0)), stop: match.stop }
    }
    const kept = possibleBeginning(text, watched)
    held = text.slice(text.length - kept)
    return { text: text.slice(0, text.length - kept) }
  }
  const rest = (): string => {
    const left = held
    held = ""
    return left
  }
  return { feed, rest }
}

/** Length of the longest suffix of `text` that is a prefix of a stop string. */
const possibleBeginning = (text: string, stops: ReadonlyArray<string>): number => {
  let longest = 0
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(stop.slice(0, length))) {
        longest = length
        break
      }
    }
  }
  return longest
}

/**
 * Stop strings over a text that comes in pieces: it is cut before the first stop string, wherever the pieces end.
 *
 * Of several stop strings the one that is complete first counts, and of those that end at the same character the
 * longest. Text that might be the beginning of one is held back until it is known not to be. How the text is cut into
 * pieces changes nothing.
 */

import * as StopString from "@atropos/core/inference/backend/StopString"

export interface Fed {
  /** What can be shown now. */
  readonly text: string
  /** The stop string that ended the text; nothing comes after it. */
  readonly stop?: string
}

export interface StopStrings {
  readonly feed: (piece: string) => Fed
  /** What was held back, once no more text comes. */
  readonly rest: () => string
}

export interface Options {
  /** The stop string itself is shown too. Default: no. */
  readonly included?: boolean
}

/** Watches one text. Empty stop strings are ignored. */
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

/** Length of the longest end of `text` that a stop string begins with. */
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

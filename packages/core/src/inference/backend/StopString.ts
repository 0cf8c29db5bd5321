/** Where a text ends that may hold stop strings. */

export interface StopString {
  /** Where the stop string begins: what is said ends here. */
  readonly at: number
  /** Behind its last character. */
  readonly end: number
  readonly stop: string
}

/**
 * Of several stop strings the one that is complete first, and of those that end at the same character the longest.
 * Empty ones are ignored.
 */
export const first = (text: string, stops: ReadonlyArray<string>): StopString | undefined => {
  let best: StopString | undefined
  for (const stop of stops) {
    const at = stop === "" ? -1 : text.indexOf(stop)
    if (at === -1) continue
    const end = at + stop.length
    if (best === undefined || end < best.end || (end === best.end && at < best.at)) best = { at, end, stop }
  }
  return best
}

export interface StopString {
  /** Start of the stop string, which is the end of the visible text. */
  readonly at: number
  /** Index after its last character. */
  readonly end: number
  readonly stop: string
}

/**
 * The stop string that is completed first; the longest one if several end at the same character. Empty ones are
 * ignored.
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

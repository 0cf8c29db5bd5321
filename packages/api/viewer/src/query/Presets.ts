/** Defines frequently used filters. Pure. */
import * as Filter from "./Filter.ts"

export interface Preset {
  readonly name: string
  readonly help: string
  readonly sets: Partial<Filter.Filter>
}

/** Applying one resets the fields of the other presets, and keeps other filters. */
export const presets: ReadonlyArray<Preset> = [
  { name: "All wrong", help: "No rollout scored above 0", sets: { bestTo: 0 } },
  {
    name: "Newly solved",
    help: "First group of its item with a score above 0",
    sets: { isNewlySolved: true }
  },
  { name: "Longest correct", help: "Longest best rollout first", sets: { bestFrom: 1e-9, sort: "longest_best" } },
  {
    name: "Rewarded unlikely tokens",
    help: "Best rollouts, least likely under the policy first",
    sets: { bestFrom: 1e-9, sort: "surprise_best" }
  },
  { name: "Widest score range", help: "Widest range of scores first", sets: { sort: "disagreement" } }
]

const ofPresets: Partial<Filter.Filter> = {
  bestTo: null,
  bestFrom: null,
  isNewlySolved: false,
  sort: null,
  isAscending: false
}

export const isSet = (filter: Filter.Filter, preset: Preset): boolean => {
  const keys = Object.keys(ofPresets) as ReadonlyArray<keyof Filter.Filter>
  const presetFilter = { ...Filter.none, ...preset.sets }
  return keys.every((key) => filter[key] === presetFilter[key])
}

export const toggled = (filter: Filter.Filter, preset: Preset): Filter.Filter =>
  isSet(filter, preset) ? { ...filter, ...ofPresets } : { ...filter, ...ofPresets, ...preset.sets }

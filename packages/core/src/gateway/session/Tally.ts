/** Counts occurrences by name; beyond a number of distinct names, the others are counted together. */

export interface Tally {
  readonly add: (name: string) => void
  readonly all: () => { readonly [name: string]: number }
}

/** Names are partly chosen by callers, so they must be bounded. */
const maxNames = 256
const others = "others"

export const make = (): Tally => {
  const counts = new Map<string, number>()
  return {
    add: (input) => {
      const name = counts.has(input) || counts.size < maxNames ? input : others
      counts.set(name, (counts.get(name) ?? 0) + 1)
    },
    all: () => Object.fromEntries(counts)
  }
}

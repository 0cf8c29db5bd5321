/** How often each of some names came up; past so many different ones, the others count together. */

export interface Tally {
  readonly add: (name: string) => void
  readonly all: () => { readonly [name: string]: number }
}

/** Names are partly a caller's own, who could think of new ones for ever. */
const mostNames = 256
const others = "others"

export const make = (): Tally => {
  const counts = new Map<string, number>()
  return {
    add: (given) => {
      const name = counts.has(given) || counts.size < mostNames ? given : others
      counts.set(name, (counts.get(name) ?? 0) + 1)
    },
    all: () => Object.fromEntries(counts)
  }
}

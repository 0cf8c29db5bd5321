/** Lists the events, people and things of arithmetic stories. */
import type { SeededRandom } from "@atropos/core"

/** A step's sentence, and the total after it. */
interface Step {
  readonly sentence: string
  readonly total: number
}
type StepMaker = ((
  random: SeededRandom.SeededRandom,
  total: number,
  name: string,
  thing: string,
  largest: number
) => Step) & {
  readonly takesAway?: boolean
}

const takingAway = (make: StepMaker): StepMaker => Object.assign(make, { takesAway: true })

export const steps: ReadonlyArray<StepMaker> = [
  (random, total, name, thing, largest) => {
    const more = random.between(1, largest)
    return { sentence: `${name} finds ${more} more ${thing}.`, total: total + more }
  },
  (random, total, name, thing, largest) => {
    const bags = random.between(2, 5)
    const each = random.between(1, largest)
    return { sentence: `${name} buys ${bags} bags with ${each} ${thing} in each.`, total: total + bags * each }
  },
  takingAway((random, total, name, thing) => {
    const fewer = random.between(1, total)
    return { sentence: `${name} gives away ${fewer} ${thing}.`, total: total - fewer }
  }),
  (_random, total, name, thing) => ({
    sentence: `A friend then gives ${name} as many ${thing} as ${name} has.`,
    total: total * 2
  })
]

export const names = ["Mia", "Noah", "Ava", "Liam", "Zoe", "Omar", "Ines", "Kai", "Lena", "Ravi"]
export const things = ["apples", "marbles", "stickers", "coins", "shells", "pencils", "cards", "beads"]

/** Generates problems, all kinds equally often. */
import * as Algebra from "./Algebra.ts"
import * as Calculus from "./Calculus.ts"
import * as Numbers from "./Numbers.ts"
import type { Draw, Problem, Random } from "./Problem.ts"

/** Sorted by name: module loaders may list exports in different orders, which would change the items. */
const kindsOf = (area: { readonly [kind: string]: Draw }): ReadonlyArray<Draw> =>
  Object.keys(area)
    .toSorted()
    .map((kind) => area[kind]!)

export const areas = {
  algebra: kindsOf(Algebra),
  numbers: kindsOf(Numbers),
  calculus: kindsOf(Calculus)
} as const satisfies { readonly [area: string]: ReadonlyArray<Draw> }

export const areaNames = ["algebra", "numbers", "calculus"] as const satisfies ReadonlyArray<keyof typeof areas>
export type Area = (typeof areaNames)[number]

export const draw = (selected: ReadonlyArray<Area>) => {
  const kinds: ReadonlyArray<Draw> = selected.flatMap((area) => areas[area])
  return (random: Random): Problem => random.pick(kinds)(random)
}

/** Where curves have values that are no numbers, in words. Pure. */

export interface Gap {
  readonly x: number
  readonly step: number
  readonly value: number
}

interface Gapped {
  readonly entry: { readonly label: string }
  readonly gaps: ReadonlyArray<Gap>
}

/** Steps that are named; of more, only the number is given. */
const namedSteps = 3

/** Where the curves have no number, in a sentence; empty where they all have. */
export const gapsTold = (curves: ReadonlyArray<Gapped>): string =>
  curves
    .flatMap(({ entry: { label }, gaps }) => {
      const last = gaps.at(-1)
      if (last === undefined) return []
      const kinds = [...new Set(gaps.map(({ value }) => (Number.isNaN(value) ? "NaN" : "infinite")))].join(" or ")
      const steps = gaps.map(({ step }) => step)
      const more = steps.length - namedSteps
      const where =
        more > 1
          ? `${steps.length} steps: ${steps.slice(0, namedSteps).join(", ")}, … ${last.step}`
          : `${steps.length === 1 ? "step" : "steps"} ${steps.join(", ")}`
      return [`${label} is ${kinds} at ${where}`]
    })
    .join("; ")

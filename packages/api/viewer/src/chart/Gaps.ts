/** Describes the non-finite values of curves. Pure. */

export interface Gap {
  readonly x: number
  readonly step: number
  readonly value: number
}

interface Gapped {
  readonly entry: { readonly label: string }
  readonly gaps: ReadonlyArray<Gap>
}

/** Max steps listed; above it only their number is given. */
const namedSteps = 3

/** One sentence per affected curve; empty if all values are finite. */
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

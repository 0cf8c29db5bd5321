/** Parses several sources with weights from a setting: `leg_counting:2, chain_sum`. */
import type { SeededRandom } from "@atropos/core"
import { Effect } from "effect"
import { PythonError } from "./PythonError.ts"

export interface Part {
  readonly name: string
  /** Above 0. */
  readonly weight: number
}

const wrong = (message: string) => new PythonError({ reason: "raised", message, trace: [] })

export const read = (setting: string): Effect.Effect<ReadonlyArray<Part>, PythonError> =>
  Effect.forEach(
    setting.split(",").map((one) => one.trim()),
    (one) => {
      const [name = "", weight = "1", ...more] = one.split(":").map((part) => part.trim())
      const number = Number(weight)
      if (name === "" || more.length > 0) return Effect.fail(wrong(`"${one}" is no name with a weight (name:2)`))
      return Number.isFinite(number) && number > 0
        ? Effect.succeed({ name, weight: number })
        : Effect.fail(wrong(`the weight of ${name} is "${weight}": it must be a number above 0`))
    }
  ).pipe(
    Effect.filterOrFail(
      (parts) => new Set(parts.map(({ name }) => name)).size === parts.length,
      () => wrong(`"${setting}" names something twice`)
    )
  )

/** Draws the index of a part in proportion to its weight. */
export const drawing = (parts: ReadonlyArray<Part>) => {
  const total = parts.reduce((sum, { weight }) => sum + weight, 0)
  return (random: SeededRandom.SeededRandom): number => {
    let left = (random.between(0, 2 ** 30 - 1) / 2 ** 30) * total
    const at = parts.findIndex(({ weight }) => (left -= weight) < 0)
    return at === -1 ? parts.length - 1 : at
  }
}

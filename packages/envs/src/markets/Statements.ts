/**
 * Generates short reports on fictional companies that imply direction and size of a metric's next change. Pure: seeded.
 *
 * A report contains drivers (orders, prices, a plant that opens, a strike, …), each with its effect in percent, and
 * irrelevant remarks. The metric changes by the sum of the effects; within half a percent it is maintained.
 */
import type { SeededRandom } from "@atropos/core"

export const directions = ["maintained", "raised", "reduced"] as const
export type Direction = (typeof directions)[number]

export interface Report {
  readonly metric: string
  readonly context: string
  readonly direction: Direction
  /** Size of the change, percent, without a sign. */
  readonly magnitude: number
}

const companies = [
  "Aldermoor",
  "Brightwell",
  "Corvane",
  "Dunmore",
  "Eastholm",
  "Farrow & Lane",
  "Greycliff",
  "Hartvale"
] as const
const trades = [
  "makes pumps",
  "runs ferries",
  "bakes bread",
  "sells furniture",
  "prints packaging",
  "builds bicycles"
] as const
const metrics = [
  "revenue guidance",
  "earnings guidance",
  "dividend",
  "production target",
  "capital expenditure"
] as const

const drivers: ReadonlyArray<(metric: string, change: string) => string> = [
  (metric, change) => `Orders of the past quarter alone move the ${metric} by ${change}.`,
  (metric, change) => `Management expects its new prices to change the ${metric} by ${change}.`,
  (metric, change) => `The exchange rate accounts for ${change} of the ${metric}.`,
  (metric, change) => `A contract that was renegotiated adds ${change} to the ${metric}.`,
  (metric, change) => `Costs of energy will show as ${change} in the ${metric}.`,
  (metric, change) => `The second plant contributes ${change} to the ${metric}.`
]
const remarks = [
  "The board has a new chair.",
  "The annual meeting takes place in May.",
  "Interest rates were left as they are.",
  "A competitor moved its head office.",
  "The share was split two for one last year.",
  "Staff numbers are unchanged at 1,240."
] as const

const signed = (percent: number): string => `${percent < 0 ? "minus" : "plus"} ${Math.abs(percent)} percent`

export const directionOf = (change: number): Direction =>
  Math.abs(change) < 0.5 ? "maintained" : change > 0 ? "raised" : "reduced"

export const draw = (random: SeededRandom.SeededRandom): Report => {
  const metric = random.pick(metrics)
  const effects = Array.from({ length: random.between(1, 4) }, () => random.between(-12, 12))
  // A third of all metrics are maintained: the last driver cancels the others.
  const balanced = random.chance(1 / 3) ? [...effects, -effects.reduce((sum, effect) => sum + effect, 0)] : effects
  const reported = random.sample(drivers, balanced.length)
  const sentences = reported.map((report, index) => report(metric, signed(balanced[index]!)))
  const change = balanced.slice(0, reported.length).reduce((sum, effect) => sum + effect, 0)
  const noise = random.sample(remarks, random.between(0, 3))
  const context = `${random.pick(companies)} ${random.pick(trades)}. ${random.shuffle([...sentences, ...noise]).join(" ")}`
  return { metric, context, direction: directionOf(change), magnitude: Math.abs(change) }
}

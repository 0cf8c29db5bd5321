/** Formats the metrics of a suite for the terminal. */
import * as Table from "../base/Table.ts"
import type { Figure, Figures } from "./SuiteFigures.ts"

const digits = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(4))

const row = (name: string, { count, interval, value }: Figure): ReadonlyArray<string> => [
  name.replaceAll("_", " "),
  digits(value),
  interval === undefined ? "" : `${digits(interval[0])} to ${digits(interval[1])}`,
  String(count)
]

const headings = (name: string): ReadonlyArray<string> => [name, "value", "95% interval", "of"]

const max = 60

export const print = ({ categories, cut, derived, scores, unreadable }: Figures): string => {
  const byCategory = Object.entries(categories).map(([category, figure]) => row(category, figure))
  const rows = [...Object.entries(scores), ...Object.entries(derived)].map(([name, figure]) => row(name, figure))
  const notes = [
    ...(unreadable > 0 ? [`no answer could be read in ${(100 * unreadable).toFixed(1)}% of samples`] : []),
    ...(cut > 0 ? [`${(100 * cut).toFixed(1)}% of samples were truncated (--env.max_token_length)`] : [])
  ]
  return [
    Table.columns(headings("score"), rows),
    ...(byCategory.length > 1
      ? [
          "",
          Table.columns(headings("category"), byCategory.slice(0, max)),
          ...(byCategory.length > max ? [`… ${byCategory.length - max} more in metrics.json`] : [])
        ]
      : []),
    ...(notes.length > 0 ? ["", ...notes] : [])
  ].join("\n")
}

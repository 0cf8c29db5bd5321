/**
 * Splits a batch into requests within the server's limits, and joins their results.
 *
 * Chunks keep the order of the data; each holds as many as both limits allow, and at least one.
 */
import { byteLength, type Datum } from "../protocol/ForwardBackward.ts"
import type { Result } from "../protocol/ForwardBackwardResult.ts"

export interface Limits {
  readonly maxData: number
  readonly maxBytes: number
}

export const cut = (data: ReadonlyArray<Datum>, { maxBytes, maxData }: Limits): ReadonlyArray<ReadonlyArray<Datum>> => {
  const chunks: Array<Array<Datum>> = []
  let bytes = Infinity
  for (const datum of data) {
    const size = byteLength(datum)
    const last = chunks.at(-1)
    if (last === undefined || last.length >= maxData || bytes + size > maxBytes) {
      chunks.push([datum])
      bytes = size
    } else {
      last.push(datum)
      bytes += size
    }
  }
  return chunks
}

interface Part {
  readonly value: number
  readonly count: number
}

const total = (parts: ReadonlyArray<Part>): number => parts.reduce((sum, { value }) => sum + value, 0)

const mean = (parts: ReadonlyArray<Part>): number => {
  const count = parts.reduce((sum, part) => sum + part.count, 0)
  return parts.reduce((sum, part) => sum + (part.value * part.count) / count, 0)
}

const largest = (parts: ReadonlyArray<Part>): number => Math.max(...parts.map(({ value }) => value))

/** Reductions by suffix of a metric's name; the default is the mean. */
const reductions: Readonly<Record<string, (parts: ReadonlyArray<Part>) => number>> = {
  sum: total,
  mean,
  max: largest,
  min: (parts) => Math.min(...parts.map(({ value }) => value)),
  slack: (parts) => largest(parts) - mean(parts)
}

export const join = (results: ReadonlyArray<Result>): Result => {
  const [first] = results
  if (results.length === 1) return first!
  const metrics = new Map<string, number>()
  for (const name of first?.metrics.keys() ?? []) {
    const parts = results.flatMap(({ metrics, outputs }) => {
      const value = metrics.get(name)
      return value === undefined ? [] : [{ value, count: outputs.length }]
    })
    const reduce = reductions[name.slice(name.lastIndexOf(":") + 1)] ?? mean
    if (parts.length === results.length) metrics.set(name, reduce(parts))
  }
  return { kind: first?.kind ?? "", outputs: results.flatMap(({ outputs }) => outputs), metrics }
}

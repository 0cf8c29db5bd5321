/**
 * Reads the items of a suite, from all its sources in order, with unique ids.
 *
 * An invalid first row is an error: the columns are probably different. Later ones are skipped, counted and reported.
 */
import { Columns, Dataset } from "@atropos/core"
import { Effect, Result, Stream } from "effect"
import * as Item from "./Item.ts"
import type { Row } from "./Cell.ts"
import * as RowOf from "./Row.ts"
import type { Suite } from "./Spec.ts"

interface Chosen {
  readonly data: string | null
  readonly systemPrompt: string | null
  readonly shots: number
}

const rowsOf = (source: string) =>
  Effect.flatMap(Dataset.Dataset, (dataset) =>
    Stream.runCollect(dataset.stream(source, Columns.Row, { asWritten: true }))
  )

/** Examples for a row: the first ones with the same value in the column `same`. */
const examples = Effect.fn("Items.examples")(function* (suite: Suite, count: number) {
  const { shots: spec } = suite
  if (spec === undefined || count === 0) return () => []
  if (spec.data === undefined) {
    return yield* new Dataset.DatasetError({ source: suite.name, message: "shots need rows: shots.data is not given" })
  }
  const { data, same } = spec
  const rows = yield* rowsOf(data)
  const kindOf = (row: Row): string => (same === undefined ? "" : String(Columns.at(row, same)))
  const byKind = new Map<string, Array<Item.Shot>>()
  for (const [place, row] of rows.entries()) {
    const kind = kindOf(row)
    const known = byKind.get(kind) ?? []
    if (known.length >= count) continue
    const shot = Item.shotOf(row, suite, spec)
    if (Result.isFailure(shot)) {
      return yield* new Dataset.DatasetError({
        source: data,
        row: place + 1,
        message: `${data}, row ${place + 1}: ${shot.failure}`
      })
    }
    byKind.set(kind, [...known, shot.success])
  }
  return (row: Row) => byKind.get(kindOf(row)) ?? []
})

export const read = Effect.fn("Items.read")(function* (suite: Suite, selected: Chosen) {
  const sources =
    selected.data !== null
      ? [{ source: selected.data, category: undefined }]
      : typeof suite.data === "string"
        ? [{ source: suite.data, category: undefined }]
        : (suite.data ?? []).map(({ category, source }) => ({ source, category }))
  if (sources.length === 0) {
    return yield* new Dataset.DatasetError({
      source: suite.name,
      message: `${suite.name} needs rows, --data FILE: ${suite.layout}`
    })
  }
  const shots = yield* examples(suite, selected.shots)
  const items: Array<Item.Item> = []
  const taken = new Map<string, number>()
  const leftOut: Array<string> = []
  for (const { category, source } of sources) {
    const rows = yield* rowsOf(source)
    const counted = rows.filter((row) => RowOf.counts(row, suite.where))
    if (counted.length === 0) {
      const why =
        rows.length === 0
          ? "has no rows"
          : `has ${rows.length} rows, none of which is one that counts (where of the suite)`
      return yield* new Dataset.DatasetError({ source, message: `${source} ${why}` })
    }
    for (const [place, row] of counted.entries()) {
      const made = Item.ofRow(row, { suite, category, shots, systemPrompt: selected.systemPrompt })
      if (Result.isFailure(made)) {
        const message = `${source}, row ${place + 1}: ${made.failure}`
        if (place === 0) return yield* new Dataset.DatasetError({ source, row: 1, message })
        leftOut.push(message)
        continue
      }
      for (const item of made.success) {
        const before = taken.get(item.id) ?? 0
        taken.set(item.id, before + 1)
        items.push(before === 0 ? item : { ...item, id: `${item.id}-${before + 1}`, row: `${item.row}-${before + 1}` })
      }
    }
  }
  if (leftOut.length > 0)
    yield* Effect.logWarning("rows skipped", { suite: suite.name, rows: leftOut.length, first: leftOut[0] })
  return items
})

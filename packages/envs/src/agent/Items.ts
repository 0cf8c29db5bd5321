/**
 * Reads an agent's items: rows of a file or of a data set on the hub, an array, or a generator.
 *
 * Rows and arrays are shuffled by the seed, endlessly, in a new order every epoch; a tenth of ten or more is held out
 * for evaluation unless held-out items are given. A stream started at a cursor continues exactly where another stopped.
 * Other iterables keep their order and end when they end; to resume, one is run again and the items taken before are
 * skipped, so it must yield the same items every time. A path is resolved relative to the agent's file, then to the
 * working directory; a path from the settings only to the working directory.
 */
import { Dataset, type Environment } from "@atropos/core"
import { DefinitionFault } from "@atropos/core/definition/EnvironmentError"
import * as LocalPath from "@atropos/core/base/system/LocalPath"
import { Effect, Option, Path, Predicate, Schema, Stream } from "effect"
import { fileURLToPath } from "node:url"
import { answerFields } from "./AgentSample.ts"
import * as Foreign from "./Foreign.ts"

export type Made<Item> = Iterable<Item> | AsyncIterable<Item>

/** A path, a data set of the hub, an array, any other iterable, or a function that returns one. */
export type Items<Item, Settings> =
  | string
  | URL
  | ReadonlyArray<Item>
  | Made<Item>
  | ((input: { readonly settings: Settings }) => Foreign.Awaitable<Made<Item>>)

/** The type of an item; rows are untyped. */
export type ItemOf<I> = I extends string | URL
  ? // oxlint-disable-next-line typescript/no-explicit-any -- a row's columns are its author's knowledge alone
    any
  : I extends (...input: infer _) => infer R
    ? Element<Awaited<R>>
    : Element<I>

type Element<M> = M extends Iterable<infer A> | AsyncIterable<infer A> ? A : never

export interface Source {
  readonly items: Environment.ItemStream<unknown, unknown, never>
  readonly heldOut: Stream.Stream<unknown, unknown>
}

export interface Options {
  readonly items: unknown
  /** Items for evaluation; undefined: a tenth of the rows. */
  readonly heldOut: unknown
  /** Settings that replace the above; null: no replacement. */
  readonly instead: { readonly items: string | null; readonly heldOut: string | null }
  readonly settings: { readonly seed: number }
  readonly evaluationItems: number
  readonly folder: string | undefined
}

const minToSplit = 10

const wrong = (part: string, what: string) => new DefinitionFault({ part, message: `${part} ${what}` })

/** The source of an agent. Reads rows immediately, so that errors in them are reported at the start. */
export const source = Effect.fn("Items.source")(function* (options: Options) {
  const { evaluationItems, folder, instead, settings } = options
  const training = yield* read(
    "items",
    instead.items ?? options.items,
    instead.items === null ? folder : undefined,
    settings
  )
  const other = instead.heldOut ?? options.heldOut
  const testing =
    other === undefined
      ? undefined
      : yield* read("heldOut", other, instead.heldOut === null ? folder : undefined, settings)
  const limited = <E>(stream: Stream.Stream<unknown, E>) => Stream.take(stream, evaluationItems)
  if (training._tag === "Stream") {
    const heldOut = testing === undefined ? Stream.empty : streamOf(testing).pipe(limited)
    return {
      items: (cursor) => Stream.drop(training.stream, cursor),
      heldOut,
      hasHeldOut: testing !== undefined
    } satisfies Source & { readonly hasHeldOut: boolean }
  }
  const { rows } = training
  const split =
    testing !== undefined || rows.length < minToSplit
      ? { train: rows, test: [] }
      : Dataset.split(rows, { seed: settings.seed, testFraction: 0.1 })
  return {
    items: Dataset.shuffle(split.train, settings),
    heldOut: (testing === undefined ? Stream.fromArray(split.test) : streamOf(testing)).pipe(limited),
    hasHeldOut: testing !== undefined || split.test.length > 0
  } satisfies Source & { readonly hasHeldOut: boolean }
})

type Read =
  | { readonly _tag: "Rows"; readonly rows: ReadonlyArray<unknown> }
  | { readonly _tag: "Stream"; readonly stream: Stream.Stream<unknown, DefinitionFault> }

const streamOf = (read: Read): Stream.Stream<unknown, DefinitionFault> =>
  read._tag === "Rows" ? Stream.fromArray(read.rows) : read.stream

const read = Effect.fnUntraced(function* (
  part: string,
  input: unknown,
  folder: string | undefined,
  settings: Options["settings"]
) {
  if (typeof input === "string" || input instanceof URL) {
    const dataset = yield* Dataset.Dataset
    const rows = yield* dataset.rows(yield* located(input, folder), Schema.Unknown)
    if (rows.length === 0) return yield* wrong(part, `${String(input)} has no rows`)
    const { empty, incomplete } = emptyColumns(rows)
    if (empty.length > 0) {
      yield* Effect.logWarning("columns are empty in every row", { rows: String(input), columns: empty.join(", ") })
    }
    if (incomplete.length > 0) {
      yield* Effect.logWarning("rows without an expected answer: a score that looks for it may accept any answer", {
        rows: String(input),
        empty: incomplete.join(", ")
      })
    }
    return { _tag: "Rows", rows } satisfies Read
  }
  if (Array.isArray(input)) {
    if (input.length === 0) return yield* wrong(part, "is an empty array: nothing to roll out")
    return { _tag: "Rows", rows: input } satisfies Read
  }
  if (Predicate.isFunction(input)) {
    return {
      _tag: "Stream",
      stream: Stream.unwrap(
        Foreign.call(() => input({ settings })).pipe(
          Effect.mapError(Foreign.fault(part)),
          Effect.map((made) => iterated(part, made))
        )
      )
    } satisfies Read
  }
  if (isIterator(input)) {
    return yield* wrong(
      part,
      "is a started generator, which can be read only once: pass the generator function without calling it"
    )
  }
  if (isIterable(input)) return { _tag: "Stream", stream: iterated(part, input) } satisfies Read
  return yield* wrong(
    part,
    "must be a path, a data set on the hub, an array, an iterable or a function that returns one (for example, a generator function)"
  )
})

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === "string" && value.trim() === "")

/** The columns without a value in any row, and those of expected answers without one in some. */
const emptyColumns = (rows: ReadonlyArray<unknown>) => {
  const columns = new Map<string, { filled: number; first: number | undefined }>()
  for (const [index, row] of rows.entries()) {
    if (!Predicate.isReadonlyObject(row)) continue
    for (const [name, value] of Object.entries(row)) {
      const column = columns.get(name) ?? { filled: 0, first: undefined }
      if (isEmpty(value)) column.first ??= index
      else column.filled++
      columns.set(name, column)
    }
  }
  return {
    empty: [...columns].filter(([, { filled }]) => filled === 0).map(([name]) => name),
    incomplete: [...columns].flatMap(([name, { filled, first }]) =>
      filled === 0 || first === undefined || !answerFields.includes(name)
        ? []
        : [`${name} in ${rows.length - filled} of ${rows.length} rows, first in row ${first + 1}`]
    )
  }
}

const isIterable = (value: unknown): value is Made<unknown> =>
  Predicate.hasProperty(value, Symbol.iterator) || Predicate.hasProperty(value, Symbol.asyncIterator)

const isIterator = (value: unknown): boolean =>
  Predicate.hasProperty(value, "next") && Predicate.isFunction(value.next) && isIterable(value)

const iterated = (part: string, made: unknown): Stream.Stream<unknown, DefinitionFault> => {
  const failed = (cause: unknown) => Foreign.fault(part)(new Foreign.Thrown(cause))
  if (Predicate.hasProperty(made, Symbol.asyncIterator)) {
    // It has the method; the type of its items is unknown.
    return Stream.fromAsyncIterable(made as AsyncIterable<unknown>, failed)
  }
  if (Array.isArray(made)) return Stream.fromArray<unknown>(made)
  if (Predicate.hasProperty(made, Symbol.iterator)) {
    // One by one: a generator may have no end.
    return Stream.fromAsyncIterable(oneByOne(made as Iterable<unknown>), failed)
  }
  return Stream.fail(wrong(part, "returned nothing iterable: expected an array, a generator or another iterable"))
}

async function* oneByOne(made: Iterable<unknown>) {
  yield* made
}

/** Resolves a path for the data set service; a possible hub id is unchanged. */
const located = Effect.fnUntraced(function* (input: string | URL, folder: string | undefined) {
  if (input instanceof URL) return fileURLToPath(input)
  const local = LocalPath.of(input)
  if (Option.isNone(local)) return input
  const path = yield* Path.Path
  const places = [
    ...new Set([...(folder === undefined ? [] : [path.resolve(folder, local.value)]), path.resolve(local.value)])
  ]
  for (const place of places) if (yield* Dataset.exists(place)) return place
  return yield* new Dataset.DatasetError({
    source: input,
    message: `${input}: file not found (tried ${places.join(" and ")})`
  })
})

/** Draws the format and question of an item, by seed and index, among the open formats. */
import { hint } from "@atropos/core/base/Nearest"
import { SeededRandom } from "@atropos/core"
import * as ItemSource from "../kit/ItemSource.ts"
import { Stream } from "effect"
import { formats as known } from "./Formats.ts"
import * as Questions from "./Questions.ts"
import type { Domain, Format, Rule, Section } from "./Rule.ts"

/**
 * Composes random formats: three to five parts in XML, JSON, YAML or TOML. The original defined but disabled them, as
 * its patterns could not parse them.
 */
const parts = [
  "restatement",
  "context",
  "requirements",
  "assumptions",
  "insights",
  "considerations",
  "plan",
  "approach",
  "strategy",
  "steps",
  "verification",
  "reflection",
  "limits",
  "sources"
] as const

type Keys = readonly [first: string, ...others: ReadonlyArray<string>]

const linesOf = ([first, ...others]: Keys, separator: string, value: "yaml" | "quoted"): Rule => {
  const line = (key: string) => ({ key, separator, value })
  return { kind: "lines", lines: [line(first), ...others.map(line), line("answer")] }
}

const section = (key: string): Section => ({ tag: key.toUpperCase(), for: `the ${key}` })

const written: { readonly [name: string]: (keys: Keys) => Rule } = {
  "composed-xml": ([first, ...others]) => ({
    kind: "sections",
    sections: [section(first), ...others.map(section), { tag: "ANSWER", isAnswer: true }]
  }),
  "composed-json": ([first, ...others]) => ({ kind: "json", shape: "object", keys: [first, ...others, "answer"] }),
  "composed-yaml": (keys) => linesOf(keys, ": ", "yaml"),
  "composed-toml": (keys) => linesOf(keys, " = ", "quoted")
}

export const composedNames: ReadonlyArray<string> = Object.keys(written)

export const drawComposed = (name: string, random: SeededRandom.SeededRandom): Format => {
  const [first, ...others] = random.sample(parts, random.between(2, 4))
  return { name, rule: written[name]!([first!, ...others]) }
}

export interface Item {
  readonly question: string
  /** Absent if the row has none. */
  readonly gold?: string
  readonly format: Format
}

/** A row: a question with or without its answer. */
export type Asked = Pick<Item, "question" | "gold">

const composed: ReadonlyArray<Format> = composedNames.map((name) => drawComposed(name, SeededRandom.seeded(0, 0)))

/** The formats selected by name, all if none is named; the user's own are always included. */
export const selected = (names: ReadonlyArray<string>, own: ReadonlyArray<Format>): ReadonlyArray<Format> => {
  const all = [...known, ...composed]
  const selected = new Set(names)
  return [...(names.length === 0 ? all : all.filter(({ name }) => selected.has(name))), ...own]
}

/** Describes an unknown format name; undefined if all are known. */
export const unknownAmong = (names: ReadonlyArray<string>): string | undefined => {
  const there = new Set([...known, ...composed].map(({ name }) => name))
  const missing = names.find((name) => !there.has(name))
  return missing === undefined ? undefined : `unknown form ${JSON.stringify(missing)}${hint(missing, there)}`
}

const isLetter = ({ rule }: Format): boolean => rule.kind === "between" && rule.inner === "letter"

/** The format of one item; composed ones are drawn again for each. */
const drawnAs = (format: Format, random: SeededRandom.SeededRandom): Format =>
  composedNames.includes(format.name) ? drawComposed(format.name, random) : format

const questionFor = (format: Format, random: SeededRandom.SeededRandom): Questions.Question => {
  if (isLetter(format)) return Questions.choice(random)
  const { domain = random.pick(["any", "math", "code"] as const) } = format
  return Questions.draw(domain, random)
}

const formSeed = 7_919

/** Generated item number `index` of a format, from the training or the held-out part. */
const generatedAt = (seed: number, index: number, format: Format, heldOut: boolean): Item =>
  ItemSource.drawAt(
    {
      seed,
      draw: (random): Item => ({ ...questionFor(format, random), format: drawnAs(format, random) }),
      key: ({ question }) => question
    },
    index,
    heldOut
  )

/** Generated item number `index`: one of the open formats, with a question of its domain. */
export const trainingAt = (seed: number, index: number, open: ReadonlyArray<Format>): Item =>
  generatedAt(seed, index, SeededRandom.seeded(seed + formSeed, index).pick(open), false)

/** Held-out items, cycling through all formats. */
export const heldOut = (seed: number, count: number, formats: ReadonlyArray<Format>): Stream.Stream<Item> =>
  Stream.range(0, count - 1).pipe(
    Stream.map((index) => generatedAt(seed, index, formats[index % formats.length]!, true))
  )

export const forRow = (row: Asked, domain: Domain, formats: ReadonlyArray<Format>): ReadonlyArray<Format> =>
  formats.filter(
    (format) =>
      ["any", domain].includes(format.domain ?? "any") &&
      (!isLetter(format) || (row.gold !== undefined && /^[A-D]$/.test(row.gold)))
  )

export const rowAt = (row: Asked, seed: number, index: number, formats: ReadonlyArray<Format>): Item => {
  const random = SeededRandom.seeded(seed + formSeed, index)
  return { ...row, format: drawnAs(random.pick(formats), random) }
}

/** Rows of a source, numbered from a cursor on. */
export const numbered = <E>(
  items: (cursor: number) => Stream.Stream<Asked, E>,
  cursor: number
): Stream.Stream<readonly [row: Asked, index: number], E> =>
  Stream.map(Stream.zipWithIndex(items(cursor)), ([row, at]) => [row, cursor + at] as const)

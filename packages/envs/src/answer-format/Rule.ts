/**
 * Defines an answer format as data: parsing, examples and sample answers all derive from one value. Data sets and
 * settings may add their own formats.
 */
import { Schema } from "effect"

/** One section of a format made of tags, with its content. */
export interface Section {
  readonly tag: string
  /** Its purpose in a few words; shown as its content in examples. */
  readonly for?: string
  readonly has?: ReadonlyArray<Section>
  /** True if it contains the answer. */
  readonly isAnswer?: boolean
  /** Its text must be `TRUE` or `FALSE`, an integer from 1 to 10, or begin with a word. Default: any text. */
  readonly kind?: "truth" | "grade"
  readonly begins?: string
}

const Section: Schema.Codec<Section> = Schema.Struct({
  tag: Schema.NonEmptyString.check(Schema.isPattern(/^[A-Za-z][\w-]*$/)),
  for: Schema.optionalKey(Schema.String),
  has: Schema.optionalKey(Schema.Array(Schema.suspend((): Schema.Codec<Section> => Section))),
  isAnswer: Schema.optionalKey(Schema.Boolean),
  kind: Schema.optionalKey(Schema.Literals(["truth", "grade"])),
  begins: Schema.optionalKey(Schema.NonEmptyString)
})

/** One line `key separator value` of a configuration, or the head of a section. */
const Line = Schema.Union([
  Schema.Struct({ head: Schema.NonEmptyString }),
  Schema.Struct({
    key: Schema.String,
    separator: Schema.NonEmptyString,
    /**
     * `plain`: the rest of the line; `yaml`: a YAML scalar, quoted or not; `quoted`: in double quotes; `share`: a
     * number from 0 to 1.
     */
    value: Schema.Literals(["plain", "yaml", "quoted", "share"])
  })
])
export type Line = typeof Line.Type

export const Rule = Schema.Union([
  /** Text between two marks that occur once each (twice, if they are the same). */
  Schema.Struct({
    kind: Schema.Literal("between"),
    open: Schema.NonEmptyString,
    close: Schema.NonEmptyString,
    /** `letter`: one of A to D. Default: any text that is not blank. */
    inner: Schema.optionalKey(Schema.Literals(["letter"]))
  }),
  /** The only line that starts with a mark and a space. */
  Schema.Struct({ kind: Schema.Literal("begins"), mark: Schema.NonEmptyString }),
  /** JSON: `object` with exactly `answer` (and `confidence` from 0 to 1), a `list` of one, or a `text`. */
  Schema.Struct({
    kind: Schema.Literal("json"),
    shape: Schema.Literals(["object", "list", "text"]),
    confidence: Schema.optionalKey(Schema.Boolean),
    /** Keys of an object instead of `answer`; the last holds the answer. */
    keys: Schema.optionalKey(Schema.NonEmptyArray(Schema.NonEmptyString))
  }),
  /** Only these lines. The last one with a text is the answer. */
  Schema.Struct({ kind: Schema.Literal("lines"), lines: Schema.NonEmptyArray(Line) }),
  /** Tags in this order, each once, nested if the format requires it. */
  Schema.Struct({ kind: Schema.Literal("sections"), sections: Schema.NonEmptyArray(Section) })
])
export type Rule = typeof Rule.Type

/** The question domain of a format; `any` for all. */
export const Domain = Schema.Literals(["any", "math", "code"])
export type Domain = typeof Domain.Type

export const Format = Schema.Struct({
  name: Schema.NonEmptyString.check(Schema.isPattern(/^[a-z][a-z0-9-]*$/)),
  domain: Schema.optionalKey(Domain),
  rule: Rule
})
export type Format = typeof Format.Type

/**
 * Declares settings by plain values: the default determines the type, and the name is a flag of the command
 * (`--env.largest 20`) and a key in files.
 */
import { Environment, EnvironmentSettings, Settings } from "@atropos/core"
import { Schema } from "effect"

export type Value = string | number | boolean | ReadonlyArray<string> | ReadonlyArray<number>

/** A default, or a default with its `--help` text. */
export type Declared = Value | { readonly default: Value; readonly description: string }

export type Declaration = { readonly [name: string]: Declared }

type Widened<V> = V extends string
  ? string
  : V extends number
    ? number
    : V extends boolean
      ? boolean
      : V extends ReadonlyArray<infer E>
        ? ReadonlyArray<Widened<E>>
        : V

export type Values<D> = {
  readonly [K in keyof D]: Widened<D[K] extends { readonly default: infer V } ? V : D[K]>
}

const common: ReadonlySet<string> = new Set(Object.keys(EnvironmentSettings.commonFields))

const name = /^[a-z][A-Za-z0-9]*$/

const kinds = {
  string: Schema.String,
  number: Schema.Finite,
  boolean: Schema.Boolean,
  strings: Schema.Array(Schema.String),
  numbers: Schema.Array(Schema.Finite)
} as const

const kindOf = (value: unknown): keyof typeof kinds | undefined => {
  if (Array.isArray(value)) {
    if (value.every((one) => typeof one === "string")) return "strings"
    return value.every((one) => typeof one === "number") ? "numbers" : undefined
  }
  const kind = typeof value
  return kind === "string" || kind === "number" || kind === "boolean" ? kind : undefined
}

const isDescribed = (declared: Declared): declared is Exclude<Declared, Value> =>
  typeof declared === "object" && "default" in declared

/**
 * The fields of a declaration. A common setting's name overrides its default for this environment. Throws `TypeError`
 * for an invalid setting: a mistake in the author's file.
 */
export const fields = (declaration: Declaration): Schema.Struct.Fields =>
  Object.fromEntries(
    Object.entries(declaration).map(([key, declared]) => {
      if (!name.test(key)) {
        throw new TypeError(
          `settings.${key}: names of settings are in camelCase, of letters and digits, such as maxDepth`
        )
      }
      const value: unknown = isDescribed(declared) ? declared.default : declared
      const kind = kindOf(value)
      if (kind === undefined) {
        throw new TypeError(
          `settings.${key}: its default must be a string, a number, true or false, or an array of strings or numbers; for other kinds use Environment.settings and Environment.layer of @atropos/core`
        )
      }
      const description = isDescribed(declared)
        ? declared.description
        : common.has(key)
          ? `see --help of any environment; here by default ${JSON.stringify(value)}`
          : `setting of the agent: ${Settings.wireName(key).replaceAll("_", " ")}`
      // The kind was derived from the value.
      return [key, Environment.field(kinds[kind], value as Value, description)]
    })
  )

/** Lists removed settings and values with their replacements, for hints in errors about older files. */
import * as Nearest from "@atropos/core/base/Nearest"

const settings: { readonly [name: string]: string } = {
  normalize: "use advantage_scale instead: population-std for true, none for false"
}

const values: { readonly [name: string]: { readonly [value: string]: string } } = {
  old_policy: { current: 'use "trainer" instead: with updates_per_batch 1 it means the same' }
}

/** The last part of `env.x`, `--loss.x` or `x`. */
const lastPart = (name: string): string => name.slice(name.lastIndexOf(".") + 1).replace(/^-+/, "")

const found = <A>(table: { readonly [name: string]: A }, name: string): A | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

const clause = (text: string | undefined): string => (text === undefined ? "" : `; ${text}`)

/**
 * Returns `; did you mean "x"?`, the replacement of a removed setting (name with or without its section), or nothing.
 */
export const hint = (name: string, candidates: Iterable<string>): string =>
  clause(found(settings, lastPart(name).replaceAll("-", "_"))) || Nearest.hint(name, candidates)

/** The equivalent for a removed value of an existing setting. */
export const value = (name: string, input: unknown): string =>
  clause(typeof input === "string" ? found(found(values, lastPart(name)) ?? {}, input) : undefined)

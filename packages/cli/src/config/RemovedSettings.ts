/** Settings and values that there were, and what stands in their place: whoever comes with an older file is told. */
import * as Nearest from "@atropos/core/base/Nearest"

const settings: { readonly [name: string]: string } = {
  normalize: "use advantage_scale instead: population-std for true, none for false"
}

const values: { readonly [name: string]: { readonly [value: string]: string } } = {
  old_policy: { current: 'use "trainer" instead: with updates_per_batch 1 it means the same' }
}

/** `env.x`, `--loss.x` or `x`, as its last part. */
const lastPart = (name: string): string => name.slice(name.lastIndexOf(".") + 1).replace(/^-+/, "")

const found = <A>(table: { readonly [name: string]: A }, name: string): A | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

const clause = (text: string | undefined): string => (text === undefined ? "" : `; ${text}`)

/** `; did you mean "x"?`, what replaces a setting that is gone (its name with or without the section), or nothing. */
export const hint = (name: string, candidates: Iterable<string>): string =>
  clause(found(settings, lastPart(name).replaceAll("-", "_"))) || Nearest.hint(name, candidates)

/** The same of a value of a setting that is still there. */
export const value = (name: string, given: unknown): string =>
  clause(typeof given === "string" ? found(found(values, lastPart(name)) ?? {}, given) : undefined)

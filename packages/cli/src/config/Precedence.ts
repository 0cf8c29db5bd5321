/** Merges sources by precedence: environment defaults < mode < file < flags. Maps are merged, other values replaced. */
import * as Predicate from "effect/Predicate"

type Values = { readonly [name: string]: unknown }

export const merge = (...sources: ReadonlyArray<Values>): Values => {
  const merged: Record<string, unknown> = {}
  for (const source of sources) {
    for (const [name, value] of Object.entries(source)) {
      const before = merged[name]
      merged[name] =
        Predicate.isReadonlyObject(before) && Predicate.isReadonlyObject(value) ? merge(before, value) : value
    }
  }
  return merged
}

/** Names the origin of a setting for messages: the last source that has it. */
export const origin = (name: string, flags: Values, file: Values): string =>
  name in flags ? `--env.${name}` : name in file ? `env.${name} in the file of --config` : `env.${name}`

/**
 * Flags of the servers other than the policy's, `--judge.*`, `--teacher.*` and `--opponent.*`: those the environment
 * needs, or all for an environment from a file, which does not declare its needs.
 */
import type { Option } from "effect"
import * as ConfigFile from "./ConfigFile.ts"
import type { Chosen } from "./Environments.ts"
import * as Flags from "./Flags.ts"

const sections = ["judge", "teacher", "opponent"] as const
type Section = (typeof sections)[number]

/** Returns true if an environment may use servers of this section. */
export const asks = ({ about }: Chosen, section: Section): boolean => about?.needs.includes(section) ?? true

export const flags = (all: ReadonlyArray<Chosen>) => {
  const needed = sections.filter((section) => all.some((selected) => asks(selected, section)))
  const derived = needed.map(
    (section) => [section, Flags.fromFields(`${section}.`, ConfigFile.serverFields[section])] as const
  )
  const bySection: { [section in Section]?: Flags.SettingsFlags } = Object.fromEntries(
    derived.map(([section, { flags }]) => [section, flags])
  )
  return { flags: bySection, booleans: derived.flatMap(([, { booleans }]) => booleans) }
}

export const provided = (values: {
  readonly [section in Section]?: { readonly [name: string]: Option.Option<unknown> }
}): { readonly [section in Section]?: { readonly [name: string]: unknown } } =>
  Object.fromEntries(
    sections.flatMap((section) => {
      const flagged = values[section]
      return flagged === undefined ? [] : [[section, Flags.provided(flagged)]]
    })
  )

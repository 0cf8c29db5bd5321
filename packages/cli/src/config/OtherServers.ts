/**
 * Flags of the servers beside the policy's, `--judge.*` and `--teacher.*`: of those that the environment needs, and of all where it
 * is a file, which does not say.
 */
import type { Option } from "effect"
import * as ConfigFile from "./ConfigFile.ts"
import type { Chosen } from "./Environments.ts"
import * as Flags from "./Flags.ts"

const sections = ["judge", "teacher"] as const
type Section = (typeof sections)[number]

/** The flags by section. */
export const flags = (chosen: Chosen | undefined) => {
  const wanted = sections.filter((section) => chosen !== undefined && (chosen.about?.needs.includes(section) ?? true))
  const derived = wanted.map(
    (section) => [section, Flags.fromFields(`${section}.`, ConfigFile.serverFields[section])] as const
  )
  const bySection: { [section in Section]?: Flags.SettingsFlags } = Object.fromEntries(
    derived.map(([section, { flags }]) => [section, flags])
  )
  return { flags: bySection, booleans: derived.flatMap(([, { booleans }]) => booleans) }
}

/** What the flags said. */
export const given = (values: {
  readonly [section in Section]?: { readonly [name: string]: Option.Option<unknown> }
}): { readonly [section in Section]?: { readonly [name: string]: unknown } } =>
  Object.fromEntries(
    sections.flatMap((section) => {
      const flagged = values[section]
      return flagged === undefined ? [] : [[section, Flags.given(flagged)]]
    })
  )

/** Generates the list at the start of docs/environments.md from the registry, and replaces the figures of groups. */
import { Settings } from "@atropos/core"
import { registry, type RegistryEntry } from "@atropos/envs"
import { SchemaAST } from "effect"

const entries: ReadonlyArray<readonly [name: string, entry: RegistryEntry]> = Object.entries(registry)

export const names: ReadonlyArray<string> = entries.map(([name]) => name)

const cell = (text: string): string => text.replaceAll("|", String.raw`\|`).replaceAll("<", "&lt;")

interface Setting {
  readonly name: string
  readonly default: unknown
}

/** All settings of an environment. */
export const settingsOf = ({ layer }: RegistryEntry): ReadonlyArray<Setting> =>
  // Every entry is a layer made by `Environment.layer`.
  Object.entries(
    (layer as { readonly settings: { readonly fields: Settings.Settings<unknown>["fields"] } }).settings.fields
  ).map(([field, schema]) => ({
    name: Settings.wireName(field),
    default: SchemaAST.resolve(schema.ast)?.["default"]
  }))

const fenced = (figure: string): string => ["```text", figure, "```"].join("\n")

/** The figure of a section; undefined if it has none. */
export const figureIn = (page: string, name: string): string | undefined =>
  /^```text\n([^]*?)\n```$/m.exec(sections(page).get(name) ?? "")?.[1]

const withFigure = (page: string, name: string, figure: string): string => {
  const section = sections(page).get(name)
  const before = section === undefined ? undefined : figureIn(page, name)
  return section === undefined
    ? page
    : page.replace(section, () =>
        before === undefined
          ? `${section.trimEnd()}\n\n${fenced(figure)}\n\n`
          : section.replace(fenced(before), () => fenced(figure))
      )
}

/** The list of all, by family. */
export const list = (): string => {
  const families = Map.groupBy(entries, ([, { family }]) => family)
  const rows = Array.from(families, ([family, members]) =>
    members.map(
      ([name, { dataLicence, description, needs }]) =>
        `| [\`${name}\`](#${name}) | ${family} | ${needs.join(", ")} | ${cell(dataLicence)} | ${cell(description)} |`
    )
  )
  return [
    "<!-- made of the registry -->",
    "| name | family | needs | licence of the data | |",
    "| --- | --- | --- | --- | --- |",
    ...rows.flat(),
    "<!-- end -->"
  ].join("\n")
}

/** Each section, from its heading to the next, by name. */
export const sections = (page: string): ReadonlyMap<string, string> =>
  new Map(
    page
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf("\n")).trim(), section])
  )

const between = (text: string, begin: string, end: string, made: string): string => {
  const from = text.indexOf(begin)
  const to = text.indexOf(end, from)
  return from === -1 || to === -1 ? text : text.slice(0, from) + made + text.slice(to + end.length)
}

/** The page with its list and the given figures updated. */
export const remade = (page: string, figures: ReadonlyMap<string, string>): string =>
  Array.from(figures).reduce(
    (text, [name, figure]) => withFigure(text, name, figure),
    between(page, "<!-- made of the registry -->", "<!-- end -->", list())
  )

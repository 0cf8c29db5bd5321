/**
 * What docs/environments.md says of each built-in environment that its entry in the registry and its settings know:
 * made from those, between two marks at the end of its section, and in the list at the page's beginning.
 */
import { EnvironmentSettings, Settings, SingleTurn } from "@atropos/core"
import { type RegistryEntry, registry } from "@atropos/envs"
import { SchemaAST } from "effect"

const entries: ReadonlyArray<readonly [name: string, entry: RegistryEntry]> = Object.entries(registry)

/** The names of all built-in environments. */
export const names: ReadonlyArray<string> = entries.map(([name]) => name)

/** Text for a cell of a table. */
const cell = (text: string): string => text.replaceAll("|", String.raw`\|`).replaceAll("<", "&lt;")

interface Documented {
  readonly name: string
  readonly default: unknown
  readonly description: string
}

const general: ReadonlySet<unknown> = new Set([
  ...Object.values(EnvironmentSettings.commonFields),
  ...Object.values(SingleTurn.fields)
])

/** Settings that an environment has for itself, in their order. */
export const settingsOf = ({ layer }: RegistryEntry): ReadonlyArray<Documented> =>
  // Every entry is a layer that `Environment.layer` made, of settings of its own.
  Object.entries(
    (layer as { readonly settings: { readonly fields: Settings.Settings<unknown>["fields"] } }).settings.fields
  )
    .filter(([, schema]) => !general.has(schema))
    .map(([field, schema]) => {
      const { default: fallback, description } = SchemaAST.resolve(schema.ast) ?? {}
      return {
        name: Settings.wireName(field),
        default: fallback,
        description: typeof description === "string" ? description : ""
      }
    })

/** What begins and ends the part of a section that is made. */
export const marks = (name: string): readonly [begin: string, end: string] => [
  `<!-- made of ${name}'s settings -->`,
  "<!-- end -->"
]

/** That part, marks included. */
export const madePart = (name: string): string => {
  const entry = entries.find(([one]) => one === name)![1]
  const [begin, end] = marks(name)
  const rows = settingsOf(entry).map(
    (setting) =>
      `| \`${setting.name}\` | ${setting.default === null ? "unset" : `\`${cell(JSON.stringify(setting.default))}\``} | ${cell(setting.description)} |`
  )
  return [
    begin,
    `Needs: ${entry.needs.length === 0 ? "nothing more" : entry.needs.join(", ")}. Licence of the data: ${entry.dataLicence}.`,
    "",
    "<details><summary>Settings of its own</summary>",
    "",
    "| `--env.` | default | meaning |",
    "| --- | --- | --- |",
    ...rows,
    "",
    "</details>",
    end
  ].join("\n")
}

/** What begins and ends the figure of a group in a section. */
const figureMarks = (name: string): readonly [begin: string, end: string] => [
  `<!-- a group of ${name} -->`,
  "<!-- end -->"
]

/** The figure of a group as it stands in a section, marks included. */
export const figurePart = (name: string, figure: string): string => {
  const [begin, end] = figureMarks(name)
  return [begin, "```text", figure, "```", end].join("\n")
}

/** The figure that a page has of an environment; undefined where it has none. */
export const figureIn = (page: string, name: string): string | undefined => {
  const [begin, end] = figureMarks(name)
  const from = page.indexOf(begin)
  return from === -1
    ? undefined
    : /^```text\n([^]*?)\n```\n$/.exec(page.slice(from + begin.length + 1, page.indexOf(end, from)))?.[1]
}

const withFigure = (page: string, name: string, figure: string): string => {
  const part = figurePart(name, figure)
  const [begin] = marks(name)
  return page.includes(figureMarks(name)[0])
    ? between(page, ...figureMarks(name), part)
    : page.replace(begin, () => `${part}\n\n${begin}`)
}

/** The list of all, by family. */
export const list = (): string => {
  const families = Map.groupBy(entries, ([, { family }]) => family)
  const rows = Array.from(families, ([family, members]) =>
    members.map(
      ([name, { description, needs }]) =>
        `| [\`${name}\`](#${name}) | ${family} | ${needs.join(", ")} | ${cell(description)} |`
    )
  )
  return [
    "<!-- made of the registry -->",
    "| name | family | needs | |",
    "| --- | --- | --- | --- |",
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

/** The page with all that is made anew; an environment of which no figure is given keeps its own. */
export const remade = (page: string, figures: ReadonlyMap<string, string>): string =>
  names.reduce(
    (text, name) => {
      const figure = figures.get(name)
      return between(figure === undefined ? text : withFigure(text, name, figure), ...marks(name), madePart(name))
    },
    between(page, "<!-- made of the registry -->", "<!-- end -->", list())
  )

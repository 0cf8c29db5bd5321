/**
 * Generates the parts of docs/environments.md that follow from registry entries and settings: between two marks at the
 * end of each section, and the list at the start of the page.
 */
import { EnvironmentSettings, Settings } from "@atropos/core"
import { registry, type RegistryEntry, SingleTurn } from "@atropos/envs"
import { SchemaAST } from "effect"

const entries: ReadonlyArray<readonly [name: string, entry: RegistryEntry]> = Object.entries(registry)

export const names: ReadonlyArray<string> = entries.map(([name]) => name)

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

/** An environment's own settings, in order. */
export const settingsOf = ({ layer }: RegistryEntry): ReadonlyArray<Documented> =>
  // Every entry is a layer made by `Environment.layer`.
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

/** The start and end marks of a section's generated part. */
export const marks = (name: string): readonly [begin: string, end: string] => [
  `<!-- made of ${name}'s settings -->`,
  "<!-- end -->"
]

/** The generated part, including marks. */
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

/** The start and end marks of a section's group figure. */
const figureMarks = (name: string): readonly [begin: string, end: string] => [
  `<!-- a group of ${name} -->`,
  "<!-- end -->"
]

/** A group figure as it appears in a section, including marks. */
export const figurePart = (name: string, figure: string): string => {
  const [begin, end] = figureMarks(name)
  return [begin, "```text", figure, "```", end].join("\n")
}

/** The page's figure of an environment; undefined if it has none. */
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

/** The page with all generated parts updated; an environment without a given figure keeps its own. */
export const remade = (page: string, figures: ReadonlyMap<string, string>): string =>
  names.reduce(
    (text, name) => {
      const figure = figures.get(name)
      return between(figure === undefined ? text : withFigure(text, name, figure), ...marks(name), madePart(name))
    },
    between(page, "<!-- made of the registry -->", "<!-- end -->", list())
  )

/**
 * Builds the documentation as a static site: every Markdown page for readers, and the sources that they link to, as
 * HTML that needs no network. Anchors of headings are GitHub's, so that links are the same.
 */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, posix, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { Marked } from "marked"
import * as SiteCode from "./SiteCode.ts"
import * as SiteLayout from "./SiteLayout.ts"
import * as SiteScript from "./SiteScript.ts"
import type * as SiteSearch from "./SiteSearch.ts"
import * as SiteStyle from "./SiteStyle.ts"

const tutorials = [
  "1-the-first-run",
  "2-an-environment",
  "3-your-agent",
  "4-your-model",
  "5-evaluate",
  "6-data-sets",
  "7-several-processes",
  "8-gpus-and-engines"
].map((name) => `examples/tutorials/${name}.md`)

/** Reading order; pages that no section names are under "More". */
const sections: ReadonlyArray<readonly [title: string, pages: ReadonlyArray<string>]> = [
  ["Start", ["README.md", "docs/installing.md", "docs/faq.md", "docs/troubleshooting.md", "examples/README.md"]],
  ["Tutorials", tutorials],
  [
    "Train",
    ["training", "results", "losses", "models", "gpu", "engines", "tinker", "trl", "reward-does-not-rise"].map(
      (name) => `docs/${name}.md`
    )
  ],
  [
    "Environments",
    ["environments", "writing-an-environment", "agents", "python", "openenv", "harbor", "sandbox", "data-sets"].map(
      (name) => `docs/${name}.md`
    )
  ],
  ["Look", ["viewer", "metrics", "evaluations"].map((name) => `docs/${name}.md`)],
  [
    "Operate",
    ["operations", "cluster", "protocol", "commands", "migration", "versioning"].map((name) => `docs/${name}.md`)
  ],
  ["Inside", ["docs/architecture.md", "docs/decisions.md", "bench/README.md", "CONTRIBUTING.md", "CHANGELOG.md"]]
]

const pagePattern = "{*.md,docs/*.md,bench/README.md,examples/**/*.md,integrations/*/README.md}"

/** Rollouts of a run, next to its metrics, are shown by the viewer. */
const isRollouts = (path: string): boolean => posix.basename(path) === "rollouts.jsonl"

const isSavedPage = (address: string): boolean => posix.basename(address) === "rollouts.jsonl.html"

/** The address of a page or source in the site. */
const addressOf = (path: string): string => {
  if (path === "README.md") return "index.html"
  return path.endsWith(".md") ? `${path.slice(0, -3)}.html` : `${path}.html`
}

/** Anchors as on GitHub. */
const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-")

const plain = (html: string): string =>
  html
    .replaceAll(/<[^<>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")

const titleOf = (path: string, markdown: string): string =>
  path === "README.md" ? "Overview" : (/^# (.+)$/m.exec(markdown)?.[1]?.replaceAll("`", "") ?? path)

/** A table cell; a heading without text becomes a data cell. */
const cell = (html: string, tag: string): string => (html === "" ? "<td></td>" : `<${tag}>${html}</${tag}>`)

/** Sections for contributors. */
const inside: ReadonlyArray<string> = ["Inside"]

/** Pages about other systems, overview, questions and tutorials come after guides in the search. */
const connecting = new Set(
  ["README.md", "docs/faq.md", ...tutorials].concat(
    ["tinker", "trl", "openenv", "harbor", "python"].map((name) => `docs/${name}.md`)
  )
)

/** References come after these, and pages for contributors last. */
const references = new Set(["docs/commands.md", "docs/protocol.md", "docs/environments.md", "docs/migration.md"])

const rankOf = (page: string): number => {
  const section = sections.find(([, pages]) => pages.includes(page))?.[0]
  if (section === undefined || inside.includes(section)) return 3
  return references.has(page) ? 2 : connecting.has(page) ? 1 : 0
}

/** Questions in bold get anchors, and are found by the search. */
const asked = (markdown: string): string => markdown.replaceAll(/^\*\*(.+?\?)\*\* /gm, "### $1\n\n")

const images = "docs/images"

/** Writes saved rollouts as a page of the viewer, with the curves of the metrics next to them. */
const savePage = (rollouts: string, out: string): void => {
  mkdirSync(dirname(out), { recursive: true })
  const metrics = ["--metrics", join(dirname(rollouts), "metrics.jsonl")]
  const words = ["view", rollouts, ...metrics, "--title", "Rollouts of a run", "--out", out]
  execFileSync(process.execPath, [atropos, ...words], { stdio: ["ignore", "ignore", "inherit"] })
}

const atropos = fileURLToPath(new URL("../../packages/cli/bin/atropos.js", import.meta.url))

/**
 * Writes the site of the repository at `root` into `out`, after emptying it; returns the addresses of its pages. `url`
 * is where it will be.
 */
export const build = (root: string, out: string, url?: string): ReadonlyArray<string> => {
  rmSync(out, { recursive: true, force: true })
  const pages = globSync(pagePattern, { cwd: root, exclude: ["**/node_modules/**"] })
    .filter((path) => !path.includes("node_modules") && path !== "AGENTS.md")
    .toSorted()
  const text = new Map(pages.map((path) => [path, asked(readFileSync(join(root, path), "utf8"))]))
  const named = new Set(sections.flatMap(([, paths]) => paths))
  const navigation = [...sections, ["More", pages.filter((path) => !named.has(path))] as const].map(
    ([title, paths]) => ({
      title,
      links: paths.flatMap((path) => {
        const markdown = text.get(path)
        return markdown === undefined ? [] : [{ address: addressOf(path), title: titleOf(path, markdown) }]
      })
    })
  )
  const sources = new Set<string>()
  const entries: Array<SiteSearch.Entry> = []
  const written: Array<string> = []

  const write = (address: string, title: string, body: string): void => {
    const file = join(out, address)
    mkdirSync(dirname(file), { recursive: true })
    const up = posix.relative(posix.dirname(address), ".") || "."
    writeFileSync(file, SiteLayout.page({ title, body, up, address, navigation, url }))
    written.push(address)
  }

  /** A page's link, converted to one of the site. */
  const linkOf = (page: string, href: string): string => {
    if (/^[a-z]+:/i.test(href) || href.startsWith("#")) return href
    const [path = "", heading] = href.split("#")
    const target = posix.normalize(posix.join(posix.dirname(page), path)).replace(/\/$/, "")
    const to = (address: string) => posix.relative(posix.dirname(addressOf(page)), address)
    if (/\bimages\/[\w.-]+$/.test(target)) return to(target)
    const readme = posix.join(target, "README.md")
    const found = text.has(target) ? target : text.has(readme) ? readme : undefined
    if (found === undefined && existsSync(join(root, target))) sources.add(target)
    return `${to(addressOf(found ?? target))}${heading === undefined ? "" : `#${heading}`}`
  }

  for (const page of pages) {
    const title = titleOf(page, text.get(page)!)
    let heading = title
    let anchor = ""
    const headings: Array<{ readonly id: string; readonly title: string }> = []
    const marked = new Marked({ gfm: true })
    marked.use({
      renderer: {
        heading({ depth, tokens }) {
          const html = this.parser.parseInline(tokens)
          heading = plain(html)
          anchor = slugOf(heading)
          if (depth === 2) headings.push({ id: anchor, title: heading })
          entries.push({ title, heading, url: `${addressOf(page)}#${anchor}`, text: "", rank: rankOf(page) })
          return `<h${depth} id="${anchor}">${html} <a class="here" href="#${anchor}" aria-label="link to this heading">#</a></h${depth}>\n`
        },
        code({ lang, text }) {
          return SiteCode.block(text, lang ?? "")
        },
        codespan({ text }) {
          return SiteCode.inline(SiteCode.escaped(text))
        },
        table(token) {
          const row = (cells: typeof token.header, tag: string) =>
            `<tr>${cells.map(({ tokens }) => cell(this.parser.parseInline(tokens), tag)).join("")}</tr>`
          return `<div class="table" tabindex="0"><table><thead>${row(token.header, "th")}</thead><tbody>${token.rows.map((cells) => row(cells, "td")).join("")}</tbody></table></div>\n`
        }
      },
      walkTokens(token) {
        if (token.type === "link" || token.type === "image") token["href"] = linkOf(page, String(token["href"]))
      }
    })
    const body = marked.parse(text.get(page)!, { async: false })
    for (const part of body.split(/(?=<h[1-6] id=")/)) {
      const [, id] = /^<h[1-6] id="([^"]*)"/.exec(part) ?? []
      const at = entries.findIndex(({ url }) => url === `${addressOf(page)}#${id ?? ""}`)
      if (at !== -1)
        entries[at] = {
          ...entries[at]!,
          text: plain(part.replaceAll(/<a class="here"[^>]*>#<\/a>/g, ""))
            .replaceAll(/\s+/g, " ")
            .slice(0, 4000)
        }
    }
    write(addressOf(page), title, SiteLayout.withContents(body, headings))
  }
  for (const source of sources) {
    const path = join(root, source)
    if (isRollouts(source)) {
      savePage(path, join(out, addressOf(source)))
      continue
    }
    const body = statSync(path).isDirectory()
      ? SiteLayout.folder(source, globSync("**/*", { cwd: path }).toSorted())
      : SiteLayout.source(source, readFileSync(path, "utf8"))
    write(addressOf(source), source, body)
  }
  for (const folder of [images, "examples/images"]) {
    if (existsSync(join(root, folder))) cpSync(join(root, folder), join(out, folder), { recursive: true })
  }
  writeFileSync(join(out, "style.css"), SiteStyle.style)
  writeFileSync(join(out, "search.js"), SiteScript.of(entries))
  return written
}

export const broken = (out: string): ReadonlyArray<string> => {
  const pages = globSync("**/*.html", { cwd: out }).filter((page) => !isSavedPage(page))
  const html = new Map(pages.map((page) => [page, readFileSync(join(out, page), "utf8")]))
  const ids = new Map(
    pages.map((page) => [page, new Set(Array.from(html.get(page)!.matchAll(/ id="([^"]*)"/g), ([, id]) => id!))])
  )
  return pages.flatMap((page) =>
    Array.from(html.get(page)!.matchAll(/ (?:href|src)="(?![a-z]+:)([^"#]*)(?:#([^"]*))?"/g)).flatMap(
      ([, path = "", id]) => {
        const target = path === "" ? page : relative(".", join(dirname(page), path))
        const isThere = existsSync(join(out, target)) && (id === undefined || ids.get(target)?.has(id) === true)
        return isThere ? [] : [`${page}: ${path}${id === undefined ? "" : `#${id}`}`]
      }
    )
  )
}

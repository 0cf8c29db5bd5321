/** The layout of documentation pages around their text: navigation, search, headings of a long page. */
import * as SiteCode from "./SiteCode.ts"

export interface Page {
  readonly title: string
  readonly body: string
  /** The relative path from the page to the site's root. */
  readonly up: string
  readonly address: string
  readonly navigation: ReadonlyArray<{
    readonly title: string
    readonly links: ReadonlyArray<{ readonly address: string; readonly title: string }>
  }>
}

const { escaped } = SiteCode

export const page = ({ address, body, navigation, title, up }: Page): string => {
  const link = (one: Page["navigation"][number]["links"][number]) =>
    `<li><a href="${up}/${one.address}"${one.address === address ? ' aria-current="page"' : ""}>${escaped(one.title)}</a></li>`
  const groups = navigation.map(
    (group) => `<details${group.links.some((one) => one.address === address) || group.title !== "More" ? " open" : ""}>
<summary>${escaped(group.title)}</summary><ul>${group.links.map(link).join("")}</ul></details>`
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · Atropos</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}/style.css">
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<nav class="pages" aria-label="Pages">
<p><a class="name" href="${up}/index.html">Atropos</a></p>
<input type="search" id="search" placeholder="Search ( / )" aria-label="Search the pages" data-up="${up}">
<ul id="found" aria-live="polite"></ul>
<details class="all" open><summary>All pages</summary>
${groups.join("\n")}
</details>
</nav>
<main id="text" tabindex="-1">
${body}
</main>
<script src="${up}/search.js" defer></script>
</body>
</html>
`
}

/** Pages with fewer headings get no list of them. */
const fewest = 5

/** The page's text with a list of its headings after the first, if there are many. */
export const withContents = (
  body: string,
  headings: ReadonlyArray<{ readonly id: string; readonly title: string }>
): string => {
  if (headings.length < fewest) return body
  const links = headings.map(({ id, title }) => `<li><a href="#${id}">${escaped(title)}</a></li>`)
  const contents = `<details class="contents"><summary>On this page</summary><ul>${links.join("")}</ul></details>\n`
  return body.replace("</h1>\n", (end) => `${end}${contents}`)
}

export const source = (path: string, text: string): string =>
  `<h1>${escaped(path)}</h1>\n${SiteCode.block(text, /\.(\w+)$/.exec(path)?.[1] ?? "")}`

export const folder = (path: string, files: ReadonlyArray<string>): string =>
  `<h1>${escaped(path)}</h1>\n<ul>${files.map((file) => `<li><code>${escaped(file)}</code></li>`).join("")}</ul>`

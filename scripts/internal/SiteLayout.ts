/** The layout of documentation pages around their text: navigation, search, headings of a long page. */
import * as SiteCode from "./SiteCode.ts"
import * as SiteScript from "./SiteScript.ts"

export interface Page {
  readonly title: string
  readonly body: string
  /** The relative path from the page to the site's root. */
  readonly up: string
  readonly address: string
  /** Where the site will be; preview images need it. */
  readonly url: string | undefined
  readonly navigation: ReadonlyArray<{
    readonly title: string
    readonly links: ReadonlyArray<{ readonly address: string; readonly title: string }>
  }>
}

const { escaped } = SiteCode

/** The viewer's icon. */
const mark = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="18" height="18" aria-hidden="true"><rect width="16" height="16" rx="4" fill="#0f766e"/><path d="M4 11.5V9m2.7 2.5v-5m2.6 5v-3m2.7 3v-7" stroke="white" stroke-width="1.6" stroke-linecap="round"/></svg>`

export const page = ({ address, body, navigation, title, up, url }: Page): string => {
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
<meta property="og:title" content="${escaped(title)} · Atropos">
${url === undefined ? "" : `<meta property="og:image" content="${url}/docs/images/viewer-run.png">`}
<script>${SiteScript.theme}</script>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(mark)}">
<link rel="stylesheet" href="${up}/style.css">
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<nav class="pages" aria-label="Pages">
<p><a class="name" href="${up}/index.html">${mark} Atropos</a>
<select class="theme" aria-label="Theme"><option>system</option><option>light</option><option>dark</option></select></p>
<input type="search" id="search" placeholder="Search ( / )" aria-label="Search the pages" data-up="${up}">
<ul id="found" aria-live="polite"></ul>
<details class="all" open><summary>All pages</summary>
${groups.join("\n")}
</details>
</nav>
<main id="text" tabindex="-1"${body.includes('<details class="contents"') ? ' class="has-contents"' : ""}>
${body}
${steps(address, up, navigation)}
</main>
<script src="${up}/search.js" defer></script>
</body>
</html>
`
}

/** Links to the pages before and after one in reading order. */
const steps = (address: string, up: string, navigation: Page["navigation"]): string => {
  const links = navigation.flatMap((group) => group.links)
  const at = links.findIndex((link) => link.address === address)
  if (at === -1) return ""
  const link = (to: (typeof links)[number] | undefined, rel: string, form: (title: string) => string): string =>
    to === undefined ? "<span></span>" : `<a rel="${rel}" href="${up}/${to.address}">${form(escaped(to.title))}</a>`
  const [previous, next] = [links[at - 1], links[at + 1]]
  return `<nav class="steps" aria-label="Previous and next page">${link(previous, "prev", (title) => `← ${title}`)}${link(next, "next", (title) => `${title} →`)}</nav>`
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

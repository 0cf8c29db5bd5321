/** What every page of the documentation site has around its text: navigation, search, and a style for day and night. */
import type { Entry } from "./Site.ts"

export interface Page {
  readonly title: string
  readonly body: string
  /** The way from the page to the site's root. */
  readonly up: string
  readonly address: string
  readonly navigation: ReadonlyArray<{
    readonly title: string
    readonly links: ReadonlyArray<{ readonly address: string; readonly title: string }>
  }>
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

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
<link rel="stylesheet" href="${up}/style.css">
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<nav aria-label="Pages">
<p><a class="name" href="${up}/index.html">Atropos</a></p>
<input type="search" id="search" placeholder="Search" aria-label="Search the pages" data-up="${up}">
<ul id="found" aria-live="polite"></ul>
${groups.join("\n")}
</nav>
<main id="text">
${body}
</main>
<script src="${up}/search.js" defer></script>
</body>
</html>
`
}

export const source = (path: string, text: string): string =>
  `<h1>${escaped(path)}</h1>\n<pre><code>${escaped(text)}</code></pre>`

export const folder = (path: string, files: ReadonlyArray<string>): string =>
  `<h1>${escaped(path)}</h1>\n<ul>${files.map((file) => `<li><code>${escaped(file)}</code></li>`).join("")}</ul>`

export const style = `:root { --text: #1d2430; --quiet: #5b6675; --back: #fff; --side: #f5f7fa; --line: #d9dfe7; --link: #0b57b5; }
@media (prefers-color-scheme: dark) {
  :root { --text: #dfe5ee; --quiet: #9aa6b6; --back: #12161d; --side: #191f29; --line: #303a49; --link: #79b4ff; }
}
* { box-sizing: border-box; }
body { margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); color: var(--text); background: var(--back);
  font: 16px/1.6 system-ui, sans-serif; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; background: var(--side);
  border-right: 1px solid var(--line); font-size: 0.92rem; }
nav ul { list-style: none; margin: 0 0 0.6rem; padding: 0; }
nav summary { color: var(--quiet); cursor: pointer; margin-top: 0.4rem; }
nav li a { display: block; padding: 0.1rem 0.5rem; text-decoration: none; }
nav li a[aria-current] { background: var(--line); border-radius: 4px; }
.name { font-weight: 700; font-size: 1.2rem; text-decoration: none; }
#search { width: 100%; padding: 0.4rem 0.6rem; border: 1px solid var(--line); border-radius: 6px; background: var(--back);
  color: inherit; font: inherit; }
#found small { display: block; color: var(--quiet); }
main { padding: 1.5rem 2.5rem 5rem; max-width: 62rem; }
a { color: var(--link); }
a:focus-visible, input:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
h1, h2, h3 { line-height: 1.25; }
.here { opacity: 0; text-decoration: none; font-weight: 400; }
h1:hover .here, h2:hover .here, h3:hover .here, h4:hover .here, .here:focus { opacity: 1; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--back); padding: 0.5rem; z-index: 1; }
code { font: 0.88em ui-monospace, monospace; background: var(--side); padding: 0.1em 0.25em; border-radius: 4px; }
pre { overflow: auto; padding: 0.8rem 1rem; background: var(--side); border: 1px solid var(--line); border-radius: 6px; }
pre code { background: none; padding: 0; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.94rem; }
th, td { border: 1px solid var(--line); padding: 0.35rem 0.6rem; text-align: left; vertical-align: top; }
th { background: var(--side); }
img { max-width: 100%; height: auto; }
@media (max-width: 50rem) {
  body { display: block; }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1rem; }
}
`

/** Sections whose text has all the words, those with a word in the heading first. */
const finder = `
const input = document.getElementById("search"), list = document.getElementById("found")
input.addEventListener("input", () => {
  const words = input.value.toLowerCase().split(/\\s+/).filter((word) => word.length > 1)
  list.replaceChildren()
  if (words.length === 0) return
  const hits = []
  for (const entry of entries) {
    const text = entry.text.toLowerCase(), heading = entry.heading.toLowerCase()
    if (words.every((word) => text.includes(word))) hits.push([words.filter((word) => heading.includes(word)).length, entry])
  }
  hits.sort((a, b) => b[0] - a[0])
  for (const [, entry] of hits.slice(0, 12)) {
    const item = document.createElement("li"), link = document.createElement("a"), page = document.createElement("small")
    link.href = input.dataset.up + "/" + entry.url
    link.textContent = entry.heading
    page.textContent = entry.title
    link.append(page)
    item.append(link)
    list.append(item)
  }
  if (hits.length === 0) list.textContent = "nothing found"
})
`

export const search = (entries: ReadonlyArray<Entry>): string => `const entries = ${JSON.stringify(entries)}\n${finder}`

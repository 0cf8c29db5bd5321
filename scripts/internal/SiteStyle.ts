/**
 * Styles of the documentation site, for light and dark mode, desktop and phone; and its scripts: search, and
 * highlighting the current section.
 */

/** What the search finds: a section of a page. */
export interface Entry {
  readonly title: string
  readonly heading: string
  readonly url: string
  readonly text: string
}

export const style = `:root { --text: #1d2430; --quiet: #5b6675; --back: #fff; --side: #f5f7fa; --line: #d9dfe7; --link: #0b57b5;
  --word: #7a2ea0; --string: #0b6b3a; --number: #a33a00; --name: #0b57b5; }
@media (prefers-color-scheme: dark) {
  :root { --text: #dfe5ee; --quiet: #9aa6b6; --back: #12161d; --side: #191f29; --line: #303a49; --link: #79b4ff;
    --word: #d2a6ff; --string: #8fd6a4; --number: #f0a878; --name: #8fc1ff; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); color: var(--text); background: var(--back);
  font: 16px/1.6 system-ui, sans-serif; }
.pages { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; background: var(--side);
  border-right: 1px solid var(--line); font-size: 0.92rem; }
.pages ul { list-style: none; margin: 0 0 0.6rem; padding: 0; }
.pages summary { color: var(--quiet); cursor: pointer; margin-top: 0.4rem; }
.pages li a { display: block; padding: 0.1rem 0.5rem; text-decoration: none; }
.pages a[aria-current] { background: var(--line); border-radius: 4px; }
.pages > p { margin: 0 0 0.8rem; }
.name { font-weight: 700; font-size: 1.2rem; text-decoration: none; }
#search { width: 100%; padding: 0.4rem 0.6rem; border: 1px solid var(--quiet); border-radius: 6px; background: var(--back);
  color: inherit; font: inherit; }
#search::placeholder { color: var(--quiet); opacity: 1; }
#found small { display: block; color: var(--quiet); }
#found:not(:empty) { margin-top: 0.4rem; padding-bottom: 0.4rem; border-bottom: 1px solid var(--line); }
.all > summary { display: none; }
main { padding: 1.5rem 2.5rem 5rem; max-width: 62rem; min-width: 0; overflow-wrap: break-word; }
a { color: var(--link); }
a:focus-visible, input:focus-visible, summary:focus-visible, pre:focus-visible, .table:focus-visible {
  outline: 2px solid var(--link); outline-offset: 2px; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2.2rem; }
.here { opacity: 0; text-decoration: none; font-weight: 400; }
h1:hover .here, h2:hover .here, h3:hover .here, h4:hover .here, .here:focus { opacity: 1; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--back); padding: 0.5rem; z-index: 1; }
.contents { margin: 1rem 0; padding: 0.4rem 1rem; border: 1px solid var(--line); border-radius: 6px; font-size: 0.92rem; }
.contents summary { cursor: pointer; color: var(--quiet); }
.contents ul { columns: 2; margin: 0.4rem 0; padding-left: 1.2rem; }
code { font: 0.88em/1.45 ui-monospace, monospace; background: var(--side); padding: 0.1em 0.25em; border-radius: 4px;
  overflow-wrap: anywhere; }
code.whole { white-space: nowrap; }
pre { overflow: auto; padding: 0.8rem 1rem; background: var(--side); border: 1px solid var(--line); border-radius: 6px;
  line-height: 1.45; }
pre code { background: none; padding: 0; overflow-wrap: normal; }
.hljs-comment, .hljs-meta { color: var(--quiet); }
.hljs-keyword, .hljs-literal { color: var(--word); }
.hljs-string, .hljs-regexp { color: var(--string); }
.hljs-number, .hljs-variable, .hljs-symbol { color: var(--number); }
.hljs-title, .hljs-attr, .hljs-type { color: var(--name); }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.94rem; }
th, td { border: 1px solid var(--line); padding: 0.35rem 0.6rem; text-align: left; vertical-align: top; min-width: 4rem; }
thead th, thead td { background: var(--side); }
img { max-width: 100%; height: auto; border-radius: 6px; }
@media (max-width: 50rem) {
  body { display: block; }
  .pages { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  .all > summary { display: list-item; color: var(--link); padding: 0.3rem 0; }
  .pages li a { padding: 0.35rem 0.5rem; }
  main { padding: 1rem; }
  h1 { font-size: 1.7rem; }
  .contents ul { columns: 1; }
  th, td { min-width: 6.5rem; }
}
`

/**
 * Finds sections whose text has all the words, those with a word in the heading first; `entries` are defined before it.
 */
const script = `
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
  const found = hits.slice(0, 12).map(([, entry]) => {
    const item = document.createElement("li"), link = document.createElement("a"), page = document.createElement("small")
    link.href = input.dataset.up + "/" + entry.url
    link.textContent = entry.heading
    page.textContent = entry.title
    link.append(page)
    item.append(link)
    return item
  })
  if (found.length === 0) {
    const none = document.createElement("li")
    none.textContent = "nothing found"
    found.push(none)
  }
  list.append(...found)
})
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter") list.querySelector("a")?.click()
  if (event.key === "Escape") { input.value = ""; list.replaceChildren() }
})
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target === input) return
  event.preventDefault()
  input.focus()
})
const all = document.querySelector(".all"), narrow = matchMedia("(max-width: 50rem)")
const fold = () => { all.open = !narrow.matches }
narrow.addEventListener("change", fold)
fold()
const pages = document.querySelector(".pages"), here = pages.querySelector("[aria-current]")
if (here !== null && here.offsetTop > pages.clientHeight - 40) pages.scrollTop = here.offsetTop - pages.clientHeight / 2
`

export const search = (entries: ReadonlyArray<Entry>): string => `const entries = ${JSON.stringify(entries)}\n${script}`

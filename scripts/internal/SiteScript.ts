/** Scripts of the documentation site: search, copy buttons, theme, and folding of navigation and contents. */
import * as SiteSearch from "./SiteSearch.ts"

const script = `
const input = document.getElementById("search"), list = document.getElementById("found")
input.addEventListener("input", () => {
  list.replaceChildren()
  if (input.value.trim().length < 2) return
  const found = find(entries, input.value).map(({ entry, excerpt }) => {
    const item = document.createElement("li"), link = document.createElement("a")
    link.href = input.dataset.up + "/" + entry.url
    link.textContent = entry.heading
    for (const text of [entry.title, excerpt]) {
      const small = document.createElement("small")
      small.textContent = text
      link.append(small)
    }
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
const themes = document.querySelector(".theme"), kept = "atropos-site-theme"
const store = (action) => { try { return action(localStorage) } catch { return null } }
themes.value = document.documentElement.dataset.theme ?? "system"
themes.addEventListener("change", () => {
  if (themes.value === "system") delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = themes.value
  store((storage) => storage.setItem(kept, themes.value))
})
for (const code of document.querySelectorAll(".code")) {
  const button = code.querySelector(".copy")
  button.hidden = false
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.querySelector("code").textContent)
      button.textContent = "Copied"
    } catch {
      button.textContent = "Copying is not allowed"
    }
    setTimeout(() => { button.textContent = "Copy" }, 2000)
  })
}
const all = document.querySelector(".all"), narrow = matchMedia("(max-width: 50rem)")
const fold = () => { all.open = !narrow.matches }
narrow.addEventListener("change", fold)
fold()
const pages = document.querySelector(".pages"), here = pages.querySelector("[aria-current]")
if (here !== null && here.offsetTop > pages.clientHeight - 40) pages.scrollTop = here.offsetTop - pages.clientHeight / 2
const contents = document.querySelector("details.contents")
if (contents !== null) {
  const wide = matchMedia("(min-width: 90rem)")
  const unfold = () => { contents.open = wide.matches }
  wide.addEventListener("change", unfold)
  unfold()
}
`

/** Sets the reader's theme before the page is drawn. */
export const theme =
  'try { const theme = localStorage.getItem("atropos-site-theme"); if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme } catch {}'

export const of = (entries: ReadonlyArray<SiteSearch.Entry>): string =>
  [`const entries = ${JSON.stringify(entries)}`, SiteSearch.script, script].join("\n")

/** Styles of the documentation site, for light and dark mode, desktop and phone. */

const dark = `--text: #dfe5ee; --quiet: #9aa6b6; --back: #12161d; --side: #191f29; --line: #303a49; --link: #79b4ff;
    --word: #d2a6ff; --string: #8fd6a4; --number: #f0a878; --name: #8fc1ff; color-scheme: dark;`

export const style = `:root { --text: #1d2430; --quiet: #5b6675; --back: #fff; --side: #f5f7fa; --line: #d9dfe7; --link: #0b57b5;
  --word: #7a2ea0; --string: #0b6b3a; --number: #a33a00; --name: #0b57b5; }
@media (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { ${dark} } }
:root[data-theme="dark"] { ${dark} }
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
.name svg { vertical-align: -0.12em; }
.name { font-weight: 700; font-size: 1.2rem; text-decoration: none; }
#search { width: 100%; padding: 0.4rem 0.6rem; border: 1px solid var(--quiet); border-radius: 6px; background: var(--back);
  color: inherit; font: inherit; }
#search::placeholder { color: var(--quiet); opacity: 1; }
#found small { display: block; color: var(--quiet); }
#found:not(:empty) { margin-top: 0.4rem; padding-bottom: 0.4rem; border-bottom: 1px solid var(--line); }
.all > summary { display: none; }
main { padding: 1.5rem 2.5rem 5rem; min-width: 0; overflow-wrap: break-word; }
main > * { max-width: 62rem; }
main > p, main > ul, main > ol, main > blockquote { max-width: 75ch; }
@media (min-width: 90rem) {
  main.has-contents { display: grid; grid-template-columns: minmax(0, 62rem) 15rem; column-gap: 2.5rem; align-content: start; }
  main.has-contents > * { grid-column: 1; }
  main.has-contents > .contents { grid-column: 2; grid-row: 1 / span 999; position: sticky; top: 1rem; align-self: start;
    max-height: calc(100vh - 2rem); overflow: auto; border: 0; }
  main.has-contents > .contents ul { columns: 1; list-style: none; padding: 0; }
}
.steps { display: flex; justify-content: space-between; gap: 1rem; margin-top: 3rem; padding-top: 1rem;
  border-top: 1px solid var(--line); }
.theme { float: right; border: 1px solid var(--line); border-radius: 6px; background: var(--back); color: inherit;
  font: inherit; font-size: 0.85rem; }
.code { position: relative; }
.copy { position: absolute; top: 0.4rem; right: 0.4rem; border: 1px solid var(--line); border-radius: 6px;
  background: var(--back); color: var(--quiet); font: inherit; font-size: 0.8rem; cursor: pointer; opacity: 0; }
.code:hover .copy, .copy:focus-visible { opacity: 1; }
@media (hover: none) { .copy { opacity: 1; } }
a { color: var(--link); }
a:focus-visible, button:focus-visible, input:focus-visible, summary:focus-visible, pre:focus-visible, .table:focus-visible {
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

/** Reads the tags of code blocks in HTML: `<pre><code class="language-python">` and a `<code>` over several lines. */

const opening = /^[ \t]{0,20}(?:<pre(?:[ \t][^<>]{0,200})?>[ \t]{0,20})?<code(?:[ \t]([^<>]{0,200}))?>/i
const prefixed = /\b(?:language|lang|highlight)-([\w+-]{1,40})/i
const classed = /\bclass=["']?(?:source(?:Code)?[ \t])?([\w+-]{1,40})/i
const closing = /<\/code>/i

/** The block that a line opens; undefined if it opens none, or closes it again. */
export const openingOf = (line: string) => {
  const [tag, attributes = ""] = opening.exec(line) ?? []
  if (tag === undefined || closing.test(line)) return undefined
  const [, language = ""] = prefixed.exec(attributes) ?? classed.exec(attributes) ?? []
  return { indent: 0, mark: "", length: 0, language, behindTag: line.slice(tag.length).trim() }
}

/** The code before the tag that closes the block; undefined if none closes it. */
export const closedBy = (line: string): string | undefined => {
  const at = line.search(closing)
  return at === -1 ? undefined : line.slice(0, at)
}

const entities: { readonly [name: string]: string } = { lt: "<", gt: ">", quot: '"', apos: "'", "#39": "'", amp: "&" }

/** The text with the characters that HTML writes as entities. */
export const decoded = (code: string): string =>
  code.replaceAll(/&(lt|gt|quot|apos|#39|amp);/g, (whole, name: string) => entities[name] ?? whole)

/**
 * Converts a message's markdown to HTML, before the sanitiser (`sanitise.ts`). A model's own HTML is shown as text
 * (`<answer>` stays visible). Only web and mail links are active, others are shown with their URL; embedded pictures
 * are shown, others are named and not loaded.
 */
import { Marked } from "marked"
import { escape } from "./Escape.ts"
import { highlight } from "./Highlight.ts"
import { imageOf } from "./Image.ts"
import { math } from "./MathHtml.ts"

const marked = new Marked(math, {
  gfm: true,
  breaks: true,
  async: false,
  // Tags are treated as text.
  tokenizer: { html: () => undefined, tag: () => undefined },
  renderer: {
    heading({ depth, tokens }) {
      const level = Math.min(6, depth + 3)
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`
    },
    code: ({ lang, text }) => {
      const language = lang?.trim().split(/\s/)[0]?.toLowerCase() ?? ""
      const name = language === "" ? "" : ` data-language="${escape(language)}"`
      return `<pre tabindex="0"${name}><code>${highlight(text, language)}</code></pre>\n`
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    image: ({ href, text }) => {
      const image = imageOf(href)
      const label = text === "" ? "picture" : text
      return image?.src === null || image === null
        ? `<span class="image-absent">${escape(`${label}: ${image?.name ?? "no address"}`)}</span>`
        : `<img src="${escape(image.src)}" alt="${escape(label)}">`
    },
    link({ href, text, tokens }) {
      const label = this.parser.parseInline(tokens)
      return /^(?:https?:\/\/|mailto:)/i.test(href)
        ? `<a href="${escape(href)}" target="_blank" rel="noopener noreferrer nofollow">${label}</a>`
        : `${label}${text === href ? "" : ` <code>${escape(href)}</code>`}`
    }
  }
})

/**
 * The HTML of a text, to be sanitised before use; null if parsing could block the page, as for texts of hostile or
 * broken models: nested excessively, or mostly markup.
 */
export const toHtml = (text: string): string | null => {
  if (text.split(/\n[ \t]*\n/).some(isCostly)) return null
  try {
    return marked.parse(text) as string
  } catch {
    return null
  }
}

/** Parsing compares the marks within a paragraph with each other, so paragraphs with unusually many are not parsed. */
const isCostly = (paragraph: string): boolean =>
  counts(paragraph, /[*_~]/g) > 600 ||
  counts(paragraph, /\$|\\[([]|\\begin|\\boxed/g) > 1000 ||
  /^ {0,3}(?:> {0,4}){59}>/m.test(paragraph)

const counts = (text: string, mark: RegExp): number => text.match(mark)?.length ?? 0

/**
 * Markdown of a message as HTML, before the sanitiser (`sanitise.ts`).
 *
 * A model's own HTML is shown as the text it is (`<answer>` stays visible). Links go to web and mail addresses only,
 * others are shown with their address; pictures are shown where their bytes are in the text, others are named and not
 * loaded.
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
  // Tags are words like others.
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
 * HTML of a text, to be sanitised before it is shown; null where reading it would hold up the page for long, as texts
 * of hostile or broken models do: nested without end, or nothing but marks.
 */
export const toHtml = (text: string): string | null => {
  if (text.split(/\n[ \t]*\n/).some(isCostly)) return null
  try {
    return marked.parse(text) as string
  } catch {
    return null
  }
}

/** Marks of one paragraph are weighed against each other: more of them than anybody writes are not read. */
const isCostly = (paragraph: string): boolean =>
  counts(paragraph, /[*_~]/g) > 600 ||
  counts(paragraph, /\$|\\[([]|\\begin|\\boxed/g) > 1000 ||
  /^ {0,3}(?:> {0,4}){59}>/m.test(paragraph)

const counts = (text: string, mark: RegExp): number => text.match(mark)?.length ?? 0

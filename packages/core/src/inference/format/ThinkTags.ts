/**
 * Splits reasoning in tags from the visible text: `<think>…</think>`, `[THINK]…[/THINK]`.
 *
 * The model writes both tags, or the chat template opened the first one at the end of the prompt. Only a block at the
 * beginning is reasoning; an unclosed one extends to the end. Line breaks around the tags belong to them: one inside at
 * either end, two after.
 */

export interface Tags {
  readonly open: string
  readonly close: string
  /** Line breaks that the family writes inside, next to each tag, and after the second one. */
  readonly inside: "" | "\n"
  readonly behind: "" | "\n" | "\n\n"
}

export interface Thought {
  /** Absent if empty, with or without tags. */
  readonly reasoning: string | undefined
  /** Start of the visible text. */
  readonly end: number
}

/** True if a prompt ends inside reasoning. */
export const isOpenedBy = (prompt: string, { open }: Tags): boolean => prompt.trimEnd().endsWith(open)

/** Splits an answer to a prompt; without the prompt, an unmatched closing tag closes what the template opened. */
export const split = (text: string, tags: Tags, prompt: string | undefined): Thought => {
  const { close, open } = tags
  const first = text.length - text.trimStart().length
  const isOpen = text.startsWith(open, first)
  const isOpened = prompt !== undefined && isOpenedBy(prompt, tags)
  const from = isOpen ? first + open.length : 0
  const at = isOpen || isOpened || prompt === undefined ? text.indexOf(close, from) : -1
  if (at === -1) {
    return isOpen || isOpened
      ? { reasoning: trimmed(text, from, text.length), end: text.length }
      : { reasoning: undefined, end: 0 }
  }
  let end = at + close.length
  for (let breaks = 0; breaks < 2 && text[end] === "\n"; breaks++) end++
  return { reasoning: trimmed(text, from, at), end }
}

const trimmed = (text: string, from: number, to: number): string | undefined => {
  const start = text[from] === "\n" && from < to ? from + 1 : from
  const reasoning = text.slice(start, text[to - 1] === "\n" && to > start ? to - 1 : to)
  return reasoning === "" ? undefined : reasoning
}

/** Writes reasoning before `next`, so that `split` returns both unchanged. */
export const write = (reasoning: string, next: string, tags: Tags, prompt: string | undefined): string => {
  const { close, open } = tags
  const isOpened = prompt !== undefined && isOpenedBy(prompt, tags)
  if (reasoning === "" && !isOpened) return next
  const before = tags.inside !== "" || reasoning.startsWith("\n") ? "\n" : ""
  const after = tags.inside !== "" || reasoning.endsWith("\n") ? "\n" : ""
  // The prompt's own line break is already there, if it wrote one.
  const opening = isOpened ? (reasoning.startsWith("\n") ? "\n" : "") : open + before
  return `${opening}${reasoning}${after}${close}${next.startsWith("\n") ? "\n\n" : tags.behind}${next}`
}

export const think: Tags = { open: "<think>", close: "</think>", inside: "\n", behind: "\n\n" }

export const tightThink: Tags = { open: "<think>", close: "</think>", inside: "", behind: "" }
export const bracketThink: Tags = { open: "[THINK]", close: "[/THINK]", inside: "", behind: "" }

/**
 * Extracts the words of a group's chats, and defines their search. Pure; used here, in the database, in a thread and in
 * browsers.
 *
 * A word is a lower-case run of letters and digits of any script; case and punctuation do not count, so `\boxed{42}` is
 * `boxed 42`. In scripts without spaces each character is a word. A query is a set of words that must all occur in the
 * group, each as a prefix of a word; a quoted part, or one with inner punctuation, must occur as a phrase within one
 * message. A quoted phrase must end at a word boundary.
 *
 * Searched are contents, reasoning, and names and arguments of tool calls, but no images. Text shared by rollouts of a
 * group, such as the prompt, is stored once. The text of a group is limited to a million characters, also of distinct
 * words.
 */
import { isFields } from "./Fields.ts"
import * as Preview from "./Preview.ts"
import * as Prompt from "./Prompt.ts"

export interface GroupText {
  /** Start of the item's question, the prompt's last user message; null without messages. */
  readonly preview: string | null
  /** The words of each message surrounded by spaces, messages separated by line feeds; may be empty. */
  readonly body: string
  /** Number of distinct words. */
  readonly vocabulary: number
}

/** A search term: the words of a phrase, or one word. */
export interface Term {
  readonly words: readonly [string, ...ReadonlyArray<string>]
  /** The last word must match completely rather than as a prefix. */
  readonly isWhole: boolean
}

export type Query = readonly [Term, ...ReadonlyArray<Term>]

const maxCharacters = 1_000_000
/** The limit of a tsvector is 2^20 bytes. */
const maxVocabularyBytes = 1_000_000

const previewCharacters = 200

/** Longer words are truncated. */
const maxWordLength = 64

const word =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]|[[\p{L}\p{N}\p{M}]--[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]]+/gv
const plainWord = /[a-z0-9]+/g
// oxlint-disable-next-line no-control-regex
const isPlain = /^[\0-\x7f]*$/

export const wordsOf = (text: string): ReadonlyArray<string> => {
  const runsOfLetters = isPlain.test(text)
    ? text.toLowerCase().match(plainWord)
    : text.normalize("NFKC").toLowerCase().match(word)
  return (runsOfLetters ?? []).map((one) =>
    one.length > maxWordLength ? one.slice(0, maxWordLength).toWellFormed() : one
  )
}

const encoder = new TextEncoder()

const bytesOf = (one: string): number => (isPlain.test(one) ? one.length : encoder.encode(one).length)

const isQuoted = (part: string): boolean => part.startsWith('"')

/** Parses a query; undefined if it has no words. An unclosed quotation extends to the end. */
export const parse = (text: string): Query | undefined => {
  const terms = (text.match(/"[^"]*"?|[^\s"]+/g) ?? []).flatMap((part): ReadonlyArray<Term> => {
    const [first, ...rest] = wordsOf(part)
    return first === undefined ? [] : [{ words: [first, ...rest], isWhole: isQuoted(part) }]
  })
  const [first, ...rest] = terms
  return first === undefined ? undefined : [first, ...rest]
}

/** The string to find in a body: it starts at a word boundary. */
export const needleOf = ({ isWhole, words }: Term): string => ` ${words.join(" ")}${isWhole ? " " : ""}`

/** Returns true if all terms occur in the text. */
export const matches = (query: Query, { body }: Pick<GroupText, "body">): boolean =>
  query.every((term) => body.includes(needleOf(term)))

const nothing: GroupText = { preview: null, body: "", vocabulary: 0 }

const contentOf = (content: unknown): string => {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content
    .flatMap((part: unknown) => (isFields(part) && typeof part["text"] === "string" ? [part["text"]] : []))
    .join(" ")
}

const callsOf = (calls: unknown): ReadonlyArray<unknown> =>
  Array.isArray(calls)
    ? calls.flatMap((call: unknown) => {
        const named = isFields(call) ? call["function"] : undefined
        return isFields(named) ? [named["name"], named["arguments"]] : []
      })
    : []

/** The texts of a message from any source; other values are skipped. */
const partsOf = (message: unknown): ReadonlyArray<string> =>
  isFields(message)
    ? [message["reasoning_content"], contentOf(message["content"]), ...callsOf(message["tool_calls"])].filter(
        (part): part is string => typeof part === "string" && part !== ""
      )
    : []

const previewOf = (rollouts: ReadonlyArray<ReadonlyArray<unknown>>, masks: unknown): string => {
  const answer = rollouts[0]!
    .filter(isFields)
    .map((message) => ({ role: message["role"], text: contentOf(message["content"]) }))
  const prompt = answer.slice(0, Prompt.lengthOf(rollouts, masks))
  const visible =
    prompt.findLast(({ role, text }) => role === "user" && text !== "") ??
    prompt.findLast(({ role, text }) => role !== "assistant" && text !== "") ??
    answer.find(({ role, text }) => role === "user" && text !== "") ??
    answer.find(({ text }) => text !== "")
  return Preview.of(visible?.text ?? "", previewCharacters)
}

const isChat = (chat: unknown): chat is ReadonlyArray<unknown> => Array.isArray(chat) && chat.length > 0

/**
 * The text of the chats of a group, one list of messages per rollout; `masks`, also one per rollout, separate answers
 * from the prompt.
 */
export const ofMessages = (chats: unknown, masks?: unknown): GroupText => {
  if (!Array.isArray(chats)) return nothing
  const rollouts = chats.filter(isChat)
  const [first] = rollouts
  if (first === undefined) return nothing
  const distinctParts = new Set<string>()
  const vocabulary = new Set<string>()
  const lines: Array<string> = []
  let characters = 0
  let bytes = 0
  for (const part of rollouts.flat().flatMap(partsOf)) {
    if (characters >= maxCharacters || bytes >= maxVocabularyBytes) break
    if (distinctParts.has(part)) continue
    distinctParts.add(part)
    const words: Array<string> = []
    for (const one of wordsOf(part.slice(0, maxCharacters))) {
      characters += one.length + 1
      bytes += vocabulary.has(one) ? 0 : bytesOf(one)
      if (characters > maxCharacters || bytes > maxVocabularyBytes) break
      vocabulary.add(one)
      words.push(one)
    }
    if (words.length > 0) lines.push(` ${words.join(" ")} `)
  }
  const rows: ReadonlyArray<unknown> = Array.isArray(masks) ? masks : []
  const preview = previewOf(
    rollouts,
    rows.filter((_, place) => isChat(chats[place]))
  )
  return { preview, body: lines.join("\n"), vocabulary: vocabulary.size }
}

/**
 * Summary of an evaluation sample (a line of `samples.jsonl`) for lists and comparisons, the same for samples in files
 * and in the service. Pure; also runs in browsers.
 *
 * Long texts are truncated, because lists of ten thousand samples are loaded completely.
 */

/** Max characters of texts. */
export const longest = 200

type Fields = { readonly [key: string]: unknown }

export interface SampleHead {
  readonly label: string
  /** The item's stable id. */
  readonly item: string
  readonly category: string | null
  readonly gold: ReadonlyArray<string>
  /** The parsed answer; null if unparsed. Absent if answers are not parsed. */
  readonly parsed?: string | null
  readonly ending: string
  readonly score: number
  readonly rewards: { readonly [name: string]: number }
  readonly correct?: boolean
  readonly tokens: number | null
  readonly isCut: boolean
}

const beginning = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text)

const textOf = (content: unknown): string => {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content
    .map((part: unknown) => (isFields(part) && typeof part["text"] === "string" ? part["text"] : ""))
    .join("")
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isVerdict = (value: unknown): value is boolean | undefined => value === undefined || typeof value === "boolean"

const string = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

const numbers = (value: unknown): { readonly [name: string]: number } =>
  isFields(value)
    ? Object.fromEntries(Object.entries(value).filter((entry): entry is [string, number] => Number.isFinite(entry[1])))
    : {}

const lastSaid = ({ completion, messages }: Fields): string => {
  if (typeof completion === "string") return completion
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  return isFields(last) ? textOf(last["content"]) : ""
}

/** True if a text is a JSON value instead of a text: an item without a name from its environment. */
const isBare = (text: string): boolean => /^\s*(?:[[{"]|-?\d[\d.]*\s*$|(?:true|false|null)\s*$)/.test(text)

/** The user's first message. */
const promptOf = (messages: unknown): string | undefined => {
  const first: unknown = Array.isArray(messages)
    ? messages.find((message: unknown) => isFields(message) && message["role"] === "user")
    : undefined
  const text = isFields(first) ? textOf(first["content"]).trim() : ""
  return text === "" ? undefined : text
}

/** The item's label: a text if there is any. */
export const labelOf = (line: Fields): string => {
  const label = string(line["label"]) ?? String(line["item"])
  return isBare(label) ? (promptOf(line["messages"]) ?? label) : label
}

const ending = (text: string): string => {
  const line = text.trim().replaceAll(/\s+/g, " ")
  return line.length > longest ? `…${line.slice(-longest)}` : line
}

/** Undefined if the line is not a sample: without item or score, or with a non-boolean `correct`. */
export const of = (line: unknown): SampleHead | undefined => {
  if (!isFields(line)) return undefined
  const { correct, gold, item, parsed, score } = line
  const hasItem = typeof item === "string" || typeof item === "number"
  if (!hasItem || typeof score !== "number" || !Number.isFinite(score) || !isVerdict(correct)) return undefined
  return {
    label: beginning(labelOf(line)),
    // Not truncated, because items are matched by it.
    item: string(line["id"]) ?? string(line["label"]) ?? String(item),
    category: string(line["category"]) ?? null,
    gold: (Array.isArray(gold) ? gold : [])
      .filter((one) => typeof one === "string")
      .slice(0, 8)
      .map(beginning),
    ...((parsed === null || typeof parsed === "string") && { parsed: parsed === null ? null : beginning(parsed) }),
    ending: ending(lastSaid(line)),
    score,
    rewards: numbers(line["rewards"]),
    ...(correct !== undefined && { correct }),
    tokens: typeof line["tokens"] === "number" ? line["tokens"] : null,
    isCut: line["finish_reason"] === "length"
  }
}

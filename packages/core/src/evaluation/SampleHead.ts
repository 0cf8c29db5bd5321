/**
 * What lists and comparisons show of a sample of an evaluation (a line of `samples.jsonl`): the same for samples in
 * files and in the service. Pure; also runs in browsers.
 *
 * Long texts are cut: a list of ten thousand samples is to be loaded whole.
 */

/** The beginning of longer texts. */
export const longest = 200

type Fields = { readonly [key: string]: unknown }

export interface SampleHead {
  /** What the item is called. */
  readonly label: string
  /** The item's lasting id. */
  readonly item: string
  readonly category: string | null
  readonly gold: ReadonlyArray<string>
  /** The answer as it was read; null where none could be. Absent where nobody reads answers. */
  readonly parsed?: string | null
  /** The end of what the model said. */
  readonly ending: string
  readonly score: number
  readonly rewards: { readonly [name: string]: number }
  /** Absent if the environment does not say which scores are. */
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

/** Whether a text is a value of JSON rather than words: an item that its environment gives no name. */
const isBare = (text: string): boolean => /^\s*(?:[[{"]|-?\d[\d.]*\s*$|(?:true|false|null)\s*$)/.test(text)

/** What the user asked first. */
const asked = (messages: unknown): string | undefined => {
  const first: unknown = Array.isArray(messages)
    ? messages.find((message: unknown) => isFields(message) && message["role"] === "user")
    : undefined
  const text = isFields(first) ? textOf(first["content"]).trim() : ""
  return text === "" ? undefined : text
}

/** What the item is called: in words wherever there are any. */
export const labelOf = (line: Fields): string => {
  const label = string(line["label"]) ?? String(line["item"])
  return isBare(label) ? (asked(line["messages"]) ?? label) : label
}

const ending = (text: string): string => {
  const line = text.trim().replaceAll(/\s+/g, " ")
  return line.length > longest ? `…${line.slice(-longest)}` : line
}

/** None if the line is no sample: it has no item or no score, or `correct` is no boolean. */
export const of = (line: unknown): SampleHead | undefined => {
  if (!isFields(line)) return undefined
  const { correct, gold, item, parsed, score } = line
  const hasItem = typeof item === "string" || typeof item === "number"
  if (!hasItem || typeof score !== "number" || !Number.isFinite(score) || !isVerdict(correct)) return undefined
  return {
    label: beginning(labelOf(line)),
    // Whole: items are joined by it.
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

/**
 * Guesses if an answer matches the expected one, as a hint for readers of many groups. Graders accept more forms, so an
 * unrecognised answer may be correct; a recognised one is.
 *
 * Compares the parsed answer (`overrides[i].parsed`), otherwise the end of the text, with the expected answers
 * (`group_overrides.gold`), ignoring boxes, tags, surrounding whitespace, case and closing punctuation; numbers by
 * value. Pure; it runs in browsers too, and imports nothing.
 */
type Fields = { readonly [key: string]: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Characters at the end of a long text that are compared. */
const endLength = 300
/** Longer expected answers have too many valid forms. */
const maxGoldLength = 200

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const bare = (text: string): string => {
  const answer = text.slice(text.lastIndexOf("</think>") + 1).replace(/^\/think>/, "")
  const box = answer.lastIndexOf("\\boxed{")
  const inner = box < 0 ? answer : answer.slice(box + "\\boxed{".length).replace(/\}[^}]*$/, "")
  return inner
    .replaceAll(/<\/?[a-z_]{1,20}>/gi, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
    .replace(/[.!]$/, "")
    .toLowerCase()
}

const numberOf = (text: string): number =>
  /^[-+]?\d[\d,]*(?:\.\d+)?$/.test(text) ? Number(text.replaceAll(",", "")) : Number.NaN

const isSame = (answer: string, gold: string): boolean => answer === gold || numberOf(answer) === numberOf(gold)

const endsWith = (answer: string, gold: string): boolean =>
  answer.endsWith(gold) && !/[\p{L}\p{N}.,]/u.test(answer.at(-gold.length - 1) ?? " ")

const lastSaid = (chat: unknown): string => {
  const message: unknown = list(chat).at(-1)
  return isFields(message) && typeof message["content"] === "string" ? message["content"].slice(-endLength) : ""
}

/** A predicate by rollout; undefined if the expected answer is unknown or long. */
export const of = ({
  groupOverrides,
  messages,
  overrides
}: {
  readonly groupOverrides?: unknown
  readonly messages?: unknown
  readonly overrides?: unknown
}): ((rollout: number) => boolean) | undefined => {
  const golds = list(isFields(groupOverrides) ? groupOverrides["gold"] : undefined)
    .flatMap((gold) => (typeof gold === "string" && gold.length <= maxGoldLength ? [bare(gold)] : []))
    .filter((gold) => gold !== "")
  if (golds.length === 0) return undefined
  const own = list(overrides)
  const chats = list(messages)
  return (rollout) => {
    const switches = own[rollout]
    const parsed = isFields(switches) ? switches["parsed"] : undefined
    if (parsed === null) return false
    if (typeof parsed === "string") return golds.some((gold) => isSame(bare(parsed), gold))
    const answer = bare(lastSaid(chats[rollout]))
    return golds.some((gold) => isSame(answer, gold) || endsWith(answer, gold))
  }
}

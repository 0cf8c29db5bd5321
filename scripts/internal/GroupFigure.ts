/**
 * Formats a scored group as a few lines of text: the prompt, and for every rollout, best first, its score, the
 * difference from the group's mean, its components, and its answer, on one line if it is short.
 *
 * At most 14 lines of at most 120 columns, without control characters. No line can end a fenced block: answers are
 * indented too far for that. Omissions are marked by an ellipsis.
 */
import { Message, type ScoredGroup } from "@atropos/core"

const columns = 120
const promptLines = 3
const maxRollouts = 3

/** Words of this length may be broken at the end of a line. */
const longWord = 40

/** Deep enough that a fence inside it is not a fence. */
const indent = "    "

/** Width and height of a PNG, from its header. */
const sizeOf = (url: unknown): string => {
  const data = /^data:image\/png;base64,(.*)$/s.exec(typeof url === "string" ? url : "")?.[1]
  if (data === undefined) return "[picture]"
  const header = Buffer.from(data.slice(0, 64), "base64")
  return `[picture ${header.readUInt32BE(16)}x${header.readUInt32BE(20)}]`
}

const partText = ({ image_url: image, text, type }: Message.ContentPart): string =>
  text ?? (type === "image_url" ? sizeOf((image as { readonly url?: unknown } | undefined)?.url ?? image) : `[${type}]`)

/** A message on one line, including its pictures and calls. */
const lineOf = ({ content, tool_calls: calls = [] }: Message.Message): string =>
  plain(
    [
      typeof content === "string" ? content : (content ?? []).map(partText).join(" "),
      ...calls.map(({ function: { arguments: given, name } }) => `${name}(${given})`)
    ]
      .filter((text) => text !== "")
      .join(" ")
  )

/** Collapses text to one line, without control characters. */
const plain = (text: string): string =>
  text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, "\u{fffd}")
    .trim()

/** The start and the end of a long text. */
const short = (text: string, most: number): string => {
  const letters = Array.from(text)
  if (letters.length <= most) return text
  const head = Math.ceil((most - 3) * 0.6)
  const tail = most - 3 - head
  return `${letters.slice(0, head).join("").trimEnd()} … ${letters.slice(-tail).join("").trimStart()}`
}

const number = (value: number): string => String(Math.round(value * 1000) / 1000 + 0)
const signed = (value: number): string => (Math.round(value * 1000) > 0 ? `+${number(value)}` : number(value))

/** The advantage of every answer, if the environment sets them itself. */
const ownAdvantages = ({ advantages, masks }: ScoredGroup.ScoredGroup, index: number): string | undefined => {
  const own = advantages?.[index]
  if (own === undefined) return undefined
  const mask = masks[index]!
  return Array.from(own)
    .filter((_, at) => mask[at] === 1 && mask[at - 1] !== 1)
    .map(signed)
    .join(" ")
}

/** Messages before the first answer: one line each, only the newest if there are too many. */
const promptOf = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<string> => {
  const first = messages.findIndex(({ role }) => role === "assistant")
  const prompt = messages.slice(0, first === -1 ? messages.length : first)
  const shown = prompt.slice(-promptLines)
  const spare = Math.floor(promptLines / Math.max(1, shown.length))
  return shown.flatMap((message) => {
    const head = `${message.role}: `
    const text = lineOf(message)
    const isLong = spare > 1 && message.role !== "system" && text.length > columns - head.length
    return isLong ? wrapped(head, text, Math.min(spare, 3)) : [head + short(text, columns - head.length)]
  })
}

/** Wraps text to several lines, between words if they are short. */
const wrapped = (head: string, text: string, most: number): ReadonlyArray<string> => {
  const width = columns - head.length
  // Reserves the space lost by breaking between words.
  const letters = Array.from(short(text, (width - 12) * most))
  const lines: Array<string> = []
  while (letters.length > 0) {
    const blank = letters.slice(0, width + 1).lastIndexOf(" ")
    const length = letters.length <= width ? letters.length : blank > width - longWord ? blank : width
    lines.push(letters.splice(0, length).join("").trim())
  }
  return lines.map((line, at) => (at === 0 ? head : " ".repeat(head.length)) + line)
}

/** Everything after the prompt: answers and replies. */
const answered = (messages: ReadonlyArray<Message.Message>): string => {
  const first = messages.findIndex(({ role }) => role === "assistant")
  const turns = first === -1 ? [] : messages.slice(first)
  return turns
    .map((message) =>
      message.role === "assistant" ? lineOf(message) || "(nothing)" : `[${message.role}: ${lineOf(message)}]`
    )
    .join(" ")
}

/** The figure of a group; `note` is for its readers. */
export const make = (group: ScoredGroup.ScoredGroup, note?: string): string => {
  const { messages = [], rewards, scores } = group
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length
  const said = Array.from(scores, (_, index) => answered(messages[index] ?? []))
  // Concurrent programs answer in any order.
  const order = Array.from(scores.keys()).toSorted(
    (a, b) => scores[b]! - scores[a]! || (said[a]! < said[b]! ? -1 : said[a]! > said[b]! ? 1 : 0)
  )
  const rollouts = order.map((index, place) => {
    const score = scores[index]!
    const own = ownAdvantages(group, index)
    const parts = Object.entries(rewards?.[index] ?? {}).map(([name, value]) => `${name} ${number(value)}`)
    const figures = [
      `score ${number(score)}`,
      `advantage ${signed(score - mean)}`,
      ...(own === undefined ? [] : [`by turn ${own}`]),
      ...(parts.length === 0 ? [] : [parts.join(", ")])
    ]
    const head = short(`${String(place + 1).padEnd(indent.length)}${figures.join("   ")}`, columns)
    const line = `${head} │ ${said[index]!}`
    return Array.from(line).length <= columns ? [line] : [head, indent + short(said[index]!, columns - indent.length)]
  })
  return [
    ...(note === undefined ? [] : [short(note, columns)]),
    ...promptOf(messages[0] ?? []),
    ...rollouts.slice(0, maxRollouts).flat()
  ].join("\n")
}

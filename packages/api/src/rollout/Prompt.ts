/**
 * The prompt of a group: the messages its rollouts were given, before the first that the policy made. Pure; the
 * same in the service, over files and in a browser.
 *
 * Examples of answers in a prompt are messages of an assistant too. What tells them from answers is the mask: the
 * policy made as many as there are trained spans, the last ones. Without a trained token anywhere, the first answer
 * ends the prompt. What rollouts do not have in common is no prompt; an answer that all of them gave is none either.
 */
import { isFields } from "./Fields.ts"

/** Runs of trained entries: a mask has -100 where nothing is trained, or zeros and ones. */
const spansOf = (mask: ArrayLike<number>): number => {
  let isBinary = true
  for (let t = 0; t < mask.length && isBinary; t++) isBinary = mask[t] === 0 || mask[t] === 1
  const untrained = isBinary ? 0 : -100
  let spans = 0
  for (let t = 0; t < mask.length; t++) {
    if (mask[t] !== untrained && (t === 0 || mask[t - 1] === untrained)) spans++
  }
  return spans
}

/** Messages of a chat before the first answer of the policy, by its own mask; all of them where it has no answer. */
const promptLengthIn = (chat: ReadonlyArray<unknown>, spans: number): number => {
  const answers = chat.flatMap((message, place) =>
    isFields(message) && message["role"] === "assistant" ? [place] : []
  )
  return answers[spans === 0 ? 0 : Math.max(0, answers.length - spans)] ?? chat.length
}

const isRow = (value: unknown): value is ArrayLike<number> => Array.isArray(value) || ArrayBuffer.isView(value)

/**
 * How many messages at the beginning of every chat are the prompt; `masks` are the sequences' own, in the same order.
 */
export const lengthOf = (chats: ReadonlyArray<ReadonlyArray<unknown>>, masks: unknown): number => {
  const [first] = chats
  if (first === undefined) return 0
  const rows: ReadonlyArray<unknown> = Array.isArray(masks) ? masks : []
  const spans = chats.map((_, place) => (isRow(rows[place]) ? spansOf(rows[place]) : 0))
  // A sequence that is masked whole says nothing of its chat, as long as another one does.
  const telling = spans.some((count) => count > 0) ? chats.filter((_, place) => spans[place]! > 0) : chats
  const counts = spans.some((count) => count > 0) ? spans.filter((count) => count > 0) : spans
  const promptLength = Math.min(...telling.map((chat, place) => promptLengthIn(chat, counts[place]!)))
  for (let place = 0; place < promptLength; place++) {
    const text = JSON.stringify(first[place])
    if (chats.some((chat) => JSON.stringify(chat[place]) !== text)) return place
  }
  return promptLength
}

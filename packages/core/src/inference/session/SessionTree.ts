/**
 * The tree of a session's chats: prompts, answers, and the prompts that follow them.
 *
 * A prompt stores only its new messages, so a session of T turns stores each message once. Requests are matched by
 * comparing messages, never by rendering them. Prompts are recorded when sent, answers on arrival; nothing is ever
 * removed. Each answer ends a sequence: the first one that continues another takes over its number, any other gets a
 * new one.
 *
 * `P` is the data stored with a prompt, `A` with an answer.
 */
import type { Message } from "../../trajectory/Message.ts"
import * as SameMessage from "./SameMessage.ts"

export interface Prompt<P, A> {
  /** The answer that the chat continues; absent at the beginning of a chat. */
  readonly parent: Answer<P, A> | undefined
  /** The messages that follow it. */
  readonly asked: ReadonlyArray<Message>
  /** True if the last of them is a prefill of the answer. */
  readonly isOpen: boolean
  readonly tools: ReadonlyArray<unknown>
  readonly data: P
  readonly answers: Array<Answer<P, A>>
}

export interface Answer<P, A> {
  readonly prompt: Prompt<P, A>
  /** Its number in the session, from 0. */
  readonly turn: number
  readonly sequence: number
  /** When it was requested and arrived, as event counts of the session. */
  readonly askedAt: number
  readonly cameAt: number
  /** As the client has it, including its own prefill. */
  readonly message: Message
  /** The text as the model wrote it. */
  readonly text: string
  readonly data: A
  readonly prompts: Array<Prompt<P, A>>
}

export interface Match<P, A> {
  /** The last answer up to which the chat repeats the tree. */
  readonly answer: Answer<P, A> | undefined
  /** Number of messages of the chat up to and including it. */
  readonly repeated: number
  /** The prompt equal to this chat, if it was sent before. */
  readonly prompt: Prompt<P, A> | undefined
  /** True if it begins with a complete earlier prompt and then diverges. */
  readonly hasLeft: boolean
}

export interface Came<A> {
  readonly message: Message
  readonly text: string
  readonly data: A
}

export interface Asking<P, A> {
  readonly prompt: Prompt<P, A>
  readonly askedAt: number
}

export interface SessionTree<P, A> {
  readonly find: (messages: ReadonlyArray<Message>, tools: ReadonlyArray<unknown>) => Match<P, A>
  /** Records that a prompt is sent, for the first time or again. */
  readonly ask: (asked: Prompt<P, A> | Omit<Prompt<P, A>, "answers">) => Asking<P, A>
  /** Records the answers to one request. The first takes over the number of `from`, unless it is taken. */
  readonly record: (
    asking: Asking<P, A>,
    came: ReadonlyArray<Came<A>>,
    from: Answer<P, A> | undefined
  ) => ReadonlyArray<Answer<P, A>>
  /** The first prompts of all chats and text completions. */
  readonly roots: ReadonlyArray<Prompt<P, A>>
  /** All answers, in order of arrival. */
  readonly answers: ReadonlyArray<Answer<P, A>>
  /** The last answer of every sequence, by its number. */
  readonly tips: ReadonlyArray<Answer<P, A>>
}

export const make = <P, A>(): SessionTree<P, A> => {
  const roots: Array<Prompt<P, A>> = []
  const answers: Array<Answer<P, A>> = []
  const tips: Array<Answer<P, A>> = []
  let clock = 0

  const ask: SessionTree<P, A>["ask"] = (asked) => {
    const askedAt = clock++
    if ("answers" in asked) return { prompt: asked, askedAt }
    const prompt: Prompt<P, A> = { ...asked, answers: [] }
    const siblings = prompt.parent?.prompts ?? roots
    siblings.push(prompt)
    return { prompt, askedAt }
  }

  const record: SessionTree<P, A>["record"] = ({ askedAt, prompt }, came, from) => {
    const cameAt = clock++
    return came.map(({ data, message, text }, index) => {
      const isNext = index === 0 && from !== undefined && tips[from.sequence] === from
      const sequence = isNext ? from.sequence : tips.length
      const turn = answers.length
      const answer: Answer<P, A> = { prompt, turn, sequence, askedAt, cameAt, message, text, data, prompts: [] }
      prompt.answers.push(answer)
      answers.push(answer)
      tips[sequence] = answer
      return answer
    })
  }

  return { find: (messages, tools) => find(roots, messages, tools), ask, record, roots, answers, tips }
}

/** Follows the chat from the roots to where it leaves the tree; each prompt is visited once. */
const find = <P, A>(
  roots: ReadonlyArray<Prompt<P, A>>,
  messages: ReadonlyArray<Message>,
  tools: ReadonlyArray<unknown>
): Match<P, A> => {
  let place: Match<P, A> = { answer: undefined, repeated: 0, prompt: undefined, hasLeft: false }
  const known = new Map<ReadonlyArray<unknown>, boolean>()
  const hasTools = (given: ReadonlyArray<unknown>): boolean => {
    const isKnown = known.get(given) ?? SameMessage.isSameJson(given, tools)
    known.set(given, isKnown)
    return isKnown
  }
  const waiting: Array<{ readonly prompt: Prompt<P, A>; readonly from: number }> = []
  const visit = (prompts: ReadonlyArray<Prompt<P, A>>, from: number): void => {
    for (const prompt of prompts) if (prompt.asked.length > 0) waiting.push({ prompt, from })
  }
  visit(roots, 0)
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { from, prompt } = next
    const { answers, asked, isOpen } = prompt
    const closed = isOpen ? asked.length - 1 : asked.length
    const at = from + closed
    if (at > messages.length || !begins(asked, closed, messages, from)) continue
    const message = messages[at]
    if (!hasTools(prompt.tools)) {
      if (answers.length > 0 && message !== undefined) place = { ...place, hasLeft: true }
      continue
    }
    const end = from + asked.length
    if (end === messages.length && (!isOpen || SameMessage.isSame(asked.at(-1)!, messages[end - 1]!))) {
      place = { ...place, prompt }
    }
    if (message === undefined) continue
    for (const answer of answers) {
      if (!SameMessage.isAnswer(message, answer)) continue
      const repeated = at + 1
      if (isBetter(place, answer, repeated, message)) place = { ...place, answer, repeated }
      visit(answer.prompts, repeated)
    }
    if (answers.length > 0) place = { ...place, hasLeft: true }
  }
  return place
}

const begins = (
  asked: ReadonlyArray<Message>,
  count: number,
  messages: ReadonlyArray<Message>,
  from: number
): boolean => {
  for (let at = 0; at < count; at++) if (!SameMessage.isSame(asked[at]!, messages[from + at]!)) return false
  return true
}

/** Among answers with equal text, prefers the one whose call ids match; else the first choice of the newest request. */
const isBetter = <P, A>(
  { answer: best, repeated: most }: Match<P, A>,
  answer: Answer<P, A>,
  repeated: number,
  message: Message
): boolean => {
  if (best === undefined || repeated !== most) return repeated > most
  const isNamed = SameMessage.hasSameIds(message, answer.message)
  if (isNamed !== SameMessage.hasSameIds(message, best.message)) return isNamed
  return answer.askedAt === best.askedAt ? answer.turn < best.turn : answer.askedAt > best.askedAt
}

/** The answers of a chat up to this one, oldest first. */
export const pathOf = <P, A>(answer: Answer<P, A>): ReadonlyArray<Answer<P, A>> => {
  const path: Array<Answer<P, A>> = []
  for (let one: Answer<P, A> | undefined = answer; one !== undefined; one = one.prompt.parent) path.push(one)
  return path.toReversed()
}

/** The whole chat up to and including an answer. */
export const chatOf = <P, A>(answer: Answer<P, A>): ReadonlyArray<Message> =>
  pathOf(answer).flatMap(({ message, prompt: { asked, isOpen } }) => [
    ...(isOpen ? asked.slice(0, -1) : asked),
    message
  ])

/**
 * The tree of a session's chats: what was asked, what was answered, and what was asked after that.
 *
 * A prompt holds only the messages that are new in it, so a session of T turns keeps each message once. A request is
 * looked up by comparing messages, never by rendering them. Prompts are kept as they are asked, answers as they come;
 * nothing is ever removed. Each answer ends a sequence: the first that goes on from another takes over its number, any
 * further one has a new number.
 *
 * `P` is what a session keeps of a prompt, `A` what it keeps of an answer.
 */
import type { Message } from "../../Message.ts"
import * as SameMessage from "./SameMessage.ts"

export interface Prompt<P, A> {
  /** The answer that the chat goes on from; absent for the beginning of a chat. */
  readonly parent: Answer<P, A> | undefined
  /** The messages that follow it. */
  readonly asked: ReadonlyArray<Message>
  /** Whether the last of them is the beginning of the answer. */
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
  /** When it was asked for and when it came, in events of the session. */
  readonly askedAt: number
  readonly cameAt: number
  /** As the client has it, the beginning that it sent itself included. */
  readonly message: Message
  /** The same in the model's own words. */
  readonly text: string
  readonly data: A
  /** What was asked after it. */
  readonly prompts: Array<Prompt<P, A>>
}

/** Where a chat stands in the tree. */
export interface Place<P, A> {
  /** The last answer that the chat repeats everything up to. */
  readonly answer: Answer<P, A> | undefined
  /** Messages of the chat up to and with it. */
  readonly repeated: number
  /** The prompt that this chat is, where it was asked before. */
  readonly prompt: Prompt<P, A> | undefined
  /** Whether it begins with the whole of a prompt that was asked before, and then goes another way. */
  readonly hasLeft: boolean
}

/** What an answer is recorded with. */
export interface Came<A> {
  readonly message: Message
  readonly text: string
  readonly data: A
}

/** A request that is under way. */
export interface Asking<P, A> {
  readonly prompt: Prompt<P, A>
  readonly askedAt: number
}

export interface SessionTree<P, A> {
  readonly find: (messages: ReadonlyArray<Message>, tools: ReadonlyArray<unknown>) => Place<P, A>
  /** Writes down that a prompt is asked, for the first time or again. */
  readonly ask: (asked: Prompt<P, A> | Omit<Prompt<P, A>, "answers">) => Asking<P, A>
  /** Writes down the answers to one request. The first takes over the number of `from`, unless another has it. */
  readonly record: (
    asking: Asking<P, A>,
    came: ReadonlyArray<Came<A>>,
    from: Answer<P, A> | undefined
  ) => ReadonlyArray<Answer<P, A>>
  /** All chats' beginnings, those of text completions included. */
  readonly roots: ReadonlyArray<Prompt<P, A>>
  /** All answers, as they came. */
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

/** Follows the chat from the roots to where it leaves the tree; each prompt is looked at once. */
const find = <P, A>(
  roots: ReadonlyArray<Prompt<P, A>>,
  messages: ReadonlyArray<Message>,
  tools: ReadonlyArray<unknown>
): Place<P, A> => {
  let place: Place<P, A> = { answer: undefined, repeated: 0, prompt: undefined, hasLeft: false }
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

/** Of answers that read alike, the one whose calls it names; else the first choice of the newest request. */
const isBetter = <P, A>(
  { answer: best, repeated: most }: Place<P, A>,
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

/** The whole chat that an answer ends, itself included. */
export const chatOf = <P, A>(answer: Answer<P, A>): ReadonlyArray<Message> =>
  pathOf(answer).flatMap(({ message, prompt: { asked, isOpen } }) => [
    ...(isOpen ? asked.slice(0, -1) : asked),
    message
  ])

/** Writes and judges questions of letter counting: in a chat, or in a few characters. */
import * as Thinking from "../kit/Thinking.ts"
import * as RepeatedKeys from "@atropos/core/base/json/RepeatedKeys"
import { Option, Schema } from "effect"
import { count, type Question } from "./Tiers.ts"

/** `rw:strawberry=`, answered by `3,1`. */
export const compactPrompt = ({ letters, text }: Question): string => `${letters.join("")}:${text}=`
export const compactAnswer = (question: Question): string => count(question).join(",")

const thinkFirst = "Think step by step between <think> and </think> first. "

export const chatPrompt = ({ letters, text }: Question, thinking: boolean): string =>
  letters.length === 1
    ? `How often does the letter "${letters[0]}" occur in "${text}"?\n\n${thinking ? thinkFirst : ""}Give the number as <answer>number</answer>.`
    : `Count the letters ${letters.map((letter) => `"${letter}"`).join(", ")} in "${text}".\n\n${thinking ? thinkFirst : ""}Give the numbers as JSON with exactly these keys: <answer>${shape(letters)}</answer>.`

/** The shape of an answer in prompts; not an answer itself, so that repeating the question does not count. */
const shape = (letters: ReadonlyArray<string>): string =>
  `{${letters.map((letter) => `"${letter}": number`).join(", ")}}`

const chatAnswer = (letters: ReadonlyArray<string>, countOf: (index: number) => number): string =>
  JSON.stringify(Object.fromEntries(letters.map((letter, index) => [letter, countOf(index)])))

/** The answer to a chat, with every count wrong by `off`. */
export const chatCompletion = (question: Question, thinking: boolean, off = 0): string => {
  const counts = count(question)
  const { letters } = question
  const answer = letters.length === 1 ? String(counts[0]! + off) : chatAnswer(letters, (index) => counts[index]! + off)
  return `${thinking ? "<think>I count them one by one.</think>" : ""}<answer>${answer}</answer>`
}

const opening = /<answer>/gi
const tagged = /<answer>([^<]{0,2000})<\/answer>/i
const digits = /^\d{1,6}$/
const decodeCounts = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Int)))

export interface Judged {
  /** 1 if the only answer tag has counts of exactly the requested letters. */
  readonly format: number
  /** Share of right counts. */
  readonly counts: number
  readonly correct: number
  readonly [component: string]: number
}

export const unread: Judged = { format: 0, counts: 0, correct: 0 }

/** The counts of a chat answer, in the order of the letters. */
const countsOf = (letters: ReadonlyArray<string>, reply: string): ReadonlyArray<number> | undefined => {
  if (letters.length === 1) return digits.test(reply) ? [Number(reply)] : undefined
  const parsed = Option.getOrUndefined(decodeCounts(reply))
  return parsed !== undefined &&
    RepeatedKeys.find(reply) === undefined &&
    Object.keys(parsed).length === letters.length &&
    letters.every((letter) => Object.hasOwn(parsed, letter))
    ? letters.map((letter) => parsed[letter]!)
    : undefined
}

/**
 * Judges the only answer tag of a chat answer; with `thinking`, after the only think block. Without it, a think block
 * is ignored if present.
 */
export const judge = (question: Question, completion: string, thinking: boolean): Judged => {
  const text = Thinking.answer(completion, thinking) ?? ""
  const reply = (text.match(opening)?.length ?? 0) === 1 ? tagged.exec(text)?.[1]?.trim() : undefined
  const output = reply === undefined ? undefined : countsOf(question.letters, reply)
  if (output === undefined) return unread
  const right = count(question).filter((number, index) => number === output[index]).length
  return { format: 1, counts: right / output.length, correct: right === output.length ? 1 : 0 }
}

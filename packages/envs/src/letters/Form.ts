/** How a question of letter counting is put and answered: in a chat, or in a few characters. */
import { Thinking } from "@atropos/core"
import * as RepeatedKeys from "@atropos/core/base/RepeatedKeys"
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

/** The form of an answer, which is none itself: who says the question back has not answered it. */
const shape = (letters: ReadonlyArray<string>): string =>
  `{${letters.map((letter) => `"${letter}": number`).join(", ")}}`

const chatAnswer = (letters: ReadonlyArray<string>, countOf: (index: number) => number): string =>
  JSON.stringify(Object.fromEntries(letters.map((letter, index) => [letter, countOf(index)])))

/** The answer to a chat, with every count off by as much. */
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

/**
 * Whether an answer to a chat has exactly the right counts, in its only answer tag; with `thinking`, after its only
 * think block. Without, a think block is passed over where there is one.
 */
export const isRight = (question: Question, completion: string, thinking: boolean): boolean => {
  const text = Thinking.answer(completion, thinking) ?? ""
  const reply = (text.match(opening)?.length ?? 0) === 1 ? tagged.exec(text)?.[1]?.trim() : undefined
  if (reply === undefined) return false
  const { letters } = question
  const counts = count(question)
  if (letters.length === 1) return digits.test(reply) && Number(reply) === counts[0]
  const parsed = Option.getOrUndefined(decodeCounts(reply))
  return (
    parsed !== undefined &&
    RepeatedKeys.find(reply) === undefined &&
    Object.keys(parsed).length === letters.length &&
    letters.every((letter, index) => Object.hasOwn(parsed, letter) && parsed[letter] === counts[index])
  )
}

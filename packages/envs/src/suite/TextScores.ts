/** Scores that are functions of the answer's text: the extracted answer compared with the references. */
import * as NumberAnswer from "../verify/Number.ts"
import { dropGolds } from "./DropRow.ts"
import * as Grid from "./Grid.ts"
import * as Latex from "./Latex.ts"
import { normalise } from "./Normalise.ts"
import * as Reading from "./Reading.ts"
import type { Of } from "./ScoreSpec.ts"
import { type Answer, type Judged, one, type Verdict } from "./Verdict.ts"
import * as Words from "./Words.ts"

type Score = (item: Judged, answer: Answer) => Verdict

const best = (values: ReadonlyArray<number>): number => Math.max(0, ...values)

export const byText = (name: string, { compare = "equal", normalise: steps = [], read }: Of<"text">): Score => {
  const isSame = {
    equal: (reply: string, gold: string) => reply === gold,
    latex: Latex.equal,
    contains: (reply: string, gold: string) => gold !== "" && reply.includes(gold),
    begins: (reply: string, gold: string) => gold !== "" && reply.startsWith(gold)
  }[compare]
  return ({ gold, letters, texts }, { text }) => {
    const reply = Reading.read(text, read, { letters, texts })
    const isRight =
      reply !== undefined && gold.some((reference) => isSame(normalise(reply, steps), normalise(reference, steps)))
    return one(name, isRight ? 1 : 0, reply)
  }
}

export const byChoice =
  (name: string, { read }: Of<"choice">): Score =>
  ({ gold, letters, texts }, { text }) => {
    const reply = Reading.read(text, read, { letters, texts })?.toUpperCase()
    return one(name, reply !== undefined && gold.includes(reply) ? 1 : 0, reply)
  }

const numberPattern = /[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?|[-+]?\.\d+(?:e[-+]?\d+)?/gi

/** The last number of a text, without thousands separators. */
const numberIn = (text: string): string | undefined =>
  Array.from(NumberAnswer.asciiSigns(text).matchAll(numberPattern)).at(-1)?.[0].replaceAll(",", "")

export const byNumber =
  (name: string, { absolute = 0, read, relative = 0 }: Of<"number">): Score =>
  ({ gold, letters, texts }, { text }) => {
    const reply = Reading.read(text, read, { letters, texts })
    const value = reply === undefined ? undefined : numberIn(reply)
    const isRight = gold.some((reference) => {
      const target = numberIn(reference)
      return (
        value !== undefined && target !== undefined && NumberAnswer.equivalent(target, value, { absolute, relative })
      )
    })
    return one(name, isRight ? 1 : 0, value ?? reply)
  }

export const byWords =
  (name: string, { read }: Of<"words">): Score =>
  ({ gold, letters, texts }, { text }) => {
    const reply = Reading.read(text, read, { letters, texts })
    return one(name, best(gold.map((reference) => Words.squad(reply ?? "", reference))), reply)
  }

export const byPatterns = (name: string, { any, within = 100_000 }: Of<"patterns">): Score => {
  const patterns = any.map((source) => new RegExp(source, "i"))
  return (_, { text }) => {
    const start = text.slice(0, within)
    const found = patterns.map((pattern) => pattern.exec(start)?.[0]).find((match) => match !== undefined)
    return one(name, found === undefined ? 0 : 1, found)
  }
}

/** The right grid, and the share of its cells. */
export const byGrid =
  (name: string): Score =>
  ({ gold }, { text }) => {
    const reply = Grid.read(text)
    const target = Grid.of((gold[0] ?? "").split("\n").map((row) => row.split(" ")))
    const share = reply === undefined || target === undefined ? 0 : Grid.share(reply, target)
    return {
      values: { [name]: share === 1 ? 1 : 0, [`${name}_cells`]: share },
      parsed: reply === undefined ? null : Grid.written(reply)
    }
  }

const ratingIn = (text: string): number | undefined => {
  const written = numberIn(text)
  return written === undefined ? undefined : Number(written)
}

/** The model's rating, scored by its distance to the reference as a share of the range. */
export const byRating =
  (name: string, { range: [min, max], read }: Of<"rating">): Score =>
  ({ gold }, { text }) => {
    const reply = Reading.read(text, read)
    const [value, target] = [reply, gold[0]].map((one) => ratingIn(one ?? ""))
    const isRead = value !== undefined && value >= min && value <= max
    return {
      values: { [name]: isRead && target !== undefined ? 1 - Math.abs(value - target) / (max - min) : 0 },
      parsed: isRead ? String(value) : null
    }
  }

export const byDrop =
  ({ read }: Of<"drop">): Score =>
  ({ columns }, { text }) => {
    const reply = Reading.read(text, read)
    const scores = dropGolds(columns).map((gold) => Words.drop(reply ?? "", gold))
    return {
      values: { em: best(scores.map(({ em }) => em)), f1: best(scores.map(({ f1 }) => f1)) },
      parsed: reply ?? null
    }
  }

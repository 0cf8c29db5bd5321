/**
 * Reads a row of an evaluation's data set as its suite specifies. Errors name missing or invalid columns, with the part
 * of the suite that requires them.
 */
import { Columns, ExactJson } from "@atropos/core"
import { Result } from "effect"
import { choices as choicesKind, columnsOf } from "../mcqa/Choices.ts"
import { fromRow } from "../mcqa/Row.ts"
import * as Boxed from "./Boxed.ts"
import { type Row, textsOf, written } from "./Cell.ts"
import { dropGolds } from "./DropRow.ts"
import type { Suite } from "./Spec.ts"

/**
 * Parses lists of texts as Python writes them: `['a', "b's"]`. Data sets contain them if a column of lists was saved as
 * CSV (MuSR's choices).
 */
const escapes: { readonly [letter: string]: string } = { n: "\n", t: "\t", r: "\r" }

const part = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/gsy

/** The texts of a list; undefined if the text is not such a list. */
const literalTexts = (written: string): ReadonlyArray<string> | undefined => {
  const list = written.trim()
  if (!list.startsWith("[") || !list.endsWith("]")) return undefined
  const found: Array<string> = []
  let at = 1
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const match = pattern.exec(list)
    if (match !== null) at = pattern.lastIndex
    return match !== null
  }
  skip(/\s*/y)
  while (at < list.length - 1) {
    part.lastIndex = at
    const match = part.exec(list)
    if (match === null) return undefined
    at = part.lastIndex
    found.push((match[1] ?? match[2] ?? "").replaceAll(/\\(.)/gs, (_, letter: string) => escapes[letter] ?? letter))
    if (!skip(/\s*,\s*/y)) break
  }
  skip(/\s*/y)
  return at === list.length - 1 && found.length > 0 ? found : undefined
}

type Read<A> = Result.Result<A, string>

const format = (value: unknown): string => {
  const written = ExactJson.write(value) ?? String(value)
  return written.length > 60 ? `${written.slice(0, 60)}…` : written
}

export const need = (row: Row, column: string, part: string): Read<NonNullable<unknown>> => {
  const value = Columns.at(row, column)
  return value === undefined || value === null
    ? Result.fail(
        `${value === null ? "no value in the" : "missing"} column ${JSON.stringify(column)} (${part} of the suite)${value === null ? "" : `; columns: ${Object.keys(row).join(", ")}`}`
      )
    : Result.succeed(value)
}

export interface Chosen {
  readonly texts: ReadonlyArray<string>
  readonly gold: number
}

/** The choices of a row, in order, with the index of the right one. */
export const choicesOf = (row: Row, spec: NonNullable<Suite["choices"]>): Read<Chosen> => {
  const columns = columnsOf(spec.from ?? "")
  const own = columns.length > 1 ? columns.indexOf(spec.answer) : -1
  return Result.gen(function* () {
    const found =
      spec.texts !== undefined
        ? { texts: spec.texts }
        : columns.length > 1
          ? {
              texts: yield* Result.all(
                columns.map((column) => Result.flatMap(need(row, column, "choices.from"), textOf(column)))
              )
            }
          : yield* Result.flatMap(need(row, spec.from ?? "", "choices.from"), listed(spec.from ?? ""))
    const labels = spec.labels === undefined ? undefined : textsOf(yield* need(row, spec.labels, "choices.labels"))
    const answer = own === -1 ? yield* need(row, spec.answer, "choices.answer") : own
    const question = yield* Result.mapError(
      fromRow(
        {
          question: "",
          choices: labels === undefined ? found : { ...found, labels },
          answer: Array.isArray(answer) ? answer[0] : answer
        },
        own === -1 ? (spec.answer_is ?? "auto") : "index"
      ),
      (refusal) => (typeof refusal === "string" ? refusal : refusal.reason).replaceAll("answer_is", "choices.answer_is")
    )
    const without = spec.without === undefined ? undefined : new RegExp(spec.without)
    return {
      texts: question.texts.map((text) => (without === undefined ? text : text.replace(without, ""))),
      gold: question.gold
    }
  })
}

const textOf =
  (column: string) =>
  (value: unknown): Read<string> => {
    const text = written(value)
    return text === undefined
      ? Result.fail(`the column ${JSON.stringify(column)} must be a text and is ${format(value)}`)
      : Result.succeed(text)
  }

const listed =
  (column: string) =>
  (value: unknown): Read<{ readonly texts: ReadonlyArray<string>; readonly labels?: ReadonlyArray<string> }> => {
    const found = choicesKind.read(typeof value === "string" ? (literalTexts(value) ?? value) : value)
    return found === undefined
      ? Result.fail(`the column ${JSON.stringify(column)} must be ${choicesKind.expected} and is ${format(value)}`)
      : Result.succeed(found)
  }

/** The references of a row, each of them right. */
export const goldOf = (row: Row, spec: NonNullable<Suite["gold"]>): Read<ReadonlyArray<string>> => {
  const { after, boxed, drop, from, joined, pattern, values } = typeof spec === "string" ? { from: spec } : spec
  return Result.gen(function* () {
    const value = yield* need(row, from, "gold")
    if (drop === true) return dropGolds(row).map((spans) => spans.join(", "))
    const all = textsOf(value)
    if (all === undefined) {
      return yield* Result.fail(
        `the column ${JSON.stringify(from)} (gold) must be a text or a list of texts and is ${format(value)}`
      )
    }
    const golds: Array<string> = []
    for (const text of joined === true ? [all.join(", ")] : all) {
      const at = after === undefined ? 0 : text.lastIndexOf(after)
      if (at === -1)
        return yield* Result.fail(`the reference has no ${JSON.stringify(after)} (gold.after): ${format(text)}`)
      const stated = text.slice(at + (after ?? "").length).trim()
      const rest = boxed === true ? Boxed.last(stated) : stated
      if (rest === undefined) return yield* Result.fail(`the reference has no box (gold.boxed): ${format(text)}`)
      const match = pattern === undefined ? undefined : Array.from(rest.matchAll(new RegExp(pattern, "g"))).at(-1)
      const reply = pattern === undefined ? rest : (match?.[1] ?? match?.[0])
      if (reply === undefined)
        return yield* Result.fail(`the reference has nothing like ${pattern} (gold.pattern): ${format(rest)}`)
      if (values !== undefined && !Object.hasOwn(values, reply)) {
        return yield* Result.fail(
          `the reference ${format(reply)} is not one of ${Object.keys(values).join(", ")} (gold.values)`
        )
      }
      golds.push(values?.[reply] ?? reply)
    }
    return golds
  })
}

export const counts = (row: Row, where: Suite["where"]): boolean =>
  Object.entries(where ?? {}).every(([column, target]) => {
    const value = Columns.at(row, column)
    const text = ExactJson.plain(value) ?? ""
    return [target].flat().some((one) => one === text)
  })

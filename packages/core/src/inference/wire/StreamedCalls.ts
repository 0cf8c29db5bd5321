/**
 * Joins the tool-call deltas of a streamed chat completion into complete calls.
 *
 * Follows OpenAI's own client: arguments are appended, a repeated name replaces the previous one, calls are ordered by
 * `index`. Servers also reuse an index, omit it, or send a new id with every delta, so a delta begins another call only
 * if it has a name and the call under its index cannot continue: a different id, or no id and complete arguments. A
 * delta that cannot be assigned is a failure.
 */
import { Option, Predicate, Result, Schema } from "effect"
import * as Nesting from "../../base/json/Nesting.ts"

export interface Call {
  readonly id?: string
  readonly type: "function"
  readonly function: { readonly name: string; readonly arguments: string }
}

interface OpenCall {
  id: string
  name: string
  text: string
}

interface Delta {
  readonly index: number | undefined
  readonly id: string
  readonly name: string
  readonly text: string
}

export interface StreamedCalls {
  /** Takes the `tool_calls` of one delta; fails with why they cannot be read. */
  readonly take: (deltas: unknown) => Result.Result<void, string>
  readonly calls: () => Result.Result<ReadonlyArray<Call>, string>
}

const Text = Schema.optionalKey(Schema.NullOr(Schema.String))
const decodeDelta = Schema.decodeUnknownOption(
  Schema.Struct({
    index: Schema.optionalKey(Schema.NullOr(Schema.Natural)),
    id: Text,
    function: Schema.optionalKey(Schema.NullOr(Schema.Struct({ name: Text, arguments: Text }))),
    custom: Schema.optionalKey(Schema.Null)
  })
)

const read = (given: unknown): Delta | undefined =>
  Option.getOrUndefined(
    Option.map(decodeDelta(given), ({ function: called, id, index }) => ({
      index: index ?? undefined,
      id: id ?? "",
      name: called?.name ?? "",
      text: called?.arguments ?? ""
    }))
  )

/** Bounds the number of calls; lookup is linear in it. */
const maxCalls = 1024

export const make = (): StreamedCalls => {
  /** The calls under each index, in the order they began; index undefined for those without. */
  const begun: Array<{ readonly index: number | undefined; readonly call: OpenCall }> = []

  const latest = (index: number | undefined, id: string): OpenCall | undefined =>
    (index === undefined
      ? (begun.findLast(({ call }) => id !== "" && call.id === id) ?? begun.at(-1))
      : begun.findLast((one) => one.index === index)
    )?.call

  const takeOne = (given: unknown, isAfterOther: boolean): string | undefined => {
    const delta = read(given)
    if (delta === undefined) return `a tool call is invalid: ${formatValue(given)}`
    const { id, index, name, text } = delta
    const call = latest(index, id)
    if (call === undefined || beginsAnother(call, delta, isAfterOther)) {
      if (index === undefined && name === "") return `a tool call delta belongs to no call: ${formatValue(given)}`
      if (begun.length === maxCalls) return `it has more than ${maxCalls} tool calls`
      begun.push({ index, call: { id, name, text } })
      return undefined
    }
    if (id !== "") call.id = id
    if (name !== "") call.name = name
    call.text += text
    return undefined
  }

  return {
    take: (deltas) => {
      if (deltas === undefined || deltas === null) return Result.void
      if (!Array.isArray(deltas)) return Result.fail(`tool_calls is not a list: ${formatValue(deltas)}`)
      for (const [at, delta] of deltas.entries()) {
        const problem = takeOne(delta, at > 0)
        if (problem !== undefined) return Result.fail(problem)
      }
      return Result.void
    },
    calls: () => {
      const inOrder = begun.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0)).map(({ call }) => call)
      const nameless = inOrder.find(({ name }) => name === "")
      if (nameless !== undefined) return Result.fail(`a tool call has no name: ${formatValue(nameless)}`)
      return Result.succeed(
        inOrder.map(({ id, name, text }) => ({
          ...(id !== "" && { id }),
          type: "function",
          function: { name, arguments: text }
        }))
      )
    }
  }
}

const beginsAnother = (call: OpenCall, { id, index, name, text }: Delta, isAfterOther: boolean): boolean => {
  if (name === "" || call.name === "") return false
  if (id !== "" && call.id !== "")
    return id !== call.id && !(index !== undefined && name === call.name && isUnfinished(call.text))
  if (index === undefined) return isAfterOther || name !== call.name || (text !== "" && isWhole(call.text))
  return text !== "" && isWhole(call.text)
}

const isUnfinished = (text: string): boolean => text !== "" && !isWhole(text)

const isWhole = (text: string): boolean =>
  text.trimEnd().endsWith("}") && !Nesting.isDeep(text) && Result.isSuccess(Result.try((): unknown => JSON.parse(text)))

const formatValue = (value: unknown): string =>
  (Predicate.isString(value) ? value : (JSON.stringify(value) ?? String(value))).slice(0, 200)

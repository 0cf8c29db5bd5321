/**
 * Reads a conversation about a journey, with the calls that its plan makes after each user message.
 *
 * Rows are turns, in the layout of T1 (capitalone/T1): `ID`, `Filled_Template` (`user: …` or `assistant: …`) and
 * `Filled_Plan` (Python, `Plan`); consecutive rows with the same ID are one conversation. Assistant messages after the
 * first user message are dropped: the policy writes its own. A turn without text is skipped, as in the original.
 */
import { Message, type ToolCalls } from "@atropos/core"
import { Result } from "effect"
import * as Plan from "./Plan.ts"
import * as Tools from "./Tools.ts"

export interface Turn {
  readonly said: string
  /** Empty: an answer in words is right. */
  readonly expected: ReadonlyArray<ToolCalls.Call>
}

export interface Conversation {
  /** Assistant messages before the first user message. */
  readonly greeting: ReadonlyArray<string>
  readonly turns: readonly [Turn, ...ReadonlyArray<Turn>]
}

export interface Row {
  readonly id: string
  readonly text: string
  readonly plan: string
}

type Said = { readonly by: "assistant"; readonly text: string } | ({ readonly by: "user" } & Turn)

const isNothing = (text: string): boolean => ["", "nan"].includes(text.trim())

/** Parses a row; undefined for one without text. */
const saidOf = ({ plan, text }: Row): Result.Result<Said | undefined, string> => {
  if (isNothing(text)) return Result.succeed(undefined)
  const by = /^\s*(assistant|user):/.exec(text)
  if (by === null) {
    return Result.fail(`its text begins neither with "user:" nor with "assistant:": ${text.slice(0, 80)}`)
  }
  const words = text.slice(by[0].length).trim()
  if (words === "") return Result.succeed(undefined)
  if (by[1] === "assistant") return Result.succeed<Said>({ by: "assistant", text: words })
  const calls = isNothing(plan) ? Result.succeed([]) : Plan.callsOf(plan, Tools.names)
  return Result.mapBoth(calls, {
    onFailure: (reason) => `its plan cannot be read: ${reason}`,
    onSuccess: (expected): Said => ({ by: "user", said: words, expected })
  })
}

/** The conversation of rows, or the reason if none. */
export const ofRows = (rows: ReadonlyArray<Row>): Result.Result<Conversation, string> =>
  Result.flatMap(Result.all(rows.map(saidOf)), (input) => {
    const all = input.filter((one) => one !== undefined)
    const [first, ...rest] = all.flatMap((one) => (one.by === "user" ? [one] : []))
    if (first === undefined) return Result.fail("it has no user message")
    const before = all.slice(0, all.indexOf(first))
    return Result.succeed({
      greeting: before.flatMap((one) => (one.by === "assistant" ? [one.text] : [])),
      turns: [first, ...rest].map(({ expected, said: answer }): Turn => ({ said: answer, expected })) as [
        Turn,
        ...Array<Turn>
      ]
    })
  })

/** Groups consecutive rows with the same id. */
export const grouped = (rows: ReadonlyArray<Row>): ReadonlyArray<ReadonlyArray<Row>> => {
  const groups: Array<Array<Row>> = []
  for (const row of rows) {
    const last = groups.at(-1)
    if (last?.[0]?.id === row.id) last.push(row)
    else groups.push([row])
  }
  return groups
}

const instructions = Message.system(
  `You help people to plan journeys, with tools that search, filter and sort hotels, flights, restaurants and attractions.

- Call tools as soon as the user has said what they need. If something required is missing, call seek_information.
- Remember what you found with save_to_cache right after it was found, and take it up again with get_results_from_cache. The key, and the value, is \
"hotels", "flights", "restaurants" or "attractions" for what was searched, with "filtered_" or "sorted_" before it for what was filtered or sorted.
- Filter what you have instead of searching again.
- Give names, places and dates as the user wrote them; dates in a list.
- Make all the calls that a message of the user needs in one answer. If it needs none, answer in words.`
)

/** The messages before the user's first. */
export const opening = ({ greeting }: Conversation): ReadonlyArray<Message.Message> => [
  instructions,
  ...greeting.map(Message.assistant)
]

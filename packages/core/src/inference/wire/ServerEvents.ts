/**
 * Parses lines into the JSON objects of server-sent events.
 *
 * The data lines of an event form one text, as specified. If that text is not JSON, each line is an event: some servers
 * omit the empty lines. Comments are skipped, including those that a proxy prefixes with `data:`. Anything after
 * `[DONE]` is ignored. An event that is not a JSON object is a failure.
 */
import { Option, Predicate, Result } from "effect"
import * as Nesting from "../../base/json/Nesting.ts"

export type Fields = { readonly [key: string]: unknown }

export interface ServerEvent {
  /** Name in the `event:` line; empty if none. */
  readonly name: string
  readonly data: Fields
}

export interface ServerEvents {
  /** Takes a line; returns the events it completes, or why it cannot be read. An empty line completes them. */
  readonly take: (line: string) => Result.Result<ReadonlyArray<ServerEvent>, string>
  /** Lines that belong to no event, for example of a server that answers without streaming. */
  readonly others: () => string
}

/** A JSON object, unless it is nested too deep. */
export const decodeObject = (text: string): Option.Option<Fields> =>
  Nesting.isDeep(text)
    ? Option.none()
    : Option.filter(Result.getSuccess(Result.try((): unknown => JSON.parse(text))), Predicate.isReadonlyObject)

export const make = (): ServerEvents => {
  const others: Array<string> = []
  let data: Array<string> = []
  let name = ""
  let isDone = false
  let isFirst = true

  const eventsOf = (lines: ReadonlyArray<string>): Result.Result<ReadonlyArray<Fields>, string> => {
    const meant = lines.map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith(":"))
    const joined = Option.firstSomeOf([decodeObject(lines.join("\n")), decodeObject(meant.join("\n"))])
    if (Option.isSome(joined)) return Result.succeed([joined.value])
    const objects: Array<Fields> = []
    for (const text of meant) {
      isDone = text === "[DONE]"
      if (isDone) break
      const object = Option.getOrUndefined(decodeObject(text))
      if (object === undefined) return Result.fail(`an event is not a JSON object: ${lines.join("\n").slice(0, 200)}`)
      objects.push(object)
    }
    return Result.succeed(objects)
  }

  const complete = (): Result.Result<ReadonlyArray<ServerEvent>, string> => {
    const [ended, itsName] = [data, name]
    data = []
    name = ""
    if (isDone || ended.length === 0) return Result.succeed([])
    return Result.map(eventsOf(ended), (objects) => objects.map((object) => ({ name: itsName, data: object })))
  }

  return {
    take: (given) => {
      // A byte order mark may begin the stream.
      const line = isFirst && given.startsWith("\ufeff") ? given.slice(1) : given
      isFirst = false
      if (line === "") return complete()
      const [, field = "", value = ""] = /^(data|event): ?(.*)$/s.exec(line) ?? []
      if (field === "data") data.push(value)
      else if (field === "event") name = value.trim()
      else others.push(line)
      return Result.succeed([])
    },
    others: () => others.join("\n")
  }
}

/**
 * Runs the tool calls of one turn concurrently, each with a deadline, and answers each with its tool message.
 *
 * Answers are in the order of the calls, one per call, under the call's own id; any error in a call (unknown tool,
 * invalid JSON, invalid arguments, a `ToolError`, a timeout) is an answer for the model to read. Long answers are
 * truncated in the middle, with a note.
 */
import { Duration, Effect, Result, Schema } from "effect"
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import * as Nesting from "@atropos/core/base/json/Nesting"
import * as RepeatedKeys from "@atropos/core/base/json/RepeatedKeys"
import type { Message, ToolCall } from "@atropos/core/trajectory/Message"
import { definition, type Tool, ToolError } from "./Tool.ts"

export interface Options {
  /** Deadline of one call. Default 30 seconds. */
  readonly deadline?: Duration.Input
  /** Max characters of an answer. Default 4,000. */
  readonly maxCharacters?: number
  /** Max concurrent calls of a turn. Default 8. */
  readonly concurrency?: number
}

export interface Answered {
  readonly call: ToolCall
  /** True if the tool succeeded; otherwise the message states why not. */
  readonly succeeded: boolean
  /** Role `tool`, with the call's id. */
  readonly message: Message
}

export interface Toolbox<E, R> {
  /** For a chat request's `tools`. */
  readonly definitions: ReadonlyArray<ReturnType<typeof definition>>
  readonly answer: (calls: ReadonlyArray<ToolCall>) => Effect.Effect<ReadonlyArray<Answered>, E, R>
}

/** A toolbox of these tools. Dies if two of them share a name. */
export const make = <E, R>(tools: ReadonlyArray<Tool<E, R>>, options: Options = {}): Toolbox<E, R> => {
  const { concurrency = 8, deadline = "30 seconds", maxCharacters = 4000 } = options
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  if (byName.size !== tools.length)
    throw new Error(`two tools have one name: ${tools.map(({ name }) => name).join(", ")}`)

  const run = (call: ToolCall): Effect.Effect<string, ToolError | E, R> => {
    const tool = byName.get(call.function.name)
    if (tool === undefined) {
      return refuse(`there is no tool ${call.function.name}; there are: ${Array.from(byName.keys()).join(", ")}`)
    }
    // Some servers write empty text for no arguments.
    const json = call.function.arguments || "{}"
    if (Nesting.isDeep(json)) return refuse(`the arguments of ${tool.name} are nested too deep`)
    const twice = RepeatedKeys.find(json)
    if (twice !== undefined) return refuse(`the arguments of ${tool.name} give ${JSON.stringify(twice)} twice`)
    return Effect.try({
      try: () => ExactJson.parse(json),
      catch: () => new ToolError({ message: `the arguments of ${tool.name} are not JSON` })
    }).pipe(
      Effect.flatMap(tool.run),
      Effect.timeoutOrElse({
        duration: deadline,
        orElse: () => refuse(`${tool.name} took longer than ${Duration.format(Duration.fromInputUnsafe(deadline))}`)
      })
    )
  }

  const answerOne = Effect.fn("Toolbox.answer")(function* (call: ToolCall) {
    yield* Effect.annotateCurrentSpan({ "tool.name": call.function.name })
    const outcome = yield* run(call).pipe(
      Effect.map(Result.succeed),
      Effect.catchIf(isToolError, (error) => Effect.succeed(Result.fail(error)))
    )
    const succeeded = Result.isSuccess(outcome)
    const content = succeeded ? outcome.success : `error: ${outcome.failure.message}`
    return { call, succeeded, message: toolMessage(call, shorten(content, maxCharacters)) }
  })

  return {
    definitions: tools.map(definition),
    answer: (calls) => Effect.forEach(calls, answerOne, { concurrency })
  }
}

const toolMessage = ({ function: { name }, id }: ToolCall, content: string): Message => ({
  role: "tool",
  name,
  content,
  ...(id !== undefined && { tool_call_id: id })
})

/** The beginning and the end of a text that is too long, with a note on the omission. */
const shorten = (text: string, maxCharacters: number): string => {
  if (text.length <= maxCharacters) return text
  const half = Math.floor(maxCharacters / 2)
  return `${text.slice(0, half)}\n[${text.length - 2 * half} characters left out]\n${text.slice(-half)}`
}

const refuse = (message: string) => Effect.fail(new ToolError({ message }))
const isToolError = Schema.is(ToolError)

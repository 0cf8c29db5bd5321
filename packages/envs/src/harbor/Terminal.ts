/**
 * An agent without a program: the model itself, with one tool that runs a command in the task's machine.
 *
 * It calls the gateway like any agent, so that its turns are recorded with their tokens. It ends when the model answers
 * without a call, when its turns are used up, or when the maximum sequence length is reached.
 */
import { Effect, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import type * as Gateway from "@atropos/core/gateway/Gateway"
import type { Message } from "@atropos/core"
import type { UserFailure } from "../agent/SessionRun.ts"
import type * as Program from "../command/Program.ts"
import type { ProgramError } from "../command/ProcessSupervisor.ts"
import type { Box } from "./Box.ts"
import type { HarborError } from "./HarborError.ts"

export interface Options {
  readonly box: Box
  readonly instruction: string
  readonly session: Gateway.Session
  readonly maxTurns: number
  readonly commandSeconds: number
  readonly mostCharacters: number
}

const tool = {
  type: "function",
  function: {
    name: "bash",
    description: "Runs a command and answers with what it prints and its exit code.",
    parameters: {
      type: "object",
      properties: { command: { type: "string", description: "the command, as for bash -c" } },
      required: ["command"],
      additionalProperties: false
    }
  }
}

const instructions = `You work on a task in a terminal. Run commands with the tool bash, one after another, and read what they print. Each command starts in the task's working folder; nobody can type into it. When the task is done, answer without a call.`

const Call = Schema.Struct({
  id: Schema.String,
  type: Schema.optionalKey(Schema.String),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})
const Answer = Schema.Struct({
  choices: Schema.NonEmptyArray(
    Schema.Struct({
      message: Schema.Struct({
        role: Schema.Literal("assistant"),
        content: Schema.NullOr(Schema.String),
        reasoning_content: Schema.optionalKey(Schema.NullOr(Schema.String)),
        tool_calls: Schema.optionalKey(Schema.NullOr(Schema.Array(Call)))
      })
    })
  )
})
const Refusal = Schema.Struct({
  error: Schema.Struct({ message: Schema.String, code: Schema.optionalKey(Schema.Unknown) })
})
const Arguments = Schema.fromJsonString(Schema.Struct({ command: Schema.String }))

const decodeAnswer = Schema.decodeUnknownEffect(Answer)
const decodeRefusal = Schema.decodeUnknownEffect(Refusal)
const decodeArguments = Schema.decodeUnknownEffect(Arguments)

/** The start and the end of a text that is too long. */
const shorten = (text: string, most: number): string => {
  if (text.length <= most) return text
  const half = Math.floor(most / 2)
  return `${text.slice(0, half)}\n[${text.length - 2 * half} characters left out]\n${text.slice(-half)}`
}

/** The result of a command, as shown to the model. */
const told = ({ complaint, ending, stdout }: Program.Printed, { commandSeconds, mostCharacters }: Options): string => {
  const printed = shorten(`${stdout}${complaint === "" ? "" : `\n${complaint}`}`.trim(), mostCharacters)
  // 137: ended by the machine's own `timeout`, or for its memory.
  const how =
    ending?._tag === "Exited"
      ? ending.code === 0
        ? ""
        : `(exit code ${ending.code}${ending.code === 137 ? `: killed, perhaps for its time limit of ${commandSeconds} seconds` : ""})`
      : `(${ending === undefined ? `it took longer than ${commandSeconds} seconds` : `it ${ending.why}`})`
  return [printed, how].filter((part) => part !== "").join("\n") || "(nothing was printed)"
}

const failure = (message: string): UserFailure => ({ message, cause: new Error(message) })

/** Runs to its end; a failure of the machine is a separate error, not a failure of the agent. */
export const run = Effect.fn("Terminal.run")(function* (
  options: Options
): Effect.fn.Return<void, UserFailure | HarborError | ProgramError, HttpClient.HttpClient> {
  const { box, commandSeconds, instruction, maxTurns, session } = options
  const client = yield* HttpClient.HttpClient
  const messages: Array<Message.Message> = [
    { role: "system", content: instructions },
    { role: "user", content: instruction }
  ]

  /** The next answer; undefined if the sequence has no tokens left for one. */
  const ask = Effect.gen(function* () {
    const response = yield* HttpClientRequest.post(`${session.baseURL}/chat/completions`).pipe(
      HttpClientRequest.bearerToken(session.apiKey),
      HttpClientRequest.bodyJsonUnsafe({ model: session.modelName, messages, tools: [tool] }),
      client.execute
    )
    const body = yield* response.json
    if (response.status === 200) return (yield* decodeAnswer(body)).choices[0].message
    const { error } = yield* decodeRefusal(body)
    if (error.code === "context_length_exceeded") return undefined
    return yield* Effect.fail(new Error(error.message))
  }).pipe(Effect.mapError(({ message }) => failure(`the request to the model failed: ${message}`)))

  for (let turn = 0; turn < maxTurns; turn++) {
    const answer = yield* ask
    if (answer === undefined) return
    const calls = answer.tool_calls ?? []
    if (calls.length === 0) return
    const { tool_calls: _, ...said } = answer
    messages.push({ ...said, tool_calls: calls })
    // Sequentially: the second call may depend on the first.
    for (const { function: called, id } of calls) {
      const content =
        called.name === "bash"
          ? yield* decodeArguments(called.arguments).pipe(
              Effect.flatMap(({ command }) => box.run({ script: `exec 2>&1\n${command}`, seconds: commandSeconds })),
              Effect.map((printed) => told(printed, options)),
              Effect.catchTag("SchemaError", () =>
                Effect.succeed('error: the arguments must be JSON such as {"command": "ls"}')
              )
            )
          : `error: there is no tool ${called.name}; there is: bash`
      messages.push({ role: "tool", name: called.name, tool_call_id: id, content })
    }
  }
}, Effect.provide(FetchHttpClient.layer))

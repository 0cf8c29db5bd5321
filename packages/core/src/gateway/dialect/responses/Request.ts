/**
 * Reads a request to `POST /responses` into a chat.
 *
 * `instructions` are a system message before all others; they apply to this request only, and are not inherited through
 * `previous_response_id`.
 */
import { Effect } from "effect"
import type { ChatRequest } from "../../../inference/wire/Inference.ts"
import type { Message } from "../../../trajectory/Message.ts"
import { Failure, type Memory, type Turn } from "../Dialect.ts"
import * as OpenAiFailure from "../OpenAiFailure.ts"
import * as OutputConstraints from "../OutputConstraints.ts"
import * as ResponsesInput from "./Input.ts"
import * as ResponsesParameters from "./Parameters.ts"
import * as ResponsesTools from "./Tools.ts"

/** The parts of a request that its answer repeats. */
export interface Asked {
  readonly parameters: ResponsesParameters.Parameters
  /** Unchanged from the request. */
  readonly tools: ReadonlyArray<unknown>
  readonly names: ResponsesTools.Names
  readonly toolChoice: "auto" | "none"
  /** The chat without instructions, which a later request continues. */
  readonly chat: ReadonlyArray<Message>
}

export const decode = Effect.fnUntraced(function* (
  body: unknown,
  memory: Memory
): Effect.fn.Return<Turn<Asked>, Failure> {
  const { apart, ignored, parameters } = yield* ResponsesParameters.decode(body)
  const { instructions } = parameters
  const tools = yield* ResponsesTools.decode([
    { value: apart.tools, param: "tools" },
    ...ResponsesInput.additionalTools(apart.input)
  ])
  const { forced, toolChoice } = yield* ResponsesTools.decodeChoice(apart.tool_choice, tools)
  const earlier = yield* recall(parameters.previous_response_id, memory)
  const chat = yield* ResponsesInput.decode({ value: apart.input ?? [], earlier, memory })
  const last = chat.at(-1)
  if (last === undefined) return yield* OpenAiFailure.invalid("input", "must not be empty")
  if (last.role === "assistant")
    return yield* OpenAiFailure.unsupported(
      "input",
      "must end with a user message or a function output, not with an assistant message"
    )
  const messages: ReadonlyArray<Message> =
    instructions === undefined ? chat : [{ role: "system", content: instructions }, ...chat]
  return {
    request: {
      ...requestOf(messages, parameters, tools.tools, toolChoice),
      ...OutputConstraints.of([...ResponsesParameters.constraints(parameters), forced])
    },
    isStreamed: parameters.stream === true,
    ignored: [...ignored, ...tools.ignored],
    body: {
      parameters,
      // The list was already validated.
      tools: (apart.tools as ReadonlyArray<unknown> | undefined) ?? [],
      names: tools.names,
      toolChoice,
      chat
    }
  }
})

/** The chat up to and including a response. */
const recall = (id: string | undefined, memory: Memory): Effect.Effect<ReadonlyArray<Message>, Failure> => {
  if (id === undefined) return Effect.succeed([])
  const messages = memory.recall(id)
  return messages === undefined
    ? Effect.fail(
        new Failure({
          reason: "invalid",
          param: "previous_response_id",
          code: "previous_response_not_found",
          message: `Previous response with id '${id}' not found: it belongs to another session, was not stored, or was deleted.`
        })
      )
    : Effect.succeed(messages)
}

const requestOf = (
  messages: ReadonlyArray<Message>,
  { max_output_tokens: maxTokens, temperature, top_p: topP }: ResponsesParameters.Parameters,
  tools: ReadonlyArray<unknown>,
  toolChoice: "auto" | "none"
): ChatRequest => ({
  messages,
  ...(tools.length > 0 && { tools, toolChoice }),
  ...(maxTokens !== undefined && { maxTokens }),
  ...(temperature !== undefined && { temperature }),
  ...(topP !== undefined && { topP })
})

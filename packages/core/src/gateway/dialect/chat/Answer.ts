/** Writes answers of Chat Completions: complete, or as the chunks of a stream. */
import type { Answered, Head, Streamed } from "../Dialect.ts"
import { comment, frame, pieces } from "../Frames.ts"
import * as OpenAiFailure from "../OpenAiFailure.ts"
import type { Choice } from "../../../inference/wire/Inference.ts"
import { text as textOf, type ToolCall } from "../../../trajectory/Message.ts"

const envelope = ({ createdAt, id, model }: Head, object: string) => ({
  id: `chatcmpl-${id}`,
  object,
  created: createdAt,
  model
})

const usageOf = ({ usage: { completionTokens, promptTokens } }: Answered) => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens
})

/** Empty if there was no reasoning. */
const reasoningOf = ({ message }: Choice): string => message.reasoning_content ?? ""

/** Exactly OpenAI's keys. */
const written = ({ function: { arguments: text, name }, id }: ToolCall, index: number) => ({
  id: id ?? `call_${index}`,
  type: "function",
  function: { name, arguments: text }
})

export const answer = (answered: Answered): unknown => ({
  ...envelope(answered, "chat.completion"),
  choices: answered.choices.map((choice, index) => {
    const reasoning = reasoningOf(choice)
    return {
      index,
      message: {
        role: "assistant",
        content: choice.message.content === null ? null : textOf(choice.message),
        refusal: null,
        ...(reasoning !== "" && { reasoning_content: reasoning }),
        ...(choice.toolCalls.length > 0 && { tool_calls: choice.toolCalls.map(written) })
      },
      logprobs: null,
      finish_reason: choice.finishReason
    }
  }),
  usage: usageOf(answered)
})

/** The answer as chunks; `isUsageAsked`: the last one contains the usage. */
export const stream = (head: Head, isUsageAsked: boolean): Streamed => {
  const common = envelope(head, "chat.completion.chunk")
  const chunk = (choices: ReadonlyArray<unknown>, usage: unknown = null): string =>
    frame({ ...common, choices, ...(isUsageAsked && { usage }) })
  const write = (index: number, delta: unknown, finishReason: string | null = null): string =>
    chunk([{ index, delta, logprobs: null, finish_reason: finishReason }])
  const begin = (index: number): string => write(index, { role: "assistant", content: "", refusal: null })
  const calls = (index: number, choice: Choice): ReadonlyArray<string> =>
    choice.toolCalls.map(written).flatMap((call, at) => {
      const { arguments: text, name } = call.function
      return [
        write(index, { tool_calls: [{ ...call, index: at, function: { name, arguments: "" } }] }),
        ...pieces(text).map((piece) => write(index, { tool_calls: [{ index: at, function: { arguments: piece } }] }))
      ]
    })
  const streamed = { content: "", reasoning: "" }
  let hasBegun = false
  const opening = (): ReadonlyArray<string> => {
    if (hasBegun) return []
    hasBegun = true
    return [begin(0)]
  }
  return {
    begin: opening,
    alive: comment,
    delta: ({ content = "", reasoning = "" }) => {
      streamed.content += content
      streamed.reasoning += reasoning
      return [
        ...opening(),
        ...(reasoning === "" ? [] : [write(0, { reasoning_content: reasoning })]),
        ...(content === "" ? [] : [write(0, { content })])
      ]
    },
    end: (answered) => [
      ...answered.choices.flatMap((choice, index) => {
        const [thought, spoken] = index === 0 ? [streamed.reasoning.length, streamed.content.length] : [0, 0]
        return [
          ...(index === 0 && hasBegun ? [] : [begin(index)]),
          ...pieces(reasoningOf(choice).slice(thought)).map((piece) => write(index, { reasoning_content: piece })),
          ...pieces(textOf(choice.message).slice(spoken)).map((piece) => write(index, { content: piece })),
          ...calls(index, choice),
          write(index, {}, choice.finishReason)
        ]
      }),
      ...(isUsageAsked ? [chunk([], usageOf(answered))] : []),
      frame("[DONE]")
    ],
    broken: (failure) => [frame(OpenAiFailure.write(failure).body), frame("[DONE]")]
  }
}

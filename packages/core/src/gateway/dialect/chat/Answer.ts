/** Answers of Chat Completions: whole, or as the chunks of a stream. */
import type { Answered } from "../Dialect.ts"
import { frame, pieces } from "../Frames.ts"
import type { Choice } from "../../../inference/backend/Inference.ts"
import { text as textOf, type ToolCall } from "../../../Message.ts"

const envelope = ({ createdAt, id, model }: Answered, object: string) => ({
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

/** Absent where nothing was thought. */
const reasoningOf = ({ message }: Choice): string => message.reasoning_content ?? ""

/** As OpenAI's: exactly these keys. */
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

export const events = (answered: Answered, isUsageAsked: boolean): ReadonlyArray<string> => {
  const common = envelope(answered, "chat.completion.chunk")
  const chunk = (choices: ReadonlyArray<unknown>, usage: unknown = null): string =>
    frame({ ...common, choices, ...(isUsageAsked && { usage }) })
  const frames: Array<string> = []
  for (const [index, choice] of answered.choices.entries()) {
    const say = (delta: unknown, finishReason: string | null = null) =>
      frames.push(chunk([{ index, delta, logprobs: null, finish_reason: finishReason }]))
    say({ role: "assistant", content: "", refusal: null })
    for (const piece of pieces(reasoningOf(choice))) say({ reasoning_content: piece })
    for (const piece of pieces(textOf(choice.message))) say({ content: piece })
    for (const [at, call] of choice.toolCalls.map(written).entries()) {
      const { arguments: text, name } = call.function
      say({ tool_calls: [{ ...call, index: at, function: { name, arguments: "" } }] })
      for (const piece of pieces(text)) say({ tool_calls: [{ index: at, function: { arguments: piece } }] })
    }
    say({}, choice.finishReason)
  }
  if (isUsageAsked) frames.push(chunk([], usageOf(answered)))
  return [...frames, frame("[DONE]")]
}

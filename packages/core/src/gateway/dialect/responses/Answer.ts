/**
 * Writes the response object: an answer's items, status, usage, and the request's parameters.
 *
 * Parameters that the request left open are null (the session decides them), or OpenAI's default.
 */
import type { Answered, Head } from "../Dialect.ts"
import * as ResponsesIds from "./Ids.ts"
import * as ResponsesItems from "./Items.ts"
import type { Asked } from "./Request.ts"

/** A response; other fields repeat the request. */
export interface Response {
  readonly id: string
  readonly status: ResponsesItems.Status
  readonly output: ReadonlyArray<ResponsesItems.Item>
  readonly [field: string]: unknown
}

const incompleteReasons: { readonly [finishReason: string]: string } = {
  length: "max_output_tokens",
  content_filter: "content_filter"
}

export const make = (request: Asked, answered: Answered): Response => {
  const [choice] = answered.choices
  const reason = incompleteReasons[choice?.finishReason ?? "stop"]
  const isComplete = reason === undefined
  const { completionTokens, promptTokens } = answered.usage
  return {
    ...frame(request, answered),
    status: isComplete ? "completed" : "incomplete",
    completed_at: isComplete ? answered.createdAt : null,
    incomplete_details: isComplete ? null : { reason },
    output:
      choice === undefined
        ? []
        : ResponsesItems.make({
            ...itemOptions(request, answered.id),
            message: choice.message,
            isCut: !isComplete
          }),
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: completionTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: promptTokens + completionTokens
    }
  }
}

export const begun = (request: Asked, head: Head): Response => frame(request, head)

/** Options of an answer's items, in addition to its message. */
export const itemOptions = ({ names, parameters: { include = [], reasoning } }: Asked, answer: string) => ({
  answer,
  names,
  isSummarized: (reasoning?.summary ?? reasoning?.generate_summary ?? null) !== null,
  isSealed: include.includes("reasoning.encrypted_content")
})

const frame = ({ parameters, toolChoice, tools }: Asked, { createdAt, id, model }: Head): Response => ({
  id: ResponsesIds.response(id),
  object: "response",
  created_at: createdAt,
  status: "in_progress",
  background: false,
  completed_at: null,
  error: null,
  incomplete_details: null,
  instructions: parameters.instructions ?? null,
  max_output_tokens: parameters.max_output_tokens ?? null,
  max_tool_calls: null,
  model,
  output: [],
  parallel_tool_calls: true,
  previous_response_id: parameters.previous_response_id ?? null,
  reasoning: {
    effort: parameters.reasoning?.effort ?? null,
    summary: parameters.reasoning?.summary ?? parameters.reasoning?.generate_summary ?? null
  },
  service_tier: "default",
  store: parameters.store ?? true,
  temperature: parameters.temperature ?? null,
  text: {
    format: parameters.text?.format ?? { type: "text" },
    ...(typeof parameters.text?.verbosity === "string" && { verbosity: parameters.text.verbosity })
  },
  tool_choice: toolChoice,
  tools,
  top_logprobs: 0,
  top_p: parameters.top_p ?? null,
  truncation: parameters.truncation ?? "disabled",
  usage: null,
  user: null,
  metadata: parameters.metadata ?? {}
})

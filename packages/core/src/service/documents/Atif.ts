/**
 * Converts sequences to documents of ATIF and back (`AtifDocument`).
 *
 * A message is a step; results of tools are the observation of the calling step. Exact ids and logprobs are included
 * (`metrics.prompt_token_ids`, `completion_token_ids`, `logprobs`) if each of the assistant's messages was sampled;
 * otherwise the sequence has none, and `notes` states so. What the format cannot represent is rejected by name:
 * arguments of a call that are not a JSON object, images of an unknown type. The score, which the format does not
 * define, is in `extra`.
 */
import { Effect, Predicate, Result, Schema } from "effect"
import * as ExactJson from "../../base/json/ExactJson.ts"
import * as Nesting from "../../base/json/Nesting.ts"
import { type Content, Document, type Step, type StepMetrics, version } from "./AtifDocument.ts"
import { type ContentPart, type Message, text as textOf, type ToolCall } from "../../trajectory/Message.ts"
import { isSampled, notSampled } from "../../trajectory/Trajectory.ts"

/** A sequence: its chat, and its ids if known (empty otherwise). */
export interface Sequence {
  readonly messages: ReadonlyArray<Message>
  readonly tokens: Int32Array
  readonly mask: Uint8Array
  readonly logprobs?: Float32Array
  readonly score?: number
  readonly sessionId?: string
}

export class AtifError extends Schema.TaggedError<AtifError>()("AtifError", { message: Schema.String }) {}

const fail = (message: string) => Effect.fail(new AtifError({ message }))

const kinds = /^data:(image\/(?:jpeg|png|gif|webp))[;,]|\.(jpe?g|png|gif|webp)(?:$|[?#])/i

const mediaTypeOf = (url: string): string | undefined => {
  const [, whole, suffix] = kinds.exec(url.slice(0, 2000)) ?? []
  return (
    whole?.toLowerCase() ?? (suffix === undefined ? undefined : `image/${suffix.toLowerCase().replace("jpg", "jpeg")}`)
  )
}

type Parts = Exclude<Content, string>

const contentOf = Effect.fnUntraced(function* (content: Message["content"], at: string) {
  if (content === null || typeof content === "string") return content ?? ""
  const parts: Array<Parts[number]> = []
  for (const { image_url: image, text, type } of content) {
    const url = Predicate.hasProperty(image, "url") && typeof image.url === "string" ? image.url : undefined
    const mediaType = url === undefined ? undefined : mediaTypeOf(url)
    if (type === "text" && text !== undefined) parts.push({ type, text })
    else if (url !== undefined && mediaType !== undefined) {
      parts.push({ type: "image", source: { media_type: mediaType, path: url } })
    } else return yield* fail(`${at} has a part of type ${type}, which ATIF does not support`)
  }
  return parts
})

const argumentsOf = (json: string): { readonly [key: string]: unknown } | undefined => {
  const value = Nesting.isDeep(json) ? undefined : Result.getOrUndefined(Result.try(() => ExactJson.parseWritten(json)))
  return Predicate.isReadonlyObject(value) ? value : undefined
}

const callsOf = Effect.fnUntraced(function* (calls: ReadonlyArray<ToolCall>, at: string) {
  const written: Array<NonNullable<Step["tool_calls"]>[number]> = []
  for (const [index, { function: called, id }] of calls.entries()) {
    const value = argumentsOf(called.arguments)
    if (value === undefined) return yield* fail(`${at}: the arguments of call ${index} are not a JSON object`)
    written.push({ tool_call_id: id ?? `call_${index}`, function_name: called.name, arguments: value })
  }
  return written
})

/** Start and end of each run of trained tokens. */
const runsOf = (mask: Uint8Array): ReadonlyArray<readonly [start: number, end: number]> => {
  const runs: Array<readonly [number, number]> = []
  for (let at = 0; at < mask.length; at++) {
    if (mask[at] !== 1) continue
    const start = at
    while (mask[at] === 1) at++
    runs.push([start, at])
  }
  return runs
}

const metricsOf = ({ logprobs, tokens }: Sequence, [start, end]: readonly [number, number]): StepMetrics => {
  const sampled = logprobs?.subarray(start, end)
  return {
    prompt_tokens: start,
    completion_tokens: end - start,
    prompt_token_ids: Array.from(tokens.subarray(0, start)),
    completion_token_ids: Array.from(tokens.subarray(start, end)),
    ...(sampled?.every(isSampled) === true && { logprobs: Array.from(sampled) })
  }
}

export const ofSequence = Effect.fn("Atif.ofSequence")(function* (
  sequence: Sequence,
  agent: { readonly name: string; readonly version: string; readonly modelName?: string }
): Effect.fn.Return<Document, AtifError> {
  const { mask, messages, score, sessionId } = sequence
  const runs = runsOf(mask)
  const isExact = runs.length > 0 && runs.length === messages.filter(({ role }) => role === "assistant").length
  const steps: Array<Step> = []
  let answers = 0
  for (const [index, message] of messages.entries()) {
    const at = `message ${index}`
    const content = yield* contentOf(message.content, at)
    const step_id = steps.length + 1
    if (message.role === "tool") {
      const result = { source_call_id: message.tool_call_id ?? null, content }
      const caller = steps.findLastIndex(
        ({ tool_calls: calls }) => calls?.some(({ tool_call_id }) => tool_call_id === message.tool_call_id) === true
      )
      const step = steps[caller]
      if (step === undefined) return yield* fail(`${at} is the result of an unknown call`)
      steps[caller] = { ...step, observation: { results: [...(step.observation?.results ?? []), result] } }
    } else if (message.role === "assistant") {
      const calls = yield* callsOf(message.tool_calls ?? [], at)
      const run = runs[answers++]
      steps.push({
        step_id,
        source: "agent",
        message: content,
        ...(typeof message.reasoning_content === "string" && { reasoning_content: message.reasoning_content }),
        ...(calls.length > 0 && { tool_calls: calls }),
        // A message of ATIF cannot be null.
        ...(calls.length > 0 && message.content === "" && { extra: { content: "" } }),
        ...(isExact && run !== undefined && { metrics: metricsOf(sequence, run) })
      })
    } else steps.push({ step_id, source: message.role === "user" ? "user" : "system", message: content })
  }
  if (steps.length === 0) return yield* fail("it has no messages")
  return {
    schema_version: version,
    session_id: sessionId ?? null,
    agent: { name: agent.name, version: agent.version, model_name: agent.modelName ?? null },
    steps,
    ...(runs.length > 0 &&
      !isExact && { notes: "without token ids: some answers of this chat were not sampled in it" }),
    ...(score !== undefined && { extra: { score } })
  }
})

const decode = Schema.decodeUnknownEffect(Document)

const messageContent = (content: Content): Message["content"] =>
  typeof content === "string"
    ? content
    : content.map((part): ContentPart =>
        part.type === "text" ? part : { type: "image_url", image_url: { url: part.source.path } }
      )

const messagesOf = (step: Step): ReadonlyArray<Message> => {
  const content = messageContent(step.message)
  const results = step.observation?.results ?? []
  const heard = results.map(({ content, source_call_id: id }): Message => {
    const answer = messageContent(content ?? "")
    // A result without a call is a message of the environment.
    return typeof id === "string"
      ? { role: "tool", tool_call_id: id, content: answer }
      : { role: "user", content: answer }
  })
  if (step.source !== "agent") return [{ role: step.source, content }, ...heard]
  const calls = (step.tool_calls ?? []).map((call): ToolCall => ({
    id: call.tool_call_id,
    type: "function",
    function: { name: call.function_name, arguments: ExactJson.write(call.arguments) ?? "{}" }
  }))
  const isSilent = calls.length > 0 && textOf({ role: "assistant", content }) === "" && step.extra?.["content"] !== ""
  return [
    {
      role: "assistant",
      content: isSilent ? null : content,
      ...(typeof step.reasoning_content === "string" && { reasoning_content: step.reasoning_content }),
      ...(calls.length > 0 && { tool_calls: calls })
    },
    ...heard
  ]
}

const startsWith = (ids: ReadonlyArray<number>, prefix: ReadonlyArray<number>): boolean =>
  prefix.length <= ids.length && prefix.every((id, at) => ids[at] === id)

/** The ids of the whole sequence, if every answer has its own and each continues the previous one. */
const idsOf = (steps: ReadonlyArray<Step>): Omit<Sequence, "messages"> => {
  const none = { tokens: new Int32Array(0), mask: new Uint8Array(0) }
  const answers = steps.filter(({ source }) => source === "agent")
  let ids: ReadonlyArray<number> = []
  const spans: Array<readonly [start: number, logprobs: ReadonlyArray<number> | undefined, length: number]> = []
  for (const { metrics } of answers) {
    const { completion_token_ids: sampled, logprobs, prompt_token_ids: prompt } = metrics ?? {}
    if (!sampled || !prompt || !startsWith(prompt, ids)) return none
    ids = [...prompt, ...sampled]
    spans.push([prompt.length, logprobs?.length === sampled.length ? logprobs : undefined, sampled.length])
  }
  const mask = new Uint8Array(ids.length)
  const logprobs = new Float32Array(ids.length).fill(notSampled)
  for (const [start, known, length] of spans) {
    mask.fill(1, start, start + length)
    if (known !== undefined) logprobs.set(known, start)
  }
  const hasAll = spans.length > 0 && spans.every(([, known]) => known !== undefined)
  return { tokens: Int32Array.from(ids), mask, ...(hasAll && { logprobs }) }
}

/** The sequence of a parsed document; without a score if the document has none. */
export const toSequence = Effect.fn("Atif.toSequence")(function* (
  json: unknown
): Effect.fn.Return<Sequence, AtifError> {
  const document = yield* Effect.mapError(
    decode(json),
    ({ message }) => new AtifError({ message: `is not an ATIF document: ${message}` })
  )
  const { extra, session_id: sessionId, steps } = document
  const score = extra?.["score"]
  return {
    messages: steps.flatMap(messagesOf),
    ...idsOf(steps),
    ...(typeof score === "number" && Number.isFinite(score) && { score }),
    ...(typeof sessionId === "string" && { sessionId })
  }
})

/**
 * Provides the `LanguageModel` of `effect/ai` over a tracked session: an agent written with `Chat` and `Toolkit` is
 * trained unchanged, and the session's trajectories have the exact tokens of all its answers.
 *
 * Supports text, system messages, reasoning, tools of a toolkit and images; other files, tools that the provider runs
 * and a tool choice that forces a call are rejected by name. An object (`generateObject`) is requested in the prompt by
 * the agent itself: sampling is not constrained. A stream delivers the whole answer in parts.
 */
import { ExactJson, type Message, type ServerManager, type Trajectory } from "@atropos/core"
import type { InferenceError, SamplingOptions, TrackedSession } from "@atropos/core/inference/wire/Inference"
import { Effect, Layer, Result, type Scope, Stream } from "effect"
import { AiError, LanguageModel, type Prompt, type Response, Tool } from "effect/ai"

const failure = (method: string, reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "TrackedLanguageModel", method, reason })

const unsupported = (method: string, description: string): AiError.AiError =>
  failure(method, new AiError.InvalidRequestError({ description }))

const inferenceFailure =
  (method: string) =>
  ({ message, reason }: InferenceError): AiError.AiError =>
    failure(
      method,
      reason === "rejected" || reason === "unsupported" || reason === "noRoom"
        ? new AiError.InvalidRequestError({ description: message })
        : new AiError.InternalProviderError({ description: message })
    )

export const make = (
  session: TrackedSession,
  sampling: SamplingOptions = {}
): Effect.Effect<LanguageModel.LanguageModel> => {
  const answer = Effect.fn("TrackedLanguageModel.answer")(function* (
    method: string,
    options: LanguageModel.ProviderOptions
  ) {
    const messages = yield* messagesOf(method, options.prompt)
    const tools = yield* toolsOf(method, options)
    const choices = yield* session
      .chat({ ...sampling, messages, ...(tools.length > 0 && { tools }) })
      .pipe(Effect.mapError(inferenceFailure(method)))
    const [choice] = choices
    return choice === undefined
      ? yield* failure(method, new AiError.InvalidOutputError({ description: "no response from the session" }))
      : choice
  })
  return LanguageModel.make({
    generateText: (options) => Effect.map(answer("generateText", options), partsOf),
    streamText: (options) => Stream.unwrap(Effect.map(answer("streamText", options), streamOf)),
    supportsSystemMessagesInHistory: Effect.succeed(true)
  })
}

export const layer = (session: TrackedSession, sampling?: SamplingOptions): Layer.Layer<LanguageModel.LanguageModel> =>
  Layer.effect(LanguageModel.LanguageModel, make(session, sampling))

/** Rolls an agent out in its own session and returns the session's trajectories, for `collectTrajectories`. */
export const rollOut = Effect.fn("TrackedLanguageModel.rollOut")(function* <A, E, R>(
  servers: ServerManager.ServerManager["Service"],
  agent: Effect.Effect<A, E, R>,
  sampling?: SamplingOptions
): Effect.fn.Return<
  { readonly result: A; readonly trajectories: ReadonlyArray<Trajectory.Trajectory> },
  E | InferenceError,
  Exclude<R, LanguageModel.LanguageModel> | Scope.Scope
> {
  const session = yield* servers.tracked()
  const model = yield* make(session, sampling)
  const result = yield* Effect.provideService(agent, LanguageModel.LanguageModel, model)
  return { result, trajectories: yield* session.trajectories }
})

const toolsOf = Effect.fnUntraced(function* (
  method: string,
  { toolChoice, tools }: Pick<LanguageModel.ProviderOptions, "toolChoice" | "tools">
) {
  if (toolChoice === "none" || tools.length === 0) return []
  const named: unknown = toolChoice
  const allowed = typeof named === "object" && named !== null && "oneOf" in named ? named.oneOf : undefined
  const isForced =
    named === "required" ||
    (typeof named === "object" && named !== null && ("tool" in named || ("mode" in named && named.mode === "required")))
  if (isForced) {
    return yield* unsupported(
      method,
      "a tool choice that forces a call is not supported: ask for the call in the prompt"
    )
  }
  const foreign = tools.find((tool) => Tool.isProviderDefined(tool))
  if (foreign !== undefined) {
    return yield* unsupported(
      method,
      `the tool ${foreign.name} runs at its provider, which a policy in training does not have`
    )
  }
  return tools
    .filter(({ name }) => !Array.isArray(allowed) || allowed.includes(name))
    .map((tool) => ({
      type: "function",
      function: {
        name: tool.name,
        description: Tool.getDescription(tool) ?? "",
        parameters: Tool.getJsonSchema(tool)
      }
    }))
})

const messagesOf = Effect.fnUntraced(function* (method: string, prompt: Prompt.Prompt) {
  const messages: Array<Message.Message> = []
  for (const message of prompt.content) {
    switch (message.role) {
      case "system":
        messages.push({ role: "system", content: message.content })
        break
      case "user":
        messages.push({ role: "user", content: yield* contentOf(method, message.content) })
        break
      case "assistant":
        messages.push(assistantOf(message))
        break
      case "tool":
        for (const part of message.content) {
          if (part.type !== "tool-result") continue
          messages.push({ role: "tool", tool_call_id: part.id, content: written(part.result) })
        }
    }
  }
  return messages
})

const contentOf = Effect.fnUntraced(function* (method: string, parts: ReadonlyArray<Prompt.UserMessagePart>) {
  const contents: Array<Message.ContentPart> = []
  for (const part of parts) {
    if (part.type === "text") contents.push({ type: "text", text: part.text })
    else if (part.mediaType.startsWith("image/")) contents.push({ type: "image_url", image_url: { url: urlOf(part) } })
    else return yield* unsupported(method, `files of type ${part.mediaType} are not supported: send text or images`)
  }
  return contents.every(({ type }) => type === "text") ? contents.map(({ text }) => text ?? "").join("") : contents
})

const urlOf = ({ data, mediaType }: Prompt.FilePart): string => {
  if (data instanceof URL) return data.href
  return typeof data === "string" && /^(https?|data):/.test(data)
    ? data
    : `data:${mediaType};base64,${typeof data === "string" ? data : Buffer.from(data).toString("base64")}`
}

const assistantOf = ({ content }: Prompt.AssistantMessage): Message.Message => {
  let text = ""
  let reasoning = ""
  const calls: Array<Message.ToolCall> = []
  for (const part of content) {
    if (part.type === "text") text += part.text
    else if (part.type === "reasoning") reasoning += part.text
    else if (part.type === "tool-call") {
      const { id, name, params } = part
      calls.push({ id, type: "function", function: { name, arguments: written(params) } })
    }
  }
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls })
  }
}

const written = (value: unknown): string => (typeof value === "string" ? value : (ExactJson.write(value) ?? "null"))

const parseJson = (text: string): unknown =>
  Result.getOrElse(
    Result.try(() => ExactJson.parse(text)),
    () => text
  )

const reasons: { readonly [reason: string]: Response.FinishReason } = {
  stop: "stop",
  length: "length",
  tool_calls: "tool-calls"
}

/** The parts of an answer, without the finish reason. */
const contentsOf = ({ message, toolCalls }: ServerManager.Choice) => ({
  reasoning: message.reasoning_content ?? "",
  text: typeof message.content === "string" ? message.content : "",
  calls: toolCalls.map((call, index) => ({
    type: "tool-call" as const,
    id: call.id ?? `call_${index}`,
    name: call.function.name,
    params: parseJson(call.function.arguments)
  }))
})

const finishOf = ({ finishReason }: ServerManager.Choice): Response.FinishPartEncoded => ({
  type: "finish",
  reason: reasons[finishReason] ?? "other",
  usage: { inputTokens: {}, outputTokens: {} }
})

const partsOf = (choice: ServerManager.Choice): Array<Response.PartEncoded> => {
  const { calls, reasoning, text } = contentsOf(choice)
  return [
    ...(reasoning === "" ? [] : [{ type: "reasoning" as const, text: reasoning }]),
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...calls,
    finishOf(choice)
  ]
}

const streamOf = (choice: ServerManager.Choice): Stream.Stream<Response.StreamPartEncoded> => {
  const { calls, reasoning, text } = contentsOf(choice)
  return Stream.fromIterable<Response.StreamPartEncoded>([
    ...(reasoning === ""
      ? []
      : [
          { type: "reasoning-start" as const, id: "reasoning" },
          { type: "reasoning-delta" as const, id: "reasoning", delta: reasoning },
          { type: "reasoning-end" as const, id: "reasoning" }
        ]),
    ...(text === ""
      ? []
      : [
          { type: "text-start" as const, id: "text" },
          { type: "text-delta" as const, id: "text", delta: text },
          { type: "text-end" as const, id: "text" }
        ]),
    ...calls,
    finishOf(choice)
  ])
}

/**
 * Represents a policy driven by an external client: every request of an environment to its `ServerManager` becomes a
 * question to the client that steps the episode, and waits for the answer without a time limit.
 *
 * Any environment can thus be stepped unchanged. Requests that cannot be answered from outside (several answers
 * simultaneously, token ids, logprobs of a prompt) fail and are recorded, so that the environment is rejected by name.
 * Trajectories have no tokens, because they are not trained on here.
 */
import { Context, Deferred, Effect, type Layer, Queue } from "effect"
import { unsupported, type Answer, type Backend } from "@atropos/core/inference/backend/Backend"
import { type ChatRequest, InferenceError, type TextRequest } from "@atropos/core/inference/wire/Inference"
import * as ServerManager from "@atropos/core/inference/ServerManager"
import type { Message, ToolCall } from "@atropos/core/trajectory/Message"

/** The policy's answer to a question. */
export interface Said {
  readonly text: string
  readonly toolCalls?: ReadonlyArray<ToolCall>
}

/** A request of the environment that waits for its answer. */
export interface Question {
  /** The whole chat; the prompt of a text completion is a user message. */
  readonly messages: ReadonlyArray<Message>
  /** Available tools, in the form of chat requests. */
  readonly tools: ReadonlyArray<unknown>
  readonly answer: (answer: Said) => Effect.Effect<void>
}

/** The destination of one episode's questions. */
export interface Asking {
  readonly questions: Queue.Queue<Question>
  /** Why the environment cannot be stepped from outside, once known. */
  refusal?: string
}

/** The episode that makes a request: that of the fiber that rolls it out. */
export const Current: Context.Reference<Asking | undefined> = Context.Reference<Asking | undefined>(
  "@atropos/envs/kit/driven/OutsidePolicy",
  { defaultValue: () => undefined }
)

const server = "the policy outside"

const refuse = (asking: Asking | undefined, message: string): Effect.Effect<never, InferenceError> =>
  Effect.suspend(() => {
    if (asking !== undefined) asking.refusal ??= message
    return Effect.fail(new InferenceError({ reason: "unsupported", server, message }))
  })

const ask = Effect.fnUntraced(function* (
  request: ChatRequest | TextRequest,
  messages: ReadonlyArray<Message>,
  tools: ReadonlyArray<unknown>
) {
  const asking = yield* Current
  if (asking === undefined) {
    return yield* refuse(asking, "it requests the policy outside of its episodes, where it cannot be stepped")
  }
  const { n = 1 } = request
  if (n !== 1)
    return yield* refuse(asking, `it requests ${n} completions at the same time, but an outside policy returns one`)
  const answer = yield* Deferred.make<Said>()
  yield* Queue.offer(asking.questions, {
    messages,
    tools,
    answer: (input) => Effect.asVoid(Deferred.succeed(answer, input))
  })
  return answerOf(yield* Deferred.await(answer))
})

const answerOf = ({ text: content, toolCalls = [] }: Said): Answer => ({
  choices: [
    {
      message: { role: "assistant", content, ...(toolCalls.length > 0 && { tool_calls: toolCalls }) },
      text: content,
      toolCalls,
      finishReason: toolCalls.length > 0 ? "tool_calls" : "stop"
    }
  ]
})

const backend: Backend = {
  server,
  modelName: "outside",
  capabilities: { tokens: false, promptLogprobs: false },
  chat: (request) => ask(request, request.messages, request.tools ?? []),
  complete: (request) => ask(request, [{ role: "user", content: request.prompt }], []),
  tokens: () => unsupported(server, "completions of token ids", "it speaks text"),
  promptLogprobs: () => unsupported(server, "logprobs of a prompt", "it speaks text"),
  health: Effect.void
}

/** The servers of an environment that is stepped from outside. Needs no tokenizer, and has no timers. */
export const layer: Layer.Layer<ServerManager.ServerManager> = ServerManager.layerBackends([backend], {
  timeout: Infinity,
  numMaxRequestsAtOnce: Infinity,
  numRequestsForEval: Infinity,
  maxNCompletions: Infinity,
  maxAttempts: 1
})

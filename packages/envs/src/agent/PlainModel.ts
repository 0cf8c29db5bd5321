/** Exposes the policy through promises, for environments written as plain async functions. */
import type { Message, ServerManager, Trajectory } from "@atropos/core"
import type { InferenceError, SamplingOptions } from "@atropos/core/inference/wire/Inference"
import { Effect, Scope } from "effect"

/** Sampling options of an answer; absent ones have the environment's defaults. */
export interface AskOptions extends Omit<SamplingOptions, "split"> {
  /** OpenAI's tool definitions. */
  readonly tools?: ReadonlyArray<unknown>
  /** Cancels the request when aborted; the item's own signal always does. */
  readonly signal?: AbortSignal
}

/** A chat of several turns whose answers form one trajectory if each call sends all of the chat so far. */
export interface PlainSession {
  readonly chat: (messages: ReadonlyArray<Message.Message>, options?: AskOptions) => Promise<ServerManager.Choice>
  readonly trajectories: () => Promise<ReadonlyArray<Trajectory.Trajectory>>
}

export interface PlainModel {
  readonly name: string
  /** Rollouts of a chat, one trajectory for each of `n` answers (default 1). */
  readonly chat: (
    messages: ReadonlyArray<Message.Message>,
    options?: AskOptions
  ) => Promise<ReadonlyArray<Trajectory.Trajectory>>
  readonly complete: (prompt: string, options?: AskOptions) => Promise<ReadonlyArray<Trajectory.Trajectory>>
  /** Answers without tokens, for judges. */
  readonly answer: (
    messages: ReadonlyArray<Message.Message>,
    options?: AskOptions
  ) => Promise<ReadonlyArray<ServerManager.Choice>>
  /** A session of several turns; open until the item is rolled out. */
  readonly session: () => Promise<PlainSession>
}

/** The policy in the context of a rollout, whose limits and trace apply to its requests. */
export const make = Effect.fn("PlainModel.make")(function* (
  servers: ServerManager.ServerManager["Service"],
  defaults: SamplingOptions
) {
  const context = yield* Effect.context<Scope.Scope>()
  const run = <A>(
    effect: Effect.Effect<A, InferenceError, Scope.Scope>,
    { signal }: { readonly signal?: AbortSignal } = {}
  ): Promise<A> => Effect.runPromiseWith(context)(effect, signal && { signal })
  const params = (options: AskOptions = {}) => {
    const { signal: _, ...sampling } = options
    return { ...defaults, ...sampling }
  }
  const model: PlainModel = {
    name: servers.modelName,
    chat: (messages, options) => run(servers.chat({ messages, ...params(options) }), options),
    complete: (prompt, options) => {
      const { tools: _, ...sampling } = params(options)
      return run(servers.complete({ prompt, ...sampling }), options)
    },
    answer: (messages, options) => run(servers.answer({ messages, ...params(options) }), options),
    session: async () => {
      const session = await run(servers.tracked())
      return {
        chat: async (messages, options) => {
          const [choice] = await run(session.chat({ messages, ...params(options), n: 1 }), options)
          // A session returns as many answers as requested.
          return choice!
        },
        trajectories: () => run(session.trajectories)
      }
    }
  }
  return model
})

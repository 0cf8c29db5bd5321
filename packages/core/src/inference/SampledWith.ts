/**
 * Applies default sampling parameters to training requests, if they do not set them: the setting `sampling` of an
 * environment. Evaluations use the environment's own.
 */
import { Effect, Layer } from "effect"
import type { SamplingOptions, TrackedSession } from "./wire/Inference.ts"
import { ServerManager, type ServerManagerShape } from "./ServerManager.ts"

export const manager = (servers: ServerManagerShape, defaults: SamplingOptions): ServerManagerShape => {
  const settled = <A extends SamplingOptions>(request: A): A =>
    request.split === "eval" ? request : { ...defaults, ...request }
  const session = (tracked: TrackedSession): TrackedSession => ({
    ...tracked,
    chat: (request) => tracked.chat(settled(request)),
    complete: (request) => tracked.complete(settled(request))
  })
  return {
    ...servers,
    chat: (request) => servers.chat(settled(request)),
    complete: (request) => servers.complete(settled(request)),
    answer: (request) => servers.answer(settled(request)),
    ask: (request) => servers.ask(settled(request)),
    tokens: (request) => servers.tokens(settled(request)),
    tracked: (options) => Effect.map(servers.tracked(options), session)
  }
}

/** The manager in the context, with these defaults. */
export const layer = (defaults: SamplingOptions): Layer.Layer<ServerManager, never, ServerManager> =>
  Layer.effect(
    ServerManager,
    Effect.map(ServerManager, (servers) => manager(servers, defaults))
  )

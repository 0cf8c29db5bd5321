/**
 * Starts an engine in the background, in parallel with other slow work: calls wait until it is ready. If it cannot
 * start, they fail with the startup error; `status` and `unload`, which cannot fail, die with it.
 */
import { Effect, Fiber, Layer, Stream } from "effect"
import * as Engine from "./Engine.ts"

export const layer = (options: Engine.EngineOptions): Layer.Layer<Engine.Engine> =>
  Layer.effect(
    Engine.Engine,
    Effect.map(Effect.forkScoped(Engine.make(options)), (starting) => {
      const engine = Fiber.join(starting)
      return Engine.Engine.of({
        generate: (request) => Effect.flatMap(engine, ({ generate }) => generate(request)),
        stream: (request, onStart) => Stream.unwrap(Effect.map(engine, ({ stream }) => stream(request, onStart))),
        score: (request) => Effect.flatMap(engine, ({ score }) => score(request)),
        load: (policy, version, parameters) => Effect.flatMap(engine, ({ load }) => load(policy, version, parameters)),
        unload: (policy) => Effect.flatMap(Effect.orDie(engine), ({ unload }) => unload(policy)),
        status: Effect.flatMap(Effect.orDie(engine), ({ status }) => status),
        health: Effect.flatMap(engine, ({ health }) => health)
      })
    })
  )

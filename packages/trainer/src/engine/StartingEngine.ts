/**
 * An engine that starts in the background, so that what else takes long begins meanwhile: whoever asks it waits until
 * it is there. Where it cannot start, everybody who asks fails with what the start failed with; `status` and `unload`,
 * which do not fail, die of it.
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

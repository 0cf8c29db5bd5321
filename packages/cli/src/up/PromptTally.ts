/**
 * Counts the prompts an engine receives, on request, so that prompt lengths are known immediately even with a slow
 * model.
 */
import * as Engine from "@atropos/trainer/engine/Engine"
import { Effect, Layer } from "effect"

export interface PromptTally {
  requests: number
  tokens: number
}

export const make = (): PromptTally => ({ requests: 0, tokens: 0 })

/** Counts the prompts of the engine in the context. */
export const layer = (tally: PromptTally): Layer.Layer<Engine.Engine, never, Engine.Engine> =>
  Layer.effect(
    Engine.Engine,
    Effect.map(Engine.Engine, (engine) => {
      const count = ({ promptTokens }: Engine.GenerateRequest) => {
        tally.requests++
        tally.tokens += promptTokens.length
      }
      return {
        ...engine,
        generate: (request) => {
          count(request)
          return engine.generate(request)
        },
        stream: (request, onStart) => {
          count(request)
          return engine.stream(request, onStart)
        }
      }
    })
  )

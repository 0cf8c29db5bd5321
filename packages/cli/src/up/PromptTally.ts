/**
 * Counts the prompts that an engine is given, as they are asked: how long they are is known at once, however slow the
 * model is to answer them.
 */
import * as Engine from "@atropos/trainer/engine/Engine"
import { Effect, Layer } from "effect"

export interface PromptTally {
  /** Prompts asked so far, and their tokens. */
  requests: number
  tokens: number
}

export const make = (): PromptTally => ({ requests: 0, tokens: 0 })

/** The engine in the context, counted. */
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

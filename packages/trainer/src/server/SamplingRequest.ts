/**
 * Sampling parameters of a request in the engine's terms, both from HTTP (read by `OpenAiApiParameters`) and in process
 * (`PolicyBackend`). The engine checks ranges; the limits here are the server's.
 */
import * as SamplingSettings from "@atropos/core/trajectory/SamplingSettings"
import { Effect, Struct } from "effect"
import type * as Completions from "./Completions.ts"
import { InvalidRequest } from "../engine/EngineRequests.ts"

export const maxChoices = 128
export const maxStops = 4

/** Omitted fields have their default. */
export interface SamplingRequest extends Omit<SamplingSettings.SamplingSettings, "stop"> {
  readonly model?: string
  readonly n?: number
  /** A JSON schema, as text. */
  readonly schema?: string
  readonly stop?: string | ReadonlyArray<string>
  readonly stopTokenIds?: ReadonlyArray<number>
  readonly ignoreEos?: boolean
  readonly includeStop?: boolean
  readonly skipSpecialTokens?: boolean
}

export const check = ({ n = 1, stop }: SamplingRequest): Effect.Effect<void, InvalidRequest> => {
  if (n > maxChoices) {
    return Effect.fail(new InvalidRequest({ field: "n", message: `n: at most ${maxChoices} completions, got ${n}` }))
  }
  return Array.isArray(stop) && stop.length > maxStops
    ? Effect.fail(
        new InvalidRequest({ field: "stop", message: `stop: at most ${maxStops} stop strings, got ${stop.length}` })
      )
    : Effect.void
}

/**
 * The engine's request, except prompt and token limit. `endTokenIds` end a sequence unless the request ignores them.
 */
export const toCompletions = (
  request: SamplingRequest,
  served: { readonly modelName: string; readonly endTokenIds: ReadonlyArray<number> }
): Omit<Completions.Request, "promptTokens" | "maxTokens"> => {
  const { ignoreEos, model, stop, stopTokenIds = [], topK = 0 } = request
  return {
    n: request.n ?? 1,
    temperature: request.temperature ?? 1,
    topP: request.topP ?? 1,
    topK: topK === -1 ? 0 : topK,
    minP: request.minP ?? 0,
    ...Struct.pick(request, [...SamplingSettings.adjustments, "seed", "schema"]),
    ...(isNamed(model, served.modelName) && { policy: model }),
    stop: typeof stop === "string" ? [stop] : (stop ?? []),
    stopTokenIds: [...(ignoreEos === true ? [] : served.endTokenIds), ...stopTokenIds],
    includeStop: request.includeStop ?? false,
    skipSpecialTokens: request.skipSpecialTokens ?? true
  }
}

/** Model name of clients that accept any model. */
export const anyModel = "default"

/** True if a model name selects specific weights; the served model's own name (or none) selects the newest. */
const isNamed = (model: string | undefined, served: string): model is string =>
  model !== undefined && model !== "" && model !== served && model !== anyModel

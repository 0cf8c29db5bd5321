/**
 * Decodes the engine's tokens to text: completions that end at stop strings, whole or streamed.
 *
 * A completion that ends at a stop string keeps all tokens up to the one that completed it; its text ends before the
 * stop string, and its row is freed immediately. An end-of-sequence token is the last token and never in the text.
 */
import type { Tokenizer } from "@atropos/core"
import { Effect, Stream } from "effect"
import type * as Engine from "../engine/Engine.ts"
import * as RoutedExperts from "../model/part/RoutedExperts.ts"
import { EngineFailed } from "../engine/EngineRequests.ts"
import * as StopStrings from "./StopStrings.ts"
import * as TextPieces from "./TextPieces.ts"

export interface Request extends Engine.GenerateRequest {
  readonly stop: ReadonlyArray<string>
  /** Include the final stop string or token in the text. */
  readonly includeStop: boolean
  readonly skipSpecialTokens: boolean
}

/** Output since the previous delta of the same choice. Tokens wait until their text is complete. */
export interface Delta {
  readonly index: number
  readonly text: string
  readonly tokens: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number>
  /** One per token, if requested. */
  readonly alternatives: ReadonlyArray<Engine.Alternatives>
  /** Version of the oldest weights that sampled one of its tokens. */
  readonly policyVersion: number
  /** Version of the weights per token, if they changed during sampling. */
  readonly policyVersions?: ReadonlyArray<number>
  /** Prompt tokens taken from the prefix cache. */
  readonly cachedTokens: number
  /** The experts used by the preceding tokens, including the prompt's, if the engine records them. */
  readonly routedExperts?: Int32Array
  readonly finishReason?: Engine.FinishReason
  readonly stop?: string
}

export interface Completion extends Omit<Delta, "index" | "finishReason"> {
  readonly finishReason: Engine.FinishReason
}

export interface Completions {
  readonly stream: (request: Request) => Stream.Stream<Delta, Engine.EngineError>
  /** The n completions, by index; `onDelta` receives their deltas as they arrive. */
  readonly collect: (
    request: Request,
    onDelta?: (delta: Delta) => void
  ) => Effect.Effect<ReadonlyArray<Completion>, Engine.EngineError>
}

export const make = (engine: Engine.Shape, tokenizer: Tokenizer.TokenizerShape): Completions => {
  const stream = (request: Request): Stream.Stream<Delta, Engine.EngineError> =>
    Stream.suspend(() => {
      const rows = Array.from({ length: request.n }, (_, index) => makeRow(tokenizer, request, index))
      let ended = 0
      let end: ((index: number) => void) | undefined
      return engine
        .stream(request, (input) => (end = input))
        .pipe(
          Stream.map((event) => {
            const delta = rows[event.index]?.take(event)
            if (delta?.finishReason !== undefined) ended++
            if (delta?.stop !== undefined && ended < request.n) end?.(delta.index)
            // Computed with the delta: events arrive in batches, which are mapped before the next operator sees the
            // first of them.
            return { delta, isLast: ended === request.n }
          }),
          Stream.takeUntil(({ isLast }) => isLast),
          Stream.concat(Stream.suspend(() => (ended === request.n ? Stream.empty : Stream.fail(cutShort)))),
          Stream.map(({ delta }) => delta),
          Stream.filter((delta) => delta !== undefined)
        )
    })

  const fromStream = (request: Request, onDelta: (delta: Delta) => void = () => {}) =>
    stream(request).pipe(
      Stream.tap((delta) => Effect.sync(() => onDelta(delta))),
      Stream.runCollect,
      Effect.map((deltas) =>
        Array.from({ length: request.n }, (_, index) => joined(deltas.filter((delta) => delta.index === index)))
      )
    )

  const fromTokens = (request: Request) =>
    Effect.map(engine.generate(request), (all) =>
      all.map((generated): Completion => {
        const { finishReason, logprobs, policyVersion, tokens } = generated
        const returned = finishReason === "stop" && !request.includeStop ? tokens.subarray(0, -1) : tokens
        return {
          text: tokenizer.decode(returned, { skipSpecialTokens: request.skipSpecialTokens }),
          tokens: Array.from(tokens),
          logprobs: Array.from(logprobs),
          alternatives: generated.alternatives ?? [],
          policyVersion,
          ...(generated.policyVersions && { policyVersions: Array.from(generated.policyVersions) }),
          cachedTokens: generated.cachedTokens ?? 0,
          ...(generated.routedExperts && { routedExperts: generated.routedExperts }),
          finishReason
        }
      })
    )

  return {
    stream,
    collect: (request, onDelta) =>
      onDelta !== undefined || request.stop.some((stop) => stop !== "")
        ? fromStream(request, onDelta)
        : fromTokens(request)
  }
}

const cutShort = new EngineFailed({ message: "the engine's token stream ended early" })

const makeRow = (tokenizer: Tokenizer.TokenizerShape, request: Request, index: number) => {
  const pieces = TextPieces.make(tokenizer, request)
  const stops = StopStrings.make(request.stop, { included: request.includeStop })
  let tokens: Array<number> = []
  let logprobs: Array<number> = []
  let alternatives: Array<Engine.Alternatives> = []
  let versions: Array<number> = []
  let routed: Array<Int32Array> = []
  let isEnded = false
  const take = (event: Engine.TokenEvent): Delta | undefined => {
    if (isEnded) return undefined
    tokens.push(event.token)
    logprobs.push(event.logprob)
    versions.push(event.policyVersion)
    if (event.routedExperts !== undefined) routed.push(event.routedExperts)
    if (event.alternatives !== undefined) alternatives.push(event.alternatives)
    const isLast = event.finishReason !== undefined
    const isHidden = event.finishReason === "stop" && !request.includeStop
    const decoded = (isHidden ? "" : pieces.feed(event.token)) + (isLast ? pieces.rest() : "")
    const { stop, text } = stops.feed(decoded)
    const content = stop === undefined && isLast ? text + stops.rest() : text
    const finishReason = stop === undefined ? event.finishReason : "stop"
    isEnded = finishReason !== undefined
    if (content === "" && !isEnded) return undefined
    const delta: Delta = {
      index,
      text: content,
      tokens,
      logprobs,
      alternatives,
      ...versionsOf(versions),
      cachedTokens: event.cachedTokens ?? 0,
      ...expertsOf(routed),
      ...(finishReason !== undefined && { finishReason }),
      ...(stop !== undefined && { stop })
    }
    tokens = []
    logprobs = []
    versions = []
    routed = []
    alternatives = []
    return delta
  }
  return { take }
}

/** The oldest version, and all if they differ. */
const versionsOf = (versions: ReadonlyArray<number>): Pick<Delta, "policyVersion" | "policyVersions"> => {
  const policyVersion = versions.reduce((oldest, version) => Math.min(oldest, version), versions[0] ?? 0)
  return versions.every((version) => version === policyVersion)
    ? { policyVersion }
    : { policyVersion, policyVersions: versions }
}

const expertsOf = (parts: ReadonlyArray<Int32Array>): Pick<Delta, "routedExperts"> =>
  parts.length === 0 ? {} : { routedExperts: RoutedExperts.joined(parts) }

const joined = (deltas: ReadonlyArray<Delta>): Completion => {
  const last = deltas.at(-1)
  return {
    text: deltas.map(({ text }) => text).join(""),
    tokens: deltas.flatMap(({ tokens }) => tokens),
    logprobs: deltas.flatMap(({ logprobs }) => logprobs),
    alternatives: deltas.flatMap(({ alternatives }) => alternatives),
    ...versionsOf(
      deltas.flatMap(({ policyVersion, policyVersions, tokens }) => policyVersions ?? tokens.map(() => policyVersion))
    ),
    cachedTokens: last?.cachedTokens ?? 0,
    ...expertsOf(deltas.flatMap(({ routedExperts }) => routedExperts ?? [])),
    // The engine ends every choice.
    finishReason: last?.finishReason ?? "length",
    ...(last?.stop !== undefined && { stop: last.stop })
  }
}

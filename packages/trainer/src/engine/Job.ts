/**
 * A request inside the engine, from its arrival to its last choice.
 *
 * Its prompt goes through the model once, into a cache of its own, in pieces whose size depends on the prompt alone;
 * each choice starts with a copy of that cache and its own first token, drawn from the same row of logits.
 */
import type { Demand } from "./Admission.ts"
import type { SeededRequest } from "./EngineProtocol.ts"
import type { Alternatives, TokenCompletion, ScoreRequest } from "./EngineRequests.ts"
import { KvCache, type KvShape } from "./KvCache.ts"
import type { Version } from "./PolicyTable.ts"
import * as Sampler from "./Sampler.ts"

/** What asks for tokens, or for the logprobs of given ones. */
export type Work =
  | { readonly _tag: "Generate"; readonly request: SeededRequest; readonly stream: boolean }
  | { readonly _tag: "Score"; readonly request: ScoreRequest }

/** One choice that is being sampled; row i of its lane's cache holds all of its tokens but the last. */
export interface Choice<W> {
  readonly job: Job<W>
  readonly index: number
  readonly tokens: Array<number>
  readonly logprobs: Array<number>
  readonly alternatives: Array<Alternatives>
}

export class Job<W> {
  readonly id: number
  readonly work: Work
  readonly demand: Demand
  readonly prompt: ReadonlyArray<number>
  readonly inverseTemperature: number
  /** The weights it runs on, from when it begins. */
  version: Version<W> | undefined
  /** Keys and values of the prompt, as far as it went through the model. */
  cache: KvCache | undefined
  /** The logits after the prompt. */
  row: Sampler.Row | undefined
  /** Choices that were promised rows, and those that have begun. */
  granted = 0
  begun = 0
  /** By index; a place is filled when its choice ends. */
  readonly finished: Array<TokenCompletion> = []
  /** Its logits were not finite. */
  hasFailed = false
  /** Choices that have not ended. */
  left: number
  /** Of a score: logprobs and alternatives so far. */
  readonly scores: { readonly logprobs: Array<number>; readonly alternatives: Array<Alternatives> }

  constructor(id: number, work: Work) {
    this.id = id
    this.work = work
    this.prompt = work.request.promptTokens
    this.inverseTemperature = Sampler.inverseTemperature({ temperature: work.request.temperature ?? 1 })
    const tokens = this.prompt.length
    this.left = work._tag === "Generate" ? work.request.n : 0
    this.demand =
      work._tag === "Generate"
        ? { choices: work.request.n, promptTokens: tokens, totalTokens: tokens + work.request.maxTokens }
        : { choices: 1, promptTokens: tokens, totalTokens: tokens }
    this.scores = { logprobs: [0], alternatives: [{ tokens: [], logprobs: [] }] }
  }

  /** Prompt tokens that went through the model. */
  get processed(): number {
    return this.cache?.lengths[0] ?? 0
  }

  begin(version: Version<W>, shape: KvShape): void {
    this.version = version
    this.cache = new KvCache(shape)
    this.cache.addEmpty(this.prompt.length)
  }
}

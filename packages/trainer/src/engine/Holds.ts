/** Holds requests with a schema until their grammar is compiled, without blocking others; then they queue normally. */
import { Effect } from "effect"
import { Grammars } from "../grammar/Grammars.ts"
import type { Vocabulary } from "../grammar/Vocabulary.ts"
import { type EngineError, EngineOverloaded, InvalidRequest } from "./EngineRequests.ts"
import type { Job } from "./Job.ts"

export interface Options<W> {
  /** Max number of requests that wait for a grammar. */
  readonly max: number
  /** Called when a request may queue, or with the error that prevents it. */
  readonly enter: (job: Job<W>, refusal: EngineError | undefined) => void
  /** Called after that. */
  readonly wake: () => void
}

export class Holds<W> {
  private readonly options: Options<W>
  private readonly open = new Set<number>()
  private grammars: Grammars | undefined

  constructor(options: Options<W>) {
    this.options = options
  }

  /** Sets the text of the tokens; `size`: number of logits of the model. */
  setVocabulary(vocabulary: Vocabulary, size: number): void {
    this.grammars?.dispose()
    this.grammars = new Grammars(vocabulary, size)
  }

  cancel(id: number): void {
    this.open.delete(id)
  }

  dispose(): void {
    this.grammars?.dispose()
  }

  offer(job: Job<W>): Effect.Effect<void> {
    const { enter, max, wake } = this.options
    return Effect.suspend(() => {
      if (!job.hasSchema) return Effect.sync(() => enter(job, undefined))
      if (this.open.size >= max) {
        const error = new EngineOverloaded({ waiting: this.open.size, retryAfterMillis: 1000 })
        return Effect.sync(() => enter(job, error))
      }
      this.open.add(job.id)
      return job.hold(this.grammars).pipe(
        Effect.match({
          onSuccess: () => undefined,
          onFailure: ({ message }) => new InvalidRequest({ field: "schema", message })
        }),
        Effect.map((error) => {
          // No client waits for a cancelled request.
          if (this.open.delete(job.id)) enter(job, error)
          else job.dispose()
          wake()
        }),
        Effect.forkDetach,
        Effect.asVoid
      )
    })
  }
}

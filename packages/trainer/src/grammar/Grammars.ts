/**
 * Compiles JSON schema grammars over one vocabulary, once each, in separate threads, and creates matchers of answers.
 *
 * A schema that exceeds the time limit is rejected with a description of its size, and immediately when requested
 * again. Grammars are compiled in threads without answers in progress; small ones in any, if all have some.
 */
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import { Deferred, Duration, Effect, Result, Semaphore } from "effect"
import { GrammarError, GrammarThread, type Matcher } from "./GrammarThread.ts"
import * as SchemaGrammar from "./SchemaGrammar.ts"
import * as SchemaSize from "./SchemaSize.ts"
import type { Vocabulary } from "./Vocabulary.ts"
import * as XGrammar from "./XGrammar.ts"

export { GrammarError, type Matcher } from "./GrammarThread.ts"

export interface Options {
  readonly compileLimit: Duration.Input
  /** For the tokens that may follow one token. All answers of a batch wait for them. */
  readonly maskLimit?: Duration.Input
}

const maxThreads = 4
/** Max number of remembered rejections. */
const max = 256
/** Max weight of a grammar compiled in a thread with answers in progress: a tenth of a second. */
const small = 4096

export class Grammars {
  private readonly setup
  private readonly compileLimit: Duration.Input
  private readonly maskLimit: Duration.Input
  private threads: ReadonlyArray<GrammarThread> = []
  private readonly refused = new Map<string, GrammarError>()
  private readonly turns = Semaphore.makeUnsafe(1)
  private readonly underway = new Map<string, Deferred.Deferred<GrammarThread, GrammarError>>()
  /** Called when an answer or a compilation has ended. */
  private readonly onRoom = new Set<() => void>()

  /** `size`: number of logits of the model. */
  constructor(
    vocabulary: Vocabulary,
    size: number,
    { compileLimit, maskLimit = "5 seconds" }: Options = { compileLimit: "20 seconds" }
  ) {
    this.setup = { vocabulary, size }
    this.compileLimit = compileLimit
    this.maskLimit = maskLimit
  }

  /** Matchers of `count` answers to one schema (its text), each ended by one of these tokens. */
  matchers(
    schema: string,
    count: number,
    ends: ReadonlyArray<number>
  ): Effect.Effect<ReadonlyArray<Matcher>, GrammarError> {
    return Effect.gen({ self: this }, function* () {
      if (!XGrammar.isInstalled()) return yield* new GrammarError({ message: XGrammar.missing })
      const before = this.refused.get(schema)
      if (before !== undefined) return yield* before
      const made = SchemaGrammar.make(ExactJson.parseWritten(schema))
      if (Result.isFailure(made)) return yield* new GrammarError({ message: made.failure })
      const { text, weight } = made.success
      const answers = (thread: GrammarThread) =>
        Array.from({ length: count }, () => this.watched(thread, thread.match(text, schema, ends)))
      const known = this.holding(text)
      if (known !== undefined) return answers(known)
      const underway = this.underway.get(text)
      if (underway !== undefined) return answers(yield* Deferred.await(underway))
      const promised = Deferred.makeUnsafe<GrammarThread, GrammarError>()
      this.underway.set(text, promised)
      const compiling = this.compiled(schema, text, weight)
      // Large ones one at a time, so that small ones find a thread.
      const ended = yield* Effect.exit(weight > small ? this.turns.withPermits(1)(compiling) : compiling)
      this.underway.delete(text)
      Deferred.doneUnsafe(promised, ended)
      return answers(yield* ended)
    })
  }

  private holding(text: string): GrammarThread | undefined {
    return this.threads.find(({ grammars, isEnded }) => !isEnded && grammars.has(text))
  }

  private watched(thread: GrammarThread, matcher: Matcher): Matcher {
    const seconds = Duration.format(Duration.fromInputUnsafe(this.maskLimit))
    const slow = `the schema has too many ways to read one text: the tokens that may follow were not found in ${seconds}`
    return {
      ...matcher,
      mask: Effect.timeoutOrElse(matcher.mask, {
        duration: this.maskLimit,
        orElse: () => {
          const { busyWith } = thread
          thread.end(slow)
          const refused = this.refuse(busyWith ?? "", slow)
          return Effect.fail(refused)
        }
      }),
      dispose: () => {
        matcher.dispose()
        for (const resume of this.onRoom) resume()
      }
    }
  }

  /** A thread without work; for a small grammar, otherwise the one with the fewest answers in progress. */
  private free(weight: number): GrammarThread | undefined {
    this.threads = this.threads.filter(({ isEnded }) => !isEnded)
    const free = this.threads.filter(({ isCompiling }) => !isCompiling).toSorted((a, b) => a.active - b.active)
    const [first] = free
    if (first?.active === 0) return first
    if (this.threads.length >= maxThreads) return weight <= small ? first : undefined
    const made = new GrammarThread(this.setup)
    this.threads = [...this.threads, made]
    return made
  }

  private waitForThread(weight: number): Effect.Effect<GrammarThread> {
    return Effect.callback<GrammarThread>((resume) => {
      const attempt = () => {
        const thread = this.free(weight)
        if (thread === undefined) return
        this.onRoom.delete(attempt)
        resume(Effect.succeed(thread))
      }
      this.onRoom.add(attempt)
      attempt()
      return Effect.sync(() => void this.onRoom.delete(attempt))
    })
  }

  private compiled(schema: string, text: string, weight: number): Effect.Effect<GrammarThread, GrammarError> {
    return Effect.gen({ self: this }, function* () {
      const thread = yield* this.waitForThread(weight)
      thread.isCompiling = true
      yield* thread.compile(text).pipe(
        // Runs before the thread is reused: a compilation cannot be cancelled.
        Effect.onInterrupt(() => Effect.sync(() => thread.end("compiling a grammar took too long"))),
        Effect.onExit(() =>
          Effect.sync(() => {
            thread.isCompiling = false
            for (const resume of this.onRoom) resume()
          })
        ),
        Effect.timeoutOrElse({
          duration: this.compileLimit,
          orElse: () =>
            Effect.fail(
              this.refuse(
                schema,
                `the schema is too large: its grammar was not compiled in ${Duration.format(Duration.fromInputUnsafe(this.compileLimit))}; it has ${SchemaSize.extent(ExactJson.parse(schema))}`
              )
            )
        }),
        Effect.tapError(({ message }) =>
          Effect.sync(() => void (thread.isEnded && !this.refused.has(schema) && this.refuse(schema, message)))
        )
      )
      return thread
    })
  }

  private refuse(schema: string, message: string): GrammarError {
    const error = new GrammarError({ message })
    const [oldest] = this.refused.keys()
    if (this.refused.size >= max && oldest !== undefined) this.refused.delete(oldest)
    this.refused.set(schema, error)
    return error
  }

  dispose(): void {
    for (const thread of this.threads) thread.end("it is no longer needed")
  }
}

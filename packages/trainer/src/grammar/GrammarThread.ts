/**
 * A thread of `GrammarWorker` as its owner sees it: grammars that are compiled there, and matchers of answers in
 * progress, which ask it for what may follow as soon as a token is known.
 *
 * What ends the thread fails whatever waits for it.
 */
import * as Thread from "@atropos/core/base/Thread"
import { Deferred, Effect, Schema } from "effect"
import type { Vocabulary } from "./Vocabulary.ts"

/** A schema that answers cannot be held to, or no library to do so. */
export class GrammarError extends Schema.TaggedError<GrammarError>()("GrammarError", { message: Schema.String }) {}

/** What the thread is started with. */
export interface Setup {
  readonly vocabulary: Vocabulary
  /** Logits of the model. */
  readonly size: number
}

export type Order =
  | { readonly _tag: "Compile"; readonly id: number; readonly grammar: string }
  | { readonly _tag: "Match"; readonly id: number; readonly grammar: string; readonly ends: ReadonlyArray<number> }
  | { readonly _tag: "Accept"; readonly id: number; readonly token: number; readonly position: number }
  | { readonly _tag: "Dispose"; readonly id: number }

export type Reply =
  | { readonly _tag: "Compiled"; readonly id: number }
  | { readonly _tag: "Forgot"; readonly grammar: string }
  /** What may follow so many tokens. */
  | { readonly _tag: "Mask"; readonly id: number; readonly position: number; readonly mask: Int32Array }
  | { readonly _tag: "Failed"; readonly message: string }

/** One answer in progress. */
export interface Matcher {
  /** What may follow: bit i % 32 of word i / 32 for token i. */
  readonly mask: Effect.Effect<Int32Array, GrammarError>
  /** Says that a token follows, which the mask allows. */
  readonly accept: (token: number) => void
  readonly dispose: () => void
}

interface Waiting {
  readonly position: number
  readonly mask: Deferred.Deferred<Int32Array, GrammarError>
}

export class GrammarThread {
  /** Texts of the grammars that it has compiled. */
  readonly grammars = new Set<string>()
  /** Answers in progress. */
  active = 0
  isCompiling = false
  isEnded = false
  private readonly worker
  private readonly compiles = new Map<number, Deferred.Deferred<void, GrammarError>>()
  private readonly masks = new Map<number, Waiting>()
  private ids = 0

  constructor(setup: Setup) {
    this.worker = Thread.spawn(Thread.fileBeside(import.meta.url, "GrammarWorker"), { workerData: setup })
    // It ends with the thread that started it, which must not wait for it.
    this.worker.unref()
    this.worker.on("message", (reply: Reply) => this.hear(reply))
    this.worker.on("error", ({ message }) => this.end(message))
    this.worker.on("exit", (code) => this.end(`exit code ${code}`))
  }

  private hear(reply: Reply): void {
    switch (reply._tag) {
      case "Compiled": {
        const waiting = this.compiles.get(reply.id)
        this.compiles.delete(reply.id)
        if (waiting !== undefined) Deferred.doneUnsafe(waiting, Effect.void)
        return
      }
      case "Forgot":
        this.grammars.delete(reply.grammar)
        return
      case "Mask": {
        const waiting = this.masks.get(reply.id)
        // An answer may have gone on before it was known what may follow.
        if (waiting?.position === reply.position) Deferred.doneUnsafe(waiting.mask, Effect.succeed(reply.mask))
        return
      }
      case "Failed":
        this.end(reply.message)
    }
  }

  /** Ends it, whatever it is doing. */
  end(reason: string): void {
    if (this.isEnded) return
    this.isEnded = true
    void this.worker.terminate()
    const error = Effect.fail(new GrammarError({ message: `the thread of grammars ended: ${reason}` }))
    for (const waiting of this.compiles.values()) Deferred.doneUnsafe(waiting, error)
    for (const { mask } of this.masks.values()) Deferred.doneUnsafe(mask, error)
    this.compiles.clear()
  }

  private post(order: Order): void {
    // Port messages have no origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    this.worker.postMessage(order)
  }

  compile(grammar: string): Effect.Effect<void, GrammarError> {
    return Effect.suspend(() => {
      const id = ++this.ids
      const waiting = Deferred.makeUnsafe<void, GrammarError>()
      this.compiles.set(id, waiting)
      this.post({ _tag: "Compile", id, grammar })
      return Effect.tap(
        Deferred.await(waiting),
        Effect.sync(() => void this.grammars.add(grammar))
      )
    })
  }

  /** A matcher of a compiled grammar. */
  match(grammar: string, ends: ReadonlyArray<number>): Matcher {
    const id = ++this.ids
    let position = 0
    const ask = (order: Order) => {
      this.masks.set(id, { position, mask: Deferred.makeUnsafe() })
      this.post(order)
    }
    ask({ _tag: "Match", id, grammar, ends })
    this.active++
    return {
      mask: Effect.suspend(() => Deferred.await(this.masks.get(id)!.mask)),
      accept: (token) => ask({ _tag: "Accept", id, token, position: ++position }),
      dispose: () => {
        if (!this.masks.delete(id)) return
        this.active--
        this.post({ _tag: "Dispose", id })
      }
    }
  }
}

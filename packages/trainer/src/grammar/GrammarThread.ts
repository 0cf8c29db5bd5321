/**
 * Manages a `GrammarWorker` thread: compiles grammars there, and requests token masks of answers in progress as soon as
 * a token is known.
 *
 * If the thread ends, everything waiting for it fails.
 */
import * as Thread from "@atropos/core/base/Thread"
import { Deferred, Effect, Schema } from "effect"
import type { Vocabulary } from "./Vocabulary.ts"

/** An unsupported schema, or a missing library. */
export class GrammarError extends Schema.TaggedError<GrammarError>()("GrammarError", { message: Schema.String }) {}

export interface Setup {
  readonly vocabulary: Vocabulary
  /** Number of logits of the model. */
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
  /** Mask of allowed tokens at a position. */
  | { readonly _tag: "Mask"; readonly id: number; readonly position: number; readonly mask: Int32Array }
  | { readonly _tag: "Failed"; readonly message: string }

export interface Matcher {
  /** Allowed next tokens: bit i % 32 of word i / 32 for token i. */
  readonly mask: Effect.Effect<Int32Array, GrammarError>
  /** Appends a token, which the mask must allow. */
  readonly accept: (token: number) => void
  readonly dispose: () => void
}

interface Waiting {
  readonly position: number
  readonly mask: Deferred.Deferred<Int32Array, GrammarError>
}

export class GrammarThread {
  readonly grammars = new Set<string>()
  active = 0
  isCompiling = false
  isEnded = false
  private readonly worker
  private readonly compiles = new Map<number, Deferred.Deferred<void, GrammarError>>()
  private readonly masks = new Map<number, Waiting>()
  /** The schemas of masks under way, in the thread's order. */
  private readonly schemas = new Map<number, string>()
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
        this.schemas.delete(reply.id)
        const waiting = this.masks.get(reply.id)
        // The answer may have advanced before the mask arrived.
        if (waiting?.position === reply.position) Deferred.doneUnsafe(waiting.mask, Effect.succeed(reply.mask))
        return
      }
      case "Failed":
        this.end(reply.message)
    }
  }

  /** Ends it, even in the middle of work. */
  end(reason: string): void {
    if (this.isEnded) return
    this.isEnded = true
    void this.worker.terminate()
    const error = Effect.fail(new GrammarError({ message: `the grammar thread ended: ${reason}` }))
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

  /** The schema whose mask the thread is computing. */
  get busyWith(): string | undefined {
    return this.schemas.values().next().value
  }

  match(grammar: string, schema: string, ends: ReadonlyArray<number>): Matcher {
    const id = ++this.ids
    let position = 0
    const ask = (order: Order) => {
      this.masks.set(id, { position, mask: Deferred.makeUnsafe() })
      this.schemas.delete(id)
      this.schemas.set(id, schema)
      this.post(order)
    }
    ask({ _tag: "Match", id, grammar, ends })
    this.active++
    return {
      mask: Effect.suspend(() => Deferred.await(this.masks.get(id)!.mask)),
      accept: (token) => ask({ _tag: "Accept", id, token, position: ++position }),
      dispose: () => {
        if (!this.masks.delete(id)) return
        this.schemas.delete(id)
        this.active--
        this.post({ _tag: "Dispose", id })
      }
    }
  }
}

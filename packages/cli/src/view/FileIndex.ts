/** Provides the index of some files, which a separate thread maintains: queries, and notifications. */
import * as Thread from "@atropos/core/base/Thread"
import { Effect, PubSub, type Scope, Stream } from "effect"
import { CommandFailed } from "../base/Failure.ts"
import type { Question, Setup, ThreadMessage } from "./IndexThread.ts"
import type * as LineIndex from "./LineIndex.ts"
import type * as LineSearch from "./LineSearch.ts"

type NewQuestion = Question extends infer Q ? (Q extends { readonly id: number } ? Omit<Q, "id"> : never) : never

export interface FileIndex {
  readonly page: (file: number, filter: LineSearch.IndexFilter) => Effect.Effect<LineSearch.IndexedPage, CommandFailed>
  readonly group: (
    file: number,
    number: number
  ) => Effect.Effect<ReturnType<LineIndex.LineIndex["group"]>, CommandFailed>
  readonly samples: (
    file: number,
    page: { readonly from: number; readonly limit: number }
  ) => Effect.Effect<LineIndex.SamplePage, CommandFailed>
  readonly sample: (file: number, number: number) => Effect.Effect<unknown, CommandFailed>
  /** Number of groups in each file, as far as known. */
  readonly sizes: Effect.Effect<ReadonlyArray<number>, CommandFailed>
  readonly grown: (file: number) => Stream.Stream<void>
}

export interface Options {
  readonly files: ReadonlyArray<string>
  /** Receives every line that is not a group, and other notes. */
  readonly onFault: (fault: string) => void
  readonly onNote: (note: string) => void
}

const threadFile = Thread.fileBeside(import.meta.url, "IndexThread")

const failed = (message: string) => new CommandFailed({ message: `the files cannot be read: ${message}` })

/** Starts the thread; it ends with the scope. */
export const make = Effect.fn("FileIndex.make")(function* ({
  files,
  onFault,
  onNote
}: Options): Effect.fn.Return<FileIndex, never, Scope.Scope> {
  const grown = yield* PubSub.sliding<ReadonlyArray<number>>(64)
  const waiting = new Map<number, (answer: Effect.Effect<unknown, CommandFailed>) => void>()
  const setup: Setup = { files }
  const thread = yield* Effect.acquireRelease(
    Effect.sync(() => Thread.spawn(threadFile, { workerData: setup })),
    (thread) => Effect.promise(() => thread.terminate())
  )
  let death: CommandFailed | undefined
  thread.on("error", (error) => {
    death = failed(error instanceof Error ? error.message : String(error))
    for (const resume of waiting.values()) resume(Effect.fail(death))
    waiting.clear()
  })
  thread.on("message", (message: ThreadMessage) => {
    if ("grown" in message) PubSub.publishUnsafe(grown, message.grown)
    else if ("faults" in message) message.faults.forEach(onFault)
    else if ("notes" in message) message.notes.forEach(onNote)
    else if ("id" in message) {
      waiting.get(message.id)?.(
        "error" in message ? Effect.fail(failed(message.error)) : Effect.succeed(message.answer)
      )
      waiting.delete(message.id)
    }
  })

  let last = 0
  const ask = <A>(question: NewQuestion): Effect.Effect<A, CommandFailed> =>
    Effect.callback((resume) => {
      if (death !== undefined) return resume(Effect.fail(death))
      const id = ++last
      // The thread answers each query with the matching result type.
      waiting.set(id, (answer) => resume(answer as Effect.Effect<A, CommandFailed>))
      thread.postMessage({ ...question, id })
      return Effect.sync(() => void waiting.delete(id))
    })

  return {
    page: (file, filter) => ask({ ask: "page", file, filter }),
    group: (file, number) => ask({ ask: "group", file, number }),
    samples: (file, page) => ask({ ask: "samples", file, page }),
    sample: (file, number) => ask({ ask: "sample", file, number }),
    sizes: ask({ ask: "sizes" }),
    grown: (file) =>
      Stream.fromPubSub(grown).pipe(
        Stream.filter((files) => files.includes(file)),
        Stream.map(() => undefined)
      )
  }
})

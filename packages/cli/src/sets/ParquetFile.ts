/** Reads and writes parquet files of data sets: written in a separate thread, read row by row. */
import { Dataset } from "@atropos/core"
import * as Thread from "@atropos/core/base/Thread"
import { Effect, Schema, Stream } from "effect"
import { CommandFailed } from "../base/Failure.ts"
import type { Task } from "./ParquetWorker.ts"

const workerFile = Thread.fileBeside(import.meta.url, "ParquetWorker")

type Answer = { readonly done: true } | { readonly error: string }

/** Writes the rows of a JSON Lines file as parquet. */
export const write = (task: Task): Effect.Effect<void, CommandFailed> => {
  const failed = (message: string) => new CommandFailed({ message: `cannot write ${task.to}: ${message}` })
  return Thread.start<never, Answer>(workerFile, { workerData: task }).pipe(
    Effect.flatMap(({ next }) => next),
    Effect.mapError(({ message }) => failed(message)),
    Effect.flatMap((answer) => ("done" in answer ? Effect.void : Effect.fail(failed(answer.error)))),
    Effect.scoped
  )
}

/** The rows of a parquet file; missing values are null. */
export const read = (path: string): Stream.Stream<unknown, CommandFailed> =>
  Stream.unwrap(
    Effect.map(Dataset.Dataset, (dataset) => dataset.stream(path, Schema.Unknown, { asWritten: true }))
  ).pipe(
    Stream.provide(Dataset.layer),
    Stream.mapError(({ message }) => new CommandFailed({ message }))
  )

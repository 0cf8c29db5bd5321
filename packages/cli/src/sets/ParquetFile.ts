/** Parquet files of data sets: written by a thread of its own, read row by row. */
import { Dataset } from "@atropos/core"
import { Effect, Schema, Stream } from "effect"
import { extname } from "node:path"
import { Worker } from "node:worker_threads"
import { CommandFailed } from "../base/Failure.ts"
import type { Task } from "./ParquetWorker.ts"

/** Sources are run as they are, the published package as JavaScript. */
const workerFile = new URL(`./ParquetWorker${extname(import.meta.url)}`, import.meta.url)

type Answer = { readonly done: true } | { readonly error: string }

/** Writes the rows of a JSON Lines file as parquet. */
export const write = (task: Task): Effect.Effect<void, CommandFailed> =>
  Effect.callback((resume) => {
    const fail = (message: string): void =>
      resume(Effect.fail(new CommandFailed({ message: `cannot write ${task.to}: ${message}` })))
    const worker = new Worker(workerFile, { workerData: task })
    worker
      .on("error", (error) => fail(error instanceof Error ? error.message : String(error)))
      .on("message", (answer: Answer) => ("done" in answer ? resume(Effect.void) : fail(answer.error)))
    return Effect.promise(() => worker.terminate())
  })

/** The rows of a parquet file, columns without a value as null. */
export const read = (path: string): Stream.Stream<unknown, CommandFailed> =>
  Stream.unwrap(Effect.map(Dataset.Dataset, (dataset) => dataset.stream(path, Schema.Unknown))).pipe(
    Stream.provide(Dataset.layer),
    Stream.mapError(({ message }) => new CommandFailed({ message }))
  )

/** Reads the inputs of `evaluate diff`: result folders or sample files. */
import * as Comparison from "@atropos/core/evaluation/Comparison"
import { Effect, FileSystem, Path, Stream } from "effect"
import { CommandFailed } from "../base/Failure.ts"
import * as Samples from "./Samples.ts"

/** The samples of a result folder or a sample file; the first file of a folder with several. */
export const read = Effect.fn("Diff.read")(function* (word: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const isFolder = yield* fs.stat(word).pipe(
    Effect.map(({ type }) => type === "Directory"),
    Effect.orElseSucceed(() => false)
  )
  const file = isFolder ? path.join(word, "samples.jsonl") : word
  const samples = yield* Stream.runCollect(Samples.read(file))
  if (samples.length === 0) return yield* new CommandFailed({ message: `${file}: no samples` })
  const others = isFolder
    ? (yield* fs.readDirectory(word).pipe(Effect.orElseSucceed((): Array<string> => []))).filter((name) =>
        /^samples_\d+\.jsonl$/.test(name)
      )
    : []
  const notes = others.length === 0 ? [] : [`${word} also has ${others.sort().join(", ")}: comparing samples.jsonl`]
  return { items: Comparison.byItem(samples), notes }
})

/**
 * Saves weights outside of checkpoints (a warm start): a folder with the engine's local files, and `weights.json`,
 * their reference. Written atomically.
 */
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import type { Kept, Learner } from "../learn/LearnerEngine.ts"
import * as AtomicFolder from "./AtomicFolder.ts"
import * as CheckpointError from "./CheckpointError.ts"

const codec = Schema.fromJsonString(Schema.Struct({ engine: Schema.String, path: Schema.String }))
const encode = Schema.encodeEffect(codec)
const decode = Schema.decodeUnknownEffect(codec)

const file = "weights.json"

/** Makes a durable copy of a learner's weights in `folder`, which is replaced. */
export const save = Effect.fn("KeptWeights.save")(function* (folder: string, learner: Pick<Learner, "save">) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  yield* AtomicFolder.write(
    folder,
    Effect.fnUntraced(function* (partial) {
      const path = join(partial, file)
      const text = yield* Effect.flatMap(learner.save(partial, 0), encode)
      yield* Effect.mapError(fs.writeFileString(path, `${text}\n`), CheckpointError.at(path))
    })
  )
})

export const read = Effect.fn("KeptWeights.read")(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(folder, file)
  const failed = Effect.mapError(CheckpointError.at(path))
  if (!(yield* failed(fs.exists(path)))) return Option.none<Kept>()
  const reference = yield* failed(Effect.flatMap(fs.readFileString(path), decode))
  return Option.some<Kept>({ reference, folder })
})

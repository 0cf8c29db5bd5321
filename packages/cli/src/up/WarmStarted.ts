/**
 * The weights after the warm start, beside the checkpoints of a run: float32, as the machine has them.
 *
 * A run that is gone on with needs them where its loss has a KL penalty, and takes them from here: the same bits
 * as the steps that made them. It makes them again where they are not there whole.
 */
import { Effect, FileSystem, Option, Path } from "effect"

const file = "warm-start.f32"

/** They are read only by runs that have a checkpoint, so they are on the disk before the first one. */
export const save = Effect.fn("WarmStarted.save")(function* (folder: string, parameters: Float32Array) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(folder, file)
  const unfinished = `${path}.new`
  yield* Effect.scoped(
    Effect.gen(function* () {
      const opened = yield* fs.open(unfinished, { flag: "w" })
      yield* opened.writeAll(new Uint8Array(parameters.buffer, parameters.byteOffset, parameters.byteLength))
      yield* opened.sync
    })
  )
  yield* fs.rename(unfinished, path)
})

/** None where there is no file of so many parameters. */
export const load = Effect.fn("WarmStarted.load")(function* (folder: string, size: number) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const bytes = yield* Effect.option(fs.readFile(join(folder, file)))
  return Option.map(
    Option.filter(bytes, ({ byteLength }) => byteLength === size * Float32Array.BYTES_PER_ELEMENT),
    // A copy of its own: what was read may begin anywhere in its buffer.
    (found) => new Float32Array(Uint8Array.from(found).buffer)
  )
})

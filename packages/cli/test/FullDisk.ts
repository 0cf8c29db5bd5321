/** The platform's files on a disk of so many bytes: what does not fit is written as far as it does, and then fails. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Layer, PlatformError } from "effect"
import { readFileSync, statSync } from "node:fs"

export interface Disk {
  /** Bytes that may still be written. */
  left: number
}

const full = (method: string) =>
  Effect.fail(
    PlatformError.systemError({
      _tag: "WriteZero",
      module: "FileSystem",
      method,
      cause: Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" })
    })
  )

export const layer = (disk: Disk) =>
  Layer.effect(
    FileSystem.FileSystem,
    Effect.map(FileSystem.FileSystem, (fs): FileSystem.FileSystem => {
      const fitting = <A>(
        bytes: Uint8Array,
        method: string,
        write: (bytes: Uint8Array) => Effect.Effect<A, PlatformError.PlatformError>
      ) =>
        Effect.suspend(() => {
          const part = bytes.subarray(0, Math.max(0, disk.left))
          disk.left -= part.length
          return part.length === bytes.length ? write(bytes) : Effect.andThen(write(part), full(method))
        })
      const freed = (path: string, to: number) =>
        Effect.sync(() => {
          disk.left += Math.max(0, (statSync(path, { throwIfNoEntry: false })?.size ?? 0) - to)
        })
      return {
        ...fs,
        open: (path, options) =>
          Effect.map(fs.open(path, options), (file) =>
            // Its other methods are of a class, with a state of its own.
            Object.create(file, {
              stat: { get: () => file.stat },
              writeAll: { value: (bytes: Uint8Array) => fitting(bytes, "writeAll", (part) => file.writeAll(part)) },
              truncate: {
                value: (length = 0) => Effect.andThen(freed(path, length), file.truncate(length))
              }
            })
          ),
        writeFileString: (path, text, options) =>
          fitting(new TextEncoder().encode(text), "writeFile", (bytes) =>
            fs.writeFile(path, bytes, options?.flag === undefined ? {} : { flag: options.flag })
          ),
        truncate: (path, length = 0) => Effect.andThen(freed(path, length), fs.truncate(path, length)),
        remove: (path, options) => Effect.andThen(freed(path, 0), fs.remove(path, options))
      }
    })
  ).pipe(Layer.provideMerge(NodeServices.layer))

/** Lines that are JSON, of a file that may not be there. */
export const lines = (path: string): ReadonlyArray<unknown> =>
  statSync(path, { throwIfNoEntry: false }) === undefined
    ? []
    : readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line): unknown => JSON.parse(line))

/** Opens a file for reading, decompressed if its name ends in `.gz`. */
import { createReadStream } from "node:fs"
import type { Readable } from "node:stream"
import { createGunzip } from "node:zlib"

export const isCompressed = (path: string): boolean => /\.gz$/i.test(path)

const defaultChunkSize = 64 * 1024

/** Errors of the file are errors of the result; destroying it closes the file. */
export const open = (path: string, chunkSize = defaultChunkSize): Readable => {
  const file = createReadStream(path, { highWaterMark: chunkSize })
  if (!isCompressed(path)) return file
  const bytes = createGunzip({ chunkSize })
  file.on("error", (error) => bytes.destroy(error))
  bytes.on("close", () => file.destroy())
  return file.pipe(bytes)
}

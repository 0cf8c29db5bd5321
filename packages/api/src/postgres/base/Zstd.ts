/**
 * Compresses with zstd on the thread pool and reuses contexts: creating one per payload costs as much as compressing
 * it, and its memory (megabytes outside the heap) would trigger constant garbage collection.
 *
 * Each call writes or reads one whole frame. If a frame ends exactly at a context's buffer boundary, Node adds an empty
 * frame; therefore decompression continues after a frame.
 */
import { Effect } from "effect"
import * as zlib from "node:zlib"

type Context = zlib.ZstdCompress | zlib.ZstdDecompress

// Twice the number of threads in the pool: one context works while another's result is picked up.
const maxIdle = 8

const pool = (create: () => Context) => {
  const idle: Array<Context> = []

  const pass = (bytes: Uint8Array, parts: Array<Uint8Array>, resume: (result: Effect.Effect<Uint8Array>) => void) => {
    const context = idle.pop() ?? create()
    const before = context.bytesWritten
    const collect = (part: Uint8Array) => void parts.push(part)
    // Compression only fails for lack of memory; undecodable data comes from a damaged database.
    const fail = (error: Error) => resume(Effect.die(error))
    context.on("data", collect).once("error", fail)
    // The context flushes after every write: one thread pool turn per frame.
    context.write(bytes, () => {
      context.off("data", collect).off("error", fail)
      const taken = context.bytesWritten - before
      const isWhole = taken === bytes.length
      // A context with unread input has ended, and would produce nothing for later writes.
      if (isWhole && idle.length < maxIdle) idle.push(context)
      else context.destroy()
      if (!isWhole) return pass(bytes.subarray(taken), parts, resume)
      resume(Effect.succeed(parts.length === 1 ? parts[0]! : Buffer.concat(parts)))
    })
  }

  return (bytes: Uint8Array): Effect.Effect<Uint8Array> =>
    // Uninterruptible: a context is only free once its frame is done.
    Effect.uninterruptible(Effect.callback<Uint8Array>((resume) => pass(bytes, [], resume)))
}

export const make = () => ({
  compress: pool(() =>
    zlib.createZstdCompress({
      params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 },
      flush: zlib.constants.ZSTD_e_end,
      chunkSize: 128 * 1024
    })
  ),
  /** The content of a frame; dies on invalid bytes. */
  decompress: pool(() => zlib.createZstdDecompress({ flush: zlib.constants.ZSTD_e_flush, chunkSize: 160 * 1024 }))
})

export const { compress, decompress } = make()

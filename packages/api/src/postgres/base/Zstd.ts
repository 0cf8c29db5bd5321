/**
 * zstd on the thread pool with contexts that are used again: making one for every payload costs as much as compressing
 * it, and the memory it takes (megabytes, outside the heap) makes the garbage collector run all the time.
 *
 * Each call makes, or reads, one whole frame. Where a frame ends exactly with a context's buffer, an empty one follows
 * it: Node asks for what may be left to write, and gets a frame of nothing. So reading goes on after a frame.
 */
import { Effect } from "effect"
import * as zlib from "node:zlib"

type Context = zlib.ZstdCompress | zlib.ZstdDecompress

// As many as the thread pool has threads, twice over: one works while another's result is picked up.
const mostIdle = 8

const pool = (create: () => Context) => {
  const idle: Array<Context> = []

  const pass = (bytes: Uint8Array, parts: Array<Uint8Array>, resume: (result: Effect.Effect<Uint8Array>) => void) => {
    const context = idle.pop() ?? create()
    const before = context.bytesWritten
    const collect = (part: Uint8Array) => void parts.push(part)
    // Compression has no failure but lack of memory; what cannot be decompressed comes from a damaged database.
    const fail = (error: Error) => resume(Effect.die(error))
    context.on("data", collect).once("error", fail)
    // The context flushes after every write: one turn of the thread pool for a frame.
    context.write(bytes, () => {
      context.off("data", collect).off("error", fail)
      const taken = context.bytesWritten - before
      const isWhole = taken === bytes.length
      // A context that leaves something is at its end, and would give nothing for what is written to it next.
      if (isWhole && idle.length < mostIdle) idle.push(context)
      else context.destroy()
      if (!isWhole) return pass(bytes.subarray(taken), parts, resume)
      resume(Effect.succeed(parts.length === 1 ? parts[0]! : Buffer.concat(parts)))
    })
  }

  return (bytes: Uint8Array): Effect.Effect<Uint8Array> =>
    // Not interruptible: a context is free when its frame is done.
    Effect.uninterruptible(Effect.callback<Uint8Array>((resume) => pass(bytes, [], resume)))
}

/** Contexts of one's own. */
export const make = () => ({
  /** A frame of level 1. */
  compress: pool(() =>
    zlib.createZstdCompress({
      params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 },
      flush: zlib.constants.ZSTD_e_end,
      chunkSize: 128 * 1024
    })
  ),
  /** The bytes of a frame; dies on bytes that are none. */
  decompress: pool(() => zlib.createZstdDecompress({ flush: zlib.constants.ZSTD_e_flush, chunkSize: 160 * 1024 }))
})

export const { compress, decompress } = make()

/** Payloads as stored: zstd level 1, on the thread pool; tiny ones as they are. */
import { Effect } from "effect"
import { constants, zstdCompress, zstdDecompress } from "node:zlib"
import type { Payload, PayloadFormat } from "../../TrajectoryStore.ts"

export interface Stored {
  /** 0 JSON, 1 JSON in zstd, 2 packed, 3 packed in zstd: column `grp.encoding`. */
  readonly encoding: number
  readonly bytes: Uint8Array
}

// Below this the frame costs more than it saves.
const smallest = 512
const options = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: 64 * 1024 }
const decompression = { chunkSize: 256 * 1024 }

/** Fails never: compression of bytes in memory has no failure but lack of memory. */
export const encode = ({ bytes, format }: Payload): Effect.Effect<Stored> => {
  const base = format === "json" ? 0 : 2
  if (bytes.length < smallest) return Effect.succeed({ encoding: base, bytes })
  return Effect.callback((resume) =>
    zstdCompress(bytes, options, (error, compressed) =>
      resume(error === null ? Effect.succeed({ encoding: base + 1, bytes: compressed }) : Effect.die(error))
    )
  )
}

/** Dies on bytes that are no zstd frame: only a damaged database has those. */
export const decode = ({ bytes, encoding }: Stored): Effect.Effect<Payload> => {
  const format: PayloadFormat = encoding < 2 ? "json" : "packed"
  if (encoding % 2 === 0) return Effect.succeed({ format, bytes })
  return Effect.callback((resume) =>
    zstdDecompress(bytes, decompression, (error, plain) =>
      resume(error === null ? Effect.succeed({ format, bytes: plain }) : Effect.die(error))
    )
  )
}

/** Encodes payloads for storage: zstd level 1 on the thread pool; tiny ones uncompressed. */
import { Effect } from "effect"
import type { Payload, PayloadFormat } from "../../store/TrajectoryStore.ts"
import * as Zstd from "./Zstd.ts"

export interface Stored {
  /** 0 JSON, 1 JSON in zstd, 2 packed, 3 packed in zstd: column `grp.encoding`. */
  readonly encoding: number
  readonly bytes: Uint8Array
}

// Below this the frame costs more than it saves.
const smallest = 512

export const encode = ({ bytes, format }: Payload): Effect.Effect<Stored> => {
  const base = format === "json" ? 0 : 2
  return bytes.length < smallest
    ? Effect.succeed({ encoding: base, bytes })
    : Effect.map(Zstd.compress(bytes), (bytes) => ({ encoding: base + 1, bytes }))
}

export const decode = ({ bytes, encoding }: Stored): Effect.Effect<Payload> => {
  const format: PayloadFormat = encoding < 2 ? "json" : "packed"
  return encoding % 2 === 0
    ? Effect.succeed({ format, bytes })
    : Effect.map(Zstd.decompress(bytes), (bytes) => ({ format, bytes }))
}

/** Compresses request bodies off the event loop; requires Node 22.15. */
import { Effect } from "effect"
import * as zlib from "node:zlib"
import { TinkerError } from "./TinkerError.ts"

export const compress = (server: string, bytes: Uint8Array): Effect.Effect<Uint8Array, TinkerError> =>
  typeof zlib.zstdCompress === "function"
    ? Effect.callback((resume) => {
        zlib.zstdCompress(bytes, (error, compressed) =>
          resume(
            error === null
              ? Effect.succeed(new Uint8Array(compressed))
              : Effect.fail(
                  new TinkerError({ reason: "malformed", server, message: `zstd: ${error.message}`, cause: error })
                )
          )
        )
      })
    : Effect.fail(
        new TinkerError({
          reason: "refused",
          server,
          message: `${server} requires zstd, which this Node lacks: use Node 22.15 or later`
        })
      )

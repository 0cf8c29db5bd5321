/** The body of a submission: as `RequestBody` reads it, and zstd besides; its refusals as the versioned endpoints word them. */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { TrajectoryApiError as ApiError } from "@atropos/core"
import { zstdDecompress } from "node:zlib"
import * as RequestBody from "../RequestBody.ts"

const encodingOf = ({ headers }: HttpServerRequest.HttpServerRequest): string =>
  (headers["content-encoding"] ?? "identity").trim().toLowerCase()

const unzstd = (body: Uint8Array, limit: number): Effect.Effect<Uint8Array, ApiError.TooLarge | ApiError.BadRequest> =>
  Effect.callback((resume) => {
    zstdDecompress(body, { maxOutputLength: limit }, (error, decoded) => {
      if (error === null) return resume(Effect.succeed(decoded))
      resume(
        Effect.fail(
          error instanceof RangeError
            ? new ApiError.TooLarge({
                message: `the decompressed request body is larger than the ${limit} bytes allowed`
              })
            : new ApiError.BadRequest({
                field: "Content-Encoding",
                message: "the body is not zstd, as Content-Encoding says"
              })
        )
      )
    })
  })

/** The bytes, decompressed. */
export const bytes = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Uint8Array, ApiError.TooLarge | ApiError.BadRequest> => {
  const encoding = encodingOf(request)
  if (!["identity", "gzip", "x-gzip", "zstd"].includes(encoding)) {
    return Effect.fail(
      new ApiError.BadRequest({
        field: "Content-Encoding",
        message: `Content-Encoding: ${encoding} is not read here, but gzip and zstd are`
      })
    )
  }
  const body = Effect.catchTags(RequestBody.bytes(request), {
    BodyTooLarge: ({ message }) => Effect.fail(new ApiError.TooLarge({ message })),
    InvalidGzip: () =>
      Effect.fail(
        new ApiError.BadRequest({
          field: "Content-Encoding",
          message: "the body is not gzip, as Content-Encoding says"
        })
      ),
    BodyInterrupted: ({ message }) => Effect.fail(new ApiError.BadRequest({ message }))
  })
  return encoding === "zstd"
    ? Effect.flatMap(body, (packed) =>
        Effect.flatMap(RequestBody.Limits, ({ maxDecodedBytes }) => unzstd(packed, maxDecodedBytes))
      )
    : body
}

/** Reads the bodies of the versioned endpoints via `RequestBody`, and maps its errors to theirs. */
import { Effect, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import { TrajectoryApiError as ApiError } from "@atropos/core"
import * as RequestBody from "../http/RequestBody.ts"

type Failure = ApiError.TooLarge | ApiError.BadRequest | ApiError.Unavailable

const names: { readonly [name: string]: RequestBody.Encoding | undefined } = {
  gzip: "gzip",
  "x-gzip": "gzip",
  zstd: "zstd"
}

/** The decompressed bytes; at most `maxBytes`. */
export const bytes = (
  request: HttpServerRequest.HttpServerRequest,
  maxBytes?: number
): Effect.Effect<Uint8Array, Failure, Scope.Scope> => {
  const named = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase()
  const encoding = names[named]
  if (encoding === undefined && named !== "identity") {
    return Effect.fail(
      new ApiError.BadRequest({
        field: "Content-Encoding",
        message: `Content-Encoding: ${named} is not supported: use gzip or zstd`
      })
    )
  }
  return Effect.catchTags(RequestBody.bytes(request, { encoding, ...(maxBytes !== undefined && { maxBytes }) }), {
    BodyTooLarge: ({ message }) => Effect.fail(new ApiError.TooLarge({ message })),
    BodiesTooMany: ({ message }) => Effect.fail(new ApiError.Unavailable({ message, retryAfterSeconds: 1 })),
    InvalidEncoding: () =>
      Effect.fail(
        new ApiError.BadRequest({
          field: "Content-Encoding",
          message: `the body is not ${encoding}, unlike its Content-Encoding`
        })
      ),
    BodyInterrupted: ({ message }) => Effect.fail(new ApiError.BadRequest({ message }))
  })
}

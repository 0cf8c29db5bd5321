/** Reads the bodies of the original's requests. */
import { WireGroup } from "@atropos/core"
import { Effect, type Result, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as Nul from "../http/Nul.ts"
import * as RequestBody from "../http/RequestBody.ts"
import { HasNul, MissingBody } from "./Refusal.ts"

type Request = HttpServerRequest.HttpServerRequest

const isJson = (request: Request): boolean =>
  /^application\/(?:[^;]+\+)?json\s*(?:;|$)/i.test(request.headers["content-type"] ?? "")

const decoder = new TextDecoder()

/** Max characters of a non-JSON body to echo in the error. */
const maxText = 65_536

/** The body's bytes; the original treats a body without a JSON content type as a plain string, which is never valid. */
export const jsonBytes = (
  request: Request,
  maxBytes?: number
): Effect.Effect<Uint8Array, RequestBody.BodyError | MissingBody, Scope.Scope> =>
  Effect.flatMap(
    RequestBody.bytes(request, { encoding: RequestBody.gzipOf(request), ...(maxBytes !== undefined && { maxBytes }) }),
    (body) => {
      if (body.length === 0) return Effect.fail(new MissingBody())
      if (isJson(request)) return Effect.succeed(body)
      return Effect.succeed(new TextEncoder().encode(JSON.stringify(decoder.decode(body.subarray(0, maxText)))))
    }
  )

/** Decodes the body as one of the small forms. */
export const form = <A>(request: Request, read: (json: unknown) => Result.Result<A, WireGroup.WireError>) =>
  RequestBody.Limits.pipe(
    Effect.flatMap(({ maxFormBytes }) => jsonBytes(request, maxFormBytes)),
    Effect.filterOrFail(
      (bytes) => !Nul.isIn(bytes),
      () => new HasNul()
    ),
    Effect.flatMap((bytes) => Effect.fromResult(WireGroup.parse(bytes))),
    Effect.flatMap(({ notFinite, value }) =>
      Effect.fromResult(read(value)).pipe(
        Effect.filterOrFail(
          () => !notFinite,
          () => notFiniteForm
        )
      )
    )
  )

const notFiniteForm = new WireGroup.WireError({
  reason: "invalid",
  details: [{ type: "finite_number", loc: ["body"], msg: "Input should be a finite number", input: null }]
})

/**
 * Reads the body of `POST /sessions`: how the session's requests are sampled. Keys are those of OpenAI's API.
 *
 *     {}
 *     { "defaults": { "temperature": 1, "max_tokens": 512 }, "enforced": { "top_p": 1 }, "seed": 7 }
 *     { "trained": "tools" }
 */
import { Effect, Schema, SchemaIssue } from "effect"
import { Failure } from "../dialect/Dialect.ts"
import type { SamplingOptions } from "../../inference/backend/Inference.ts"
import { SamplingSettings } from "../../trajectory/SamplingSettings.ts"
import type { SessionOptions } from "./Session.ts"
import * as Trained from "./Trained.ts"

const Body = Schema.Struct({
  defaults: Schema.optionalKey(SamplingSettings),
  enforced: Schema.optionalKey(SamplingSettings),
  seed: Schema.optionalKey(Schema.Int),
  trained: Schema.optionalKey(Trained.Trained)
})

// A misspelt key would silently change the sampling.
const decodeBody = Schema.decodeUnknownEffect(Body, { onExcessProperty: "error" })
const format = SchemaIssue.makeFormatterStandardSchemaV1()

export const decode = (body: unknown): Effect.Effect<SessionOptions, Failure> =>
  decodeBody(body).pipe(
    Effect.map(({ defaults, enforced, seed, trained }) => ({
      ...(defaults !== undefined && { defaults: defaults satisfies SamplingOptions }),
      ...(enforced !== undefined && { enforced: enforced satisfies SamplingOptions }),
      ...(seed !== undefined && { seed }),
      ...(trained !== undefined && { trained: Trained.by[trained] })
    })),
    Effect.mapError(({ issue, message }) => {
      const [first] = format(issue).issues
      const path = (first?.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".")
      const problem = `${path === "" ? "" : `${path}: `}${first?.message ?? message}`
      return new Failure({ reason: "invalid", message: problem, ...(path !== "" && { param: path }) })
    })
  )

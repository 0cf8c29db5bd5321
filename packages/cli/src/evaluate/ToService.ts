/** An evaluation that is done, sent to a trajectory service for its viewer: `evaluate --service URL`. */
import { JsonLines, Uuid } from "@atropos/core"
import * as EvaluationRecord from "@atropos/core/service/EvaluationRecord"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Config, Effect, Option, Stream } from "effect"
import { CommandFailed } from "../base/Failure.ts"

export interface Target {
  /** Where the service is. */
  readonly url: string
  /** Whose policy was asked. */
  readonly run: string | null
  readonly step: number | null
}

interface Evaluated {
  readonly name: string
  readonly model: string
  readonly seconds: number
  readonly figures: { readonly [name: string]: number }
  /** The samples, each on a line. */
  readonly file: string
}

/** Sends it, and says where it can be seen. What it came to is in files already. */
export const send = Effect.fn("ToService.send")(function* (
  { run, step, url }: Target,
  { file, ...evaluated }: Evaluated
) {
  const samples = yield* JsonLines.read(file).pipe(
    Stream.filter((line) => line._tag === "Text"),
    // Lines that this program wrote.
    Stream.map(({ text }) => JSON.parse(text) as object),
    Stream.runCollect
  )
  const token = yield* Effect.orDie(Config.option(Config.Redacted("ATROPOS_TOKEN")))
  const { id } = yield* EvaluationRecord.sendTo(
    { url, run, ...(Option.isSome(token) && { token: token.value }) },
    { ...evaluated, key: Uuid.v4(), step, samples }
  ).pipe(
    Effect.provide(NodeHttpClient.layerUndici),
    Effect.mapError(
      ({ message, reason }) =>
        new CommandFailed({
          message:
            `the results are in ${file}, and were not sent: ${message}` +
            (reason === "unauthorized" ? ". Set ATROPOS_TOKEN to a token with the role environment" : "")
        })
    )
  )
  return `${url.replace(/(?<!\/)\/+$/, "")}/ui#/evaluations/${id}`
})

/** Sends a finished evaluation to a trajectory service for its viewer: `evaluate --service URL`. */
import { JsonLines, Uuid } from "@atropos/core"
import * as EvaluationRecord from "@atropos/core/service/EvaluationRecord"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Config, Effect, Option, Stream } from "effect"
import { CommandFailed } from "../base/Failure.ts"

export interface Target {
  readonly url: string
  /** The run whose policy was evaluated. */
  readonly run: string | null
  readonly step: number | null
}

interface Evaluated {
  readonly name: string
  readonly model: string
  readonly seconds: number
  readonly figures: { readonly [name: string]: number }
  /** JSON Lines file of the samples. */
  readonly file: string
}

/** Sends the evaluation and prints its viewer URL. The results are already in files. */
export const send = Effect.fn("ToService.send")(function* (
  { run, step, url }: Target,
  { file, ...evaluated }: Evaluated
) {
  const samples = yield* JsonLines.read(file).pipe(
    Stream.filter((line) => line._tag === "Text"),
    // Written by this program.
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
            `the results are in ${file}, but could not be sent: ${message}` +
            (reason === "unauthorized" ? ". Set ATROPOS_TOKEN to a token with the role environment" : "")
        })
    )
  )
  return `${url.replace(/(?<!\/)\/+$/, "")}/ui#/evaluations/${id}`
})

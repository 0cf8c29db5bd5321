/** Reads a run's activity from its service; undefined if that does not answer or does not support it. */
import * as ServiceApi from "@atropos/core/service/ServiceApi"
import { RolloutReader } from "@atropos/api"
import { Effect, Option, type Redacted } from "effect"

export const here = Effect.fnUntraced(function* (run: string) {
  const reader = yield* RolloutReader.RolloutReader
  return reader.runs.pipe(
    Effect.map((runs) => runs.find(({ ended, name }) => name === run && !ended)?.activity),
    Effect.orElseSucceed(() => undefined)
  )
})

export const ofService = Effect.fnUntraced(function* (options: {
  readonly url: string
  readonly run: string
  readonly token: Option.Option<Redacted.Redacted>
}) {
  const { run, token, url } = options
  const { api, call } = yield* ServiceApi.make({ url, run, ...(Option.isSome(token) && { token: token.value }) })
  return call(api.reading.runs()).pipe(
    Effect.map(({ runs }) => runs.find(({ ended, name }) => name === run && !ended)?.activity),
    Effect.orElseSucceed(() => undefined)
  )
})

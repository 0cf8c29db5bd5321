/**
 * Submits groups to the original's `/scored_data` and `/scored_data_list`. They have no keys: a submission whose answer
 * was lost is stored twice when sent again.
 */
import { Effect } from "effect"
import { HttpBody, HttpClientRequest } from "effect/http"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import type { EnvironmentClientShape, KeyedGroup } from "./EnvironmentClient.ts"
import * as PackedGroup from "./PackedGroup.ts"
import type { ScoredGroup } from "../trajectory/ScoredGroup.ts"
import type { ServiceHttp } from "./ServiceHttp.ts"
import type { SubmitOutcome } from "./TrajectoryApi.ts"
import { TrajectoryError } from "./TrajectoryError.ts"
import * as V0Answers from "./V0Answers.ts"
import * as WireGroup from "./WireGroup.ts"

/** Below this, compression costs more than it saves (the original's own threshold). */
const gzipFrom = 1024
const compress = promisify(gzip)

/** A body of JSON text, compressed if worthwhile. */
const textBody = (parts: ReadonlyArray<Uint8Array>) => {
  const bytes = Buffer.concat(parts)
  if (bytes.length < gzipFrom)
    return Effect.succeed({ body: HttpBody.uint8Array(bytes, "application/json"), headers: {} })
  return Effect.map(
    // zlib fails only if memory is exhausted.
    Effect.promise(() => compress(bytes, { level: 1 })),
    (packed) => ({ body: HttpBody.uint8Array(packed, "application/json"), headers: { "content-encoding": "gzip" } })
  )
}

const openList = Buffer.from("[")
const comma = Buffer.from(",")
const closeList = Buffer.from("]")

const listParts = (groups: ReadonlyArray<ScoredGroup>): ReadonlyArray<Uint8Array> => [
  openList,
  ...groups.flatMap((group, index) => [...(index === 0 ? [] : [comma]), ...WireGroup.encodePieces(group)]),
  closeList
]

/** The original checks nothing: NaN or infinite numbers would make a batch fail later. */
const checked = ({ group, key }: KeyedGroup): Effect.Effect<ScoredGroup, TrajectoryError> =>
  Effect.mapError(
    Effect.fromResult(PackedGroup.check(group)),
    (cause) =>
      new TrajectoryError({ reason: "rejected", message: `group ${key}: ${cause.field}: ${cause.message}`, cause })
  )

export const make = (http: ServiceHttp): EnvironmentClientShape["submit"] => {
  const { post, setBody } = HttpClientRequest
  const sendReceived = http.sendFor(V0Answers.Received)
  const sendListReceived = http.sendFor(V0Answers.ListReceived)

  const submitOne = (group: ScoredGroup): Effect.Effect<ReadonlyArray<SubmitOutcome>, TrajectoryError> =>
    textBody([...WireGroup.encodePieces(group)]).pipe(
      Effect.flatMap(({ body, headers }) => sendReceived(setBody(post("/scored_data", { headers }), body))),
      Effect.map(({ buffer_size, status }) => [
        status === "buffered" ? { status, bufferSize: buffer_size ?? 0 } : { status: "received" }
      ])
    )

  /**
   * One request, so that it is all or nothing. The answer does not state which groups were buffered: all then count as
   * buffered.
   */
  const submitSeveral = (
    groups: ReadonlyArray<ScoredGroup>
  ): Effect.Effect<ReadonlyArray<SubmitOutcome>, TrajectoryError> =>
    textBody(listParts(groups)).pipe(
      Effect.flatMap(({ body, headers }) => sendListReceived(setBody(post("/scored_data_list", { headers }), body))),
      Effect.map(({ buffered, last_buffer_size }) =>
        groups.map(() =>
          buffered === undefined || buffered === 0
            ? { status: "received" }
            : { status: "buffered", bufferSize: last_buffer_size ?? 0 }
        )
      )
    )

  return Effect.fnUntraced(function* (envId: number, keyed: ReadonlyArray<KeyedGroup>) {
    const groups = yield* Effect.forEach(keyed, checked)
    const [only, ...others] = groups.map((group): ScoredGroup => ({ ...group, envId }))
    if (only === undefined) return []
    return yield* others.length === 0 ? submitOne(only) : submitSeveral([only, ...others])
  })
}

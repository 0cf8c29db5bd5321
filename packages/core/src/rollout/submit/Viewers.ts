/**
 * Sends the data that the viewer shows: chats with every group, the text of tokens, status reports.
 *
 * Only if the service stores it; failures affect nothing else.
 */
import { Effect, Option } from "effect"
import type { ScoredGroup } from "../../trajectory/ScoredGroup.ts"
import type { ServerManagerShape } from "../../inference/ServerManager.ts"
import type { TokenizerShape } from "../../inference/tokenizer/Tokenizer.ts"
import type { TelemetryClientShape } from "../../service/TelemetryClient.ts"
import type { Connection } from "./Connection.ts"
import type { Delivery } from "./Delivery.ts"
import * as Reports from "./Reports.ts"
import * as TokenPieces from "./TokenPieces.ts"

export interface Viewers {
  /** Chats are sent even though no trainer requested them. */
  readonly wantChats: boolean
  /** Runs before these groups are sent. */
  readonly prepare: (groups: ReadonlyArray<Delivery>) => Effect.Effect<void>
  readonly failed: (reason: string) => Effect.Effect<void>
  /** A problem other than a failed rollout. */
  readonly noted: (problem: string) => Effect.Effect<void>
  readonly run: (load: Reports.Load) => Effect.Effect<never>
  readonly farewell: (load: Reports.Load) => Effect.Effect<void>
}

const nobody: Viewers = {
  wantChats: false,
  prepare: () => Effect.void,
  failed: () => Effect.void,
  noted: () => Effect.void,
  run: () => Effect.never,
  farewell: () => Effect.void
}

/** For the service that `connection` has registered with. */
export const make = Effect.fnUntraced(function* (options: {
  readonly client: TelemetryClientShape
  readonly connection: Connection
  readonly servers: ServerManagerShape
  /** Decodes ids in groups, if available. */
  readonly tokenizer: TokenizerShape | undefined
}): Effect.fn.Return<Viewers> {
  const { client, connection, servers, tokenizer } = options
  const taken = yield* Effect.orElseSucceed(client.telemetry, () => Option.none())
  if (Option.isNone(taken)) return nobody
  const telemetry = taken.value
  const pieces =
    tokenizer === undefined
      ? undefined
      : TokenPieces.make({ telemetry, tokenizer, registration: connection.registration })
  const reports = Reports.make({
    send: (report) => Effect.suspend(() => telemetry.recordReport(connection.registration().envId, report)),
    servers: servers.metrics
  })
  return {
    wantChats: true,
    prepare: (groups) => pieces?.report(groups.map(({ group }): ScoredGroup => group)) ?? Effect.void,
    failed: reports.failed,
    noted: reports.noted,
    run: reports.run,
    farewell: reports.send
  }
})

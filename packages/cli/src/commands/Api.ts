/** `atropos api`: runs the trajectory service until stopped; the original's `run-api` with its flags. */
import { Auth, Database, ObjectStore, PgTrajectoryStore, S3, TrajectoryService } from "@atropos/api"
import { Console, Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import { HttpServer } from "effect/http"
import * as Heartbeat from "../base/Heartbeat.ts"
import * as Flags from "../config/Flags.ts"
import * as Metrics from "../config/Metrics.ts"
import * as Services from "../config/Services.ts"
import * as ServiceStart from "../config/ServiceStart.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "api"

/** Prints the address of the service and the location of its data. */
const announce = (onStarted: () => void) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      onStarted()
      const { address } = yield* HttpServer.HttpServer
      const { kind, location } = yield* Database.Database
      const url = HttpServer.formatAddress(address)
      const where = kind === "pglite" ? `embedded Postgres in ${location}` : `Postgres at ${location}`
      yield* Console.log(`trajectory service at ${url} (${where})`)
      const objects = yield* ObjectStore.ObjectStore
      if (objects !== undefined) {
        yield* Console.log(`payloads of ${objects.threshold} stored bytes and more in ${objects.location}`)
      }
      yield* Console.log(
        `viewer at ${url}/ui, API documentation at ${url}/v1/docs, metrics at ${url}/metrics; Ctrl-C stops the service, its data is kept`
      )
    })
  )

export const make: MakeCommand = () =>
  Effect.succeed({
    booleans: new Set(["allow-insecure", "reload"]),
    normalizeArgs: Metrics.normalizeArgs,
    command: Command.make(
      name,
      {
        host: Flag.String("host").pipe(
          Flag.withDescription(
            "address to listen on; to serve other machines, set tokens in ATROPOS_TOKENS [default: 127.0.0.1]"
          ),
          Flag.withDefault("127.0.0.1")
        ),
        port: Flags.port("port to listen on; 0 picks a free port"),
        allowInsecure: Flag.Boolean("allow-insecure").pipe(
          Flag.withDescription("serve other machines without tokens; only for trusted networks"),
          Flag.withDefault(false)
        ),
        reload: Flag.Boolean("reload").pipe(
          Flag.withDescription("accepted for compatibility with run-api; has no effect"),
          Flag.withDefault(false),
          Flag.withHidden
        ),
        metrics: Metrics.telemetryFlags
      },
      ({ allowInsecure, host, metrics, port }) =>
        Effect.flatMap(ServiceStart.announcement, (starting) =>
          Heartbeat.untilStarted(starting, (onStarted) =>
            announce(onStarted).pipe(
              Layer.provide(TrajectoryService.serve({ host, port, allowInsecure })),
              Layer.provide([PgTrajectoryStore.layer, Auth.layerConfig]),
              Layer.provideMerge(S3.layerConfig),
              Layer.provide(Database.layerConfig),
              Layer.launch
            )
          )
        ).pipe(Metrics.tracedBy(metrics, "atropos-api"), Effect.mapError(Services.toFailure))
    ).pipe(
      Command.withExamples([
        { command: "atropos api", description: "embedded Postgres in .atropos (set ATROPOS_DATA_DIR to move it)" },
        {
          command: "DATABASE_URL=postgres://user:password@host/atropos atropos api --port 8001",
          description: "a Postgres server"
        }
      ])
    )
  })

/** `atropos openenv --env …`: serves an environment over OpenEnv's protocol, stepped by external trainers. */
import { Environment, ServerSettings, Settings } from "@atropos/core"
import * as BearerTokens from "@atropos/core/http/BearerTokens"
import { Console, Duration, Effect, Layer } from "effect"
import { Flag } from "effect/cli"
import { HttpServer } from "effect/http"
import packageJson from "../../package.json" with { type: "json" }
import * as Flags from "../config/Flags.ts"
import * as Metrics from "../config/Metrics.ts"
import * as Services from "../config/Services.ts"
import * as Server from "../openenv/Server.ts"
import * as EnvironmentCommand from "./EnvironmentCommand.ts"

const announce = (name: string, limit: number) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const url = HttpServer.formatAddress(address).replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
      yield* Console.log(
        [
          `${name} as an OpenEnv server at ${url}, up to ${limit} sessions; Ctrl-C stops it`,
          "",
          `  Python     GenericEnvClient(base_url="${url}"): reset(seed=7), step({"message": "…"})`,
          `  Atropos    atropos process --env openenv --env.url ${url}`
        ].join("\n")
      )
    })
  )

const positive = (name: string, description: string, fallback: number) =>
  Flag.Int(name).pipe(
    Flag.filter(
      (value) => value > 0,
      () => "at least 1"
    ),
    Flag.withDescription(`${description} [default: ${fallback}]`),
    Flag.withDefault(fallback)
  )

export const make = EnvironmentCommand.make({
  name: "openenv",
  own: {
    host: Flag.String("host").pipe(
      Flag.withDescription(
        `address to listen on; to serve other machines, set tokens in ${Server.tokensSetting} [default: 127.0.0.1]`
      ),
      Flag.withDefault("127.0.0.1")
    ),
    port: Flags.port("port to listen on; 0 picks a free port", 8001),
    allowInsecure: Flag.Boolean("allow-insecure").pipe(
      Flag.withDescription("serve other machines without tokens; only for trusted networks"),
      Flag.withDefault(false)
    ),
    sessions: positive("sessions", "max concurrent sessions; excess ones get CAPACITY_REACHED", 64),
    idle: positive("idle", "seconds without a message after which a session ends", 3600)
  },
  ownBooleans: ["allow-insecure"],
  examples: [
    { command: "atropos openenv --env wordle", description: "a game, for OpenEnv's Python clients and TRL" },
    {
      command: "atropos openenv --env ./my-env.ts --port 8001 --sessions 256",
      description: "your own environment, 256 concurrent episodes"
    }
  ],
  // The client is the policy; nothing is submitted or measured here.
  unlisted: [
    "openai.",
    "metrics.",
    ...Object.keys(ServerSettings.managerFields).map(Settings.wireName),
    ...Array.from(EnvironmentCommand.everyEnvironments).filter((flag) => flag !== "env.reward_weights")
  ],
  handle: (settings, { allowInsecure, host, idle, port, sessions }, metrics) =>
    Effect.gen(function* () {
      const environment = yield* Environment.Environment
      const { selected } = settings
      const server = Server.layer(environment, {
        host,
        port,
        allowInsecure,
        tokens: yield* BearerTokens.configured(Server.tokensSetting),
        limit: sessions,
        idle: Duration.seconds(idle),
        about: { name: environment.name, description: selected.description, version: packageJson.version }
      })
      return yield* announce(environment.name, sessions).pipe(Layer.provide(server), Layer.launch)
    }).pipe(Services.provide(settings, "outside"), Metrics.traced(metrics, "atropos-openenv"))
})

/** Checks the network endpoints: the service's port, the database, the inference servers. */
import * as net from "node:net"
import { Docs, Reasoning, ServerSettings } from "@atropos/core"
import * as AnswerBody from "@atropos/core/inference/wire/AnswerBody"
import * as Identity from "@atropos/core/inference/backend/Identity"
import * as Probed from "@atropos/core/inference/backend/Probed"
import * as Transport from "@atropos/core/inference/wire/Transport"
import { Config, Duration, Effect, Option, Redacted, Result } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as CommandLine from "../base/CommandLine.ts"
import { broken, type Finding, note, ok } from "./Finding.ts"
import * as Machine from "./Machine.ts"

const patience = Duration.seconds(3)

const listens = (host: string, port: number): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const socket = net.connect({ host, port })
    socket.once("connect", () => {
      // The finalizer below only runs on interruption; an open socket would keep the process alive.
      socket.destroy()
      resume(Effect.succeed(true))
    })
    socket.once("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => socket.destroy())
  }).pipe(Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.succeed(false) }))

/** The body of a GET response; none on any failure. */
const get = Effect.fnUntraced(
  function* (url: string) {
    const client = yield* HttpClient.HttpClient
    const response = yield* client.execute(HttpClientRequest.get(url))
    return new TextDecoder().decode(yield* AnswerBody.read(response.status, response.stream))
  },
  Effect.timeout(patience),
  Effect.option
)

/** The port of the service: free, or used by our service or another program. */
export const port = Effect.fn("Network.port")(function* (number: number) {
  const check = `port ${number}`
  if (!(yield* listens("127.0.0.1", number))) return ok(check, "free")
  const answer = yield* get(`http://127.0.0.1:${number}/`)
  return Option.isSome(answer) && answer.value.includes("AtroposLib API")
    ? ok(check, "a trajectory service is running there")
    : note(
        check,
        "another program is using it",
        `use another port for the service (${CommandLine.of("api --port N")}), and set --env.rollout_server_url for environments`
      )
})

/** The database: the server of DATABASE_URL, or the folder of the embedded one. */
export const database = Effect.gen(function* () {
  const url = yield* Effect.orElseSucceed(Config.option(Config.Redacted("DATABASE_URL")), Option.none)
  if (Option.isNone(url)) {
    const folder = yield* Effect.orElseSucceed(
      Config.String("ATROPOS_DATA_DIR").pipe(Config.withDefault(".atropos")),
      () => ".atropos"
    )
    return (yield* Machine.writable(folder))
      ? ok("database", `embedded Postgres in ${folder}`)
      : broken(
          "database",
          `${folder} is not writable`,
          "set ATROPOS_DATA_DIR to a writable folder, or DATABASE_URL to a Postgres server"
        )
  }
  const address = Redacted.value(url.value)
  if (!URL.canParse(address)) {
    return broken("database", "DATABASE_URL is not a valid URL", "expected postgres://user:password@host:5432/database")
  }
  const { hostname, port: input } = new URL(address)
  const where = `${hostname}:${input || 5432}`
  return (yield* listens(hostname, Number(input || 5432)))
    ? ok("database", `a server answers at ${where} (DATABASE_URL)`)
    : broken(
        "database",
        `no server answers at ${where} (DATABASE_URL)`,
        "start the server, correct DATABASE_URL, or unset it to use the embedded database"
      )
})

/** Time for generating two tokens: the probe determines which logprobs a server returns by sampling. */
const tokenPatience = Duration.seconds(20)

const inferenceServer = Effect.fnUntraced(function* (server: ServerSettings.Server, isConfigured: boolean) {
  const { baseUrl, modelName } = server
  const check = "inference"
  const found = yield* Transport.make.pipe(
    Effect.flatMap((transport) => Probed.find({ settings: server, reasoning: Reasoning.off, transport }, undefined)),
    Effect.scoped,
    Effect.timeout(tokenPatience),
    Effect.result
  )
  if (Result.isFailure(found)) {
    const { failure } = found
    if (failure._tag === "InferenceError" && failure.reason === "rejected") {
      return [broken(check, failure.message, "give --openai.api_key")]
    }
    return isConfigured
      ? [
          broken(
            check,
            `${baseUrl} does not answer: ${failure.message}`,
            "start the server, or correct --openai.base_url"
          )
        ]
      : [note(check, `${baseUrl} does not answer`, "none is configured; give --openai.base_url, or start one there")]
  }
  const { identity } = found.success
  const models = identity.models.slice(0, 3).join(", ")
  const message = `${baseUrl}: ${Identity.describe(identity)}${models === "" ? "" : `, models: ${models}`}`
  if (modelName !== "default" && identity.models.length > 0 && !identity.models.includes(modelName)) {
    const all = identity.models.slice(0, 5).join(", ")
    return [
      ok(check, message),
      broken(check, `${baseUrl} has no model ${modelName}`, `it has ${all}: give --openai.model_name`)
    ]
  }
  return [
    ok(check, message),
    ...Probed.warnings(server, baseUrl ?? "", identity).map((warning) =>
      note(check, warning, `see ${Docs.path("training.md")}`)
    )
  ]
})

export const inference = Effect.fn("Network.inference")(function* (input: Partial<ServerSettings.Server>) {
  const resolved = yield* Effect.result(ServerSettings.resolve(input, false))
  if (resolved._tag === "Failure") {
    return [broken("inference", resolved.failure.message, "correct the Slurm variables, or give --openai.base_url")]
  }
  const { origin, servers } = resolved.success
  if (origin !== "defaults")
    return (yield* Effect.forEach(servers, (server) => inferenceServer(server, true), { concurrency: 8 })).flat()
  const findings: ReadonlyArray<Finding> = (yield* Effect.forEach(servers, (server) => inferenceServer(server, false), {
    concurrency: 4
  })).flat()
  const answering = findings.filter(({ status }) => status === "ok")
  return answering.length > 0
    ? answering
    : [
        note(
          "inference",
          "no server configured, none at localhost:9004 to 9007",
          "give --openai.base_url, or start one there"
        )
      ]
})

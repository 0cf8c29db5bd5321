/**
 * Connects an agent's program to the gateway without this machine's network: a socket file that leads to the gateway
 * and to nothing else, and a process that forwards the gateway's port to it on the agent's own loopback
 * (`relayProcess`). The URLs of sessions are the same there, and their secrets remain the only key.
 */
import { chmodSync, existsSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import * as Reason from "@atropos/core/base/Reason"
import { Effect, FileSystem, Schema, type Scope } from "effect"
import type { ProcessSupervisor, ProgramError } from "../command/ProcessSupervisor.ts"
import * as Program from "../command/Program.ts"
import * as Container from "./Container.ts"
import type { Docker } from "./Docker.ts"
import { HarborError } from "./HarborError.ts"

export interface GatewaySocket {
  readonly path: string
  /** The port of the gateway, and of the relay. */
  readonly port: number
}

const cannotListen = (cause: unknown) =>
  new HarborError({ message: `cannot open a socket to the gateway: ${Reason.of(cause)}`, cause })

/** A socket file that leads to the gateway at a URL of this machine's loopback, until the scope closes. */
export const socket = Effect.fn("GatewayRelay.socket")(function* (
  gatewayUrl: string,
  supervisor: ProcessSupervisor
): Effect.fn.Return<GatewaySocket, HarborError | ProgramError, FileSystem.FileSystem | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  // Among the temporary files: the path of a socket has at most 107 bytes.
  const folder = yield* Effect.mapError(fs.makeTempDirectoryScoped({ prefix: "atropos-gateway-" }), cannotListen)
  yield* supervisor.folder(folder)
  const path = `${folder}/socket`
  const { hostname, port } = new URL(gatewayUrl)
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const gateway = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    for (const one of [client, gateway]) open.add(one.once("close", () => open.delete(one)))
    client.on("error", () => gateway.destroy()).pipe(gateway)
    gateway.on("error", () => client.destroy()).pipe(client)
  })
  yield* Effect.acquireRelease(
    Effect.callback<void, HarborError>((resume) => {
      server
        .once("error", (cause) => resume(Effect.fail(cannotListen(cause))))
        .listen(path, () => {
          // The folder is this user's alone; the socket is mounted where the agent has another.
          chmodSync(path, 0o666)
          resume(Effect.void)
        })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        for (const one of open) one.destroy()
      })
  )
  return { path, port: Number(port) }
})

/** Maximum memory of the relay. */
const maxMegabytes = 256
export const maxBytes = maxMegabytes * 1e6

const isSource = import.meta.url.endsWith(".ts")

const script = fileURLToPath(new URL(isSource ? "relayProcess.ts" : "relayProcess.js", import.meta.url))

const listing =
  "process.report.excludeNetwork = true; console.log(JSON.stringify(process.report.getReport().sharedObjects))"

const readListing = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(Schema.String)))

/** The libraries that Node needs, in a container that has no files. */
export const libraries = Effect.fn("GatewayRelay.libraries")(function* (
  supervisor: ProcessSupervisor
): Effect.fn.Return<ReadonlyArray<string>, HarborError | ProgramError> {
  const output = Program.makeOutput()
  yield* Program.run({
    supervisor,
    words: [process.execPath, "-e", listing],
    folder: "/",
    variables: {},
    input: "",
    outputBytes: 1_000_000,
    output
  })
  const all = yield* Effect.mapError(
    readListing(output.stdout()),
    (cause) => new HarborError({ message: `cannot list the libraries of Node: ${output.complaint()}`, cause })
  )
  return all.filter((path) => path.startsWith("/") && existsSync(path))
})

/** A container whose network has the gateway on its loopback, for the agent's to join; returns its name. */
export const container = Effect.fn("GatewayRelay.container")(function* ({
  docker,
  gatewayUrl,
  image,
  libraries,
  network,
  supervisor
}: {
  readonly docker: Docker
  /** One without files. */
  readonly image: string
  readonly libraries: ReadonlyArray<string>
  readonly supervisor: ProcessSupervisor
  readonly gatewayUrl: string
  readonly network: Container.Options["network"]
}): Effect.fn.Return<string, HarborError | ProgramError, FileSystem.FileSystem | Scope.Scope> {
  const { path, port } = yield* socket(gatewayUrl, supervisor)
  const file = isSource ? "/relay.mts" : "/relay.mjs"
  const { name } = yield* Container.scoped({
    docker,
    image,
    machine: { memoryMb: maxMegabytes },
    network,
    volumes: [
      `${process.execPath}:/node:ro`,
      `${script}:${file}:ro`,
      `${path}:/gateway`,
      ...libraries.map((library) => `${library}:${library}:ro`)
    ],
    env: { LD_LIBRARY_PATH: [...new Set(libraries.map((library) => dirname(library)))].join(":") },
    command: ["/node", file, "/gateway", String(port), Container.ready],
    // A label of SELinux would keep it from files of this machine.
    options: ["--read-only", "--cap-drop", "ALL", "--security-opt", "label=disable"],
    what: "the container that leads to the gateway does not start"
  })
  return name
})

/** The relay in namespaces of this machine: files that are visible there, and the beginning of its command. */
export const files = ({ path }: GatewaySocket): ReadonlyArray<string> => [process.execPath, script, path]
export const prefix = ({ path, port }: GatewaySocket): ReadonlyArray<string> => [
  process.execPath,
  script,
  path,
  String(port),
  ""
]

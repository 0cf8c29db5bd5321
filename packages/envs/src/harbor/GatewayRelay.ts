/**
 * Connects a task's machine without this machine's network: a socket file that leads to the gateway, or to a proxy for
 * the Internet, and to nothing else, and a process that forwards a port of the machine's own loopback to it
 * (`relayProcess`). The URLs of sessions are the same there, and their secrets remain the only key.
 */
import { existsSync } from "node:fs"
import { connect, createServer } from "node:net"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, type FileSystem, Schema, type Scope } from "effect"
import type { ProcessSupervisor, ProgramError } from "../command/ProcessSupervisor.ts"
import * as Program from "../command/Program.ts"
import * as Container from "./Container.ts"
import type { Docker } from "./Docker.ts"
import { HarborError } from "./HarborError.ts"
import * as SocketFile from "./SocketFile.ts"
import type { Variables } from "./Task.ts"
import * as WebProxy from "./WebProxy.ts"

/** A socket file of this machine, and the port in the task's machine that leads to it. */
export interface Door {
  readonly path: string
  readonly port: number
}

/** Forwards connections to the gateway, which is on this machine's loopback. */
const toGateway = (target: WebProxy.Target) =>
  createServer({ allowHalfOpen: true }, (client) => {
    const gateway = connect({ ...target, allowHalfOpen: true })
    client.on("error", () => gateway.destroy()).pipe(gateway)
    gateway.on("error", () => client.destroy()).pipe(client)
    client.on("close", () => gateway.destroy())
  })

const webPorts = [3128, 3129] as const

/** Opens what a machine needs, until the scope closes, with the variables by which its programs find the proxy. */
export const doors = Effect.fn("GatewayRelay.doors")(function* ({
  gatewayUrl,
  hasWeb,
  supervisor
}: {
  readonly gatewayUrl: string | null
  readonly hasWeb: boolean
  readonly supervisor: ProcessSupervisor
}): Effect.fn.Return<
  { readonly doors: ReadonlyArray<Door>; readonly variables: Variables },
  HarborError | ProgramError,
  FileSystem.FileSystem | Scope.Scope
> {
  const all: Array<Door> = []
  const gateway = gatewayUrl === null ? undefined : WebProxy.targetOf(new URL(gatewayUrl))
  if (gateway !== undefined)
    all.push({ path: yield* SocketFile.listen(toGateway(gateway), supervisor), port: gateway.port })
  if (!hasWeb) return { doors: all, variables: {} }
  const port = webPorts.find((one) => one !== all[0]?.port)!
  all.push({ path: yield* SocketFile.listen(WebProxy.make({ gateway }), supervisor), port })
  return { doors: all, variables: WebProxy.variables(port) }
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

/** A container whose network has these doors on its loopback, for another to join; returns its name. */
export const container = Effect.fn("GatewayRelay.container")(function* ({
  docker,
  doors,
  image,
  libraries,
  network
}: {
  readonly docker: Docker
  readonly doors: ReadonlyArray<Door>
  /** One without files. */
  readonly image: string
  readonly libraries: ReadonlyArray<string>
  readonly network: Container.Options["network"]
}): Effect.fn.Return<string, HarborError | ProgramError, Scope.Scope> {
  const file = isSource ? "/relay.mts" : "/relay.mjs"
  const inside = doors.map(({ port }, index) => ({ path: `/door${index}`, port }))
  const { name } = yield* Container.scoped({
    docker,
    image,
    machine: { memoryMb: maxMegabytes },
    network,
    volumes: [
      `${process.execPath}:/node:ro`,
      `${script}:${file}:ro`,
      ...doors.map(({ path }, index) => `${path}:/door${index}`),
      ...libraries.map((library) => `${library}:${library}:ro`)
    ],
    env: { LD_LIBRARY_PATH: [...new Set(libraries.map((library) => dirname(library)))].join(":") },
    command: ["/node", file, JSON.stringify(inside), Container.ready],
    // A label of SELinux would keep it from files of this machine.
    options: ["--read-only", "--cap-drop", "ALL", "--security-opt", "label=disable"],
    what: "the container that leads to the gateway does not start"
  })
  return name
})

/** The relay in namespaces of this machine: files that are visible there, and the beginning of its command. */
export const files = (doors: ReadonlyArray<Door>): ReadonlyArray<string> =>
  doors.length === 0 ? [] : [process.execPath, script, ...doors.map(({ path }) => path)]
export const prefix = (doors: ReadonlyArray<Door>): ReadonlyArray<string> =>
  doors.length === 0 ? [] : [process.execPath, script, JSON.stringify(doors), ""]

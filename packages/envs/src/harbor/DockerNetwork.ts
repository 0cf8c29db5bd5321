/**
 * Connects the containers of a task, the agent's and that of its tests: to Docker's network, to the gateway, or to the
 * Internet by a proxy. All but the first takes one container more, whose network they join.
 */
import { Effect, type FileSystem, type Scope } from "effect"
import type { ProgramError } from "../command/ProcessSupervisor.ts"
import * as Box from "./Box.ts"
import type * as Container from "./Container.ts"
import type { Docker } from "./Docker.ts"
import * as GatewayRelay from "./GatewayRelay.ts"
import type { HarborError } from "./HarborError.ts"
import type { Images } from "./Images.ts"
import type { Variables } from "./Task.ts"

export interface Options extends Pick<Box.OpenOptions, "gatewayUrl" | "network" | "supervisor"> {
  readonly docker: Docker
  readonly images: Images
  /** The machine of the agent, or of the tests. */
  readonly machine: Parameters<typeof Box.networkOf>[0]
}

export interface Joined {
  readonly network: Container.Options["network"]
  /** By which programs find the proxy. */
  readonly variables: Variables
}

export const joined = Effect.fnUntraced(function* ({
  docker,
  gatewayUrl,
  images,
  machine,
  network,
  supervisor
}: Options): Effect.fn.Return<Joined, HarborError | ProgramError, FileSystem.FileSystem | Scope.Scope> {
  const kind = Box.networkOf(machine, network, true)
  const own = kind === "full" ? "default" : "none"
  const { doors, variables } = yield* GatewayRelay.doors({ gatewayUrl, hasWeb: kind === "web", supervisor })
  if (doors.length === 0) return { network: own, variables }
  const name = yield* GatewayRelay.container({
    docker,
    doors,
    network: own,
    image: yield* images.empty,
    libraries: yield* images.libraries
  })
  return { network: `container:${name}`, variables }
})

/** Tests every client of the trajectory service, regardless of the transport. */
import { layer } from "@effect/vitest"
import type { Layer } from "effect"
import type { TrajectoryStore } from "../../src/store/TrajectoryStore.ts"
import type { Kind } from "./ClientValues.ts"
import { environments } from "./EnvironmentClientTest.ts"
import { trainers } from "./TrainerClientTest.ts"

export const suite = <R, E>(kind: Kind<R>, services: Layer.Layer<R | TrajectoryStore, E>) =>
  layer(services, { excludeTestServices: true })(`TrajectoryClient over ${kind.name}`, (it) => {
    environments(kind, it)
    trainers(kind, it)
  })

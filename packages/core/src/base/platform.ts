/** Files and paths of Node, loaded when a layer needs them, so that whoever only asks for help need not wait for it. */
import { Effect, Layer } from "effect"

export const layerPlatform = Layer.unwrap(
  Effect.map(
    Effect.promise(() => import("@effect/platform-node/NodeServices")),
    (NodeServices) => NodeServices.layer
  )
)

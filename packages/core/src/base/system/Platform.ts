/** Node's platform services: files, paths, processes. */
import { Effect, Layer } from "effect"

/** Files and paths, loaded when a layer needs them, so that `--help` does not wait for them. */
export const layer = Layer.unwrap(
  Effect.map(
    Effect.promise(() => import("@effect/platform-node/NodeServices")),
    (NodeServices) => NodeServices.layer
  )
)

/**
 * True if a process runs on this machine. Signal 0 only tests; EPERM means that it exists and belongs to another user.
 */
export const isAlive = (pid: number): Effect.Effect<boolean> =>
  Effect.try({
    try: () => process.kill(pid, 0),
    catch: (error) => error instanceof Error && "code" in error && error.code === "EPERM"
  }).pipe(Effect.match({ onFailure: (isForeign) => isForeign, onSuccess: () => true }))

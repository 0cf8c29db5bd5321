/** What Node gives: files, paths, processes. */
import { Effect, Layer } from "effect"

/** Files and paths, loaded when a layer needs them: whoever only asks for help need not wait for them. */
export const layer = Layer.unwrap(
  Effect.map(
    Effect.promise(() => import("@effect/platform-node/NodeServices")),
    (NodeServices) => NodeServices.layer
  )
)

/** Whether a process of this machine runs. Signal 0 only asks; EPERM means that it exists and is another user's. */
export const isAlive = (pid: number): Effect.Effect<boolean> =>
  Effect.try({
    try: () => process.kill(pid, 0),
    catch: (error) => error instanceof Error && "code" in error && error.code === "EPERM"
  }).pipe(Effect.match({ onFailure: (isForeign) => isForeign, onSuccess: () => true }))

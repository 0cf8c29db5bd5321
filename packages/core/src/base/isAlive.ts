import { Effect } from "effect"

/** Whether a process of this machine runs. Signal 0 only asks; EPERM means that it exists and is somebody else's. */
export const isAlive = (pid: number): Effect.Effect<boolean> =>
  Effect.try({
    try: () => process.kill(pid, 0),
    catch: (error) => error instanceof Error && "code" in error && error.code === "EPERM"
  }).pipe(Effect.match({ onFailure: (isForeign) => isForeign, onSuccess: () => true }))

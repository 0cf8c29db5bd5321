/** Listens on a socket file, which is mounted where an agent has no network, for the lifetime of a scope. */
import { chmodSync } from "node:fs"
import type { Server, Socket } from "node:net"
import * as Reason from "@atropos/core/base/Reason"
import { Effect, FileSystem, type Scope } from "effect"
import type { ProcessSupervisor, ProgramError } from "../command/ProcessSupervisor.ts"
import { HarborError } from "./HarborError.ts"

const cannotListen = (cause: unknown) =>
  new HarborError({ message: `cannot open a socket for a task's machine: ${Reason.of(cause)}`, cause })

/** Returns the file's path; the end of the scope closes all connections. */
export const listen = Effect.fn("SocketFile.listen")(function* (
  server: Server,
  supervisor: ProcessSupervisor
): Effect.fn.Return<string, HarborError | ProgramError, FileSystem.FileSystem | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  // Among the temporary files: the path of a socket has at most 107 bytes.
  const folder = yield* Effect.mapError(fs.makeTempDirectoryScoped({ prefix: "atropos-gateway-" }), cannotListen)
  yield* supervisor.folder(folder)
  const path = `${folder}/socket`
  const open = new Set<Socket>()
  server.on("connection", (socket: Socket) => open.add(socket.once("close", () => open.delete(socket))))
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
  return path
})

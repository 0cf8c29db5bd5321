/**
 * A process behind Linux namespaces (bubblewrap): no network, its own process table, the system's programs read-only, a
 * small /tmp in memory, nothing else of the file system, no privileges and no way back to them, and resource limits.
 *
 * Its first process is bubblewrap itself, which those inside can look into: it is started with an empty environment.
 * Descriptors that this process inherited and that its own children inherit are not closed here, which Node cannot do:
 * the command does that before all else.
 *
 * As root, each jail runs under a user id of its own, taken before the limits are set: root has no limit on processes,
 * and two jails under one id would share it. Otherwise all run under the caller's id in a user namespace of their own,
 * where the limit counts anew.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"
import { Effect, type Scope } from "effect"
import * as Reason from "../base/Reason.ts"
import { SandboxError } from "./Interpreter.ts"

export interface Jail {
  /** Path of the program in the system, with its arguments. */
  readonly command: ReadonlyArray<string>
  /** Folders and files to be seen, read-only, beside the system's own; those that are not there are left out. */
  readonly visible: ReadonlyArray<string>
  /** Of each process. */
  readonly memoryBytes: number
  /** Of /tmp, and of the largest file. */
  readonly fileBytes: number
  readonly extraPipes: number
}

/** Threads and processes, those of the jail itself included. */
const mostProcesses = 12
const mostOpenFiles = 64

/** What of the system any program needs to see. */
export const system: ReadonlyArray<string> = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/etc/alternatives",
  "/etc/ld.so.cache"
]

const environment = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/tmp",
  LANG: "C.UTF-8",
  // One order of sets and dictionaries for one program: the same reply gets the same score.
  PYTHONHASHSEED: "0",
  // Native libraries start a thread per core otherwise.
  OMP_NUM_THREADS: "1",
  OPENBLAS_NUM_THREADS: "1",
  MKL_NUM_THREADS: "1"
}

/** What bubblewrap is told of the namespaces; what can be seen comes after. */
export const namespaces =
  "--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --cap-drop ALL --hostname sandbox"
const mounts = "--proc /proc --dev /dev --remount-ro /dev"

const commandLine = ({ command, fileBytes, memoryBytes, visible }: Jail): ReadonlyArray<string> => [
  ...namespaces.split(" "),
  "--clearenv",
  ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]),
  ...`${mounts} --size ${fileBytes} --tmpfs /tmp`.split(" "),
  // After /tmp, which would hide what lies there.
  ...[...system, ...visible].flatMap((path) => ["--ro-bind-try", path, path]),
  ..."--remount-ro / --chdir /tmp --".split(" "),
  ...`prlimit --as=${memoryBytes} --fsize=${fileBytes} --nproc=${mostProcesses} --nofile=${mostOpenFiles} --core=0 --`.split(
    " "
  ),
  ...command
]

/** Starts it; how it ends is the child process's to tell. Nothing in it outlives the scope. */
export const scoped = (jail: Jail): Effect.Effect<ChildProcess, SandboxError, Scope.Scope> =>
  Effect.gen(function* () {
    const userId = yield* Effect.acquireRelease(takeUserId, (id) => Effect.sync(() => taken.delete(id)))
    return yield* Effect.acquireRelease(
      Effect.try({
        try: () => start(jail, userId),
        catch: (cause) => new SandboxError({ message: `bubblewrap cannot be started: ${Reason.of(cause)}`, cause })
      }),
      (child) =>
        Effect.callback<void>((resume) => {
          for (const pipe of child.stdio) pipe?.destroy()
          if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined)
            return resume(Effect.void)
          child.once("exit", () => resume(Effect.void))
          kill(child)
        })
    )
  })

/** Ends it with everything in it: what bubblewrap has not yet made die with it is still in its process group. */
export const kill = ({ exitCode, pid, signalCode }: ChildProcess): void => {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // It is gone already, which is all that was wanted.
  }
}

const start = (jail: Jail, userId: number): ChildProcess => {
  if (process.platform !== "linux") throw new Error(`it is for Linux, and this is ${process.platform}`)
  return spawn(bubblewrap(), commandLine(jail), {
    env: {},
    stdio: Array.from({ length: 3 + jail.extraPipes }, () => "pipe" as const),
    detached: true,
    ...(isRoot && { uid: userId, gid: userId })
  })
}

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Its path: without an environment it is not looked for. Throws where there is none. */
export const bubblewrap = (): string => {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "")
  const path = folders.map((folder) => join(folder, "bwrap")).find(isExecutable)
  if (path === undefined) throw new Error("there is no bwrap in the folders of PATH; install bubblewrap")
  return path
}

const isRoot = process.getuid?.() === 0
const firstUserId = 64_000
const taken = new Set<number>()

/** A user id that no other jail of this process has. */
const takeUserId = Effect.sync(() => {
  let id = firstUserId
  while (taken.has(id)) id++
  taken.add(id)
  return id
})

/**
 * Runs a process behind Linux namespaces (bubblewrap): no network, its own process table, the system's programs
 * read-only, a small in-memory /tmp, no other files, no privileges and no way to regain them, and resource limits.
 *
 * Its first process is bubblewrap itself, which the processes inside can inspect: it starts with an empty environment.
 * Node cannot close inherited descriptors: the command closes them first.
 *
 * Started by root, each jail runs under its own user id, set before the limits: root has no limit on processes, and two
 * jails with one id would share it. Otherwise all run under the caller's id in separate user namespaces, where the
 * limit is counted separately.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { Effect, type Scope } from "effect"
import * as Executable from "@atropos/core/base/system/Executable"
import * as Reason from "@atropos/core/base/Reason"
import { SandboxError } from "./Interpreter.ts"

export interface Jail {
  /** Path of the program in the system, with its arguments. */
  readonly command: ReadonlyArray<string>
  /** Additional folders and files visible read-only; missing ones are ignored. */
  readonly visible: ReadonlyArray<string>
  /** Max memory of each process. */
  readonly memoryBytes: number
  /** Max size of /tmp, and of the largest file. */
  readonly fileBytes: number
  readonly extraPipes: number
}

/** Threads and processes, including those of the jail itself. */
const maxProcesses = 12
const maxOpenFiles = 64

/** System paths that every program needs. */
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
  // A deterministic order of sets and dictionaries: the same reply gets the same score.
  PYTHONHASHSEED: "0",
  // Native libraries would otherwise start a thread per core.
  OMP_NUM_THREADS: "1",
  OPENBLAS_NUM_THREADS: "1",
  MKL_NUM_THREADS: "1"
}

/** bubblewrap's namespace options; visible paths come after. */
export const namespaces =
  "--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --cap-drop ALL --hostname sandbox"
const mounts = "--proc /proc --dev /dev --remount-ro /dev"

const commandLine = ({ command, fileBytes, memoryBytes, visible }: Jail): ReadonlyArray<string> => [
  ...namespaces.split(" "),
  "--clearenv",
  ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]),
  ...`${mounts} --size ${fileBytes} --tmpfs /tmp`.split(" "),
  // After /tmp, which would hide paths in it.
  ...[...system, ...visible].flatMap((path) => ["--ro-bind-try", path, path]),
  ..."--remount-ro / --chdir /tmp --".split(" "),
  ...`prlimit --as=${memoryBytes} --fsize=${fileBytes} --nproc=${maxProcesses} --nofile=${maxOpenFiles} --core=0 --`.split(
    " "
  ),
  ...command
]

/** Starts it; the child process reports its end. Nothing in it outlives the scope. */
export const scoped = (jail: Jail): Effect.Effect<ChildProcess, SandboxError, Scope.Scope> =>
  Effect.gen(function* () {
    const userId = yield* Effect.acquireRelease(takeUserId, (id) => Effect.sync(() => taken.delete(id)))
    return yield* Effect.acquireRelease(
      Effect.try({
        try: () => start(jail, userId),
        catch: (cause) => new SandboxError({ message: `cannot start bubblewrap: ${Reason.of(cause)}`, cause })
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

/** Ends it with everything in it: processes that do not yet die with bubblewrap are still in its process group. */
export const kill = ({ exitCode, pid, signalCode }: ChildProcess): void => {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // It is already gone.
  }
}

const start = (jail: Jail, userId: number): ChildProcess => {
  if (process.platform !== "linux") throw new Error(`it requires Linux, not ${process.platform}`)
  return spawn(bubblewrap(), commandLine(jail), {
    env: {},
    stdio: Array.from({ length: 3 + jail.extraPipes }, () => "pipe" as const),
    detached: true,
    ...(isRoot && { uid: userId, gid: userId })
  })
}

/** Its absolute path, because it is not looked up without an environment. Throws if not found. */
export const bubblewrap = (): string => {
  const path = Executable.find("bwrap")
  if (path === undefined) throw new Error("bwrap not found in PATH; install bubblewrap")
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

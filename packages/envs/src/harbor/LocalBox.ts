/**
 * Runs a task without a container: its working directory behind Linux namespaces (bubblewrap), with this machine's
 * programs.
 *
 * The files of `environment/` are in the working directory (`environment.workdir`, the Dockerfile's WORKDIR, or
 * `/app`). An agent's commands see the system read-only, their working directory, `/tmp` and `/logs/agent`; their
 * processes end with each command. The tests run in their own namespaces, with copies of `tests/` and a
 * `/logs/verifier` that were invisible to the agent, and a home that it could not write to. The network, if the task or
 * a setting requests one, is this machine's, including all services on its loopback, or a proxy for the Internet alone;
 * without one, an agent's program reaches the gateway alone.
 */
import { posix } from "node:path"
import { Effect, FileSystem, type Path, type Scope } from "effect"
import * as Jail from "../sandbox/Jail.ts"
import * as CommandVariables from "../command/Variables.ts"
import * as Confinement from "../command/Confinement.ts"
import * as Program from "../command/Program.ts"
import * as WorkingFolder from "../command/WorkingFolder.ts"
import type { ProgramError, ProcessSupervisor } from "../command/ProcessSupervisor.ts"
import * as Box from "./Box.ts"
import * as Docker from "./Docker.ts"
import * as GatewayRelay from "./GatewayRelay.ts"
import { HarborError } from "./HarborError.ts"
import * as Healthcheck from "./Healthcheck.ts"
import type { Task, Variables } from "./Task.ts"
import * as Templates from "./Templates.ts"
import * as Tree from "./Tree.ts"

export interface Options {
  /** More folders and files of this machine that commands may read. */
  readonly visible: ReadonlyArray<string>
}

type Services = FileSystem.FileSystem | Path.Path

const defaultMegabytes = 4096

/** The last WORKDIR of a Dockerfile's last stage. */
const workdirOf = (dockerfile: string): string | undefined => {
  const lines = dockerfile.split("\n").map((line) => line.trim())
  const stage = lines.slice(lines.findLastIndex((line) => /^from\s/i.test(line)) + 1)
  return stage.flatMap((line) => /^workdir\s+(\/\S*)$/i.exec(line)?.[1] ?? []).at(-1)
}

const failed = (cause: { readonly message: string }) =>
  new HarborError({ message: `cannot create a working directory: ${cause.message}`, cause })

/** Paths of the namespaces that cannot be a task's working directory, nor contain it, nor lie in it. */
const reserved = ["/tmp", "/proc", "/dev", "/sys", "/logs", "/tests", "/solution", "/agent"]

const isReserved = (workdir: string, visible: ReadonlyArray<string>): boolean =>
  workdir === "/" ||
  [...Jail.system, ...Confinement.network, ...reserved, ...visible].some(
    (one) => `${workdir}/`.startsWith(`${one}/`) || one.startsWith(`${workdir}/`)
  )

const within = (index: number): string => `ATROPOS_VARIABLE_${index}`

/**
 * Starts the words through a shell that sets variables which would affect this machine's programs on the way; they are
 * passed under neutral names.
 */
const setting = (env: Variables, words: ReadonlyArray<string>) => {
  const names = Object.keys(env).filter((name) => CommandVariables.steers(name))
  const exports = names.map((name, index) => `export ${name}="$${within(index)}"; unset ${within(index)}`)
  return {
    words: names.length === 0 ? words : ["sh", "-c", `${exports.join("; ")}; exec "$@"`, "sh", ...words],
    env: Object.fromEntries(
      Object.entries(env).map(([name, value]) => {
        const index = names.indexOf(name)
        return [index === -1 ? name : within(index), value]
      })
    )
  }
}

/** A mount, as arguments of bubblewrap. */
type Mount = readonly [kind: "--bind" | "--ro-bind", from: string, to: string]

interface Running {
  readonly supervisor: ProcessSupervisor
  readonly task: Task
  readonly workdir: string
  readonly mounts: ReadonlyArray<Mount>
  readonly visible: ReadonlyArray<string>
  readonly hasNetwork: boolean
  /** What is reached without a network. */
  readonly doors: ReadonlyArray<GatewayRelay.Door>
  readonly home: string
  readonly env: Variables
}

const run = Effect.fnUntraced(function* (
  { doors, env, hasNetwork, home, mounts, task, visible, supervisor, workdir }: Running,
  { env: own = {}, input = "", script, seconds }: Box.Run
): Effect.fn.Return<Program.Printed, ProgramError> {
  const folders = new Set([...Jail.system, ...Confinement.network])
  const inside = setting({ ...env, ...own }, Box.words(script, seconds))
  const words = [
    Jail.bubblewrap(),
    ...Jail.namespaces.split(" "),
    ...(hasNetwork ? ["--share-net"] : []),
    ..."--proc /proc --dev /dev".split(" "),
    ...Array.from(folders).flatMap((folder) => ["--ro-bind-try", folder, folder]),
    ...mounts.flat(),
    // After the mounts: a folder below /tmp would be covered by the task's own.
    ...visible.flatMap((folder) => ["--ro-bind-try", folder, folder]),
    ...GatewayRelay.files(doors).flatMap((file) => ["--ro-bind", file, file]),
    "--chdir",
    workdir,
    "--",
    ...GatewayRelay.prefix(doors),
    ...inside.words
  ]
  const output = Program.makeOutput()
  const kept = CommandVariables.kept([])
  const running = Program.run({
    supervisor,
    words,
    folder: "/",
    variables: { PATH: kept["PATH"] ?? "", LANG: "C.UTF-8", HOME: home, ...inside.env },
    input,
    outputBytes: Box.outputBytes,
    memoryBytes: (task.machine.memoryMb ?? defaultMegabytes) * 1e6 + (doors.length === 0 ? 0 : GatewayRelay.maxBytes),
    output
  })
  // The limit inside fires first, if the machine has one.
  const ending = yield* Docker.within(running, seconds === undefined ? undefined : seconds + 5)
  return { ending, stdout: output.stdout(), complaint: output.complaint() }
})

/** The network of an agent, or of its tests; a program on this machine's network reaches the gateway by that. */
const connected = Effect.fnUntraced(function* ({
  gatewayUrl,
  machine,
  network,
  supervisor
}: Pick<Box.OpenOptions, "gatewayUrl" | "network" | "supervisor"> & {
  readonly machine: Parameters<typeof Box.networkOf>[0]
}): Effect.fn.Return<
  Pick<Running, "doors" | "env" | "hasNetwork">,
  HarborError | ProgramError,
  FileSystem.FileSystem | Scope.Scope
> {
  const kind = Box.networkOf(machine, network, false)
  if (kind === "full") return { hasNetwork: true, doors: [], env: {} }
  const { doors, variables } = yield* GatewayRelay.doors({ gatewayUrl, hasWeb: kind === "web", supervisor })
  return { hasNetwork: false, doors, env: variables }
})

export const open =
  ({ visible }: Options): Box.Open<Services> =>
  ({ agentFolder, gatewayUrl, keptIn, network, passed, task, supervisor }) =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const copy = (from: string, to: string) => Effect.provideService(Tree.copy(from, to), FileSystem.FileSystem, fs)
      const folder = yield* WorkingFolder.scoped({ supervisor, copyOf: null, keptIn })
      const { machine } = task
      const agentNetwork = yield* connected({ gatewayUrl, machine, network, supervisor })
      const files = `${task.folder}/environment`
      const made = (name: string) => Effect.as(fs.makeDirectory(`${folder.path}/${name}`), `${folder.path}/${name}`)
      const work = `${folder.path}/work`
      yield* (yield* fs.exists(files)) ? copy(files, work) : fs.makeDirectory(work)
      const dockerfile = yield* Effect.orElseSucceed(fs.readFileString(`${work}/Dockerfile`), () => "")
      yield* fs.remove(`${work}/Dockerfile`, { force: true })
      const workdir = posix.resolve("/", machine.workdir ?? workdirOf(dockerfile) ?? "/app")
      if (isReserved(workdir, visible)) {
        return yield* new HarborError({
          message: `the task ${task.name} works in ${workdir}, which is in use without a container: set --env.where docker, or another environment.workdir, such as /app`
        })
      }
      const [temporary, agentLogs, artifacts] = yield* Effect.all([made("tmp"), made("agent"), made("artifacts")])
      const env = yield* Templates.resolve(task, "environment.env", machine.env, passed)
      const shared = { supervisor, task, workdir, visible }
      let solution: ReadonlyArray<Mount> = []
      const agent = (): Running => ({
        ...shared,
        home: workdir,
        ...agentNetwork,
        env: { ...agentNetwork.env, ...env },
        mounts: [
          ["--bind", temporary, "/tmp"],
          ["--bind", work, workdir],
          ["--bind", agentLogs, "/logs/agent"],
          ["--bind", artifacts, "/logs/artifacts"],
          ...(agentFolder === null ? [] : [["--ro-bind", agentFolder, "/agent"] as const]),
          ...solution
        ]
      })
      yield* Healthcheck.passed(task, (one) => run(agent(), one))
      return {
        run: (one) => run(agent(), one),
        // A copy, because its script is made executable; the original may be read-only.
        putSolution: Effect.gen(function* () {
          const own = `${folder.path}/solution`
          yield* copy(`${task.folder}/solution`, own)
          solution = [["--bind", own, "/solution"]]
        }),
        grade: Effect.gen(function* () {
          const tests = `${folder.path}/tests`
          const [verdicts, own] = yield* Effect.all([made("verifier"), made("verifier-tmp")])
          yield* copy(`${task.folder}/tests`, tests)
          const testNetwork = yield* connected({ gatewayUrl: null, machine: task.verifier, network, supervisor })
          const tested = yield* run(
            {
              ...shared,
              home: "/tmp",
              ...testNetwork,
              env: { ...testNetwork.env, ...env },
              mounts: [
                ["--bind", own, "/tmp"],
                ["--bind", work, workdir],
                ["--ro-bind", agentLogs, "/logs/agent"],
                ["--ro-bind", artifacts, "/logs/artifacts"],
                ["--bind", tests, "/tests"],
                ["--bind", verdicts, "/logs/verifier"]
              ]
            },
            {
              script: Box.testScript,
              seconds: task.verifier.seconds,
              env: yield* Templates.resolve(task, "verifier.env", task.verifier.env, passed)
            }
          )
          return Box.verdictOf(task, tested, verdicts)
        }).pipe(
          Effect.scoped,
          Effect.provideService(FileSystem.FileSystem, fs),
          Effect.catchTag("PlatformError", (cause) => Effect.fail(failed(cause)))
        )
      } satisfies Box.Box
    }).pipe(Effect.catchTag("PlatformError", (cause) => Effect.fail(failed(cause)))) satisfies Effect.Effect<
      Box.Box,
      HarborError | ProgramError,
      Services | Scope.Scope
    >

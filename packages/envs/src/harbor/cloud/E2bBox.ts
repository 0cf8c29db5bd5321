/**
 * Runs a task in E2B's cloud: a sandbox in which the agent works, and another for the tests, which the agent never
 * touched and to which the files to grade are copied.
 *
 * Both are of the template that the setting names; a task without an image gets the files of `environment/` in its
 * working directory. The model's commands come from this process.
 */
import { join, posix } from "node:path"
import { Effect, FileSystem, Option, type Path, type Scope } from "effect"
import * as Words from "../../base/Words.ts"
import * as WorkingFolder from "../../command/WorkingFolder.ts"
import type { ProgramError } from "../../command/ProcessSupervisor.ts"
import * as Artifacts from "../Artifacts.ts"
import * as Box from "../Box.ts"
import { HarborError } from "../HarborError.ts"
import * as Healthcheck from "../Healthcheck.ts"
import type { Task } from "../Task.ts"
import * as Templates from "../Templates.ts"
import * as Tree from "../Tree.ts"
import type { Api } from "./E2bApi.ts"
import * as E2bSandbox from "./E2bSandbox.ts"

export interface Options {
  readonly api: Api
  /** `{task}` stands for the task's name. */
  readonly template: string
  readonly usage: E2bSandbox.Usage
}

type Services = FileSystem.FileSystem | Path.Path

/** Why a task cannot run there; undefined if it can. */
export const problem = ({ agent, machine, verifier }: Task, template: string | null): string | undefined => {
  if (machine.image._tag !== "None" && template === null)
    return "it has an image: build an E2B template from it, and name that (--env.template, with {task} for the task's name)"
  if (machine.gpus !== undefined) return "E2B has no GPUs (environment.gpus)"
  if (machine.image._tag !== "None" && machine.workdir === undefined)
    return "it names no working directory (environment.workdir in its task.toml), whose files are graded in E2B"
  if (verifier.own !== undefined) return "in E2B a verifier has no separate image (verifier.environment)"
  const user = [agent.user, verifier.user].find((one) => one !== undefined && one !== "root" && one !== "user")
  return user === undefined ? undefined : `E2B has the users root and user, not ${user}`
}

/** Runs a script of ours; fails unless it succeeds. */
const must = Effect.fnUntraced(function* (sandbox: E2bSandbox.Sandbox, what: string, script: string) {
  // Not in the working directory, which may not exist yet.
  const { complaint, ending } = yield* sandbox.run({ script, seconds: 300 }, "/")
  if (ending?._tag === "Exited" && ending.code === 0) return
  const why = complaint || (ending === undefined ? "it took too long" : JSON.stringify(ending))
  return yield* new HarborError({ message: `${what}: ${why.slice(-500)}` })
})

/** Uploads a checked folder of this machine, file by file, with its links and with what is executable. */
const upload = Effect.fnUntraced(function* (
  sandbox: E2bSandbox.Sandbox,
  from: string,
  to: string,
  skipped: ReadonlySet<string>
) {
  yield* Tree.check(from)
  const fs = yield* FileSystem.FileSystem
  const names = yield* Effect.mapError(
    fs.readDirectory(from, { recursive: true }),
    (cause) => new HarborError({ message: `cannot read ${from}: ${cause.message}`, cause })
  )
  const lines = [`mkdir -p ${Words.join([to])}`]
  yield* Effect.forEach(
    names.filter((name) => !skipped.has(name)),
    (name) =>
      Effect.gen(function* () {
        const [path, target] = [join(from, name), posix.join(to, name.replaceAll("\\", "/"))]
        const found = yield* Tree.status(path)
        if (found.isDirectory()) lines.push(`mkdir -p ${Words.join([target])}`)
        else if (found.isSymbolicLink()) {
          const link = yield* fs.readLink(path)
          lines.push(`mkdir -p ${Words.join([posix.dirname(target)])}; ln -sfn ${Words.join([link, target])}`)
        } else {
          yield* sandbox.write(target, yield* fs.readFile(path))
          if ((found.mode & 0o100) !== 0) lines.push(`chmod +x ${Words.join([target])}`)
        }
      }).pipe(
        Effect.catchTag("PlatformError", (cause) => Effect.fail(new HarborError({ message: cause.message, cause })))
      ),
    { concurrency: 8, discard: true }
  )
  // Folders that have files exist already.
  yield* must(sandbox, `cannot copy ${from} to a sandbox`, `${lines.join("\n")}\nchmod -R a+rX ${Words.join([to])}`)
})

const archive = "/tmp/.atropos-artifacts.tgz"
const verdicts = "/tmp/.atropos-verdict"

/** Moves an agent's files to the sandbox of the tests: only the named paths, whatever its archive contains. */
const move = Effect.fnUntraced(function* (
  from: E2bSandbox.Sandbox,
  to: E2bSandbox.Sandbox,
  task: Task,
  paths: ReadonlyArray<string>
) {
  const names = Words.join(paths.map((path) => path.slice(1)))
  yield* must(
    from,
    `cannot pack the files of the task ${task.name}`,
    `cd /; set --; for p in ${names}; do if [ -e "$p" ] && [ ! -L "$p" ]; then set -- "$@" "$p"; fi; done
if [ $# = 0 ]; then rm -f ${archive}; else tar -czf ${archive} -- "$@"; fi`
  )
  const packed = yield* from.read(archive)
  const stage = "/tmp/.atropos-stage"
  if (Option.isSome(packed)) yield* to.write(archive, packed.value)
  // Files that the agent removed must not come from the template.
  yield* must(
    to,
    `cannot unpack the files of the task ${task.name}`,
    `mkdir -p ${stage}; if [ -f ${archive} ]; then tar -xzf ${archive} -C ${stage}; fi; cd ${stage}
for p in ${names}; do
  rm -rf -- "/$p"; mkdir -p -- "$(dirname "/$p")"
  if [ -e "$p" ] && [ ! -L "$p" ]; then cp -a -- "$p" "/$p"; fi
done
cd /; rm -rf ${stage} ${archive}`
  )
})

export const open =
  ({ api, template, usage }: Options): Box.Open<Services> =>
  ({ keptIn, network, passed, supervisor, task }) =>
    Effect.gen(function* () {
      const services = yield* Effect.context<Services>()
      const { machine } = task
      const workdir = posix.resolve("/", machine.workdir ?? "/app")
      const folder = yield* WorkingFolder.scoped({ supervisor, copyOf: null, keptIn })
      const env = yield* Templates.resolve(task, "environment.env", machine.env, passed)
      const shared = { api, template: template.replaceAll("{task}", task.name), env, workdir, task: task.name, usage }
      const started = Effect.fnUntraced(function* (hasNetwork: boolean) {
        const sandbox = yield* E2bSandbox.scoped({ ...shared, hasNetwork })
        const logs = "/logs/agent /logs/verifier /logs/artifacts"
        const folders = `${Words.join([workdir])} ${logs}`
        yield* must(sandbox, "cannot prepare a sandbox", `mkdir -p ${folders}; chmod 777 ${folders}`)
        return sandbox
      })
      const agent = yield* started(Box.networkOf(machine, network, false) === "full")
      const files = `${task.folder}/environment`
      const hasFiles = yield* FileSystem.FileSystem.use((fs) => Effect.orElseSucceed(fs.exists(files), () => false))
      if (machine.image._tag === "None" && hasFiles) {
        yield* upload(agent, files, workdir, new Set(["Dockerfile"]))
      }
      const run: Box.Box["run"] = (one) =>
        agent.run({ ...(task.agent.user !== undefined && { user: task.agent.user }), ...one })
      yield* Healthcheck.passed(task, run)
      const paths = yield* Artifacts.paths(task, [workdir, ...task.artifacts])

      const grade: Box.Box["grade"] = Effect.gen(function* () {
        const verifier = yield* started(Box.networkOf(task.verifier, network, false) === "full")
        yield* move(agent, verifier, task, paths)
        yield* must(
          verifier,
          "cannot prepare the tests",
          "rm -rf /tests /logs/verifier; mkdir -p /logs/verifier; chmod 777 /logs/verifier"
        )
        yield* upload(verifier, `${task.folder}/tests`, "/tests", new Set())
        const tested = yield* verifier.run({
          script: Box.testScript,
          seconds: task.verifier.seconds,
          env: yield* Templates.resolve(task, "verifier.env", task.verifier.env, passed),
          ...(task.verifier.user !== undefined && { user: task.verifier.user })
        })
        const names = ["reward.json", "reward.txt", "test-stdout.txt"]
        yield* must(
          verifier,
          "cannot read the verdict",
          `rm -rf ${verdicts}; mkdir ${verdicts}; cd /logs/verifier
for f in ${names.join(" ")}; do if [ -f "$f" ] && [ ! -L "$f" ]; then tail -c 65537 "$f" > ${verdicts}/"$f"; fi; done`
        )
        const fs = yield* FileSystem.FileSystem
        for (const name of names) {
          const bytes = yield* verifier.read(`${verdicts}/${name}`)
          if (Option.isSome(bytes)) yield* Effect.orDie(fs.writeFile(`${folder.path}/${name}`, bytes.value))
        }
        return Box.verdictOf(task, tested, folder.path)
      }).pipe(Effect.scoped, Effect.provide(services))

      const putSolution = Effect.provide(
        Effect.andThen(
          upload(agent, `${task.folder}/solution`, "/solution", new Set()),
          must(agent, "cannot prepare the solution", "chmod +x /solution/solve.sh")
        ),
        services
      )
      return { run, putSolution, grade } satisfies Box.Box
    }) satisfies Effect.Effect<Box.Box, HarborError | ProgramError, Services | Scope.Scope>

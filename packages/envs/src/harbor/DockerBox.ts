/**
 * Runs a task in containers: one in which the agent works, and another for the tests.
 *
 * The agent's container has neither `tests/` nor `solution/`. When the agent's time is over it is stopped, which ends
 * all its processes, and the tests run in their own container: started from a snapshot of the agent's files, with
 * `/tests` and `/logs/verifier` mounted over anything the agent has put there; or, if the task or the setting `grading`
 * is "separate", from an image that the agent never touched, with the files to grade copied into it.
 */
import { randomBytes } from "node:crypto"
import { chmodSync } from "node:fs"
import { Effect, FileSystem, type Path, type Scope } from "effect"
import * as WorkingFolder from "../command/WorkingFolder.ts"
import type { ProgramError } from "../command/ProcessSupervisor.ts"
import * as Artifacts from "./Artifacts.ts"
import * as Box from "./Box.ts"
import * as Container from "./Container.ts"
import type { Docker } from "./Docker.ts"
import * as DockerNetwork from "./DockerNetwork.ts"
import { HarborError } from "./HarborError.ts"
import * as Healthcheck from "./Healthcheck.ts"
import type { Images } from "./Images.ts"
import * as Leftovers from "./Leftovers.ts"
import type { Machine, Task, Variables } from "./Task.ts"
import * as Templates from "./Templates.ts"
import * as Tree from "./Tree.ts"

export interface Options {
  readonly docker: Docker
  /** Processors of the engine; a container cannot have more. */
  readonly cpus: number | undefined
  readonly images: Images
  readonly grading: "task" | "separate"
}

type Services = FileSystem.FileSystem | Path.Path
type Failure = HarborError | ProgramError

const callSeconds = 300

export const open =
  ({ cpus, docker, grading, images }: Options): Box.Open<Services> =>
  ({ agentFolder, gatewayUrl, keptIn, network, passed, task, supervisor }) =>
    Effect.gen(function* () {
      const services = yield* Effect.context<Services>()
      const folder = yield* WorkingFolder.scoped({ supervisor, copyOf: null, keptIn })
      const image = yield* images.of(task, task.machine)
      const machine = limited(task.machine, cpus)
      const env = yield* Templates.resolve(task, "environment.env", task.machine.env, passed)
      const what = `the container of the task ${task.name} does not start`
      const connection = { docker, images, network, supervisor }
      const joined = yield* DockerNetwork.joined({ ...connection, gatewayUrl, machine })
      const agent = yield* Container.scoped({
        docker,
        image,
        machine,
        env: { ...joined.variables, ...env },
        network: joined.network,
        volumes: agentFolder === null ? [] : [`${agentFolder}:/agent:ro`],
        what
      })
      yield* prepared(agent, what, task.agent.user)
      yield* Healthcheck.passed(task, agent.exec)

      const run: Box.Box["run"] = (one) =>
        agent.exec({ ...(task.agent.user !== undefined && { user: task.agent.user }), ...one })

      const putSolution = Effect.gen(function* () {
        yield* Effect.provide(Tree.check(`${task.folder}/solution`), services)
        yield* docker.call({
          words: ["cp", `${task.folder}/solution`, `${agent.name}:/`],
          what: `cannot copy the solution of the task ${task.name}`,
          seconds: callSeconds
        })
        yield* agent.exec({ script: "chmod -R a+rX /solution; chmod +x /solution/solve.sh", user: "root" })
      })

      const grade: Box.Box["grade"] = Effect.gen(function* () {
        yield* agent.stop
        const tests = `${folder.path}/tests`
        const verdicts = `${folder.path}/verifier`
        yield* FileSystem.FileSystem.use((fs) => fs.makeDirectory(verdicts)).pipe(Effect.orDie)
        yield* Effect.sync(() => chmodSync(verdicts, 0o777))
        const own = grading === "separate" || task.verifier.own !== undefined
        if (!task.verifier.own?.hasTests) yield* Tree.copy(`${task.folder}/tests`, tests)
        const volumes = [...(task.verifier.own?.hasTests ? [] : [`${tests}:/tests`]), `${verdicts}:/logs/verifier`]
        const joined = yield* DockerNetwork.joined({ ...connection, gatewayUrl: null, machine: task.verifier })
        const shared = { docker, agent, joined, task, volumes }
        const verifier = yield* own
          ? apart({ ...shared, cpus, images, image, passed, staging: `${folder.path}/artifacts` })
          : same({ ...shared, env, machine })
        const tested = yield* verifier.exec({
          script: Box.testScript,
          seconds: task.verifier.seconds,
          env: yield* Templates.resolve(task, "verifier.env", task.verifier.env, passed),
          ...(task.verifier.user !== undefined && { user: task.verifier.user })
        })
        // This process must be able to read and remove files that root has written there.
        yield* verifier.exec({ script: "chmod -R a+rwX /logs/verifier /tests", user: "root", seconds: 60 })
        return Box.verdictOf(task, tested, verdicts)
      }).pipe(Effect.scoped, Effect.provide(services))

      return { run, putSolution, grade } satisfies Box.Box
    })

const limited = (machine: Machine, cpus: number | undefined): Machine =>
  cpus === undefined || machine.cpus === undefined ? machine : { ...machine, cpus: Math.min(cpus, machine.cpus) }

const prepared = Effect.fnUntraced(function* (container: Container.Container, what: string, user: string | undefined) {
  const { complaint, ending } = yield* container.exec({
    script:
      "mkdir -p /logs/agent /logs/verifier /logs/artifacts && chmod 777 /logs/agent /logs/verifier /logs/artifacts",
    user: "root",
    seconds: 60
  })
  if (ending?._tag !== "Exited" || ending.code !== 0)
    return yield* new HarborError({ message: `${what}: ${complaint}` })
  if (user === undefined) return
  const own = yield* container.exec({ script: "exit 0", user, seconds: 60 })
  if (own.ending?._tag !== "Exited" || own.ending.code !== 0) {
    // Docker prints its own error to either.
    return yield* new HarborError({
      message: `${what} as the user ${user} of task.toml: ${own.complaint}${own.stdout}`
    })
  }
})

interface Grading {
  readonly docker: Docker
  readonly agent: Container.Container
  readonly task: Task
  readonly joined: DockerNetwork.Joined
  readonly volumes: ReadonlyArray<string>
}

/** A container that starts with the agent's files, without its processes. */
const same = Effect.fnUntraced(function* ({
  agent,
  docker,
  env,
  joined,
  machine,
  task,
  volumes
}: Grading & { readonly env: Variables; readonly machine: Machine }): Effect.fn.Return<
  Container.Container,
  Failure,
  Scope.Scope
> {
  const snapshot = `atropos-trial:${Leftovers.owner}-${randomBytes(6).toString("hex")}`
  yield* Effect.addFinalizer(() =>
    Effect.ignore(docker.run({ words: ["rmi", "--force", snapshot], seconds: callSeconds }), { log: "Warn" })
  )
  yield* docker.call({
    words: ["commit", "--change", `LABEL ${Leftovers.label}`, agent.name, snapshot],
    what: "cannot save the agent's files for the verifier",
    seconds: callSeconds
  })
  return yield* Container.scoped({
    docker,
    image: snapshot,
    machine,
    env: { ...joined.variables, ...env },
    network: joined.network,
    volumes,
    volumesFrom: agent.name,
    what: `the verifier's container of the task ${task.name} does not start`
  })
})

/** A container of an image that the agent never touched, with copies of the files to grade. */
const apart = Effect.fnUntraced(function* ({
  agent,
  cpus,
  docker,
  image,
  images,
  joined,
  passed,
  staging,
  task,
  volumes
}: Grading & {
  readonly cpus: Options["cpus"]
  readonly images: Images
  readonly passed: Variables
  readonly image: string
  /** A folder of this machine, created here. */
  readonly staging: string
}): Effect.fn.Return<Container.Container, Failure, Scope.Scope | Services> {
  const machine = limited(task.verifier.own?.machine ?? task.machine, cpus)
  const what = `the verifier's container of the task ${task.name} does not start`
  const paths = yield* Artifacts.paths(
    task,
    task.verifier.own === undefined ? [yield* workdirOf(docker, image, task), ...task.artifacts] : task.artifacts
  )
  const verifier = yield* Container.scoped({
    docker,
    image: yield* images.of(task, machine),
    machine,
    env: { ...joined.variables, ...(yield* Templates.resolve(task, "verifier.environment.env", machine.env, passed)) },
    network: joined.network,
    volumes,
    what
  })
  yield* prepared(verifier, what, task.verifier.user)
  yield* Artifacts.copy({ docker, from: agent.name, to: verifier, task, paths, staging })
  return verifier
})

const workdirOf = Effect.fnUntraced(function* (docker: Docker, image: string, { machine, name }: Task) {
  const found =
    machine.workdir ??
    (yield* docker.call({
      words: ["image", "inspect", "--format", "{{.Config.WorkingDir}}", image],
      what: `cannot inspect the image of the task ${name}`,
      seconds: callSeconds
    }))
  if (found !== "" && found !== "/") return found
  return yield* new HarborError({
    message: `the task ${name} defines no folder of the agent (environment.workdir in its task.toml, or WORKDIR of its image), so grading "separate" would have none of its files`
  })
})

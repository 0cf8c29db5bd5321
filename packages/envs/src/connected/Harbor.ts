/**
 * Runs Harbor task directories: an agent works on `instruction.md` in the task's machine, and `tests/test.sh` scores
 * it.
 *
 * The machine is a container if the task describes one, else the task's files behind namespaces (bubblewrap). The agent
 * is the model with a tool that runs commands, or any program of the user's. It sees neither `tests/` nor `solution/`;
 * the tests are added after all of its processes have ended. If they write no `reward.json` or `reward.txt`, or time
 * out, the rollout has no reward and is dropped; it never counts as zero. Format:
 * https://www.harborframework.com/docs/tasks, schema 1.4.
 */
import { Environment, type Trajectory } from "@atropos/core"
import * as Jail from "../sandbox/Jail.ts"
import * as Reason from "@atropos/core/base/Reason"
import * as Trained from "@atropos/core/gateway/session/Trained"
import { Effect, type FileSystem, type Path, Result, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { resolve } from "node:path"
import * as Items from "../agent/Items.ts"
import * as SessionGroup from "../agent/SessionGroup.ts"
import * as SessionRuns from "../agent/SessionRuns.ts"
import * as CodingAgents from "../coding/CodingAgents.ts"
import * as ProcessSupervisor from "../command/ProcessSupervisor.ts"
import * as Words from "../base/Words.ts"
import type * as Box from "../harbor/Box.ts"
import * as E2bApi from "../harbor/cloud/E2bApi.ts"
import * as E2bBox from "../harbor/cloud/E2bBox.ts"
import type { Usage } from "../harbor/cloud/E2bSandbox.ts"
import * as Docker from "../harbor/Docker.ts"
import * as DockerBox from "../harbor/DockerBox.ts"
import { HarborError } from "../harbor/HarborError.ts"
import { settings, type Settings } from "../harbor/HarborSettings.ts"
import * as Images from "../harbor/Images.ts"
import * as Leftovers from "../harbor/Leftovers.ts"
import * as Listeners from "../harbor/Listeners.ts"
import * as LocalBox from "../harbor/LocalBox.ts"
import type { Task } from "../harbor/Task.ts"
import * as Tasks from "../harbor/Tasks.ts"
import * as Templates from "../harbor/Templates.ts"
import * as Trial from "../harbor/Trial.ts"

export { settings }

type Services = FileSystem.FileSystem | Path.Path

const describesImage = ({ machine, verifier }: Task): boolean =>
  machine.image._tag !== "None" || (verifier.own !== undefined && verifier.own.machine.image._tag !== "None")

const openCloud = Effect.fnUntraced(function* (
  { template }: Settings,
  usage: Usage
): Effect.fn.Return<Box.Open<Services>, HarborError> {
  const api = yield* Effect.provide(E2bApi.make(yield* E2bApi.account), FetchHttpClient.layer)
  return E2bBox.open({ api, template: template ?? "base", usage })
})

/** Opens machines; fails at the start if the daemon or bubblewrap is missing. */
const opener = Effect.fnUntraced(function* (
  tasks: ReadonlyArray<Task>,
  settings: Settings,
  supervisor: ProcessSupervisor.ProcessSupervisor,
  usage: Usage
): Effect.fn.Return<
  Box.Open<Services>,
  HarborError | ProcessSupervisor.ProgramError,
  FileSystem.FileSystem | Scope.Scope
> {
  const { docker: program, grading, network, visible, where } = settings
  if (where === "e2b") return yield* openCloud(settings, usage)
  const isLocal = (task: Task): boolean => where === "local" || (where === "auto" && !describesImage(task))
  const local = tasks.filter(isLocal)
  if (local.length > 0) {
    yield* Effect.try({
      try: Jail.bubblewrap,
      catch: (cause) =>
        new HarborError({
          message: `the task ${local[0]!.name} runs without a container, which requires bubblewrap (Linux): ${Reason.of(cause)}`
        })
    })
  }
  yield* Listeners.warn(local, network, true)
  yield* Listeners.warn(
    tasks.filter((task) => !isLocal(task)),
    network,
    false
  )
  const openLocal = LocalBox.open({ visible: visible.map((one) => resolve(one)) })
  if (local.length === tasks.length) return openLocal
  const words = Result.getOrElse(Words.split(program), () => [program])
  const docker = yield* Docker.make(words, supervisor)
  yield* Effect.mapError(
    Docker.answers(docker),
    ({ message }) =>
      new HarborError({
        message: `${message}\nThe task ${tasks.find((task) => !isLocal(task))!.name} runs in a container. Start Docker, name another program (--env.docker podman), or use --env.where local, which ignores images`
      })
  )
  yield* Leftovers.sweep(docker)
  yield* supervisor.ifKilled(Leftovers.removalOf(docker))
  const cpus = yield* Docker.cpus(docker)
  const tooMany = tasks.filter((task) => !isLocal(task) && (task.machine.cpus ?? 0) > (cpus ?? Infinity))
  if (tooMany.length > 0) {
    yield* Effect.logWarning("tasks get fewer CPUs than they request: the Docker engine has no more", {
      cpus,
      tasks: tooMany.map(({ name }) => name)
    })
  }
  const openDocker = DockerBox.open({ cpus, docker, grading, images: yield* Images.make(docker, supervisor) })
  return (options) => (isLocal(options.task) ? openLocal(options) : openDocker(options))
})

/** The source yields only tasks. */
const taskOf = ({ item }: Pick<SessionRuns.Numbered, "item">) => item as Task

export const layer = Environment.layer("harbor", settings, (chosen) =>
  Effect.gen(function* () {
    const { agentFolder, command, evaluationItems, keepFoldersIn, only, skipRefused, solvedAt, testTasks } = chosen
    if (chosen.tasks === null) {
      return yield* new HarborError({
        message: "tasks: name a folder with task directories, as in --env.tasks ./tasks"
      })
    }
    const patterns = only === null ? [] : only.split(",").map((pattern) => pattern.trim())
    const runnable = (found: ReadonlyArray<Tasks.Found>) =>
      Tasks.runnable(found, skipRefused, (task) =>
        chosen.where === "e2b" ? E2bBox.problem(task, chosen.template) : undefined
      )
    const tasks = yield* runnable(yield* Tasks.find([chosen.tasks], patterns))
    const tests = testTasks === null ? undefined : yield* runnable(yield* Tasks.find([testTasks]))
    const agent = chosen.agent === null ? undefined : yield* CodingAgents.find(chosen.agent)
    if (agent?.isOverAcp) {
      return yield* new HarborError({
        message: `agent: ${chosen.agent} speaks with this machine over ACP, which a task's machine cannot: leave out "acp:", or use the environment command`
      })
    }
    const isProgram = command !== null || agent !== undefined
    if (isProgram && chosen.where === "e2b") {
      return yield* new HarborError({
        message:
          "an agent's program in a cloud sandbox does not reach the gateway of this machine: leave out --env.command and --env.agent, or use --env.where docker"
      })
    }
    if (chosen.network === "web" && chosen.where === "e2b") {
      return yield* new HarborError({
        message: "network: the proxy of web is on this machine: for sandboxes of E2B use task, none or public"
      })
    }
    const supervisor = yield* ProcessSupervisor.make
    const passed = Templates.passed(chosen.pass)
    const usage: Usage = { sandboxes: 0, seconds: 0 }
    const open = yield* opener([...tasks, ...(tests ?? [])], chosen, supervisor, usage)
    const source = yield* Items.source({
      items: tasks,
      heldOut: tests,
      instead: { items: null, heldOut: null },
      settings: chosen,
      evaluationItems,
      folder: undefined
    })
    const openOf = (task: Task, gatewayUrl: string | null = null) =>
      open({
        task,
        supervisor,
        gatewayUrl: isProgram ? gatewayUrl : null,
        agentFolder: agentFolder === null ? null : resolve(agentFolder),
        keptIn: keepFoldersIn,
        network: chosen.network,
        passed
      })
    const { definition } = yield* SessionRuns.make<void, HarborError | ProcessSupervisor.ProgramError, Services>({
      name: "harbor",
      settings: chosen,
      trained: Trained.by[chosen.trained ?? (agent === undefined ? "all" : (agent.trained ?? "tools"))],
      source,
      runner: isProgram ? "program" : "built-in",
      isCorrect: (score) => score >= solvedAt,
      label: (item) => taskOf({ item }).name,
      begin: (numbered, _, { url }) =>
        Effect.map(openOf(taskOf(numbered), url), (box) =>
          Trial.begin({ agent, box, settings: chosen, task: taskOf(numbered) })
        )
    })
    const worth = yield* Trial.worthOf((task) => openOf(task), passed)
    return {
      ...definition,
      metrics: Effect.map(definition.metrics, (figures) =>
        chosen.where === "e2b"
          ? { ...figures, "harbor/sandboxes": usage.sandboxes, "harbor/sandbox_seconds": usage.seconds }
          : figures
      ),
      // Groups arrive scored; this scores claims only.
      score: (numbered: SessionRuns.Numbered, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.forEach(group, ({ completion }) =>
          Effect.map(worth(taskOf(numbered), completion === Trial.solution), (judged) => SessionGroup.score(judged))
        ),
      id: (numbered: SessionRuns.Numbered) => taskOf(numbered).name,
      label: (numbered: SessionRuns.Numbered) => taskOf(numbered).name,
      claims: {
        scoreRange: [0, 1] as const,
        gold: (numbered: SessionRuns.Numbered) => (taskOf(numbered).hasSolution ? [Trial.solution] : []),
        wrong: () => [""]
      }
    }
  })
)

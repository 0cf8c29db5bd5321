/** Declares the settings of the environment of Harbor tasks. */
import { Environment } from "@atropos/core"
import { Schema } from "effect"
import * as AgentSettings from "../agent/AgentSettings.ts"
import * as CodingAgents from "../coding/CodingAgents.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const texts = Schema.Array(Schema.NonEmptyString)
const nullable = Schema.NullOr(Schema.NonEmptyString)
const { evaluationItems, seed, temperature, trained } = AgentSettings.fields

export const settings = Environment.settings({
  seed,
  temperature,
  evaluationItems,
  tasks: Environment.field(nullable, null, "a Harbor task directory, or a folder with task directories at any depth"),
  testTasks: Environment.field(
    nullable,
    null,
    "the same for evaluation; if unset, a tenth of ten tasks or more is held out"
  ),
  only: Environment.field(
    nullable,
    null,
    "names of the tasks to use, comma-separated, such as hello-*,sum; if unset, all"
  ),
  skipRefused: Environment.field(
    Schema.Boolean,
    false,
    "skip tasks that are broken or need unsupported features, instead of failing"
  ),
  where: Environment.field(
    Schema.Literals(["auto", "docker", "local", "e2b"]),
    "auto",
    "where tasks run: docker; local: behind bubblewrap with this machine's programs, without their images; e2b: in that cloud's sandboxes; auto: local for tasks without an image"
  ),
  template: Environment.field(
    nullable,
    null,
    "e2b: the template of the sandboxes, such as harbor-{task} with the task's name; if unset, base, for tasks without an image"
  ),
  grading: Environment.field(
    Schema.Literals(["task", "separate"]),
    "task",
    "machine of the tests: as the task specifies (by default a snapshot of the agent's machine), or always a machine that the agent never touched, with its working directory"
  ),
  command: Environment.field(
    nullable,
    null,
    "an agent's program, run by the shell in the task's machine (it calls the model through its SDK); if unset, the model gets a tool that runs commands"
  ),
  agent: Environment.field(
    nullable,
    null,
    `a coding agent to run with the task's instruction: ${CodingAgents.names.join(", ")}, or a file that exports one; command then is its program in the machine, such as /agent/node_modules/.bin/pi`
  ),
  trained,
  agentFolder: Environment.field(nullable, null, "a folder with that program, mounted there as /agent"),
  maxTurns: Environment.field(positive, 30, "without a command: model turns of a rollout"),
  commandTimeout: Environment.field(
    positive,
    60,
    "without a command: time limit for one command of the model, in seconds"
  ),
  maxOutputCharacters: Environment.field(
    positive,
    8000,
    "without a command: maximum characters of a command's output shown to the model; longer ones lose their middle"
  ),
  sessionTimeout: Environment.field(
    Schema.Finite,
    3600,
    "time limit for one rollout, in seconds, in addition to the task's own (agent.timeout_sec); 0 or less means no limit"
  ),
  solvedAt: Environment.field(Schema.Finite, 1, "a score at or above this counts as solved"),
  docker: Environment.field(Schema.NonEmptyString, "docker", "the client of the Docker daemon, such as podman"),
  network: Environment.field(
    Schema.Literals(["task", "web", "none", "public"]),
    "task",
    "network of tasks: task: as the task specifies (default: none behind bubblewrap, Docker's default in a container); web: the same, but by a proxy for HTTP that leads to public addresses alone; none; public: also for tasks that do not request it. Behind bubblewrap it is this machine's, its loopback included"
  ),
  pass: Environment.field(
    texts,
    [],
    "names of environment variables of this process that tasks may use (${NAME} in a task.toml); all others stay private"
  ),
  visible: Environment.field(texts, [], "local: additional folders and files of this machine that commands may read"),
  keepFoldersIn: Environment.field(
    nullable,
    null,
    "a folder in which the logs of verifiers are kept; if unset, they are temporary"
  )
})

export type Settings = Parameters<typeof settings.encode>[0]

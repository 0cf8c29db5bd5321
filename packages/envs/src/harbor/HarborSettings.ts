/** Settings of the environment of Harbor tasks. */
import { Environment } from "@atropos/core"
import { Schema } from "effect"
import * as AgentSettings from "../agent/AgentSettings.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const texts = Schema.Array(Schema.NonEmptyString)
const nullable = Schema.NullOr(Schema.NonEmptyString)
const { evaluationItems, seed, temperature } = AgentSettings.fields

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
    "names of the tasks to take, with commas between them, such as hello-*,sum; if unset, all"
  ),
  skipRefused: Environment.field(
    Schema.Boolean,
    false,
    "leave out tasks that are broken or need what is not supported, rather than stop"
  ),
  where: Environment.field(
    Schema.Literals(["auto", "docker", "local"]),
    "auto",
    "where tasks are worked on: docker; local: behind bubblewrap with this machine's programs, without their images; auto: local for tasks that describe no image"
  ),
  grading: Environment.field(
    Schema.Literals(["task", "separate"]),
    "task",
    "what the tests run in: what the task says (by default a snapshot of the agent's machine), or always a machine that the agent never touched, with its working folder"
  ),
  command: Environment.field(
    nullable,
    null,
    "an agent's program, run by the shell where the task is (it asks the model through its SDK); if unset, the model gets a tool that runs commands"
  ),
  agentFolder: Environment.field(nullable, null, "a folder with that program, to be seen there as /agent"),
  maxTurns: Environment.field(positive, 30, "without a command: model turns of a rollout"),
  commandTimeout: Environment.field(
    positive,
    60,
    "without a command: time limit for one command of the model, in seconds"
  ),
  maxOutputCharacters: Environment.field(
    positive,
    8000,
    "without a command: most characters of a command's output that the model is shown; the middle of longer ones is left out"
  ),
  sessionTimeout: Environment.field(
    Schema.Finite,
    3600,
    "time limit for one rollout, in seconds, beside the task's own (agent.timeout_sec); 0 or less means no limit"
  ),
  solvedAt: Environment.field(Schema.Finite, 1, "a score from this on counts as solved"),
  docker: Environment.field(
    Schema.NonEmptyString,
    "docker",
    "the program that speaks to the Docker daemon, such as podman"
  ),
  network: Environment.field(
    Schema.Literals(["task", "none", "public"]),
    "task",
    "the network of tasks: task: as the task says (without a word: none behind bubblewrap, Docker's default in a container); none; public: also for tasks that do not ask. Behind bubblewrap it is this machine's, its loopback included"
  ),
  pass: Environment.field(
    texts,
    [],
    "names of variables of this process that tasks may take (${NAME} in a task.toml); all others stay here"
  ),
  visible: Environment.field(texts, [], "local: further folders and files of this machine that commands may read"),
  keepFoldersIn: Environment.field(
    nullable,
    null,
    "a folder in which the logs of verifiers are kept; if unset, they are temporary"
  )
})

export type Settings = Parameters<typeof settings.encode>[0]

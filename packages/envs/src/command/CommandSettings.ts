/** Declares the settings of the command environment, in addition to those of all agents. */
import { Environment } from "@atropos/core"
import { Schema } from "effect"
import * as AgentSettings from "../agent/AgentSettings.ts"
import * as CodingAgents from "../coding/CodingAgents.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const texts = Schema.Array(Schema.NonEmptyString)

export const RewardFrom = Schema.Literals(["auto", "scorer", "file", "post", "exit"])
export type RewardFrom = typeof RewardFrom.Type

export const settings = Environment.settings({
  ...AgentSettings.fields,
  command: Environment.field(
    Schema.String,
    "",
    'the program to run for every rollout, with its arguments, such as "python agent.py"; quotes work as in a shell, pipes and variables need sh -c'
  ),
  agent: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    `a coding agent to run instead: ${CodingAgents.names.join(", ")}, or a file that exports one; command then names its program, if it is not in PATH; acp:NAME or acp:COMMAND gives it its task over the Agent Client Protocol`
  ),
  user: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "a program that speaks for the user between the turns of an agent over ACP: reads JSON (turn, messages, stop_reason), prints the next message, or nothing to end"
  ),
  maxUserTurns: Environment.field(positive, 8, "maximum number of turns of an agent over ACP, the task included"),
  prompt: Environment.field(
    Schema.NonEmptyString,
    "{task}",
    'the task that an agent is given, with fields of the item in braces, such as "Fix this: {issue}"'
  ),
  tryAgent: Environment.field(
    Schema.Boolean,
    true,
    "try the agent at the start with scripted answers: it must call its shell and end well"
  ),
  home: Environment.field(
    Schema.Literals(["fresh", "own"]),
    "fresh",
    "HOME of programs: fresh: an empty folder for every rollout; own: yours, with its settings, memories and keys"
  ),
  scorer: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "a second program that scores each rollout: reads JSON, prints a number or numbers by name as its last line"
  ),
  reward: Environment.field(
    RewardFrom,
    "auto",
    "source of the reward: the scorer, the file named by REWARD_FILE, POST to REWARD_URL, or the exit code (0 is 1, others 0); auto: the first of these that provides one"
  ),
  scoreRange: Environment.field(
    Schema.NullOr(Schema.Tuple([Schema.Finite, Schema.Finite])),
    null,
    "lowest and highest score, such as [0, 1]; a score at its top counts as solved"
  ),
  solvedAt: Environment.field(
    Schema.NullOr(Schema.Finite),
    null,
    "a score at or above this counts as solved; if neither this nor score_range is set, nothing does"
  ),
  scorerTimeout: Environment.field(positive, 60, "time limit for the scorer, in seconds"),
  workspace: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "a folder that is copied into every working directory; if unset, working directories start empty"
  ),
  keepFoldersIn: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "a folder in which working directories are created and kept; if unset, they are temporary"
  ),
  variables: Environment.field(
    Schema.Record(Schema.String, Schema.String),
    {},
    'environment variables to add, such as {"MAX_TURNS": "8"}'
  ),
  passVariables: Environment.field(
    texts,
    [],
    "names of environment variables that programs inherit from this process; if unset, only PATH, HOME and the like"
  ),
  maxOutputBytes: Environment.field(
    positive,
    10_000_000,
    "maximum bytes that a program may print, on both outputs together; it is killed beyond"
  ),
  maxMemoryMb: Environment.field(
    Schema.NullOr(positive),
    4096,
    "maximum memory of a program and its child processes, in megabytes; it is killed beyond; None: no limit"
  ),
  sandbox: Environment.field(
    Schema.Literals(["none", "bubblewrap"]),
    "none",
    "bubblewrap (Linux): programs see the system and their own files read-only, and write only in their working directory"
  ),
  visible: Environment.field(texts, [], "additional folders and files that sandboxed programs may read")
})

export type Settings = Parameters<typeof settings.encode>[0]

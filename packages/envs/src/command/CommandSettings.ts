/** Settings of the command environment, in addition to those of all agents. */
import { Environment } from "@atropos/core"
import { Schema } from "effect"
import * as AgentSettings from "../agent/AgentSettings.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const texts = Schema.Array(Schema.NonEmptyString)

export const RewardFrom = Schema.Literals(["auto", "scorer", "file", "post", "exit"])
export type RewardFrom = typeof RewardFrom.Type

export const settings = Environment.settings({
  ...AgentSettings.fields,
  command: Environment.field(
    Schema.String,
    "",
    'the program that is run for every rollout, with its arguments, such as "python agent.py"; quotes work as in a shell, pipes and variables need sh -c'
  ),
  scorer: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "a second program that judges each rollout: reads JSON, prints a number or numbers by name as its last line"
  ),
  reward: Environment.field(
    RewardFrom,
    "auto",
    "who says what a rollout was worth: the scorer, the file named by REWARD_FILE, POST to REWARD_URL, or the exit code (0 is 1, others 0); auto: the first of these that says something"
  ),
  scoreRange: Environment.field(
    Schema.NullOr(Schema.Tuple([Schema.Finite, Schema.Finite])),
    null,
    "lowest and highest score, such as [0, 1]; a score at its top counts as solved"
  ),
  solvedAt: Environment.field(
    Schema.NullOr(Schema.Finite),
    null,
    "a score from this on counts as solved; if neither this nor score_range is set, nothing is called solved"
  ),
  scorerTimeout: Environment.field(positive, 60, "time limit for the scorer, in seconds"),
  workspace: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "a folder that every working folder begins as a copy of; if unset, working folders are empty"
  ),
  keepFoldersIn: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "a folder in which working folders are made and kept; if unset, they are temporary"
  ),
  variables: Environment.field(
    Schema.Record(Schema.String, Schema.String),
    {},
    'environment variables to add, such as {"MAX_TURNS": "8"}'
  ),
  passVariables: Environment.field(
    texts,
    [],
    "names of environment variables that programs get from this process; without it, none but PATH, HOME and the like"
  ),
  maxOutputBytes: Environment.field(
    positive,
    10_000_000,
    "most that a program may print, on both of its outputs together; one that prints more is ended"
  ),
  maxMemoryMb: Environment.field(
    Schema.NullOr(positive),
    4096,
    "most memory that a program and what it starts may take, in megabytes; more ends it; None: no limit"
  ),
  sandbox: Environment.field(
    Schema.Literals(["none", "bubblewrap"]),
    "none",
    "bubblewrap (Linux): programs see the system and their own files read-only, and write in their working folder alone"
  ),
  visible: Environment.field(texts, [], "further folders and files that programs in a sandbox may read")
})

export type Settings = Parameters<typeof settings.encode>[0]

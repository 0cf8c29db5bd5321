/**
 * Gives a coding agent its task over the Agent Client Protocol (https://agentclientprotocol.com, version 1) instead of
 * as an argument, and speaks for the user in further turns. A separate process does it (`acpProcess`), which the
 * agent's limits cover too; the agent alone may be confined.
 */
import { Option, Schema } from "effect"
import { fileURLToPath } from "node:url"
import * as RunReport from "../agent/RunReport.ts"
import * as Optional from "../base/Optional.ts"

/** What `acpProcess` reads: one line of its standard input, whose end cancels the run. */
export interface Talk {
  readonly task: string
  /** A program that speaks for the user; null: the task is the only turn. */
  readonly user: ReadonlyArray<string> | null
  /** Max turns, the task included. */
  readonly maxTurns: number
  /** How long a cancelled turn may take to end. */
  readonly cancelMillis: number
}

/** What it prints at its end. */
export interface Report extends RunReport.RunReport {
  /** The agent's text of the last turn; empty if that failed. */
  readonly answer: string
}

const isSource = import.meta.url.endsWith(".ts")
const script = fileURLToPath(new URL(isSource ? "acpProcess.ts" : "acpProcess.js", import.meta.url))

/** Fails with the command that installs the protocol's library, if it is missing. */
export const installed = Optional.folder(["@agentclientprotocol/sdk"], "an agent over ACP")

/** The time from `session/cancel` to the end of its turn, after which the agent is killed. */
const cancelMillis = 5000

/** For the end of the process itself, and its report. */
const reportMillis = 2000

/** Max bytes of a report without its answer: a program's own limit does not count them. */
export const reportBytes = 1_000_000

/** The program that talks with the agent of these words, and its input. */
export const program = (words: ReadonlyArray<string>, talk: Omit<Talk, "cancelMillis">) => ({
  words: [process.execPath, script, ...words],
  input: `${JSON.stringify({ ...talk, cancelMillis } satisfies Talk)}\n`,
  endsWithin: cancelMillis + reportMillis
})

const parse = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** The report in its output; an empty one if it was killed before. */
export const read = (stdout: string): Report =>
  // Only `acpProcess` prints there.
  Option.getOrElse(parse(stdout) as Option.Option<Report>, () => ({ ...RunReport.empty, answer: "" }))

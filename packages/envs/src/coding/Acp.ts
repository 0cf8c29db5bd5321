/**
 * Gives a coding agent its task over the Agent Client Protocol (https://agentclientprotocol.com, version 1) instead of
 * as an argument, and speaks for the user in further turns. A separate process does it (`acpProcess`), which the
 * agent's limits cover too; the agent alone may be confined.
 */
import { fileURLToPath } from "node:url"
import * as Optional from "../base/Optional.ts"

/** What `acpProcess` reads from its standard input. */
export interface Talk {
  readonly task: string
  /** A program that speaks for the user; null: the task is the only turn. */
  readonly user: ReadonlyArray<string> | null
  /** Max turns, the task included. */
  readonly maxTurns: number
}

const isSource = import.meta.url.endsWith(".ts")
const script = fileURLToPath(new URL(isSource ? "acpProcess.ts" : "acpProcess.js", import.meta.url))

/** Fails with the command that installs the protocol's library, if it is missing. */
export const installed = Optional.folder(["@agentclientprotocol/sdk"], "an agent over ACP")

/** The program that talks with the agent of these words, and its input. */
export const program = (words: ReadonlyArray<string>, talk: Talk) => ({
  words: [process.execPath, script, ...words],
  input: JSON.stringify(talk)
})
